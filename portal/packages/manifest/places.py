"""Columns of a sheet by letters and by number. Pure."""

MOST_CELLS = 16_384
"""Columns that Excel has."""


def column_number(letters: str) -> int:
    """``A`` → 1, ``XFD`` → 16384; letters beyond those are 16385."""
    number = 0
    for letter in letters.upper()[:4]:
        number = number * 26 + ord(letter) - 64
    return min(number, MOST_CELLS + 1)


def letters(column: int) -> str:
    """1 → ``A``, 27 → ``AA``."""
    name = ""
    while column:
        column, left = divmod(column - 1, 26)
        name = chr(65 + left) + name
    return name

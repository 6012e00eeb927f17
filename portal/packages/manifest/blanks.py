"""Blank rows: those between rows are set aside by number, those at the end of a file are nothing. Pure."""

from collections.abc import Iterator

from portal.packages.manifest.reading import BadRow


class Numbering:
    """Gives data rows their numbers, holding blank ones back until a row follows them."""

    def __init__(self) -> None:
        self._last = 0
        self._first_line = 0
        self.held = 0
        """Blank rows since the last row."""

    def blank(self, line: int, rows: int = 1) -> None:
        """So many blank rows, the first of them at ``line`` of the file."""
        if not self.held:
            self._first_line = line
        self.held += rows

    def released(self) -> Iterator[BadRow]:
        """The blank rows before a row that was just found, as rows set aside."""
        held, self.held = self.held, 0
        for step in range(held):
            yield BadRow(self.next(), "empty_row", {"line": self._first_line + step}, {})

    def next(self) -> int:
        """The number of the row that was just found."""
        self._last += 1
        return self._last

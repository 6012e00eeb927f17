"""Did a stray quotation mark swallow rows? Told by what lies in the quotes: rows, or a text of many lines. Pure."""

import re
from collections.abc import Sequence

from portal.packages.manifest.reading import Reading

FEW_LINES = 5
"""A record with as many lines is looked at."""
MANY_LINES = 100
"""Beyond so many lines they need only be whole rows by themselves."""
_MANY_LINES_ALONE = 1_000
"""The same where rows have one column, so that any line of a text looks like a row."""
_MOST = 0.8
_NEARLY_ALL = 0.9
_SHAPED = 5
"""Characters from which on the form of an id says something; years have four."""
_NUMBERED = re.compile(r"(\D*)(\d+)")
_SIGN = re.compile(r"[^\W_]")


def has_swallowed_rows(record: Sequence[str], reading: Reading, width: int, *, is_odd: bool = False) -> bool:
    """Are the lines of ``record`` after the first rows of ``width`` fields, and no text?

    Where the record itself is odd, or has very many lines, most of them have to be whole rows. Of any other nearly all
    are, and what stands beside the quotes goes on in them: an id, or a label.
    """
    delimiter = reading.delimiter
    if width < 2:
        return len(record) > _MANY_LINES_ALONE
    if is_odd or len(record) > MANY_LINES:
        return _share_of_rows(record[1:-1], delimiter, width) > _MOST
    return (
        len(record) >= FEW_LINES
        and _is_row(record[0], delimiter, width)
        and _is_row(record[-1], delimiter, width)
        and _share_of_rows(record[1:-1], delimiter, width) >= _NEARLY_ALL
        and _goes_on(record, reading, width)
    )


def _is_row(line: str, delimiter: str, width: int) -> bool:
    return line.count(delimiter) == width - 1


def _share_of_rows(lines: Sequence[str], delimiter: str, width: int) -> float:
    return sum(_is_row(line, delimiter, width) for line in lines) / len(lines) if lines else 0.0


def _goes_on(record: Sequence[str], reading: Reading, width: int) -> bool:
    """Do the first fields, or the last ones, look as if each line were a row, where they stand beside the quotes?"""
    delimiter, quote = reading.delimiter, reading.quote
    rows = [line.rstrip("\r\n").split(delimiter) for line in record if _is_row(line, delimiter, width)]
    beside = [(0, rows[0][0]), (-1, rows[-1][-1])]
    columns = [at for at, field in beside if not quote or field.count(quote) % 2 == 0]
    return any(_are_alike([row[at].strip().strip(quote) for row in rows]) for at in columns)


def _are_alike(fields: list[str]) -> bool:
    return _are_numbered(fields) or _are_ids(fields) or _are_labels(fields)


def _are_numbered(fields: list[str]) -> bool:
    """Do they count up, or down, such as ``7``, ``8`` or ``no-9``, ``no-8``?"""
    found = [_NUMBERED.fullmatch(field) for field in fields]
    numbers = [int(match[2]) for match in found if match and match[1] == (found[0] or match)[1]]
    if len(numbers) < len(fields):
        return False
    return numbers in (sorted(set(numbers)), sorted(set(numbers), reverse=True))


def _are_ids(fields: list[str]) -> bool:
    """Are all different, as long as each other and of one form, such as ``a31f-09`` or dates?"""
    forms = {_SIGN.sub("x", field) for field in fields}
    is_long = len(fields[0]) >= _SHAPED and not any(map(str.isspace, fields[0]))
    are_different = len(set(fields)) == len(fields)
    return is_long and are_different and len(forms) == 1 and all(map(_has_digit, fields))


def _has_digit(field: str) -> bool:
    return any(map(str.isdigit, field))


def _are_labels(fields: list[str]) -> bool:
    """Are they a few words that come again and again, the one beside the quotes among them?"""
    different = set(fields)
    return all(different) and len(different) * 3 <= len(fields)

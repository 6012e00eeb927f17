"""JSON Lines manifests: one object per line; numbers keep the digits they were written with. Pure.

A list or an object within a row is text like everything else: its JSON, on one line.
"""

from collections.abc import Generator
from itertools import islice
from typing import Any, BinaryIO, NamedTuple, TypeAlias

from portal.packages.manifest.blanks import Numbering
from portal.packages.manifest.json_values import Malformed, object_of, refuse_half_characters, shown
from portal.packages.manifest.lines import Lines, LineTooLong, lines_of, too_long
from portal.packages.manifest.reading import RAW, BadRow, Reading, Row, Rows, UnableToRead, checked_columns

LOOKED_AT = 100
"""Rows whose keys make the columns that a prompt can use."""


class Record(NamedTuple):
    """One line's object, the line it stands in and how it was written."""

    number: int
    found: dict[str, Any]
    line: int
    raw: str

    def bad(self, code: str, **detail: Any) -> BadRow:
        """The row that this record becomes when it cannot be used."""
        return BadRow(self.number, code, {"line": self.line, **detail}, {RAW: self.raw})


Records: TypeAlias = Generator[Record | BadRow, None, None]


def describe(stream: BinaryIO, encoding: str, certainty: str) -> Reading:
    """The reading of a JSON Lines file, its columns those of the first rows together."""
    found = Reading("jsonl", encoding, certainty=certainty)
    looked_at = list(islice(rows(stream, found), LOOKED_AT))
    if not looked_at:
        raise UnableToRead("empty_file")
    names = [name for row in looked_at if isinstance(row, Row) for name in row.values]
    if not names:
        raise UnableToRead("no_object")
    return Reading("jsonl", encoding, columns=_columns(names), certainty=certainty)


def _columns(names: list[str]) -> tuple[str, ...]:
    different = list(dict.fromkeys(names))
    columns = checked_columns(different)
    for name, column in zip(different, columns, strict=True):
        if name != column:  # a key with spaces around it could not be named in a prompt
            raise UnableToRead("padded_key" if name != name.strip() else "unusable_column", column=name)
    return columns


def rows(stream: BinaryIO, reading: Reading) -> Rows:
    """See ``portal.packages.manifest.rows``. A row has all columns and whatever further keys its object has."""
    absent = dict.fromkeys(reading.columns, "")
    for record in records(stream, reading.encoding):
        yield record if isinstance(record, BadRow) else _row(record, absent)


def records(stream: BinaryIO, encoding: str) -> Records:
    """Every line's object, numbered as rows are; a line that is none is a bad row."""
    numbering = Numbering()
    with lines_of(stream, encoding) as lines:
        while (line := _next(lines)) is not None:
            if isinstance(line, BadRow):
                yield from numbering.released()
                yield line._replace(number=numbering.next())
                continue
            if not line.strip():
                numbering.blank(lines.first)
                continue
            yield from numbering.released()
            yield _record(numbering.next(), line, lines)


def _next(lines: Lines) -> str | BadRow | None:
    lines.begin()
    try:
        return next(lines, None)
    except LineTooLong:
        return too_long(lines)


def _record(number: int, line: str, lines: Lines) -> Record | BadRow:
    try:
        return Record(number, object_of(line), lines.first, lines.raw)
    except Malformed:
        return BadRow(number, "malformed_row", {"line": lines.first}, {RAW: lines.raw})


def _row(record: Record, absent: dict[str, str]) -> Row | BadRow:
    values = {**absent, **{key: shown(value) for key, value in record.found.items()}}
    try:
        refuse_half_characters(values)
    except Malformed:
        return record.bad("malformed_row")
    if not any(value.strip() for value in values.values()):
        return BadRow(record.number, "empty_row", {"line": record.line}, {})
    return Row(record.number, values)

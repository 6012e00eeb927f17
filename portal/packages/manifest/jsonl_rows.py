"""JSON Lines manifests: one object per line; numbers keep the digits they were written with. Pure.

A list or an object within a row is text like everything else: its JSON, on one line.
"""

from collections.abc import Generator, Sequence
from typing import Any, BinaryIO, NamedTuple, TypeAlias

from portal.packages.manifest.blanks import Numbering
from portal.packages.manifest.decoding import MARK
from portal.packages.manifest.json_values import Malformed, object_of, refuse_no_text, shown
from portal.packages.manifest.lines import CutLine, Lines, too_long
from portal.packages.manifest.reading import RAW, RAW_KEPT, BadRow, Reading, Row, Rows, UnableToRead, checked_columns

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
        return BadRow(self.number, code, {"line": self.line, **detail}, {RAW: self.raw[:RAW_KEPT].rstrip("\r\n")})

    def malformed(self, error: Malformed) -> BadRow:
        """The row that this record becomes when what it says is no text."""
        return self.bad("malformed_row", **_told(error))


def _told(error: Malformed) -> dict[str, str]:
    return {"problem": error.problem, **error.facts} if error.problem else {}


Records: TypeAlias = Generator[Record | BadRow, None, None]


def describe(looked_at: Sequence[Record | BadRow], encoding: str, certainty: str) -> Reading:
    """The reading of a JSON Lines file, its columns those of the first rows together."""
    if not looked_at:
        raise UnableToRead("empty_file")
    found = [_row(record, {}) for record in looked_at if isinstance(record, Record)]
    names = [name for row in found if isinstance(row, Row) for name in row.values]
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
    numbering, lines = Numbering(), Lines(stream, encoding)
    for line in lines.ahead():
        if line.strip():
            if numbering.held:
                yield from numbering.released()
            yield _record(numbering.next(), line, lines)
        elif not lines.is_second_half():
            numbering.blank(lines.first)
        lines.first += 1


def _record(number: int, line: str, lines: Lines) -> Record | BadRow:
    if lines.is_suspect and (bad := _spoiled(line, lines)):
        return bad._replace(number=number)
    try:
        return Record(number, object_of(line), lines.first, line)
    except Malformed as error:
        return BadRow(number, "malformed_row", {"line": lines.first, **_told(error)}, {RAW: lines.raw(lines.first)})


def _spoiled(line: str, lines: Lines) -> BadRow | None:
    """The bad row that a line becomes which is cut, or holds what is no text."""
    if type(line) is CutLine:
        return too_long(lines)
    raw, place = {RAW: lines.raw(lines.first)}, {"line": lines.first}
    if MARK in line:
        return BadRow(0, "undecodable", {"problem": "undecodable_line", **place}, raw)
    if "\0" in line:
        return BadRow(0, "malformed_row", {"problem": "nul_line", **place}, raw)
    return None


def _row(record: Record, absent: dict[str, str]) -> Row | BadRow:
    values = absent.copy()
    for key, value in record.found.items():
        values[key] = value if type(value) is str else shown(value)
    try:
        refuse_no_text(values, record.raw)
    except Malformed as error:
        return record.malformed(error)
    if not any(map(str.strip, values.values())):
        return BadRow(record.number, "empty_row", {"line": record.line}, {})
    return Row(record.number, values)

"""CSV manifests, by the standard library's reader in its strict mode. Pure."""

import csv
from dataclasses import replace
from typing import TYPE_CHECKING, BinaryIO

from portal.packages.manifest.blanks import Numbering
from portal.packages.manifest.lines import Lines, lines_of
from portal.packages.manifest.reading import MAX_FIELD, RAW, BadRow, Reading, Row, Rows, UnableToRead, checked_columns

if TYPE_CHECKING:
    from _csv import Reader

csv.field_size_limit(MAX_FIELD)  # holds for the whole process; an unclosed quote must not swallow a file into memory


def describe(stream: BinaryIO, reading: Reading) -> Reading:
    """``reading`` with the columns of the heading; raises :class:`UnableToRead` without heading or rows."""
    with lines_of(stream, reading.encoding) as lines:
        described = replace(reading, columns=checked_columns(_heading(_reader(lines, reading), lines)))
    for _row in rows(stream, described):
        return described
    raise UnableToRead("no_rows")


def rows(stream: BinaryIO, reading: Reading) -> Rows:
    """See ``portal.packages.manifest.rows``."""
    numbering = Numbering()
    with lines_of(stream, reading.encoding) as lines:
        reader = _reader(lines, reading)
        _heading(reader, lines)
        while (fields := _record(reader, lines)) is not None:
            if fields == []:
                numbering.blank(lines.first)
                continue
            yield from numbering.released()
            if isinstance(fields, list):
                yield _row(numbering.next(), fields, reading, lines)
            else:
                yield fields._replace(number=numbering.next())


def _reader(lines: Lines, reading: Reading) -> "Reader":
    return csv.reader(lines, delimiter=reading.delimiter, strict=True)


def _heading(reader: "Reader", lines: Lines) -> list[str]:
    while (fields := _record(reader, lines)) is not None:
        if isinstance(fields, BadRow):
            raise UnableToRead("no_heading")
        if fields:
            return fields
    raise UnableToRead("empty_file")


def _record(reader: "Reader", lines: Lines) -> list[str] | BadRow | None:
    """The next record's fields, ``[]`` for a blank line, a bad row still without its number, ``None`` at the end."""
    lines.begin()
    try:
        return next(reader)
    except StopIteration:
        return None
    except csv.Error as error:
        return _unreadable(lines, error)


def _unreadable(lines: Lines, error: csv.Error) -> BadRow:
    size = sum(map(len, lines.record))
    if lines.ended or (len(lines.record) > 1 and size > MAX_FIELD):
        raise UnableToRead("unclosed_quote", line=lines.first) from error
    if size > MAX_FIELD:
        detail = {"problem": "field_too_long", "line": lines.first, "limit": MAX_FIELD}
    else:
        detail = {"line": lines.first}
    return BadRow(0, "malformed_row", detail, {RAW: lines.raw})


def _row(number: int, fields: list[str], reading: Reading, lines: Lines) -> Row | BadRow:
    columns = reading.columns
    if len(fields) == len(columns):
        if any(field and not field.isspace() for field in fields):
            return Row(number, dict(zip(columns, fields, strict=True)))
        return BadRow(number, "empty_row", {"line": lines.first}, {})
    values = dict(zip(columns, fields, strict=False))
    if len(fields) > len(columns):
        values[RAW] = reading.delimiter.join(fields[len(columns) :])
    detail = {"fields": len(fields), "expected": len(columns), "line": lines.first}
    return BadRow(number, "ragged_row", detail, values)

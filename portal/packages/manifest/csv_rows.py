"""CSV manifests, by the standard library's reader in its strict mode. Pure."""

import csv
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any, BinaryIO

from portal.packages.manifest.blanks import Numbering
from portal.packages.manifest.lines import Lines, LineTooLong, lines_of, too_long
from portal.packages.manifest.reading import (
    MAX_FIELD,
    MAX_LINE,
    RAW,
    BadRow,
    Reading,
    Row,
    Rows,
    UnableToRead,
    checked_columns,
)

if TYPE_CHECKING:
    from _csv import Reader

csv.field_size_limit(MAX_FIELD)  # holds for the whole process; an unclosed quote must not swallow a file into memory

SUSPECT_LINES = 100
"""A field with more lines is looked at: is it a long text, or did a stray quotation mark swallow rows?"""
SUSPECT_LINES_ALONE = 1_000
"""The same where rows have one column, so that any line of a text looks like a row."""
SWALLOWED_SHARE = 0.8


def describe(stream: BinaryIO, reading: Reading) -> Reading:
    """``reading`` with the columns of the heading; raises :class:`UnableToRead` without heading or rows."""
    with lines_of(stream, reading.encoding) as lines:
        reader = _reader(lines, reading)
        first = _first_fields(reader, lines, reading)
        if not reading.has_heading:
            return replace(reading, columns=_numbered(len(first)))
        described = replace(reading, columns=checked_columns(first))
        for _row in _rows(reader, lines, described):
            return described
    raise UnableToRead("no_rows")


def rows(stream: BinaryIO, reading: Reading) -> Rows:
    """See ``portal.packages.manifest.rows``."""
    with lines_of(stream, reading.encoding) as lines:
        reader = _reader(lines, reading)
        first = _first_fields(reader, lines, reading)
        if not reading.has_heading:
            yield from _rows(reader, lines, reading, first)
        else:
            yield from _rows(reader, lines, reading)


def _numbered(width: int) -> tuple[str, ...]:
    """Names for the columns of a file that has no heading."""
    return checked_columns([f"column_{position}" for position in range(1, width + 1)])


def _rows(reader: "Reader", lines: Lines, reading: Reading, first: list[str] | None = None) -> Rows:
    numbering = Numbering()
    if first is not None:
        yield _row(numbering.next(), first, reading, lines)
    while (fields := _record(reader, lines, reading)) is not None:
        if fields == []:
            numbering.blank(lines.first)
            continue
        yield from numbering.released()
        if isinstance(fields, list):
            yield _row(numbering.next(), fields, reading, lines)
        else:
            yield fields._replace(number=numbering.next())


def _reader(lines: Lines, reading: Reading) -> "Reader":
    if not reading.quote:
        return csv.reader(lines, delimiter=reading.delimiter, quoting=csv.QUOTE_NONE, strict=True)
    return csv.reader(lines, delimiter=reading.delimiter, quotechar=reading.quote, strict=True)


def _first_fields(reader: "Reader", lines: Lines, reading: Reading) -> list[str]:
    while fields := _fields_above_rows(reader, lines):
        if lines.raw.strip('"').casefold() != f"sep={reading.delimiter}":  # a note to Excel, no heading
            return fields
    raise UnableToRead("empty_file")


def _fields_above_rows(reader: "Reader", lines: Lines) -> list[str] | None:
    """The next fields that there are; a heading has no rows to compare with, so it must be right itself."""
    fields: list[str] = []
    while not fields:
        lines.begin()
        try:
            fields = next(reader)
        except StopIteration:
            return None
        except LineTooLong as error:
            raise UnableToRead("line_too_long", line=lines.count, limit=MAX_LINE) from error
        except csv.Error as error:
            is_open = lines.ended or len(lines.record) > 1
            raise UnableToRead("unclosed_quote" if is_open else "no_heading", line=lines.first) from error
    return fields


def _record(reader: "Reader", lines: Lines, reading: Reading) -> list[str] | BadRow | None:
    """The next record's fields, ``[]`` for a blank line, a bad row still without its number, ``None`` at the end."""
    lines.begin()
    try:
        fields = next(reader)
    except StopIteration:
        return None
    except LineTooLong:
        return _too_long(lines)
    except csv.Error:
        return _unreadable(lines, reading)
    is_suspect = len(lines.record) > SUSPECT_LINES or len(fields) != len(reading.columns)
    if is_suspect and _has_swallowed_rows(lines.record, reading):
        return _first_alone(lines)
    return fields


def _too_long(lines: Lines) -> BadRow:
    if len(lines.record) == 1:
        return too_long(lines)
    return _first_alone(lines)


def _unreadable(lines: Lines, reading: Reading) -> BadRow:
    if sum(map(len, lines.record)) <= MAX_FIELD:
        return _first_alone(lines)
    if len(lines.record) > 1 and _has_swallowed_rows(lines.record, reading):
        return _first_alone(lines)
    detail = {"problem": "field_too_long", "line": lines.first, "limit": MAX_FIELD}
    raw = lines.raw
    _skip_to_close(lines, reading.quote)
    return BadRow(0, "malformed_row", detail, {RAW: raw})


def _first_alone(lines: Lines) -> BadRow:
    """The first line of the record as a bad row. What follows is read anew: it may be rows that a quote swallowed."""
    detail: dict[str, Any] = {"line": lines.first}
    if len(lines.record) > 1 or lines.ended:
        detail["problem"] = "stray_quote"
    lines.give_back()
    return BadRow(0, "malformed_row", detail, {RAW: lines.raw})


def _has_swallowed_rows(record: list[str], reading: Reading) -> bool:
    """Are most lines after the first whole rows by themselves? Text that merely has many lines does not look so."""
    width = len(reading.columns)
    if width == 1:
        return len(record) > SUSPECT_LINES_ALONE
    whole = sum(line.count(reading.delimiter) == width - 1 for line in record[1:-1])
    return whole > SWALLOWED_SHARE * len(record[1:-1])


def _skip_to_close(lines: Lines, quote: str) -> None:
    """Read on to where the quotation mark of a field that is too long is closed; nothing more of it is kept."""
    first = lines.first
    is_open = sum(line.count(quote) for line in lines.record) % 2 == 1
    while is_open:
        lines.begin()
        with suppress(LineTooLong):
            is_open = next(lines, quote).count(quote) % 2 == 0
        if lines.ended:
            raise UnableToRead("unclosed_quote", line=first)


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

"""CSV manifests, by the standard library's reader in its strict mode. Pure.

Rows that are as they should be take the shortest way; only for others is it looked up of which lines they were made.
"""

import csv
import re
from collections.abc import Generator, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any, BinaryIO

from portal.packages.manifest.blanks import Numbering
from portal.packages.manifest.lines import CutLine, Lines, RecordTooLong, too_long
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
from portal.packages.manifest.spoiled import spoiled
from portal.packages.manifest.swallowed import FEW_LINES, has_swallowed_rows

if TYPE_CHECKING:
    from _csv import Reader

csv.field_size_limit(MAX_FIELD)  # holds for the whole process; an unclosed quote must not swallow a file into memory

_NOTE = re.compile(r"""(?P<around>"?)sep=(?P<delimiter>[^"'\r\n\0])(?P=around)""", re.IGNORECASE)
_NEVER = "\udcfe"
"""Delimits a file of one column: half a surrogate pair that no decoding yields."""


def describe(stream: BinaryIO, reading: Reading) -> Reading:
    """``reading`` with the columns of the heading; raises :class:`UnableToRead` without heading or rows."""
    file = _File(stream, reading)
    first = file.first_fields()
    if not reading.has_heading:
        columns = checked_columns([f"column_{at}" for at in range(1, len(first) + 1)])
        return replace(reading, columns=columns, first_line=file.first_at)
    columns = checked_columns(first)
    file.reading = replace(reading, columns=columns, first_line=file.first_at)
    for _row in file.rows(first):
        return file.reading
    raise UnableToRead("no_rows")


def rows(stream: BinaryIO, reading: Reading) -> Rows:
    """See ``portal.packages.manifest.rows``."""
    file = _File(stream, reading)
    first = file.first_fields()
    if not reading.has_heading:
        file.back_to_first()
        first = []
    yield from file.rows(first)


def noted_delimiter(line: str) -> str:
    """The delimiter that a line such as ``sep=;`` tells Excel, and nothing for any other line."""
    noted = _NOTE.fullmatch(line.rstrip("\r\n"))
    return noted["delimiter"] if noted else ""


def parsed(lines: Iterator[str], reading: Reading) -> "Reader":
    """The standard library's reader for ``lines`` that are written as ``reading`` says."""
    delimiter = reading.delimiter or _NEVER
    if not reading.quote:
        return csv.reader(lines, delimiter=delimiter, quoting=csv.QUOTE_NONE, strict=True)
    return csv.reader(lines, delimiter=delimiter, quotechar=reading.quote, strict=True)


class _File:
    """One pass over a file. ``last`` is the line where the record that was just read ends."""

    def __init__(self, stream: BinaryIO, reading: Reading) -> None:
        self.reading = reading
        self._lines = Lines(stream, reading.encoding)
        self._numbering = Numbering()
        self.first_at = 1
        """The line of the heading, or of the first row where there is none."""
        self._begin()

    def _begin(self) -> None:
        """Read on from the line where the current record begins."""
        self._lines.ended = False
        self._before = self._lines.first - 1
        self._reader = parsed(self._lines.ahead(), self.reading)

    @property
    def _last(self) -> int:
        return self._before + self._reader.line_num

    def first_fields(self) -> list[str]:
        """The fields of the first line that has some; a heading must be right itself, it has no rows beside it."""
        while (fields := self._fields_above_rows()) is not None:
            self.first_at, raw = self._lines.first, self._lines.raw(self._last)
            self._lines.first = self._last + 1
            if not _is_blank(fields) and not noted_delimiter(raw):  # a note to Excel is no heading
                return fields
        raise UnableToRead("empty_file")

    def _fields_above_rows(self) -> list[str] | None:
        lines = self._lines
        try:
            fields = next(self._reader, None)
        except (csv.Error, RecordTooLong) as error:
            is_open = lines.ended or self._last > lines.first
            raise UnableToRead("unclosed_quote" if is_open else "no_heading", line=lines.first) from error
        if lines.is_suspect and any(type(line) is CutLine for line in lines.record(self._last)):
            raise UnableToRead("line_too_long", line=lines.first, limit=MAX_LINE)
        return fields

    def back_to_first(self) -> None:
        """The line that was taken for a heading is a row."""
        self._lines.first = self.first_at
        self._begin()

    def rows(self, heading: list[str]) -> Rows:
        """The rows from here on, those like ``heading`` set aside."""
        while not (yield from self._run(heading)):
            self._begin()

    def _run(self, heading: list[str]) -> Generator[Row | BadRow, None, bool]:
        """Rows until the file is over (True), or lines that were read have to be read once more in another way."""
        lines, numbering, columns = self._lines, self._numbering, self.reading.columns
        width, heading_start = len(columns), heading[0] if len(heading) > 1 else None
        try:
            for fields in self._reader:
                last = self._last
                if (
                    len(fields) == width
                    and (start := fields[0])
                    and start != heading_start
                    and not start.isspace()
                    and not lines.is_suspect
                    and (last - lines.first < FEW_LINES - 1 or not self._has_swallowed(last))
                ):
                    if numbering.held:
                        yield from numbering.released()
                    yield Row(numbering.next(), dict(zip(columns, fields, strict=True)))
                    lines.first = last + 1
                    continue
                found = self._looked_at(fields, last, heading)
                if found is not None:
                    yield from self._numbered(found)
                if lines.first <= last:  # not all lines of the record were used
                    return False
        except (csv.Error, RecordTooLong):
            yield from self._numbered(self._unreadable())
            return False
        return True

    def _numbered(self, found: Row | BadRow) -> Rows:
        yield from self._numbering.released()
        yield found._replace(number=self._numbering.next())

    def _looked_at(self, fields: list[str], last: int, heading: list[str]) -> Row | BadRow | None:
        """The row that a record is, still without its number, or ``None`` for a blank one."""
        lines, record, first = self._lines, self._lines.record(last), self._lines.first
        if lines.is_suspect and any(type(line) is CutLine for line in record):
            return self._first_alone(last)
        width, is_blank = len(self.reading.columns), _is_blank(fields)
        is_odd = bool(fields) and len(fields) != width
        if last > first and self._has_swallowed(last, is_odd=is_odd):
            return self._first_alone(last)
        if is_blank and not lines.is_second_half():
            self._numbering.blank(first)
        lines.first = last + 1
        if is_blank:
            return None
        row = _row(fields, heading, self.reading, first)
        return spoiled(row, first) if lines.is_suspect else row

    def _has_swallowed(self, last: int, *, is_odd: bool = False) -> bool:
        """Are the lines of the current record rows that a stray quotation mark made into one?"""
        return has_swallowed_rows(self._lines.record(last), self.reading, len(self.reading.columns), is_odd=is_odd)

    def _unreadable(self) -> BadRow:
        """What the reader could not take, as a bad row."""
        lines, last = self._lines, self._last
        record = lines.record(last)
        is_long = sum(map(len, record)) > MAX_FIELD
        if not is_long or self._has_swallowed(last, is_odd=True):
            return self._first_alone(last)
        detail = {"problem": "field_too_long", "line": lines.first, "limit": MAX_FIELD}
        bad = BadRow(0, "malformed_row", detail, {RAW: lines.raw(last)})
        self._skip_to_close(record, last)
        return bad

    def _first_alone(self, last: int) -> BadRow:
        """The first line of the record as a bad row. What follows is read anew: a quote may have swallowed rows."""
        lines = self._lines
        if type(lines.record(lines.first)[0]) is CutLine:
            bad = too_long(lines)
            lines.first += 1
            return bad
        detail: dict[str, Any] = {"line": lines.first}
        if last > lines.first or lines.ended:
            detail["problem"] = "stray_quote"
        bad = BadRow(0, "malformed_row", detail, {RAW: lines.raw(lines.first)})
        lines.first += 1
        return bad

    def _skip_to_close(self, record: list[str], last: int) -> None:
        """Read on to where the quotation mark of a field that is too long is closed; nothing more of it is kept."""
        lines, quote, began = self._lines, self.reading.quote, self._lines.first
        is_open = bool(quote) and sum(line.count(quote) for line in record) % 2 == 1
        lines.first = last + 1
        ahead = lines.ahead()
        while is_open:
            line = next(ahead, None)
            if line is None:
                raise UnableToRead("unclosed_quote", line=began)
            lines.first += 1
            is_open = line.count(quote) % 2 == 0


def _is_blank(fields: list[str]) -> bool:
    """Is it a line with nothing in it, or spaces alone? (One with delimiters is a row that was left empty.)"""
    return not fields or (len(fields) == 1 and not fields[0].strip())


def _row(fields: list[str], heading: list[str], reading: Reading, line: int) -> Row | BadRow:
    columns = reading.columns
    values = dict(zip(columns, fields, strict=False))
    if len(heading) > 1 and fields == heading:
        return BadRow(0, "repeated_heading", {"line": line}, values)
    if len(fields) == len(columns):
        if any(field and not field.isspace() for field in fields):
            return Row(0, values)
        return BadRow(0, "empty_row", {"line": line}, {})
    if len(fields) > len(columns):
        values[RAW] = reading.delimiter.join(fields[len(columns) :])
    return BadRow(0, "ragged_row", {"fields": len(fields), "expected": len(columns), "line": line}, values)

"""Excel manifests: the first sheet, read as a stream by openpyxl with defusedxml; cells as Excel shows them. Pure."""

import re
import warnings
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date, datetime, time, timedelta
from decimal import ROUND_HALF_UP, Decimal
from typing import Any, BinaryIO
from xml.etree.ElementTree import ParseError

import openpyxl

from portal.packages.manifest.blanks import Numbering
from portal.packages.manifest.reading import MAX_FIELD, RAW, BadRow, Reading, Row, Rows, UnableToRead, checked_columns

BLANK_RUN = 1_000
"""So many blank rows in a run are the end of the sheet, whatever size it claims."""
MOST_STRINGS_BYTES = 256 * 1024**2
"""openpyxl holds the table of shared strings in memory."""
MOST_UNPACKED_BYTES = 4 * 1024**3

_DAMAGED = (
    zipfile.BadZipFile, zlib.error, ParseError, KeyError, ValueError, TypeError, IndexError, AttributeError, EOFError,
)  # fmt: skip

assert openpyxl.DEFUSEDXML, "openpyxl must find defusedxml"


def describe(stream: BinaryIO) -> Reading:
    """The reading of a workbook; raises :class:`UnableToRead` without a heading or rows."""
    with _cells(stream) as sheet:
        heading = next((cells for _, cells in sheet if any(cells)), None)
    if heading is None:
        raise UnableToRead("no_sheet")
    reading = Reading("xlsx", columns=checked_columns(_trimmed(heading)), certainty="declared")
    for _row in rows(stream, reading):
        return reading
    raise UnableToRead("no_rows")


def rows(stream: BinaryIO, reading: Reading) -> Rows:
    """See ``portal.packages.manifest.rows``."""
    numbering = Numbering()
    in_heading = True
    with _cells(stream) as sheet:
        for line, cells in sheet:
            if not any(cells):
                numbering.blank(line)
                if numbering.held >= BLANK_RUN:
                    return
            elif in_heading:
                in_heading = False
                numbering = Numbering()
            else:
                yield from numbering.released()
                yield _row(numbering.next(), line, cells, reading.columns)


def _trimmed(cells: list[str]) -> list[str]:
    width = max(position for position, text in enumerate(cells, start=1) if text)
    return cells[:width]


def _row(number: int, line: int, cells: list[str], columns: tuple[str, ...]) -> Row | BadRow:
    fields = _trimmed(cells)
    values = dict(zip(columns, fields + [""] * (len(columns) - len(fields)), strict=False))
    if len(fields) > len(columns):
        detail = {"fields": len(fields), "expected": len(columns), "line": line}
        return BadRow(number, "ragged_row", detail, {**values, RAW: "\t".join(fields[len(columns) :])})
    if any(len(text) > MAX_FIELD for text in fields):
        return BadRow(number, "malformed_row", {"problem": "field_too_long", "line": line, "limit": MAX_FIELD}, {})
    return Row(number, values)


@contextmanager
def _cells(stream: BinaryIO) -> Iterator[Iterator[tuple[int, list[str]]]]:
    """The rows of the first sheet as (number in the sheet, texts)."""
    stream.seek(0)
    try:
        _refuse_too_large(stream)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            book = openpyxl.load_workbook(stream, read_only=True, data_only=True, keep_links=False)
    except _DAMAGED as error:
        if isinstance(error, UnableToRead):
            raise
        raise UnableToRead("broken_workbook") from error
    try:
        yield _texts(book)
    finally:
        book._archive.fp = None  # type: ignore[attr-defined]  # closing the workbook must leave the stream open
        book.close()


def _refuse_too_large(stream: BinaryIO) -> None:
    with zipfile.ZipFile(stream) as archive:
        sizes: dict[str, int] = {str(info.filename): info.file_size for info in archive.infolist()}
    if sizes.get("xl/sharedStrings.xml", 0) > MOST_STRINGS_BYTES or sum(sizes.values()) > MOST_UNPACKED_BYTES:
        raise UnableToRead("workbook_too_large")


def _texts(book: Any) -> Iterator[tuple[int, list[str]]]:
    if not book.worksheets:
        raise UnableToRead("no_sheet")
    sheet = book.worksheets[0]
    try:
        sheet.reset_dimensions()  # what a sheet says of its size is often wrong
        for line, cells in enumerate(sheet.iter_rows(), start=1):
            yield line, [shown(cell.value, cell.number_format) if cell.value is not None else "" for cell in cells]
    except _DAMAGED as error:
        raise UnableToRead("broken_workbook") from error


def shown(value: Any, number_format: str) -> str:
    """A cell's value as text: numbers as their format shows them (without grouping), dates in ISO 8601."""
    match value:
        case str():
            return value
        case bool():
            return "TRUE" if value else "FALSE"
        case int() | float():
            return _number(value, number_format)
        case datetime():
            has_time = value.time() != time() or "h" in number_format.lower()
            return value.isoformat(sep=" ", timespec="seconds") if has_time else value.date().isoformat()
        case date() | time():
            return value.isoformat()
        case timedelta():
            return str(value)
    return str(value)


_PLAIN = re.compile(r"^[#,]*(?P<zeros>0+)(?:\.(?P<places>0+))?(?P<percent>%)?$")


def _number(value: float, number_format: str) -> str:
    """Formats such as ``0.00``, ``#,##0``, ``00000`` and ``0.0%`` are followed, others shown with all digits."""
    layout = _PLAIN.match(number_format.partition(";")[0])
    if layout is None:
        return _general(value)
    places = len(layout["places"] or "")
    exact = Decimal(_general(value)) * (100 if layout["percent"] else 1)
    rounded = exact.quantize(Decimal(1).scaleb(-places), ROUND_HALF_UP)
    width = len(layout["zeros"]) + (places + 1 if places else 0)
    digits = f"{abs(rounded):f}".zfill(width)
    return f"{'-' if rounded < 0 else ''}{digits}{layout['percent'] or ''}"


def _general(value: float) -> str:
    """Up to 15 significant digits, as many as Excel keeps, never in exponent form."""
    return str(value) if isinstance(value, int) else f"{Decimal(format(value, '.15g')):f}"

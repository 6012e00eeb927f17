"""OpenDocument manifests (.ods): one sheet, read as a stream; cells as they are shown. Pure."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Context, Decimal, InvalidOperation
from typing import BinaryIO, Final
from zipfile import ZipFile

from portal.packages.manifest import tables
from portal.packages.manifest.archives import opened, part_of
from portal.packages.manifest.damage import damage_told
from portal.packages.manifest.merged import Range, without_merges
from portal.packages.manifest.ods_sheet import Cell, runs_of, sheets_of
from portal.packages.manifest.reading import AS_FOUND, Reading, Rows, UnableToRead, Wish
from portal.packages.manifest.sheet import is_mentioned
from portal.packages.manifest.tables import UnableToShow, line_of
from portal.packages.manifest.workbook import MOST_SHEET_BYTES

_CONTENT: Final = "content.xml"
_LISTED: Final = "META-INF/manifest.xml"


@dataclass(frozen=True, slots=True)
class _Sheets:
    """The sheets that can be read, hidden ones last, and those among them that have cells."""

    names: tuple[str, ...]
    filled: tuple[str, ...]
    merged: dict[str, list[Range]]


def describe(stream: BinaryIO, wish: Wish = AS_FOUND) -> Reading:
    """The reading of the sheet that is wished, or of the first one with cells."""
    with damage_told("broken_table"), opened(stream) as archive:
        if _LISTED in archive.NameToInfo and is_mentioned(part_of(archive, _LISTED), b"encryption-data"):
            raise UnableToRead("locked_file")
        sheets = _sheets(archive)
        if wish.sheet and wish.sheet not in sheets.names:
            raise UnableToRead("unknown_sheet", sheet=wish.sheet[:255])
        if not sheets.filled:
            raise UnableToRead("no_sheet")
        sheet = wish.sheet or sheets.filled[0]
        chosen = {"sheet": "chosen"} if wish.sheet else {}
        plain = Reading("ods", certainty="declared", sheet=sheet, sheets=sheets.names, certainties=chosen)
        return tables.described(_lines(archive, sheet, sheets.merged.get(sheet, [])), wish, plain)


def rows(stream: BinaryIO, reading: Reading) -> Rows:
    """See ``portal.packages.manifest.rows``."""
    with damage_told("broken_table"), opened(stream) as archive:
        merged = _sheets(archive).merged.get(reading.sheet, []) if _has_ranges(archive) else []
        yield from tables.rows(_lines(archive, reading.sheet, merged), reading)


def _content(archive: ZipFile) -> BinaryIO:
    return part_of(archive, _CONTENT, MOST_SHEET_BYTES)  # type: ignore[return-value]


def _has_ranges(archive: ZipFile) -> bool:
    return is_mentioned(_content(archive), b"-spanned")


def _sheets(archive: ZipFile) -> _Sheets:
    found, hidden = sheets_of(_content(archive), has_ranges=_has_ranges(archive))
    found.sort(key=lambda sheet: sheet.style in hidden)
    filled = tuple(sheet.name for sheet in found if sheet.has_cells)
    return _Sheets(tuple(sheet.name for sheet in found), filled, {sheet.name: sheet.ranges for sheet in found})


def _lines(archive: ZipFile, sheet: str, merged: list[Range]) -> Iterator[tables.Line]:
    return without_merges(_with_texts(archive, sheet), merged)


def _with_texts(archive: ZipFile, sheet: str) -> Iterator[tables.Line]:
    for run in runs_of(_content(archive), sheet):
        line = line_of(run.first, run.cells, text_of)
        yield line
        for step in range(1, run.rows):
            yield line._replace(number=run.first + step)


def text_of(cell: Cell) -> str:
    """The text of ``cell``, as in Excel files: numbers without grouping, dates in ISO 8601."""
    match cell.kind:
        case "string":
            return cell.shown
        case "error":
            raise UnableToShow("formula_error", cell.shown[:20])
        case "boolean":
            return "TRUE" if cell.value == "true" else "FALSE"
        case "date":
            return _moment(cell.value)
        case "time":
            return _span(cell.value)
    return _number(cell.value, cell.shown)


_MOMENT: Final = re.compile(r"(-?\d{4,6}-\d\d-\d\d)(?:T(\d\d:\d\d:\d\d)(?:[.,]\d+)?)?Z?")
_SPAN: Final = re.compile(r"(-?)PT(\d{1,9})H(\d{1,2})M(\d{1,2})(?:[.,]\d+)?S")


def _moment(value: str) -> str:
    found = _MOMENT.fullmatch(value)
    if not found:
        raise UnableToShow
    return " ".join(part for part in found.groups() if part)


def _span(value: str) -> str:
    found = _SPAN.fullmatch(value)
    if not found:
        raise UnableToShow
    sign, *parts = found.groups()
    return sign + ":".join(part.zfill(2) for part in parts)


_EXACT: Final = Context(prec=400)
_DECIMALS: Final = re.compile(r"[.,](\d+)\D*$")


def _number(value: str, shown: str) -> str:
    """``value`` with the zeros and decimals that are shown; with all its digits where something else is shown."""
    number = _finite(value)
    exact = number * 100 if "%" in shown else number
    digits = re.sub(r"\D", "", shown) if shown.isascii() else ""
    decimals = _DECIMALS.search(shown)
    for places in [*([len(decimals[1])] if decimals else []), 0]:
        rounded = exact.quantize(Decimal(1).scaleb(-places), ROUND_HALF_UP, _EXACT).copy_abs()
        text = f"{rounded:f}".zfill(len(digits) + bool(places))
        if digits and text.replace(".", "") == digits:
            return f"{'-' if exact < 0 and rounded else ''}{text}{'%' if '%' in shown else ''}"
    return f"{Decimal(format(float(number), '.15g')):f}" if len(value) > 15 else _plain(number)


def _finite(value: str) -> Decimal:
    try:
        number = Decimal(value) if value.isascii() and len(value) < 400 and "_" not in value else Decimal("NaN")
    except InvalidOperation:
        raise UnableToShow from None
    if not number.is_finite() or abs(number.adjusted()) > 308:
        raise UnableToShow
    return number


def _plain(number: Decimal) -> str:
    text = f"{number:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text

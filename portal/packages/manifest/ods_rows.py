"""OpenDocument manifests (.ods): one sheet, read as a stream; cells as they are shown. Pure."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from decimal import ROUND_HALF_UP, Context, Decimal, InvalidOperation
from typing import BinaryIO, Final
from zipfile import ZipFile

from portal.packages.manifest import tables
from portal.packages.manifest.archives import opened, part_of
from portal.packages.manifest.damage import damage_told
from portal.packages.manifest.looking import MOST_LOOKED_THROUGH, Budget
from portal.packages.manifest.merged import Range, without_merges
from portal.packages.manifest.number_codes import grouped
from portal.packages.manifest.ods_sheet import Cell, beside, runs_of, sheets_of
from portal.packages.manifest.reading import AS_FOUND, Reading, Rows, UnableToRead, Wish
from portal.packages.manifest.sheet import is_mentioned
from portal.packages.manifest.tables import UnableToShow, line_of
from portal.packages.manifest.workbook import MOST_SHEET_BYTES
from portal.packages.manifest.xml_stream import Readable

_CONTENT: Final = "content.xml"
_LISTED: Final = "META-INF/manifest.xml"


@dataclass(frozen=True, slots=True)
class _Sheets:
    """The sheets that can be read, hidden ones last, and those with cells, in more than one row first."""

    names: tuple[str, ...]
    filled: tuple[str, ...]
    merged: dict[str, list[Range]]


def describe(stream: BinaryIO, wish: Wish = AS_FOUND) -> Reading:
    """The reading of the sheet that is wished, or of the first one with a heading and rows."""
    with damage_told("broken_table"), opened(stream) as archive:
        if _LISTED in archive.NameToInfo and is_mentioned(part_of(archive, _LISTED), b"encryption-data"):
            raise UnableToRead("locked_file")
        budget = Budget(MOST_LOOKED_THROUGH)
        sheets = _sheets(archive, budget, has_ranges=_has_ranges(archive))
        if wish.sheet and wish.sheet not in sheets.names:
            raise UnableToRead("unknown_sheet", sheet=wish.sheet[:255])
        chosen = {"sheet": "chosen"} if wish.sheet else {}
        plain = Reading("ods", certainty="declared", sheets=sheets.names, certainties=chosen)

        def read(sheet: str) -> Reading:
            lines = _with_texts(budget.counted(_content(archive)), sheet)
            lines = without_merges(lines, sheets.merged.get(sheet, []))
            return tables.described(lines, wish, replace(plain, sheet=sheet))

        return read(wish.sheet) if wish.sheet else tables.of_best_sheet(sheets.filled, read)


def rows(stream: BinaryIO, reading: Reading) -> Rows:
    """See ``portal.packages.manifest.rows``."""
    with damage_told("broken_table"), opened(stream) as archive:
        merged: list[Range] = []
        if _has_ranges(archive):
            merged = _sheets(archive, Budget(MOST_LOOKED_THROUGH), has_ranges=True).merged.get(reading.sheet, [])
        lines = _with_texts(_content(archive), reading.sheet)
        yield from tables.rows(without_merges(lines, merged), reading)


def _content(archive: ZipFile) -> BinaryIO:
    return part_of(archive, _CONTENT, MOST_SHEET_BYTES)  # type: ignore[return-value]


def _has_ranges(archive: ZipFile) -> bool:
    return is_mentioned(_content(archive), b"-spanned")


def _sheets(archive: ZipFile, budget: Budget, *, has_ranges: bool) -> _Sheets:
    found, hidden = sheets_of(budget.counted(_content(archive)), has_ranges=has_ranges)
    found.sort(key=lambda sheet: sheet.style in hidden)
    filled = tuple(sheet.name for size in (2, 1) for sheet in found if min(sheet.filled, 2) == size)
    return _Sheets(tuple(sheet.name for sheet in found), filled, {sheet.name: sheet.ranges for sheet in found})


def _with_texts(content: Readable, sheet: str) -> Iterator[tables.Line]:
    for run in runs_of(content, sheet):
        line = line_of(run.first, beside(run.cells), text_of)
        yield line
        for step in range(1, run.rows):
            yield line._replace(number=run.first + step)


def text_of(cell: Cell) -> str:
    """The text of ``cell``, as in Excel files: numbers as they are shown, dates in ISO 8601, their time if shown."""
    match cell.kind:
        case "string":
            return cell.shown
        case "error":
            raise UnableToShow("formula_error", cell.shown[:20])
        case "boolean":
            return "TRUE" if cell.value == "true" else "FALSE"
        case "date":
            return _moment(cell.value, cell.shown)
        case "time":
            return _span(cell.value)
    return _number(cell.value, cell.shown)


_MOMENT: Final = re.compile(r"(-?\d{4,6}-\d\d-\d\d)(?:T(\d\d:\d\d:\d\d)(?:[.,]\d+)?)?Z?")
_SPAN: Final = re.compile(r"(-?)PT(\d{1,9})H(\d{1,2})M(\d{1,2})(?:[.,]\d+)?S")


_TIME: Final = re.compile(r"[:：时時点點h]", re.IGNORECASE)


def _moment(value: str, shown: str) -> str:
    found = _MOMENT.fullmatch(value)
    if not found:
        raise UnableToShow
    day, clock = found.groups()
    is_shown = bool(_TIME.search(shown)) or not any(sign.isdigit() for sign in shown)
    return f"{day} {clock}" if clock and is_shown else str(day)


def _span(value: str) -> str:
    found = _SPAN.fullmatch(value)
    if not found:
        raise UnableToShow
    sign, *parts = found.groups()
    return sign + ":".join(part.zfill(2) for part in parts)


_EXACT: Final = Context(prec=400)
_GROUPING: Final = " ,.'’\u00a0\u2009\u202f"
_SHOWN: Final = re.compile(rf"(?P<before>[^0-9]*)(?P<digits>[0-9](?:[0-9{_GROUPING}]*[0-9])?)(?P<after>[^0-9]*)")


def _number(value: str, shown: str) -> str:
    """``value`` as it is shown, if that is what it is, with a point and commas; with all its digits otherwise."""
    number = _finite(value)
    exact = number * 100 if "%" in shown else number
    found = _SHOWN.fullmatch(shown)
    if found and (digits := _as_shown(abs(exact), found["digits"])):
        before, after = found["before"], found["after"]
        has_sign = any(sign in before + after for sign in "-−(")
        return f"{'-' if exact < 0 and not has_sign and digits.strip('0.,') else ''}{before}{digits}{after}"
    if _is_id(number, shown):
        return shown
    return _plain(number if len(value) <= 15 or _is_whole(number) else Decimal(format(float(number), ".15g")))


def _is_id(number: Decimal, shown: str) -> bool:
    """Are these all digits of a whole number, with something among them, as in phone numbers?"""
    digits = re.sub(r"[^0-9]", "", shown)
    return bool(digits) and number >= 0 and len(digits) < 400 and int(digits) == number and not set(".,%") & set(shown)


def _as_shown(exact: Decimal, shown: str) -> str:
    """``exact`` with the digits of ``shown``, in which a point or a comma may mean either; ``""`` if it has others."""
    parts = re.split(rf"[{_GROUPING}]", shown)
    for places in [len(parts[-1]), 0] if len(parts) > 1 else [0]:
        rounded = exact.quantize(Decimal(1).scaleb(-places), ROUND_HALF_UP, _EXACT)
        text = f"{rounded:f}".zfill(len("".join(parts)) + bool(places))
        if text.replace(".", "") == "".join(parts):
            whole, _, decimals = text.partition(".")
            is_grouped = len(parts) > (2 if places else 1)
            return (grouped(whole) if is_grouped else whole) + (f".{decimals}" if places else "")
    return ""


def _finite(value: str) -> Decimal:
    try:
        number = Decimal(value) if value.isascii() and len(value) < 400 and "_" not in value else Decimal("NaN")
    except InvalidOperation:
        raise UnableToShow from None
    if not number.is_finite() or abs(number.adjusted()) > 308:
        raise UnableToShow
    return number


def _is_whole(number: Decimal) -> bool:
    """Is it a whole number, all digits of which are written, such as an id?"""
    _, _, exponent = number.as_tuple()
    return isinstance(exponent, int) and exponent <= 0 and number == number.to_integral_value(context=_EXACT)


def _plain(number: Decimal) -> str:
    text = f"{number:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text

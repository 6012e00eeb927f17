"""A cell as text, the way Excel shows it. Pure."""

import math
import re
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from functools import lru_cache
from typing import Any

from openpyxl.styles.numbers import is_date_format, is_timedelta_format
from openpyxl.utils.datetime import MAC_EPOCH, WINDOWS_EPOCH, from_excel, from_ISO8601

from portal.packages.manifest.number_codes import number_shown
from portal.packages.manifest.reading import UnableToRead
from portal.packages.manifest.shared_texts import unescaped
from portal.packages.manifest.sheet import Cell
from portal.packages.manifest.tables import UnableToShow, checked_text
from portal.packages.manifest.workbook import Book

_MOST_ERROR = 20
"""Characters of an error such as ``#DIV/0!`` that are repeated."""
_MOST_CODE = 255
"""Characters of a format, as many as Excel takes: of a longer one, some patterns find the end slowly."""
_WHOLE = re.compile(r"-?[0-9]{1,300}")
"""Excel itself writes up to 15 digits; of longer ids that other programs write, all are kept."""


def text_of(cell: Cell, book: Book) -> str:
    """The text of ``cell``; raises :class:`UnableToShow` for an error, or such as a date before 1900."""
    if cell.kind == "s":
        try:
            text = book.texts[int(cell.stored)]
        except UnableToRead:
            raise
        except (ValueError, LookupError) as error:
            raise UnableToShow from error
        return checked_text(text)
    if cell.kind in {"inlineStr", "str"}:
        return checked_text(unescaped(cell.stored))
    try:
        code = book.formats.code(cell.style)
    except ValueError as error:
        raise UnableToShow from error
    return value_of(cell.kind, cell.stored, code, is_mac=book.counts_from_1904)


def value_of(kind: str, stored: str, code: str, *, is_mac: bool) -> str:
    """The text of what is no text, by the letters of its type and its format code; raises :class:`UnableToShow`."""
    code = code if len(code) <= _MOST_CODE else "General"
    try:
        match kind:
            case "e":
                raise UnableToShow("formula_error", stored[:_MOST_ERROR])
            case "b":
                return shown(stored not in {"0", "false"}, "General")
            case "d":
                return shown(_moment(stored), code)
        return _number_of(stored, code, is_mac=is_mac)
    except UnableToShow:
        raise
    except (ValueError, ArithmeticError, LookupError, TypeError) as error:
        raise UnableToShow from error


def _moment(stored: str) -> Any:
    return from_ISO8601(stored)  # type: ignore[no-untyped-call]


def _number_of(stored: str, code: str, *, is_mac: bool) -> str:
    kind = _kind_of(code)
    if kind == "number" and code == "General" and _WHOLE.fullmatch(stored):
        return str(int(stored))
    value = int(stored) if _WHOLE.fullmatch(stored) else _float(stored)
    if kind == "number":
        return shown(value, code)
    epoch = MAC_EPOCH if is_mac else WINDOWS_EPOCH
    if kind == "date" and value < 0:
        raise UnableToShow
    return shown(from_excel(value, epoch, timedelta=kind == "span"), code)


def _float(stored: str) -> float:
    if not stored.isascii() or "_" in stored or not math.isfinite(value := float(stored)):
        raise UnableToShow
    return value


@lru_cache(maxsize=1024)
def _kind_of(code: str) -> str:
    if is_timedelta_format(code):
        return "span"
    return "date" if is_date_format(code) else "number"


def shown(value: Any, number_format: str) -> str:
    """A cell's value as text: numbers as their format shows them, dates in ISO 8601, their time if that is shown."""
    match value:
        case str():
            return value
        case bool():
            return "TRUE" if value else "FALSE"
        case int() | float():
            return _number(value, number_format)
        case datetime():
            has_time = _shows_time(number_format) if is_date_format(number_format) else value.time() != time()
            return value.isoformat(sep=" ", timespec="seconds") if has_time else value.date().isoformat()
        case date() | time():
            return value.isoformat()
        case timedelta():
            return _span(value, number_format)
    return str(value)


def _span(value: timedelta, number_format: str) -> str:
    """Elapsed time by its format's parts, such as ``[h]:mm:ss``, ``[h]:mm``, ``[mm]:ss`` and ``[ss]``."""
    seconds = round(abs(value).total_seconds())
    sign = "-" if value < timedelta() and seconds else ""
    layout = number_format.lower()
    minutes, left = divmod(seconds, 60)
    if "[s" in layout:
        return f"{sign}{seconds}"
    if "[m" in layout:
        return f"{sign}{minutes}:{left:02}" if "s" in layout else f"{sign}{minutes}"
    hours, minutes = divmod(minutes, 60)
    parts = [str(hours), *([f"{minutes:02}"] if "m" in layout else []), *([f"{left:02}"] if "s" in layout else [])]
    return sign + ":".join(parts)


_LITERALS = re.compile(r'"[^"]*"|\\.|\[\$[^\]]*\]|[_*].')


@lru_cache(maxsize=1024)
def _shows_time(code: str) -> bool:
    """Does a format of dates show hours or seconds? (Its ``m`` are months then, otherwise.)"""
    return any(letter in "hs" for letter in _LITERALS.sub("", code).lower())


def _number(value: float, number_format: str) -> str:
    """A number as its format shows it; with all its digits where that is ``General`` or beyond what is known here."""
    general = _general(value)
    if number_format == "General":
        return general
    text = number_shown(general, number_format)
    return general if text is None else text


def _general(value: float) -> str:
    """Up to 15 significant digits, as many as Excel keeps, never in exponent form."""
    return str(value) if isinstance(value, int) else f"{Decimal(format(value, '.15g')):f}"

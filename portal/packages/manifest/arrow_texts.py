"""Columns of Arrow as text, in the process that reads them (see ``foreign_child``). Pure.

A value that has no text becomes a fault of its own, ``[problem, what can be shown]``: one value never costs a file.
"""

import json
import re
from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime, timedelta, timezone, tzinfo
from decimal import Decimal
from itertools import islice
from typing import Any, Final, TypeAlias
from zoneinfo import ZoneInfo

import pyarrow as pa
import pyarrow.compute as pc

Fault: TypeAlias = list[str]
Cell: TypeAlias = str | Fault
Values: TypeAlias = list[Cell | None]
"""``None`` for nulls."""

_types = pa.types
_PER_SECOND: Final = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_OFFSET: Final = re.compile(r"([+-])(\d\d):?(\d\d)")
_DAY_S: Final = 86_400
_UNSHOWABLE: Final = (pa.ArrowException, ValueError, ArithmeticError, LookupError, TypeError)


def texts(array: Any) -> list[Cell]:
    """The values of a column, ``""`` for nulls."""
    array = _stored(array)
    try:
        values = _found(array)
    except MemoryError:
        raise
    except _UNSHOWABLE:
        values = [_one(array.slice(at, 1)) for at in range(len(array))]
    return ["" if value is None else value for value in values]


def _found(array: Any) -> Values:
    return _json(array) if _types.is_nested(array.type) else _values(array)


def _one(array: Any) -> Cell | None:
    try:
        return _found(array)[0]
    except MemoryError:
        raise
    except _UNSHOWABLE:
        return ["value_not_shown", ""]


def _stored(array: Any) -> Any:
    """``array`` without what its values are only wrapped in."""
    if _types.is_dictionary(array.type):
        return _stored(array.dictionary_decode())
    if isinstance(array.type, pa.BaseExtensionType) and not hasattr(array.type, "__uuid__"):
        return _stored(array.storage)
    return array


def _values(array: Any) -> Values:
    """The texts of values that have none within them."""
    kind = array.type
    if _is_string(kind):
        return _strings(array)
    if _types.is_floating(kind):
        return _each(_digits(array), _shortest)
    if _types.is_temporal(kind) and not _types.is_interval(kind):
        return _each(array.view(pa.int32() if kind.bit_width == 32 else pa.int64()).to_pylist(), _shown_time(kind))
    return _each(array.to_pylist(), _text)


def _is_string(kind: Any) -> bool:
    return bool(_types.is_string(kind) or _types.is_large_string(kind) or _types.is_string_view(kind))


def _is_bytes(kind: Any) -> bool:
    return bool(_types.is_binary(kind) or _types.is_large_binary(kind) or _types.is_fixed_size_binary(kind))


def _each(values: list[Any], text_of: Callable[[Any], Cell]) -> Values:
    return [None if value is None else text_of(value) for value in values]


def _strings(array: Any) -> Values:
    try:
        found: Values = array.to_pylist()
        return found
    except UnicodeDecodeError:
        return _each(array.cast(pa.large_binary()).to_pylist(), _string)


def _string(value: bytes) -> Cell:
    try:
        return value.decode()
    except UnicodeDecodeError:
        return ["undecodable", value.decode("utf-8", "replace")]


def _text(value: Any) -> Cell:
    """Any other value by what Python makes of it."""
    match value:
        case bool():
            return "TRUE" if value else "FALSE"
        case bytes():
            return _decoded(value)
        case Decimal():
            return f"{value:f}"
    return str(value)


def _decoded(value: bytes) -> Cell:
    """Older writers do not say which bytes are text; what is UTF-8 is taken for it."""
    try:
        text = value.decode()
    except UnicodeDecodeError:
        return ["binary_value", ""]
    return ["binary_value", ""] if "\0" in text else text


# --- numbers and times --------------------------------------------------------------------------------------------


def _digits(array: Any) -> list[Any]:
    """Floating-point numbers with as few digits as tell them apart."""
    if _types.is_float64(array.type):
        return _each(array.to_pylist(), repr)
    found: list[Any] = array.cast(pa.float32()).cast(pa.string()).to_pylist()
    return found


def _shortest(digits: str) -> str:
    """A number without exponent and without ``.0``; what is no number is nothing."""
    number = Decimal(digits)
    if number.is_nan():
        return ""
    text = f"{number:f}" if number.is_finite() else digits
    return text.rstrip("0").rstrip(".") if "." in text else text


def _shown_time(kind: Any) -> Callable[[int], Cell]:
    """How the stored numbers of a type of dates or times are shown; one that is out of range is a fault."""
    show = _time_of(kind)

    def shown(stored: int) -> Cell:
        try:
            return show(stored)
        except (ValueError, OverflowError):
            return ["value_not_shown", str(stored)]

    return shown


def _time_of(kind: Any) -> Callable[[int], str]:
    if _types.is_date32(kind):
        return _day
    if _types.is_date64(kind):
        return lambda stored: _day(stored // (_DAY_S * 1_000))
    if _types.is_timestamp(kind):
        zone = _zone(kind.tz)
        return lambda stored: _moment(stored, kind.unit, zone)
    if _types.is_duration(kind):
        return lambda stored: _span(stored, kind.unit)
    return lambda stored: _hour(stored, kind.unit)


def _day(days: int) -> str:
    return date.fromordinal(_EPOCH.toordinal() + days).isoformat()


def _zone(name: str | None) -> tzinfo | None:
    """The zone of that name; UTC where nobody knows it, which shows the same moment."""
    if not name:
        return None
    if offset := _OFFSET.fullmatch(name):
        minutes = int(offset[2]) * 60 + int(offset[3])
        return timezone(timedelta(minutes=-minutes if offset[1] == "-" else minutes)) if minutes < 1_440 else UTC
    try:
        return ZoneInfo(name)
    except (ValueError, LookupError, OSError):
        return UTC


def _moment(stored: int, unit: str, zone: tzinfo | None) -> str:
    seconds, part = divmod(stored, _PER_SECOND[unit])
    moment = _EPOCH + timedelta(seconds=seconds)
    moment = moment.astimezone(zone) if zone else moment.replace(tzinfo=None)
    text = moment.isoformat(sep=" ")
    return text[:19] + _fraction(part, unit) + text[19:]


def _hour(stored: int, unit: str) -> str:
    seconds, part = divmod(stored, _PER_SECOND[unit])
    if not 0 <= seconds < _DAY_S:
        raise ValueError(seconds)
    minutes, seconds = divmod(seconds, 60)
    return f"{minutes // 60:02}:{minutes % 60:02}:{seconds:02}{_fraction(part, unit)}"


def _span(stored: int, unit: str) -> str:
    seconds, part = divmod(stored, _PER_SECOND[unit])
    return f"{timedelta(seconds=seconds)}{_fraction(part, unit)}"


def _fraction(part: int, unit: str) -> str:
    """Parts of a second: none, microseconds, or nanoseconds."""
    digits = f"{part * (10**9 // _PER_SECOND[unit]):09}"
    return f".{digits.removesuffix('000')}" if part else ""


# --- values within values -----------------------------------------------------------------------------------------


def _json(array: Any) -> Values:
    """The JSON of each value; what is no number is null in it. The first fault within a value becomes its own."""
    array = _stored(array)
    kind = array.type
    if _types.is_map(kind):
        return _lists(array.cast(pa.list_(pa.struct([("k", kind.key_type), ("v", kind.item_type)]))), _pairs)
    if _types.is_struct(kind):
        return _objects(array)
    if _types.is_nested(kind):
        return _lists(array, _json)
    return _leaves(array)


def _lists(array: Any, inner: Callable[[Any], Values]) -> Values:
    within = iter(inner(pc.list_flatten(array)))
    sizes = pc.list_value_length(array).to_pylist()
    return [None if size is None else _joined("[", islice(within, size), "]") for size in sizes]


def _pairs(entries: Any) -> Values:
    keys, values = (_json(field) for field in entries.flatten())
    return [_joined("[", iter(pair), "]") for pair in zip(keys, values, strict=True)]


def _objects(array: Any) -> Values:
    names = [f"{json.dumps(field.name, ensure_ascii=False)}:" for field in array.type]
    rows = zip(*(_json(field) for field in array.flatten()), strict=True)
    there = array.is_valid().to_pylist()
    return [
        _joined("{", iter(row), "}", names) if is_there else None for is_there, row in zip(there, rows, strict=True)
    ]


def _joined(begin: str, parts: Iterator[Cell | None], end: str, names: list[str] | None = None) -> Cell:
    found = ["null" if part is None else part for part in parts]
    for part in found:
        if not isinstance(part, str):
            return part
    if names:
        found = [f"{name}{part}" for name, part in zip(names, found, strict=True)]
    return f"{begin}{','.join(found)}{end}"  # type: ignore[arg-type]  # no fault is left


def _leaves(array: Any) -> Values:
    kind = array.type
    if _is_bytes(kind):
        return _each(array.to_pylist(), _bytes_quoted)
    return _each(_values(array), _quoting(kind))


def _quoting(kind: Any) -> Callable[[Cell], Cell]:
    if _types.is_boolean(kind):
        return lambda said: said.lower() if isinstance(said, str) else said
    if _types.is_floating(kind):
        return lambda digits: "null" if digits in {"", "inf", "-inf"} else digits
    if _types.is_integer(kind) or _types.is_decimal(kind):
        return lambda digits: digits
    return lambda said: json.dumps(said, ensure_ascii=False) if isinstance(said, str) else said


def _bytes_quoted(value: bytes) -> str:
    text = _decoded(value)
    return json.dumps(text if isinstance(text, str) else value.hex(), ensure_ascii=False)

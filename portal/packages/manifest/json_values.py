"""JSON as it was written: numbers keep their digits, and what is no proper object is refused. Pure."""

import json
from typing import Any, NoReturn


class Malformed(ValueError):
    """The line is no JSON object, or one that says two things at once."""


class Number(str):
    """A number as it was written."""

    __slots__ = ()


def object_of(line: str) -> dict[str, Any]:
    """The object that ``line`` is, its numbers as :class:`Number`. Raises :class:`Malformed`."""
    try:
        found = _decoder.decode(line.strip())
    except (ValueError, RecursionError) as error:
        raise Malformed from error
    if not isinstance(found, dict):
        raise Malformed
    return found


def shown(value: Any) -> str:
    """What a prompt shows of ``value``: text and numbers as they are, nothing for null, JSON for the rest."""
    if value is None:
        return ""
    return str(value) if isinstance(value, str) else as_json(value)


def as_json(value: Any) -> str:
    """``value`` on one line, numbers with the digits they had."""
    match value:
        case Number():
            return value
        case dict():
            return f"{{{','.join(f'{as_json(key)}:{as_json(inner)}' for key, inner in value.items())}}}"
        case list():
            return f"[{','.join(map(as_json, value))}]"
    return json.dumps(value, ensure_ascii=False)


def refuse_half_characters(values: dict[str, str]) -> None:
    """Raise :class:`Malformed` for half a surrogate pair, which is no text."""
    try:
        "".join((*values, *values.values())).encode()
    except UnicodeEncodeError as error:
        raise Malformed from error


def _pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise Malformed("a key is repeated")
    return found


def _refuse(constant: str) -> NoReturn:
    raise Malformed(constant)


_decoder = json.JSONDecoder(parse_int=Number, parse_float=Number, parse_constant=_refuse, object_pairs_hook=_pairs)

"""JSON as it was written: numbers keep their digits, and what is no proper object is refused. Pure."""

import json
from typing import Any, NoReturn

from portal.packages.manifest.decoding import no_text_in, readable
from portal.packages.manifest.reading import MAX_COLUMN_NAME

MOST_DEPTH = 100
"""Values within values: far more than anybody means, few enough for whatever goes through them."""


class Malformed(ValueError):
    """The line is no JSON object, or one that says two things at once, or what no text can.

    ``problem`` is a row's code for what is wrong, where more can be said than that, and ``facts`` are its facts.
    """

    def __init__(self, problem: str = "", **facts: str) -> None:
        super().__init__(problem)
        self.problem, self.facts = problem, facts


class Number(str):
    """A number as it was written."""

    __slots__ = ()


def object_of(line: str) -> dict[str, Any]:
    """The object that ``line`` is, its numbers as :class:`Number`. Raises :class:`Malformed`."""
    line = line.strip()
    try:
        found, end = _decoder.raw_decode(line)
    except RecursionError as error:
        raise Malformed("nested_too_deep") from error
    except ValueError as error:
        raise Malformed from error
    if end != len(line) or not isinstance(found, dict):
        raise Malformed
    if line.count("{") + line.count("[") > MOST_DEPTH:
        _refuse_deep(found)
    return found


def _refuse_deep(found: dict[str, Any]) -> None:
    level: list[Any] = [found]
    for _depth in range(MOST_DEPTH):
        within = (value.values() if isinstance(value, dict) else value for value in level)
        level = [inner for values in within for inner in values if isinstance(inner, dict | list)]
        if not level:
            return
    raise Malformed("nested_too_deep")


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


def refuse_no_text(values: dict[str, str], line: str) -> None:
    """Raise :class:`Malformed` for NUL and for half a surrogate pair in what ``line`` says; only escapes write them."""
    if "\\u" not in line:
        return
    if not no_text_in("".join((*values, *values.values()))):
        return
    for key, value in values.items():
        if problem := no_text_in(key) or no_text_in(value):
            raise Malformed(problem, column=readable(key)[:MAX_COLUMN_NAME])


def _pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise Malformed
    return found


def _refuse(_constant: str) -> NoReturn:
    raise Malformed


_decoder = json.JSONDecoder(parse_int=Number, parse_float=Number, parse_constant=_refuse, object_pairs_hook=_pairs)

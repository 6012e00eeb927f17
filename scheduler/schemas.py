"""JSON Schemas of extraction packages, compiled once: at submit to refuse a bad one, in the worker to check answers.

Patterns run on an engine without backtracking, so that no schema can hang a program; look-around and
back-references, which need backtracking, are refused. Nothing is ever fetched.
"""

from collections.abc import Iterator
from typing import Any

import jsonschema_rs
import msgspec

LARGEST_BYTES = 64 * 1024
MOST_ENUM_VALUES = 1_000
DEEPEST = 32
LONGEST = 10_000
"""The largest length or count that a schema may ask for: an answer never comes near it."""
_LENGTHS = ("minLength", "minItems", "minProperties", "minContains")


class UnableToUseSchema(ValueError):
    """The schema is not valid; ``where`` is the path inside it (``$`` is its root)."""

    def __init__(self, message: str, where: str = "$") -> None:
        super().__init__(message)
        self.where = where


class SchemaTooLarge(UnableToUseSchema):
    """The schema is valid, perhaps, but no engine compiles it in useful time. ``limit`` is what it exceeds.

    ``code`` is ``bytes``, ``depth``, ``values`` (of all enums together) or ``length`` (that an answer must have).
    """

    def __init__(self, code: str, limit: int) -> None:
        super().__init__(f"more than {limit} ({code})")
        self.code, self.limit = code, limit


def compiled(schema: Any) -> jsonschema_rs.Validator:
    """A validator of ``schema``. Raises :class:`UnableToUseSchema`, also for one that is too large to be used."""
    if not isinstance(schema, dict):
        raise UnableToUseSchema("a schema is a JSON object")
    require_modest(schema)
    try:
        return jsonschema_rs.validator_for(
            schema, retriever=_never, pattern_options=jsonschema_rs.RegexOptions(), validate_formats=False
        )
    except jsonschema_rs.ValidationError as error:
        raise UnableToUseSchema(error.message, "$" + "".join(f".{step}" for step in error.instance_path)) from error
    except (ValueError, TypeError, RecursionError) as error:
        raise UnableToUseSchema(str(error)) from error


def _never(uri: str) -> Any:
    raise ValueError(f"{uri} is another document; only parts of the schema itself are allowed")


def require_modest(schema: dict[str, Any]) -> None:
    """Raise :class:`SchemaTooLarge`: engines turn a schema into a grammar, which takes time and memory."""
    values = 0
    for depth, part in _parts(schema):
        if depth > DEEPEST:
            raise SchemaTooLarge("depth", DEEPEST)
        listed = part.get("enum")
        values += len(listed) if isinstance(listed, list) else 0
        if values > MOST_ENUM_VALUES:
            raise SchemaTooLarge("values", MOST_ENUM_VALUES)
        for name in _LENGTHS:
            least = part.get(name)
            if isinstance(least, int | float) and least > LONGEST:
                raise SchemaTooLarge("length", LONGEST)
    if len(msgspec.json.encode(schema)) > LARGEST_BYTES:
        raise SchemaTooLarge("bytes", LARGEST_BYTES)


def _parts(schema: Any) -> Iterator[tuple[int, dict[str, Any]]]:
    """Every object inside ``schema`` with its depth; without recursion, so that no depth is too much."""
    waiting: list[tuple[int, Any]] = [(0, schema)]
    while waiting:
        depth, part = waiting.pop()
        if isinstance(part, dict):
            yield depth, part
        inner = part.values() if isinstance(part, dict) else part
        waiting += [(depth + 1, each) for each in inner if isinstance(each, dict | list)]

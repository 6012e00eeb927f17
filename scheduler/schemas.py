"""JSON Schemas of extraction packages, compiled once: at submit to refuse a bad one, in the worker to check answers.

Patterns run on an engine without backtracking, so that no schema can hang a program; look-around and
back-references, which need backtracking, are refused. Nothing is ever fetched.
"""

from typing import Any

import jsonschema_rs


class UnableToUseSchema(ValueError):
    """The schema is not valid; ``where`` is the path inside it (``$`` is its root)."""

    def __init__(self, message: str, where: str = "$") -> None:
        super().__init__(message)
        self.where = where


def compiled(schema: Any) -> jsonschema_rs.Validator:
    """A validator of ``schema``. Raises :class:`UnableToUseSchema`."""
    if not isinstance(schema, dict):
        raise UnableToUseSchema("a schema is a JSON object")
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

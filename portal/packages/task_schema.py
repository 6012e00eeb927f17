"""The JSON Schema of an extraction package: checked at submit, so that no package starts with one that cannot work."""

import json
from collections.abc import Iterable
from typing import Any

from django.utils.translation import gettext as _

from portal.departments.refusals import Refusal
from portal.packages.models import Kind
from scheduler.schemas import SchemaTooLarge, UnableToUseSchema, compiled, require_modest


def schema_of(given: str | dict[str, Any] | None, kind: str) -> dict[str, Any] | None:
    """The schema of an extraction package, or a refusal at its field; ``None`` for every other kind."""
    if kind != Kind.EXTRACTION:
        return None
    schema = _parsed_schema(given)
    if schema.get("type") != "object" or not schema.get("properties"):
        raise _refused_schema(_("The JSON Schema must describe an object with properties."))
    try:
        require_modest(schema)
    except SchemaTooLarge as error:
        raise _refused_schema(_too_large(error), limit=error.limit) from error
    for target in _references(schema):
        if not target.startswith("#"):
            raise _refused_schema(
                _("The JSON Schema refers to “%(target)s”; only parts of itself are allowed.")
                % {"target": target[:200]}
            )
    try:
        compiled(schema)
    except UnableToUseSchema as error:
        raise _refused_schema(
            _("The JSON Schema is not valid at %(where)s: %(why)s.") % {"where": error.where, "why": str(error)[:200]}
        ) from error
    return schema


def _too_large(error: SchemaTooLarge) -> str:
    said = {
        "bytes": _("The JSON Schema is larger than %(limit)s bytes. Leave out what the model need not know."),
        "depth": _("The JSON Schema is nested more than %(limit)s levels deep. Make it flatter."),
        "values": _("The enums of the JSON Schema have more than %(limit)s values together. List fewer."),
        "length": _("The JSON Schema asks for at least more than %(limit)s characters or items. Ask for fewer."),
    }
    return said[error.code] % {"limit": error.limit}


def _parsed_schema(given: str | dict[str, Any] | None) -> dict[str, Any]:
    if isinstance(given, str) and given.strip():
        try:
            given = json.loads(given)
        except (ValueError, RecursionError) as error:
            line = getattr(error, "lineno", 1)
            raise _refused_schema(
                _("The JSON Schema is not JSON: look at line %(line)s.") % {"line": line}, line=line
            ) from error
    if not isinstance(given, dict):
        raise _refused_schema(_("Give a JSON Schema: an object that describes the fields to extract."))
    try:
        json.dumps(given, allow_nan=False, ensure_ascii=False).encode()
    except (ValueError, RecursionError) as error:
        raise _refused_schema(
            _("The JSON Schema holds a number or a character that JSON cannot carry (Infinity, half an emoji).")
        ) from error
    return given


def _references(schema: object) -> Iterable[str]:
    if isinstance(schema, dict):
        for key, inner in schema.items():
            if key in {"$ref", "$dynamicRef"} and isinstance(inner, str):
                yield inner
            else:
                yield from _references(inner)
    elif isinstance(schema, list):
        for inner in schema:
            yield from _references(inner)


def _refused_schema(message: str, **details: Any) -> Refusal:
    return Refusal(message, code="invalid_schema", field="json_schema", **details)

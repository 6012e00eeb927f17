"""The smallest value that a JSON Schema asks for: what the echo engine answers to extraction requests."""

from typing import Any

DEPTH = 32


class UnableToInstantiate(ValueError):
    """The schema is recursive without end, or refers to what it does not contain."""


def smallest_instance(schema: Any, root: Any = None, depth: int = 0) -> Any:
    """A value of ``schema``'s type with only what is required. Raises :class:`UnableToInstantiate`.

    Covers types, required properties, enums, bounds, local references and alternatives; a ``pattern`` or a
    contradiction may leave it invalid.
    """
    root = schema if root is None else root
    if depth > DEPTH:
        raise UnableToInstantiate("the schema never ends")
    if not isinstance(schema, dict):
        return None
    if "$ref" in schema:
        return smallest_instance(_resolved(schema["$ref"], root), root, depth + 1)
    if "const" in schema:
        return schema["const"]
    if "enum" in schema:
        return schema["enum"][0]
    for keyword in ("anyOf", "oneOf", "allOf"):
        if schema.get(keyword):
            return smallest_instance(schema[keyword][0], root, depth + 1)
    return _of_type(schema, root, depth)


def _resolved(reference: str, root: Any) -> Any:
    found = root
    try:
        for step in reference.removeprefix("#").strip("/").split("/"):
            found = found[step] if step else found
    except (KeyError, TypeError) as error:
        raise UnableToInstantiate(f"{reference} leads nowhere") from error
    return found


def _of_type(schema: dict[str, Any], root: Any, depth: int) -> Any:
    kind = schema.get("type", "object" if "properties" in schema else "null")
    kind = kind[0] if isinstance(kind, list) else kind
    if kind == "object":
        properties = schema.get("properties", {})
        return {n: smallest_instance(properties.get(n), root, depth + 1) for n in schema.get("required", [])}
    if kind == "array":
        return [smallest_instance(schema.get("items"), root, depth + 1) for _ in range(schema.get("minItems", 0))]
    if kind == "string":
        return "x" * schema.get("minLength", 0)
    return {"integer": _least(schema), "number": _least(schema), "boolean": False}.get(kind)


def _least(schema: dict[str, Any]) -> Any:
    if "minimum" in schema:
        return schema["minimum"]
    if "exclusiveMinimum" in schema:
        return schema["exclusiveMinimum"] + 1
    return min(0, schema.get("maximum", schema.get("exclusiveMaximum", 1) - 1))

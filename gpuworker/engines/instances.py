"""The smallest value that a JSON Schema asks for: what the echo engine answers to extraction requests."""

from typing import Any

DEPTH = 32
LARGEST = 100_000
"""Characters and values that an instance may have together. Small bounds multiply: 1,000 items of 1,000 items."""


class UnableToInstantiate(ValueError):
    """The schema is recursive without end, asks for too much, or refers to what it does not contain."""


def smallest_instance(schema: Any, *, largest: int = LARGEST) -> Any:
    """A value of ``schema``'s type with only what is required. Raises :class:`UnableToInstantiate`.

    Covers types, required properties, enums, bounds, local references and alternatives; a ``pattern`` or a
    contradiction may leave it invalid. ``largest`` bounds its characters and values together.
    """
    return _Builder(schema, largest).build(schema, 0)


class _Builder:
    """One instance in the making; ``left`` is what it may still grow by, spent before anything is made."""

    def __init__(self, root: Any, left: int) -> None:
        self._root, self._left = root, left

    def build(self, schema: Any, depth: int) -> Any:
        self._spend(1)
        if depth > DEPTH:
            raise UnableToInstantiate("the schema never ends")
        if not isinstance(schema, dict):
            return None
        if "$ref" in schema:
            return self.build(_resolved(schema["$ref"], self._root), depth + 1)
        if "const" in schema:
            return self._literal(schema["const"])
        if "enum" in schema:
            return self._literal(schema["enum"][0])
        for keyword in ("anyOf", "oneOf", "allOf"):
            if schema.get(keyword):
                return self.build(schema[keyword][0], depth + 1)
        return self._of_type(schema, depth)

    def _of_type(self, schema: dict[str, Any], depth: int) -> Any:
        kind = schema.get("type", "object" if "properties" in schema else "null")
        kind = kind[0] if isinstance(kind, list) else kind
        if kind == "object":
            properties = schema.get("properties", {})
            return {name: self.build(properties.get(name), depth + 1) for name in schema.get("required", [])}
        if kind == "array":
            return [self.build(schema.get("items"), depth + 1) for _ in range(self._count(schema, "minItems"))]
        if kind == "string":
            return "x" * self._spend(self._count(schema, "minLength"))
        return {"integer": _least(schema), "number": _least(schema), "boolean": False}.get(kind)

    def _count(self, schema: dict[str, Any], keyword: str) -> int:
        return int(schema.get(keyword, 0))

    def _literal(self, value: Any) -> Any:
        """A value that the schema itself spells out; the schema's own size bounds one, not its repetitions."""
        self._spend(len(str(value)))
        return value

    def _spend(self, size: int) -> int:
        self._left -= size
        if self._left < 0:
            raise UnableToInstantiate("the smallest instance is too large")
        return size


def _resolved(reference: str, root: Any) -> Any:
    found = root
    try:
        for step in reference.removeprefix("#").strip("/").split("/"):
            found = found[step] if step else found
    except (KeyError, TypeError) as error:
        raise UnableToInstantiate(f"{reference} leads nowhere") from error
    return found


def _least(schema: dict[str, Any]) -> Any:
    if "minimum" in schema:
        return schema["minimum"]
    if "exclusiveMinimum" in schema:
        return schema["exclusiveMinimum"] + 1
    return min(0, schema.get("maximum", schema.get("exclusiveMaximum", 1) - 1))

"""A JSON Schema that would starve an engine is refused at the form, with a sentence that names the limit."""

import json

import pytest

from portal.departments.refusals import Refusal
from portal.packages.task_schema import schema_of


@pytest.mark.parametrize(
    ("part", "limit"),
    [
        ({"enum": [f"value {n}" for n in range(20_000)]}, "1000 values"),
        ({"type": "string", "minLength": 10**9}, "10000 characters"),
        ({"description": "x" * 70_000}, "65536 bytes"),
    ],
)
def test_a_schema_that_starves_engines_is_refused_with_its_limit(part: dict[str, object], limit: str) -> None:
    with pytest.raises(Refusal, match=limit) as refused:
        schema_of({"type": "object", "properties": {"a": part}}, "extraction")
    assert refused.value.field == "json_schema"


def test_a_schema_nested_without_end_is_refused_too() -> None:
    text = '{"type": "object", "properties": {"a": ' + '{"not": ' * 900 + "{}" + "}" * 902
    json.loads(text)
    with pytest.raises(Refusal, match="32 levels"):
        schema_of(text, "extraction")

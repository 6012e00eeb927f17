"""One shard on one worker: only what is missing runs, what is said is durable, giving back is prompt."""

import asyncio
from typing import BinaryIO

import pytest

from gpuworker import shard as shard_module
from gpuworker.engines import EngineAnswer, EngineDied
from scheduler.domain.lifecycle import Cause
from scheduler.objects.memory import MemoryStore
from scheduler.records import ItemResult, dump, part_key
from scheduler.wire import Claimed, Event, Faulted, Parked, Progressed, Settled, Usage
from tests.workbench import ScriptedEngine, StuckEngine, answer, assignment, items, put_shard, results, run_of, until


def echo() -> ScriptedEngine:
    return ScriptedEngine(lambda message, _: answer(message))


@pytest.fixture
def store() -> MemoryStore:
    return MemoryStore()


@pytest.fixture
def said() -> list[Event]:
    return []


def test_a_shard_ends_with_one_result_for_each_row(store: MemoryStore, said: list[Event]) -> None:
    put_shard(store, items(120))
    asyncio.run(run_of(echo(), store, assignment(), said).run())
    end = said[-1]
    assert isinstance(said[0], Claimed)
    assert isinstance(end, Settled)
    found = results(store, end.parts)
    assert {row: result.output for row, result in found.items()} == {n: f"words of row {n}" for n in range(1, 121)}
    assert (end.counts.succeeded, end.charged_items) == (120, 120)
    assert (end.charged.prompt_tokens, end.charged.cached_tokens, end.charged.completion_tokens) == (600, 120, 240)


def test_finished_items_never_run_again(store: MemoryStore, said: list[Event]) -> None:
    put_shard(store, items(10))
    earlier = [ItemResult(row, "succeeded", output="before", usage=Usage(7, 0, 3), charged=True) for row in (2, 5, 9)]
    store.put(part_key(assignment().parts_prefix, 1, 0), dump(earlier))
    engine = echo()
    asyncio.run(run_of(engine, store, assignment(epoch=2), said).run())
    end = said[-1]
    assert sorted(engine.asked) == sorted(f"words of row {n}" for n in (1, 3, 4, 6, 7, 8, 10))
    assert isinstance(end, Settled)
    assert (end.counts.succeeded, end.charged.prompt_tokens) == (10, 3 * 7 + 7 * 5)
    assert results(store, end.parts)[5].output == "before"


def test_a_shard_that_was_finished_before_settles_without_the_engine(store: MemoryStore, said: list[Event]) -> None:
    put_shard(store, items(3))
    asyncio.run(run_of(echo(), store, assignment(), said).run())
    engine = echo()
    asyncio.run(run_of(engine, store, assignment(epoch=2), said).run())
    first, second = [event for event in said if isinstance(event, Settled)]
    assert engine.asked == []
    assert (first.parts, first.charged) == (second.parts, second.charged)


def test_a_damaged_part_is_as_good_as_none_and_what_is_readable_never_runs_again(
    store: MemoryStore, said: list[Event]
) -> None:
    put_shard(store, items(6))
    prefix = assignment().parts_prefix
    store.put(part_key(prefix, 1, 0), b"\0" * 20)
    store.put(part_key(prefix, 1, 1), dump([ItemResult(2, "succeeded", output="before", usage=Usage(7, 0, 3))]))
    store.put(part_key(prefix, 2, 0), b"\0" * 20)
    store.put(f"{prefix}notes.txt", b"not a part")
    engine = echo()
    asyncio.run(run_of(engine, store, assignment(epoch=2), said).run())
    end = said[-1]
    assert isinstance(end, Settled)
    assert end.counts.succeeded == 6
    assert end.parts == (part_key(prefix, 1, 1), part_key(prefix, 2, 1))
    assert sorted(engine.asked) == sorted(f"words of row {n}" for n in (1, 3, 4, 5, 6))


class BadSector(MemoryStore):
    """Everything can be read but one object, as on a disk with a bad sector."""

    bad = ""

    def open_read(self, key: str) -> BinaryIO:
        if key == self.bad:
            raise OSError(5, "input/output error")
        return super().open_read(key)


def test_a_part_that_the_disk_does_not_give_back_is_as_good_as_none(said: list[Event]) -> None:
    store = BadSector()
    put_shard(store, items(3))
    store.bad = part_key(assignment().parts_prefix, 1, 0)
    store.put(store.bad, dump([ItemResult(2, "succeeded", output="before")]))
    asyncio.run(run_of(echo(), store, assignment(epoch=2), said).run())
    end = said[-1]
    assert isinstance(end, Settled)
    assert (end.counts.succeeded, end.parts) == (3, (part_key(assignment().parts_prefix, 2, 0),))


def test_no_more_requests_are_in_flight_than_allowed(store: MemoryStore, said: list[Event]) -> None:
    put_shard(store, items(40))
    engine = echo()
    asyncio.run(run_of(engine, store, assignment(), said, allowed=lambda: 3).run())
    assert engine.most_in_flight == 3


def test_nothing_new_starts_while_nothing_is_allowed(store: MemoryStore, said: list[Event]) -> None:
    put_shard(store, items(20))
    allowed, engine = [2], echo()

    def script(message: str, _: int) -> EngineAnswer:
        if message == "words of row 6":
            allowed[0] = 0
        return answer(message)

    async def scenario() -> None:
        engine.script = script
        running = asyncio.create_task(run_of(engine, store, assignment(), said, allowed=lambda: allowed[0]).run())
        await until(lambda: allowed[0] == 0 and engine.in_flight == 0)
        assert len(engine.asked) <= 8
        allowed[0] = 2
        await running

    asyncio.run(scenario())
    assert isinstance(said[-1], Settled)
    assert said[-1].counts.succeeded == 20


def test_a_parked_shard_comes_back_at_once_with_what_is_finished(store: MemoryStore, said: list[Event]) -> None:
    put_shard(store, items(10))
    stuck = StuckEngine()

    class HalfStuck(StuckEngine):
        async def generate(self, request):  # type: ignore[no-untyped-def]
            message = request.messages[-1]["content"]
            return answer(message) if message[-1] in "12" else await stuck.generate(request)

    async def scenario() -> float:
        run = run_of(HalfStuck(), store, assignment(), said)
        running = asyncio.create_task(run.run())
        await until(lambda: stuck.waiting == 4)
        asked_at = asyncio.get_running_loop().time()
        run.park(Cause.PREEMPTION)
        run.park(Cause.SHUTDOWN)
        await running
        return asyncio.get_running_loop().time() - asked_at

    assert asyncio.run(scenario()) < 1.0
    end = said[-1]
    assert isinstance(end, Parked)
    assert (end.cause, end.counts.succeeded, end.charged_items) == ("preemption", 2, 2)
    assert sorted(results(store, end.parts)) == [1, 2]
    assert stuck.waiting == 0


def test_a_shard_that_is_finished_when_parked_is_settled(store: MemoryStore, said: list[Event]) -> None:
    put_shard(store, items(1))
    run = run_of(echo(), store, assignment(), said)
    run.items.engine.script = lambda message, _: (run.park(Cause.USER_CANCEL), answer(message))[1]  # type: ignore[attr-defined]
    asyncio.run(run.run())
    assert isinstance(said[-1], Settled)


def test_a_dead_engine_keeps_what_is_finished_and_says_so(store: MemoryStore, said: list[Event]) -> None:
    put_shard(store, items(10))

    def script(message: str, _: int) -> EngineAnswer:
        if message == "words of row 7":
            raise EngineDied("gone")
        return answer(message)

    with pytest.raises(EngineDied):
        asyncio.run(run_of(ScriptedEngine(script), store, assignment(), said, allowed=lambda: 1).run())
    assert isinstance(said[-1], Faulted)
    assert said[-1].reason == "engine_died"
    (key,) = [found.key for found in store.list(assignment().parts_prefix)]
    assert sorted(results(store, [key])) == [1, 2, 3, 4, 5, 6]


def test_a_shard_without_its_object_is_a_fault_of_ours(store: MemoryStore, said: list[Event]) -> None:
    asyncio.run(run_of(echo(), store, assignment(), said).run())
    assert isinstance(said[-1], Faulted)
    assert said[-1].reason == "object_missing"


def test_a_damaged_shard_is_a_fault_of_ours(store: MemoryStore, said: list[Event]) -> None:
    store.put(put_shard(store, items(2)), b"not zstandard at all")
    asyncio.run(run_of(echo(), store, assignment(epoch=2), said).run())
    assert isinstance(said[-1], Faulted)
    assert said[-1].reason == "object_unreadable"


def test_an_error_of_our_own_is_a_fault_not_the_end_of_the_worker(store: MemoryStore, said: list[Event]) -> None:
    put_shard(store, items(2))
    engine = ScriptedEngine(lambda _, __: {}[0])  # type: ignore[index]
    asyncio.run(run_of(engine, store, assignment(), said).run())
    assert isinstance(said[-1], Faulted)
    assert said[-1].reason == "worker_error"


class FailingStore(MemoryStore):
    """Refuses the first ``failures`` writes of parts; ``after_writing`` does it after having written."""

    def __init__(self, failures: int, *, after_writing: bool = False) -> None:
        super().__init__()
        self.failures, self.after_writing = failures, after_writing

    def put_new(self, key: str, data: bytes) -> None:
        if self.failures:
            self.failures -= 1
            if self.after_writing:
                super().put_new(key, data)
            raise OSError(28, "No space left on device")
        super().put_new(key, data)


@pytest.mark.parametrize("after_writing", [False, True])
def test_a_store_that_fails_for_a_while_loses_nothing(said: list[Event], after_writing: bool) -> None:
    store = FailingStore(3 if not after_writing else 1, after_writing=after_writing)
    put_shard(store, items(4))
    asyncio.run(run_of(echo(), store, assignment(), said).run())
    assert isinstance(said[-1], Settled)
    assert len(results(store, said[-1].parts)) == 4


def test_a_store_that_stays_away_gives_the_shard_back(said: list[Event]) -> None:
    store = FailingStore(99)
    put_shard(store, items(4))
    asyncio.run(run_of(echo(), store, assignment(), said).run())
    assert isinstance(said[-1], Faulted)
    assert said[-1].reason == "objects_unavailable"


def test_progress_counts_only_what_is_durable(store: MemoryStore, said: list[Event]) -> None:
    put_shard(store, items(130))
    asyncio.run(run_of(echo(), store, assignment(), said).run())
    progress = [event for event in said if isinstance(event, Progressed)]
    assert progress
    for event in progress:
        assert event.counts.total == len(results(store, event.parts))


def test_a_silent_shard_renews_its_lease(store: MemoryStore, said: list[Event], monkeypatch) -> None:
    monkeypatch.setattr(shard_module, "TICK_S", 0.01)
    put_shard(store, items(1))

    async def scenario() -> None:
        run = run_of(StuckEngine(), store, assignment(lease_s=1), said)
        running = asyncio.create_task(run.run())
        await until(lambda: sum(isinstance(event, Progressed) for event in said) >= 2)
        run.park(Cause.SHUTDOWN)
        await running

    asyncio.run(scenario())
    renewed = next(event for event in said if isinstance(event, Progressed))
    assert (renewed.in_flight, renewed.oldest_row) == (1, 1)
    assert renewed.oldest_age_s > 0

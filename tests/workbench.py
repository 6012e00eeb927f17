"""What tests of the worker need: engines that fail on purpose, shards to run, and ears for what is said."""

import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from gpuworker.engines import Engine, EngineAnswer, EngineRequest
from gpuworker.items import ItemRunner
from gpuworker.meter import EngineMeter
from gpuworker.parts import ShardParts
from gpuworker.shard import ShardRun
from scheduler.objects import ObjectStore
from scheduler.records import ItemResult, ShardItem, dump, merged
from scheduler.wire import Assignment, Event, RequestSettings, Usage

PACKAGE = "5f0c7c52-4a43-4c57-9f3c-0d6d9b1c8a10"
HOME = f"7/{PACKAGE}"
TEXT = RequestSettings(kind="generation", max_output_tokens=20)


def items(count: int) -> list[ShardItem]:
    """Rows 1 to ``count``, each asking to echo its own words."""
    return [
        ShardItem(row, f"id-{row}", [{"role": "user", "content": f"words of row {row}"}], 5)
        for row in range(1, count + 1)
    ]


def put_shard(store: ObjectStore, content: Sequence[ShardItem], *, shard: int = 0) -> str:
    """Store a shard object; returns its key."""
    key = f"{HOME}/shards/{shard}.jsonl.zst"
    store.put(key, dump(content))
    return key


def assignment(*, shard: int = 0, epoch: int = 1, settings: RequestSettings = TEXT, lease_s: int = 30) -> Assignment:
    return Assignment(
        package=PACKAGE,
        shard=shard,
        epoch=epoch,
        attempt=1,
        lane="standard",
        shard_key=f"{HOME}/shards/{shard}.jsonl.zst",
        parts_prefix=f"{HOME}/parts/{shard}/",
        model="echo",
        settings=settings,
        lease_s=lease_s,
        not_after=datetime.now(UTC) + timedelta(hours=1),
    )


def results(store: ObjectStore, keys: Sequence[str]) -> dict[int, ItemResult]:
    return merged(store, keys)


@dataclass
class ScriptedEngine:
    """Answers with what ``script`` returns or raises for (message, how many times it was asked)."""

    script: Callable[[str, int], EngineAnswer]
    asked: list[str] = field(default_factory=list)
    requests: list[EngineRequest] = field(default_factory=list)
    in_flight: int = 0
    most_in_flight: int = 0

    async def start(self) -> None: ...

    async def stop(self) -> None: ...

    async def generate(self, request: EngineRequest) -> EngineAnswer:
        message = request.messages[-1]["content"]
        self.requests.append(request)
        self.in_flight += 1
        self.most_in_flight = max(self.most_in_flight, self.in_flight)
        try:
            await asyncio.sleep(0)
            self.asked.append(message)
            return self.script(message, self.asked.count(message))
        finally:
            self.in_flight -= 1


class StuckEngine:
    """Never answers; ``waiting`` requests hang in it until they are cancelled."""

    def __init__(self) -> None:
        self.waiting = 0

    async def start(self) -> None: ...

    async def stop(self) -> None: ...

    async def generate(self, request: EngineRequest) -> EngineAnswer:
        self.waiting += 1
        try:
            await asyncio.Event().wait()
        finally:
            self.waiting -= 1
        raise AssertionError


def answer(text: str, *, tokens: int = 2, finish_reason: str = "stop") -> EngineAnswer:
    return EngineAnswer(text, Usage(5, 1, tokens), finish_reason)


def run_of(
    engine: Engine, store: ObjectStore, given: Assignment, said: list[Event], *, allowed: Callable[[], int] = lambda: 4
) -> ShardRun:
    """A shard run over ``engine`` that says everything into ``said``."""
    runner = ItemRunner(
        engine=engine, settings=given.settings, meter=EngineMeter(), context_tokens=100, busy_waits_s=(0.001, 0.001)
    )
    return ShardRun(
        assignment=given,
        worker="w1",
        items=runner,
        parts=ShardParts(store, given, waits_s=(0.001,) * 5),
        say=said.append,
        allowed=allowed,
    )


async def until(condition: Callable[[], object], *, within_s: float = 10.0) -> None:
    """Return once ``condition()`` holds; fail when it does not in time."""
    deadline = time.monotonic() + within_s
    while not condition():
        assert time.monotonic() < deadline, "it never happened"
        await asyncio.sleep(0.01)

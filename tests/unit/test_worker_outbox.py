"""What the worker says reaches the bus, in order and nothing lost, however long the bus is away."""

import asyncio
from datetime import UTC, datetime
from typing import Any

import pytest

from gpuworker import outbox as outbox_module
from gpuworker.outbox import Outbox
from scheduler.bus import UnableToReachBus
from scheduler.bus.memory import MemoryBus
from scheduler.wire import EVENTS_TOPIC, Claimed, Counts, Event, Progressed, Settled, Usage, decode
from tests.workbench import until


class MoodyBus(MemoryBus):
    """Refuses everything while ``away``."""

    def __init__(self) -> None:
        super().__init__()
        self.away, self.refused = False, 0

    def publish(self, topic: str, payload: bytes, *, key: str) -> None:
        if self.away:
            self.refused += 1
            raise UnableToReachBus("away")
        super().publish(topic, payload, key=key)

    def heard(self) -> list[Event]:
        ear = self.subscribe([EVENTS_TOPIC], group="test", member="ear")
        return [decode(d.payload) for d in ear.poll(timeout_s=0, at_most=1000)]  # type: ignore[misc]


def event(kind: type[Event], shard: int = 0, **more: Any) -> Event:
    return kind(package="p", shard=shard, epoch=1, worker="w", at=datetime.now(UTC), **more)


def progress(done: int) -> Event:
    return event(Progressed, counts=Counts(succeeded=done), usage=Usage(), parts=())


def settled(shard: int) -> Event:
    sums = {"counts": Counts(), "usage": Usage(), "charged": Usage(), "charged_items": 0, "parts": ()}
    return event(Settled, shard, **sums)


async def say(bus: MoodyBus, events: list[Event], *, away_for: int) -> list[Event]:
    outbox = Outbox(bus)
    running = asyncio.create_task(outbox.run())
    bus.away = away_for > 0
    for one in events:
        outbox.post(one)
    await until(lambda: bus.refused >= away_for)
    bus.away = False
    assert await outbox.emptied(timeout_s=10)
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    return bus.heard()


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outbox_module, "FIRST_WAIT_S", 0.001)


@pytest.mark.parametrize("away_for", [0, 3])
def test_events_arrive_in_the_order_they_were_said(away_for: int) -> None:
    events = [event(Claimed, n) for n in range(5)] + [settled(n) for n in range(5)]
    assert asyncio.run(say(MoodyBus(), events, away_for=away_for)) == events


def test_newer_progress_replaces_older_while_the_bus_is_away() -> None:
    events = [event(Claimed), progress(1), progress(2), progress(3), settled(0)]
    assert asyncio.run(say(MoodyBus(), events, away_for=2)) == [events[0], events[3], events[4]]


def test_a_bus_that_stays_away_does_not_hold_the_end_up() -> None:
    async def scenario() -> bool:
        bus = MoodyBus()
        bus.away = True
        outbox = Outbox(bus)
        running = asyncio.create_task(outbox.run())
        outbox.post(settled(0))
        emptied = await outbox.emptied(timeout_s=0.1)
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        return emptied

    assert asyncio.run(scenario()) is False

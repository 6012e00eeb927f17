"""What the worker says to the scheduler, kept until the bus has taken it."""

import asyncio
import random
from collections import deque

import structlog

from scheduler.bus import Bus, UnableToReachBus
from scheduler.wire import EVENTS_TOPIC, Event, Progressed, encode

FIRST_WAIT_S, LONGEST_WAIT_S = 0.2, 5.0
log = structlog.get_logger()


class Outbox:
    """Publishes events in order, for as long as it takes; reports of progress give way to newer ones."""

    def __init__(self, bus: Bus) -> None:
        self._bus = bus
        self._events: deque[Event] = deque()
        self._news = asyncio.Event()
        self._sent = asyncio.Condition()

    def post(self, event: Event) -> None:
        """Say ``event`` as soon as the bus takes it. Never waits."""
        if self._replaces_last(event):
            self._events.pop()
        self._events.append(event)
        self._news.set()

    def _replaces_last(self, event: Event) -> bool:
        """Both report progress of one epoch of a shard, and the older is not being sent at this moment."""
        if len(self._events) < 2 or not isinstance(event, Progressed):
            return False
        last = self._events[-1]
        same = (last.package, last.shard, last.epoch) == (event.package, event.shard, event.epoch)
        return same and isinstance(last, Progressed)

    async def run(self) -> None:
        """Publish until cancelled."""
        while True:
            await self._news.wait()
            self._news.clear()
            while self._events:
                await self._publish(self._events[0])
                self._events.popleft()
                async with self._sent:
                    self._sent.notify_all()

    async def _publish(self, event: Event) -> None:
        wait_s = FIRST_WAIT_S
        while True:
            try:
                return await asyncio.to_thread(self._bus.publish, EVENTS_TOPIC, encode(event), key=event.package)
            except UnableToReachBus as error:
                log.warning(
                    "event not taken by the bus", action="event.publish", package=event.package, reason=str(error)
                )
            await asyncio.sleep(wait_s * random.uniform(0.8, 1.2))  # noqa: S311  spreads the retries
            wait_s = min(2 * wait_s, LONGEST_WAIT_S)

    async def emptied(self, *, timeout_s: float) -> bool:
        """Wait until everything is said; False when that took too long."""
        try:
            async with asyncio.timeout(timeout_s), self._sent:
                await self._sent.wait_for(lambda: not self._events)
        except TimeoutError:
            return False
        return True

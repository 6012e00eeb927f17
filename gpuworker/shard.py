"""Running one assigned shard: only what is missing, with as many requests in flight as are allowed now."""

import asyncio
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import structlog

from gpuworker.engines import EngineDied
from gpuworker.items import ItemRunner
from gpuworker.parts import ShardParts, UnableToUseObjects
from scheduler.domain.lifecycle import Cause
from scheduler.records import ShardItem
from scheduler.wire import Assignment, Claimed, Event, Faulted, Parked, Progressed, Settled, shard_name

TICK_S = 0.2
PART_S = 2.0
PART_ITEMS = 50
RENEWALS_PER_LEASE = 3
log = structlog.get_logger()


@dataclass
class ShardRun:
    """One epoch of a shard on this worker. ``allowed`` tells how many requests may be in flight now."""

    assignment: Assignment
    worker: str
    items: ItemRunner
    parts: ShardParts
    say: Callable[[Event], None]
    allowed: Callable[[], int]
    _waiting: deque[ShardItem] = field(default_factory=deque, init=False)
    _unfinished: int = field(default=0, init=False)
    _slots: set[asyncio.Task[None]] = field(default_factory=set, init=False)
    _started: dict[int, float] = field(default_factory=dict, init=False)
    _cause: str | None = field(default=None, init=False)
    _news: asyncio.Event = field(default_factory=asyncio.Event, init=False)
    _written_at: float = field(default_factory=time.monotonic, init=False)
    _said_at: float = field(default_factory=time.monotonic, init=False)

    @property
    def name(self) -> str:
        """The name by which ``Control`` parks it."""
        return shard_name(self.assignment.package, self.assignment.shard, self.assignment.epoch)

    @property
    def in_flight(self) -> int:
        return len(self._started)

    def park(self, cause: str) -> None:
        """Give the shard back as soon as possible; the first ``cause`` (a ``lifecycle.Cause``) counts."""
        self._cause = self._cause or cause
        self._news.set()

    async def run(self) -> None:
        """Run the shard to its end and say how it ended. Raises ``EngineDied`` after saying so."""
        self.say(Claimed(**self._who()))
        try:
            await self._run()
        except EngineDied:
            await self._keep_finished()
            self.say(Faulted(**self._who(), reason="engine_died"))
            raise
        except UnableToUseObjects as error:
            log.warning(
                "objects cannot be used", action="shard.fault", shard=self.name, code=error.code, reason=str(error)
            )
            self.say(Faulted(**self._who(), reason=error.code))
        except Exception:
            log.exception("shard stopped unexpectedly", action="shard.fault", shard=self.name)
            await self._keep_finished()
            self.say(Faulted(**self._who(), reason="worker_error"))

    async def _run(self) -> None:
        self._waiting.extend(await self.parts.missing())
        self._unfinished = len(self._waiting)
        try:
            while (self._waiting or self._slots) and self._cause is None:
                self._open_slots()
                await self._rest()
                self._close_slots()
                await self._report()
        finally:
            await self._withdraw()
        await self.parts.write()
        self._say_end()

    # --- requests in flight ------------------------------------------------------------------------------
    def _open_slots(self) -> None:
        for _ in range(min(self.allowed() - len(self._slots), len(self._waiting))):
            self._slots.add(asyncio.create_task(self._slot()))

    async def _slot(self) -> None:
        """Run one item after the other while that many slots are allowed."""
        while self._waiting and len(self._slots) <= self.allowed() and self._cause is None:
            item = self._waiting.popleft()
            self._started[item.row] = time.monotonic()
            try:
                self.parts.unwritten.append(await self.items.run(item))
                self._unfinished -= 1
            finally:
                del self._started[item.row]
            if len(self.parts.unwritten) >= PART_ITEMS:
                self._news.set()
        # Out of the count at once, so that of several slots too many not all of them leave.
        self._slots.discard(asyncio.current_task())
        self._news.set()

    async def _rest(self) -> None:
        """Wait for news or a tick."""
        try:
            async with asyncio.timeout(TICK_S):
                await self._news.wait()
        except TimeoutError:
            pass
        self._news.clear()

    def _close_slots(self) -> None:
        """Raise what ended a slot early."""
        for slot in [slot for slot in self._slots if slot.done()]:
            self._slots.discard(slot)
            slot.result()

    async def _withdraw(self) -> None:
        """Abort what is in flight: those items have no result and run again elsewhere."""
        slots = list(self._slots)
        for slot in slots:
            slot.cancel()
        await asyncio.gather(*slots, return_exceptions=True)
        self._slots.clear()

    # --- reports -----------------------------------------------------------------------------------------
    async def _report(self) -> None:
        now = time.monotonic()
        unwritten = len(self.parts.unwritten)
        if unwritten >= PART_ITEMS or (unwritten and now - self._written_at >= PART_S):
            await self.parts.write()
            self._written_at = now
        elif now - self._said_at < self.assignment.lease_s / RENEWALS_PER_LEASE:
            return
        self._said_at = now
        self.say(self._progress(now))

    def _progress(self, now: float) -> Progressed:
        row, since = min(self._started.items(), key=lambda started: started[1], default=(None, now))
        totals = self.parts.totals
        return Progressed(
            **self._who(),
            counts=totals.counts,
            usage=totals.usage,
            parts=tuple(self.parts.keys),
            in_flight=len(self._started),
            oldest_row=row,
            oldest_age_s=round(now - since, 3),
        )

    def _say_end(self) -> None:
        totals = self.parts.totals
        sums: dict[str, Any] = {
            "counts": totals.counts,
            "usage": totals.usage,
            "charged": totals.charged,
            "charged_items": totals.charged_items,
            "parts": tuple(self.parts.keys),
        }
        if self._unfinished:
            self.say(Parked(**self._who(), cause=self._cause or Cause.SHUTDOWN, **sums))
        else:
            self.say(Settled(**self._who(), **sums))

    async def _keep_finished(self) -> None:
        try:
            await self.parts.write()
        except UnableToUseObjects as error:
            log.warning(
                "finished results are lost and run again", action="shard.fault", shard=self.name, code=error.code
            )

    def _who(self) -> dict[str, Any]:
        given = self.assignment
        return {
            "package": given.package,
            "shard": given.shard,
            "epoch": given.epoch,
            "worker": self.worker,
            "at": datetime.now(UTC),
        }

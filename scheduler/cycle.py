"""One tick of the scheduler: hear, take back, withdraw, finish, dispatch, sweep.

Nothing is remembered that matters: every tick reads the database anew and sets right what it finds, so that any
process, the bus and Redis may be wiped or restarted between two of them. A step that fails is logged and left to
the next tick; the other steps go on.
"""

from collections import defaultdict
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta

import structlog
from django.conf import settings

from portal.packages.running import closing, dispatch
from portal.packages.services import sweep
from scheduler import wire
from scheduler.board import Board
from scheduler.bus import Bus
from scheduler.domain.leases import can_expire
from scheduler.inbox import Inbox
from scheduler.objects import ObjectStore
from scheduler.pace import Pace
from scheduler.plan import Attention, PoolNow, plan
from scheduler.snapshot import finished_items, pools_now

log = structlog.get_logger()


class Cycle:
    """The scheduler between its stores. ``tick`` is all that there is to call."""

    def __init__(self, *, bus: Bus, board: Board, store: ObjectStore, member: str, sweep_s: float = 15.0) -> None:
        self._bus, self._board, self._store = bus, board, store
        self._inbox = Inbox(bus, member=member)
        self._attention, self._pace = Attention(), Pace()
        self._sweep_every = timedelta(seconds=sweep_s)
        self._swept_at: datetime | None = None

    def tick(self, now: datetime) -> bool:
        """Set everything right as of ``now``. False if a step failed; the next tick tries it again."""
        steps = (self._hear, self._expire, self._withdraw, self._finish, self._dispatch, self._sweep)
        outcomes = [self._went_well(step, now) for step in steps]
        return all(outcomes)

    def close(self) -> None:
        """Leave the bus; nothing is lost."""
        self._inbox.close()

    @staticmethod
    def _went_well(step: Callable[[datetime], None], now: datetime) -> bool:
        try:
            step(now)
        except ConnectionError as error:  # the bus or the board: expected now and then, no stack needed
            log.warning("step postponed", action="tick.postponed", step=step.__name__, reason=str(error))
            return False
        except Exception:
            log.exception("step failed", action="tick.failed", step=step.__name__)
            return False
        return True

    def _hear(self, now: datetime) -> None:
        self._inbox.drain(lambda event: dispatch.apply(event, store=self._store, now=now), now=now)

    def _expire(self, now: datetime) -> None:
        if can_expire(hearing_since=self._inbox.hearing_since, lease_s=settings.LEASE_S, now=now):
            dispatch.expire_leases(store=self._store, now=now)

    def _withdraw(self, now: datetime) -> None:
        dispatch.withdraw(store=self._store, now=now)

    def _finish(self, now: datetime) -> None:
        for package in closing.finish_ready(now=now):
            log.info("package at its end", action="package.finish", package=str(package))

    def _dispatch(self, now: datetime) -> None:
        workers = self._board.workers()  # before the database: what they hold was assigned before they spoke
        pools = pools_now(now)
        self._take_back_unclaimed(pools, workers, now)
        by_pool: dict[str, list[wire.Heartbeat]] = defaultdict(list)
        for worker in workers:
            by_pool[worker.pool].append(worker)
        plans = {pool.name: plan(pool, by_pool[pool.name]) for pool in pools}
        for pool, wanted in plans.items():
            self._publish(pool, dispatch.assign(shares=wanted.release, now=now) if wanted.release else [])
        controls = {pool: wanted.control for pool, wanted in plans.items()}
        self._board.show(controls=controls, live=self._pace.note(finished_items(), now))

    def _take_back_unclaimed(self, pools: Sequence[PoolNow], workers: Sequence[wire.Heartbeat], now: datetime) -> None:
        seen = {name for worker in workers for name in worker.shards}
        ignored_since = self._attention.note([pool.name for pool in pools], workers, now)
        for pool in pools:
            if any(not shard.worker for shard in pool.held):
                since = ignored_since.get(pool.name)
                dispatch.take_back_unclaimed(pool=pool.pk, ignored_since=since, seen=seen, now=now)

    def _publish(self, pool: str, assignments: Sequence[wire.Assignment]) -> None:
        """After commit. What does not reach the bus stays assigned, is never claimed, and so comes back."""
        for given in assignments:
            name = wire.shard_name(given.package, given.shard, given.epoch)
            try:
                message = wire.encode(given)
            except ValueError:  # one package's text must not hold up the others
                log.exception("assignment cannot be written", action="shard.unwritable", shard=name)
                continue
            self._bus.publish(wire.work_topic(pool, given.settings.kind), message, key=given.package)
            log.info("shard assigned", action="shard.assign", shard=name, pool=pool, attempt=given.attempt)

    def _sweep(self, now: datetime) -> None:
        if self._swept_at is None or now - self._swept_at >= self._sweep_every:
            self._swept_at = now
            sweep(now=now)

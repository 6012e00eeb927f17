"""From what is seen to what is wanted: pure, so that a tick can be read, and tested, without any store."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from scheduler.domain.lifecycle import Cause, PackageState
from scheduler.domain.ordering import Runnable, in_flight_limit, room_for, share_out
from scheduler.wire import Control, Heartbeat

PARKED_BY = {PackageState.CANCELLING: Cause.USER_CANCEL, PackageState.PAUSED: Cause.OPERATOR_PAUSE}

READY = "ready"


@dataclass(frozen=True, slots=True)
class HeldShard:
    """A shard that is assigned (no ``worker`` yet) or running."""

    name: str
    worker: str
    package_state: PackageState


@dataclass(frozen=True, slots=True)
class PoolNow:
    """A pool as the database has it: its share at this instant, what waits and what is out."""

    pk: int
    name: str
    share: float
    max_in_flight: int
    runnable: tuple[Runnable, ...]
    held: tuple[HeldShard, ...]


@dataclass(frozen=True, slots=True)
class PoolPlan:
    """How many shards of which package to give out, and what to tell the pool's workers."""

    release: list[tuple[UUID, int]]
    control: Control


def plan(pool: PoolNow, workers: Sequence[Heartbeat]) -> PoolPlan:
    """What to do with a pool whose living workers are ``workers``."""
    alive = {worker.worker for worker in workers if takes_work(worker)}
    # A shard in the hands of a worker that is gone takes nobody's time; its lease will tell.
    held = sum(not shard.worker or shard.worker in alive for shard in pool.held)
    room = room_for(workers=len(alive), held=held, share=pool.share)
    limit = in_flight_limit(share=pool.share, max_in_flight=pool.max_in_flight)
    return PoolPlan(share_out(pool.runnable, room), Control(limit, park=to_park(pool.held, workers)))


def takes_work(worker: Heartbeat) -> bool:
    """Whether the worker will read another assignment: not when it is about to go."""
    return worker.engine_state == READY


def to_park(held: Iterable[HeldShard], workers: Iterable[Heartbeat]) -> dict[str, str]:
    """Shards to give up, by name, with the cause: paused, cancelled, or no longer the worker's to run."""
    by_name = {shard.name: shard for shard in held}
    park = {
        name: str(PARKED_BY[shard.package_state])
        for name, shard in by_name.items()
        if shard.worker and shard.package_state in PARKED_BY
    }
    strays = {name for worker in workers for name in worker.shards if name not in by_name}
    return park | dict.fromkeys(sorted(strays), str(Cause.LEASE_LOST))


class Attention:
    """Since when each pool has had nobody busy enough to explain an unread assignment."""

    def __init__(self) -> None:
        self._idle_since: dict[str, datetime] = {}

    def note(self, pools: Iterable[str], workers: Sequence[Heartbeat], now: datetime) -> Mapping[str, datetime]:
        """By pool: since when one worker has been idle without a break, or no worker been there. Busy pools miss."""
        idle = {f"worker:{one.worker}": one.pool for one in workers if not one.shards and takes_work(one)}
        idle |= {f"pool:{pool}": pool for pool in set(pools) - {one.pool for one in workers if takes_work(one)}}
        self._idle_since = {key: self._idle_since.get(key, now) for key in idle}
        since: dict[str, datetime] = {}
        for key, pool in idle.items():
            since[pool] = min(since.get(pool, now), self._idle_since[key])
        return since

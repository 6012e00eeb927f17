"""Packages with shards, and a worker that does by hand what a test tells it: for tests of the scheduler."""

import uuid
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import msgspec
import redis

from portal.capacity.models import Reservation
from portal.departments.models import Department, Person
from portal.packages.models import Package, Shard
from scheduler import wire
from scheduler.bus import Bus, Subscription
from scheduler.domain.lifecycle import PackageState
from scheduler.objects import ObjectStore
from scheduler.records import ItemResult, dump, part_key
from scheduler.wire import Assignment, Counts, Usage
from tests.world import World

NOW = datetime(2026, 12, 1, 15, 0, tzinfo=UTC)  # 23:00 in Shanghai
ITEMS = 4
WORK_S = 10.0
PER_ITEM = Usage(prompt_tokens=10, cached_tokens=2, completion_tokens=5, engine_s=0.5)


def promised(
    world: World,
    *,
    shards: int = 2,
    state: PackageState = PackageState.ADMITTED,
    deadline_at: datetime = NOW + timedelta(hours=10),
    department: Department | None = None,
    by: Person | None = None,
    **fields: Any,
) -> Package:
    """A package that was accepted: its shards wait, its capacity is reserved."""
    rows = shards * ITEMS
    given: dict[str, Any] = {
        "department": department or world.retail,
        "created_by": by or world.alice,
        "name": "reviews",
        "created_at": NOW,
        "touched_at": NOW,
        "state": state,
        "manifest_bytes": 1,
        "kind": "tagging",
        "labels": ["good", "bad"],
        "model": world.echo,
        "user_template": "{{text}}",
        "rows_total": rows,
        "rows_good": rows,
        "pool": world.pool,
        "price_list": world.prices,
        "tier_factor": Decimal(1),
        "deadline_at": deadline_at,
        "admitted_at": NOW,
    }
    package = Package.objects.create(**given | fields)
    Shard.objects.bulk_create(
        Shard(
            department=package.department,
            package=package,
            no=no,
            key=f"{package.prefix}/shards/{no}.jsonl.zst",
            items=ITEMS,
            input_tokens=10 * ITEMS,
            work_s=WORK_S,
            touched_at=NOW,
        )
        for no in range(shards)
    )
    Reservation.objects.create(
        department=package.department,
        pool=world.pool,
        package_ref=package.pk,
        tier=package.tier,
        deadline_at=deadline_at,
        promised_s=shards * WORK_S,
        remaining_s=shards * WORK_S,
        admitted_at=NOW,
    )
    return package


def results(rows: range, *, status: str = "succeeded") -> list[ItemResult]:
    """Finished items, each of which used ``PER_ITEM`` and is charged."""
    return [ItemResult(row=row, status=status, output="good", usage=PER_ITEM, charged=True) for row in rows]


def usage_of(items: int) -> Usage:
    """What that many items used."""
    return Usage(10 * items, 2 * items, 5 * items, 0.5 * items)


class HandWorker:
    """A worker that runs nothing by itself. It says only what a real one would be in the position to say."""

    def __init__(self, bus: Bus, store: ObjectStore, url: str, *, name: str = "w1", pool: str = "echo") -> None:
        self.name, self.pool, self.bus, self.store = name, pool, bus, store
        self._redis = redis.Redis.from_url(url)
        self._work: Subscription = bus.subscribe(
            [wire.work_topic(pool, kind) for kind in ("tagging", "extraction", "summarisation", "generation")],
            group=f"pool-{pool}",
            member=name,
        )

    def beat(self, *shards: Assignment) -> None:
        """Live on, with these shards in hand."""
        names = tuple(wire.shard_name(a.package, a.shard, a.epoch) for a in shards)
        heartbeat = wire.Heartbeat(self.name, self.pool, "echo", names, 0, 0.0, "ready", datetime.now(UTC))
        self._redis.set(wire.heartbeat_key(self.name), msgspec.json.encode(heartbeat), ex=60)

    def die(self) -> None:
        """The heartbeat expires."""
        self._redis.delete(wire.heartbeat_key(self.name))

    def control(self) -> wire.Control | None:
        """What the scheduler wants of the pool."""
        said = self._redis.get(wire.control_key(self.pool))
        return msgspec.json.decode(said, type=wire.Control) if isinstance(said, bytes) else None

    def take(self, at_most: int = 10) -> list[Assignment]:
        """Assignments from the bus, acknowledged."""
        taken: list[Assignment] = []
        for delivery in self._work.poll(timeout_s=0.2, at_most=at_most):
            message = wire.decode(delivery.payload)
            assert isinstance(message, Assignment)
            self._work.ack(delivery)
            taken.append(message)
        return taken

    def write_part(self, given: Assignment, found: list[ItemResult], *, seq: int = 0) -> str:
        key = part_key(given.parts_prefix, given.epoch, seq)
        self.store.put(key, dump(found))
        return key

    def say(self, event: wire.Event) -> None:
        self.bus.publish(wire.EVENTS_TOPIC, wire.encode(durable(self.store, event)), key=event.package)

    def claim(self, given: Assignment) -> None:
        self.say(claimed(given, worker=self.name))

    def run(self, given: Assignment) -> None:
        """Claim, finish and settle the whole shard."""
        key = self.write_part(given, results(range(given.shard * ITEMS + 1, (given.shard + 1) * ITEMS + 1)))
        self.claim(given)
        self.say(settled(given, parts=(key,), worker=self.name))


def _who(given: Assignment, worker: str, epoch: int | None) -> dict[str, Any]:
    return {
        "package": given.package,
        "shard": given.shard,
        "epoch": given.epoch if epoch is None else epoch,
        "worker": worker,
        "at": NOW,
    }


def claimed(given: Assignment, *, worker: str = "w1", epoch: int | None = None) -> wire.Claimed:
    return wire.Claimed(**_who(given, worker, epoch))


def progressed(
    given: Assignment, *, done: int, parts: tuple[str, ...] = (), worker: str = "w1", epoch: int | None = None
) -> wire.Progressed:
    return wire.Progressed(**_who(given, worker, epoch), counts=Counts(done), usage=usage_of(done), parts=parts)


def settled(
    given: Assignment,
    *,
    counts: Counts = Counts(ITEMS),  # noqa: B008  frozen
    charged_items: int = ITEMS,
    parts: tuple[str, ...] = (),
    worker: str = "w1",
    epoch: int | None = None,
) -> wire.Settled:
    return wire.Settled(
        **_who(given, worker, epoch),
        counts=counts,
        usage=usage_of(counts.total),
        charged=usage_of(charged_items),
        charged_items=charged_items,
        parts=parts,
    )


def parked(
    given: Assignment, *, cause: str, done: int, parts: tuple[str, ...] = (), epoch: int | None = None
) -> wire.Parked:
    return wire.Parked(
        **_who(given, "w1", epoch),
        cause=cause,
        counts=Counts(done),
        usage=usage_of(done),
        charged=usage_of(done),
        charged_items=done,
        parts=parts,
    )


def durable(store: ObjectStore, event: wire.Event) -> wire.Event:
    """The event, with what it says in a part of the store: a worker says nothing that is not durable."""
    if not isinstance(event, wire.Settled | wire.Parked) or event.parts or not event.counts.total:
        return event
    package = Package.objects.across_departments().get(pk=event.package)
    key = part_key(f"{package.prefix}/parts/{event.shard}/", event.epoch, 0)
    said = event.counts
    statuses = ["succeeded"] * said.succeeded + ["quarantined"] * said.quarantined + ["failed"] * said.failed
    store.put(
        key,
        dump(
            ItemResult(event.shard * ITEMS + n + 1, status, "good", usage=PER_ITEM, charged=n < event.charged_items)
            for n, status in enumerate(statuses)
        ),
    )
    return msgspec.structs.replace(event, parts=(key,))


def faulted(given: Assignment, *, epoch: int | None = None) -> wire.Faulted:
    return wire.Faulted(**_who(given, "w1", epoch), reason="engine died")


def shard_of(package: Package | uuid.UUID, no: int = 0) -> Shard:
    """The shard as the database has it now."""
    key = package.pk if isinstance(package, Package) else package
    return Shard.objects.across_departments().get(package=key, no=no)


def state_of(package: Package) -> str:
    """The package's state as the database has it now."""
    package.refresh_from_db()
    return package.state

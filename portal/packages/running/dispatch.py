"""Where a shard stands between waiting and its end: every move of the states in scheduler.domain.lifecycle.

Each move is one conditional update that expects the state and the epoch that were read; when no row changed,
somebody else was first and nothing else happens. Only the scheduler calls this module.
"""

import json
from collections.abc import Collection, Iterable
from datetime import datetime
from typing import Any
from uuid import UUID

import structlog
from django.conf import settings
from django.db import transaction
from django.db.models import Q, QuerySet

from portal.capacity.models import Tier
from portal.packages import timeline
from portal.packages.models import Package, Shard
from portal.packages.running import closing, tallies
from portal.packages.running.one_by_one import named, one_by_one
from portal.packages.running.tallies import Tally, UnableToBelieve
from scheduler.domain import leases
from scheduler.domain.lifecycle import Cause, PackageState, ShardState
from scheduler.objects import ObjectStore
from scheduler.records import is_part, part_order
from scheduler.wire import (
    Assignment,
    Claimed,
    Event,
    Faulted,
    Parked,
    Progressed,
    RequestSettings,
    Settled,
)

log = structlog.get_logger()
DISPATCHED = frozenset({PackageState.ADMITTED, PackageState.RUNNING})
HELD = frozenset({ShardState.ASSIGNED, ShardState.RUNNING})


def ready(now: datetime) -> QuerySet[Shard]:
    """Waiting shards that may go now."""
    return _shards().filter(
        Q(not_before=None) | Q(not_before__lte=now), state=ShardState.WAITING, package__state__in=DISPATCHED
    )


# --- out: waiting → assigned ------------------------------------------------------------------------------
def assign(*, shares: Iterable[tuple[UUID, int]], now: datetime) -> list[Assignment]:
    """Give out the next shards of each package, in one transaction. Publish the result once this returns."""
    with transaction.atomic():
        return [
            _assignment(shard, now)
            for package, n in shares
            for shard in ready(now).filter(package=package).select_related("package__model").order_by("no")[:n]
            if _move(shard, now, state=ShardState.ASSIGNED, epoch=shard.epoch + 1, worker="", cause="")
        ]


def _assignment(shard: Shard, now: datetime) -> Assignment:
    package = shard.package
    assert package.model is not None, "an admitted package has a model"
    return Assignment(
        package=str(package.pk),
        shard=shard.no,
        epoch=shard.epoch,
        attempt=shard.attempts + 1,
        lane="express" if package.tier == Tier.EXPRESS else "standard",
        shard_key=shard.key,
        parts_prefix=tallies.parts_prefix(package, shard.no),
        model=package.model.name,
        settings=_request_settings(package),
        lease_s=settings.LEASE_S,
        not_after=leases.claimable_until(now),
    )


def _request_settings(package: Package) -> RequestSettings:
    return RequestSettings(
        kind=package.kind,
        max_output_tokens=package.max_output_tokens,
        temperature=package.temperature,
        labels=tuple(package.labels),
        json_schema=None if package.json_schema is None else json.dumps(package.json_schema, ensure_ascii=False),
    )


def take_back_unclaimed(*, pool: int, ignored_since: datetime | None, seen: Collection[str], now: datetime) -> int:
    """Return assigned shards whose message must have been lost; ``seen`` names those that a worker says it has."""
    assigned = _shards().filter(state=ShardState.ASSIGNED, package__pool=pool)
    lost = [
        shard
        for shard in assigned
        if named(shard) not in seen
        and leases.is_unclaimed(assigned_at=shard.touched_at, ignored_since=ignored_since, now=now)
    ]
    return sum(_wait(shard, Cause.UNCLAIMED, now) for shard in lost)


# --- back: what the workers say ---------------------------------------------------------------------------
def apply(event: Event, *, store: ObjectStore, now: datetime) -> bool:
    """Let an event change its shard. False when it changed nothing: an older epoch, or a shard that moved on.

    Raises :class:`~portal.packages.running.tallies.UnableToBelieve`, before anything has changed, for what cannot be.
    """
    shard = _held(event)
    if shard is None:
        return _ignored(event)
    tally = _tally(event, shard, store)
    if not _claimed(shard, event.worker, now):
        return _ignored(event)
    match event:
        case Claimed():
            return True
        case Progressed():
            return _progress(shard, event, now)
        case Parked():
            return _park(shard, Cause(event.cause), tally, now)
        case Settled():
            return closing.settle(shard=shard, tally=tally, now=now)
        case Faulted():
            log.warning("shard faulted", action="shard.fault", reason=event.reason, **_ids(event))
            return _set_back(shard, Cause.FAULT, store, now)


def _ignored(event: Event) -> bool:
    log.info("event ignored", action="event.ignore", **_ids(event))
    return False


def _tally(event: Event, shard: Shard, store: ObjectStore) -> Tally:
    """What the event says, checked against the store where it is kept and charged."""
    match event:
        case Settled():
            return tallies.borne_out(event, shard, store)
        case Parked():
            if event.cause not in set(Cause):
                raise UnableToBelieve(f"parked for a cause that there is not: {event.cause}")
            return tallies.borne_out(event, shard, store)
        case Progressed():
            tallies.check_claims(event, shard)
    return Tally()


def _held(event: Event) -> Shard | None:
    return (
        _shards()
        .select_related("package__department")
        .filter(package=UUID(event.package), no=event.shard, epoch=event.epoch, state__in=HELD)
        .first()
    )


def _claimed(shard: Shard, worker: str, now: datetime) -> bool:
    """Whether the shard runs; one that was only assigned counts as claimed by whatever its worker says first."""
    if shard.state == ShardState.RUNNING:
        return True
    with transaction.atomic():
        until = leases.renewed(now, settings.LEASE_S)
        if not _move(shard, now, state=ShardState.RUNNING, worker=worker, lease_until=until):
            return False
        _start(shard.package, now)
    return True


def _start(package: Package, now: datetime) -> None:
    admitted = Package.objects.across_departments().filter(pk=package.pk, state=PackageState.ADMITTED)
    if admitted.update(state=PackageState.RUNNING, started_at=now, touched_at=now) == 1:
        package.state = PackageState.RUNNING
        timeline.record(package=package, code="started", now=now)


def _progress(shard: Shard, event: Progressed, now: datetime) -> bool:
    """Keep the sums and renew the lease; a shard that is asked to park has its lease run out instead."""
    news = tallies.columns(event)
    if shard.package.state in DISPATCHED:
        news["lease_until"] = leases.renewed(now, settings.LEASE_S)
    return _move(shard, now, **news)


def _park(shard: Shard, cause: Cause, tally: Tally, now: datetime) -> bool:
    if shard.package.state == PackageState.CANCELLING:
        return closing.cancel(shard=shard, tally=tally, now=now)
    with transaction.atomic():
        if not _wait(shard, cause, now, **tallies.columns(tally)):
            return False
        if cause != Cause.OPERATOR_PAUSE:  # the pause itself has its entry
            timeline.record(package=shard.package, code="shard_parked", now=now, shard=shard.no, cause=cause)
    return True


# --- setbacks ---------------------------------------------------------------------------------------------
def expire_leases(*, store: ObjectStore, now: datetime) -> int:
    """Take back every shard whose worker has not been heard of for a whole lease. Returns how many."""
    expired = _shards().select_related("package__department").filter(state=ShardState.RUNNING, lease_until__lte=now)
    return one_by_one(expired, lambda shard: _set_back(shard, Cause.LEASE_LOST, store, now), now)


def _set_back(shard: Shard, cause: Cause, store: ObjectStore, now: datetime) -> bool:
    """A worker failed: the shard waits for another try, or its attempts are spent."""
    if shard.package.state == PackageState.CANCELLING:
        return _cancel(shard, store, now)
    if shard.package.state == PackageState.PAUSED and cause == Cause.LEASE_LOST:
        return _wait(shard, Cause.OPERATOR_PAUSE, now)  # its lease was not renewed because of the pause
    prefix = tallies.parts_prefix(shard.package, shard.no)
    made_progress = any(is_part(key, prefix) and part_order(key)[0] == shard.epoch for key in shard.parts)
    setback = leases.after_failure(attempts=shard.attempts, made_progress=made_progress, now=now)
    if setback.is_dead:
        tally = tallies.salvage(shard, store=store, now=now)
        return closing.bury(shard=shard, tally=tally, attempts=setback.attempts, cause=cause, now=now)
    return _try_again(shard, cause, setback, now)


def _try_again(shard: Shard, cause: Cause, setback: leases.Setback, now: datetime) -> bool:
    code = "shard_lost" if cause == Cause.LEASE_LOST else "shard_faulted"
    with transaction.atomic():
        if not _wait(shard, cause, now, attempts=setback.attempts, not_before=setback.not_before):
            return False
        timeline.record(package=shard.package, code=code, now=now, shard=shard.no, attempt=setback.attempts)
    log.warning("shard set back", action="shard.set_back", shard=named(shard), cause=cause)
    return True


# --- what people asked for --------------------------------------------------------------------------------
def withdraw(*, store: ObjectStore, now: datetime) -> int:
    """Bring the shards of cancelling and paused packages to rest, as far as no worker has them.

    Those that run are asked to park (Control) and come back as ``Parked``, or their lease runs out. Doing it
    again changes nothing.
    """
    moved = 0
    for package in Package.objects.across_departments().filter(state=PackageState.CANCELLING):
        moved += closing.cancel_untouched(package=package, now=now)
    idle = _shards().select_related("package__department")
    stopped = idle.filter(package__state=PackageState.CANCELLING, state__in=[ShardState.WAITING, ShardState.ASSIGNED])
    moved += one_by_one(stopped, lambda shard: _cancel(shard, store, now), now)
    paused = idle.filter(package__state=PackageState.PAUSED, state=ShardState.ASSIGNED)
    return moved + one_by_one(paused, lambda shard: _wait(shard, Cause.OPERATOR_PAUSE, now), now)


def _cancel(shard: Shard, store: ObjectStore, now: datetime) -> bool:
    return closing.cancel(shard=shard, tally=tallies.salvage(shard, store=store, now=now), now=now)


# --- the one update ---------------------------------------------------------------------------------------
def _wait(shard: Shard, cause: Cause, now: datetime, **changes: Any) -> bool:
    again: dict[str, Any] = {"worker": "", "lease_until": None, "not_before": None, **changes}
    return _move(shard, now, state=ShardState.WAITING, cause=cause, **again)


def _move(shard: Shard, now: datetime, **changes: Any) -> bool:
    """Change the shard if it still is as it was read; then ``shard`` shows the change."""
    expected = _shards().filter(pk=shard.pk, state=shard.state, epoch=shard.epoch)
    if expected.update(**changes, troubled_at=None, touched_at=now) != 1:
        return False
    for name, value in changes.items():
        setattr(shard, name, value)
    return True


def _shards() -> QuerySet[Shard]:
    return Shard.objects.across_departments()


def _ids(event: Event) -> dict[str, object]:
    return {
        "event_kind": type(event).__name__,
        "package": event.package,
        "shard": event.shard,
        "epoch": event.epoch,
        "worker": event.worker,
    }

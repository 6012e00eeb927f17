"""The last move of a shard (settled, dead, cancelled) and of a package: what is kept, charged and given back."""

from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime
from uuid import UUID

import structlog
from django.db import transaction
from django.db.models import Exists, F, Max, OuterRef, QuerySet, Sum

from portal.audit.services import record as audit
from portal.billing.services import charge_shard
from portal.capacity.services import shrink_reservation
from portal.packages import timeline
from portal.packages.enqueueing import enqueue_after_commit
from portal.packages.models import Package, Shard
from portal.packages.running.tallies import Tally, columns, repeats_columns
from scheduler.domain.lifecycle import PROMISED, SHARD_FINAL, Cause, PackageState, ShardState
from scheduler.wire import Counts

log = structlog.get_logger()


def settle(*, shard: Shard, tally: Tally, now: datetime) -> bool:
    """Every item of the shard has ended: keep the sums and charge them, once. False if it was not open any more."""
    return _close(shard, ShardState.SETTLED, tally, now=now, cause="")


def bury(*, shard: Shard, tally: Tally, attempts: int, cause: Cause, now: datetime) -> bool:
    """All ``attempts`` are spent: what is finished is kept and charged, every other item failed."""
    lost = shard.items - tally.counts.succeeded - tally.counts.quarantined
    found = replace(
        tally,
        counts=_rest_failed(tally.counts, shard.items),
        repeats=_rest_failed(tally.repeats, shard.repeats),
    )
    with transaction.atomic():
        if not _close(shard, ShardState.DEAD, found, now=now, cause=cause, attempts=attempts):
            return False
        timeline.record(
            package=shard.package, code="shard_dead", now=now, shard=shard.no, items=lost, attempts=attempts
        )
        audit(
            action="shard.dead",
            subject=shard.package_id,
            now=now,
            department=shard.package.department,
            shard=shard.no,
            cause=cause,
        )
    return True


def _rest_failed(counts: Counts, total: int) -> Counts:
    return Counts(counts.succeeded, counts.quarantined, total - counts.succeeded - counts.quarantined)


def cancel(*, shard: Shard, tally: Tally, now: datetime) -> bool:
    """The package was cancelled: what is finished is kept and charged, the other items never run."""
    return _close(shard, ShardState.CANCELLED, tally, now=now, cause=Cause.USER_CANCEL)


def cancel_untouched(*, package: Package, now: datetime) -> int:
    """Cancel, in one go, the shards that were never given to anybody. Returns how many."""
    with transaction.atomic():
        untouched = _shards().filter(package=package, state=ShardState.WAITING, epoch=0)
        work_s: float | None = untouched.aggregate(work_s=Sum("work_s"))["work_s"]
        if work_s is None:
            return 0
        shrink_reservation(package_ref=package.pk, by_s=work_s, now=now)
        return untouched.update(state=ShardState.CANCELLED, cause=Cause.USER_CANCEL, settled_at=now, touched_at=now)


def _close(shard: Shard, to: ShardState, tally: Tally, *, now: datetime, **facts: str | int) -> bool:
    with transaction.atomic():
        expected = _shards().filter(pk=shard.pk, state=shard.state, epoch=shard.epoch)
        rows = expected.update(
            state=to,
            lease_until=None,
            not_before=None,
            troubled_at=None,
            settled_at=now,
            touched_at=now,
            **facts,
            **columns(tally),
            **repeats_columns(tally),
        )
        if rows != 1:
            return False
        shard.refresh_from_db()
        if to == ShardState.SETTLED or tally.charged_items:
            charge_shard(
                shard=shard,
                package=shard.package,
                usage=tally.charged,
                items=tally.charged_items,
                repeats=tally.charged_repeats,
                now=now,
            )
        shrink_reservation(package_ref=shard.package_id, by_s=shard.work_s, now=now)
        if tally.lost:
            _tell_operators(shard, tally, now)
    log.info("shard closed", action="shard.close", package=str(shard.package_id), shard=shard.no, state=to)
    return True


def _tell_operators(shard: Shard, tally: Tally, now: datetime) -> None:
    """Parts that cannot be read: their results are lost, and an operator should know where."""
    audit(
        action="shard.parts_lost",
        subject=shard.package_id,
        now=now,
        department=shard.package.department,
        shard=shard.no,
        parts=len(tally.lost),
        first=tally.lost[0],
    )


def finish_ready(*, now: datetime) -> list[UUID]:
    """Send every package whose shards are all final to be finalised. Returns their ids."""
    finished = [package.pk for package in _without_open_shards(PROMISED) if _finalise(package, now)]
    for package in _stopped():
        if _touch(package, now):
            finished.append(package.pk)
    return finished


def _finalise(package: Package, now: datetime) -> bool:
    with transaction.atomic():
        expected = Package.objects.across_departments().filter(pk=package.pk, state=package.state)
        if expected.update(state=PackageState.FINALISING, touched_at=now) != 1:
            return False
        timeline.record(package=package, code="finalising", now=now)
        enqueue_after_commit("packages.finalise", str(package.pk))
    return True


def _stopped() -> QuerySet[Package]:
    """Cancelling packages that have come to rest since they were last touched; the sweep sees to older ones."""
    stopped = _without_open_shards({PackageState.CANCELLING}).annotate(rested_at=Max("shards__settled_at"))
    return stopped.filter(touched_at__lt=F("rested_at"))


def _touch(package: Package, now: datetime) -> bool:
    with transaction.atomic():
        expected = Package.objects.across_departments().filter(
            pk=package.pk, state=PackageState.CANCELLING, touched_at=package.touched_at
        )
        if expected.update(touched_at=now) != 1:
            return False
        enqueue_after_commit("packages.finalise", str(package.pk))
    return True


def _without_open_shards(states: Iterable[PackageState]) -> QuerySet[Package]:
    still_open = _shards().filter(package=OuterRef("pk")).exclude(state__in=SHARD_FINAL)
    return Package.objects.across_departments().filter(~Exists(still_open), state__in=states)


def _shards() -> QuerySet[Shard]:
    return Shard.objects.across_departments()

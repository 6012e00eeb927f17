"""Ending a package: its files in manifest order, checked against what was settled, then its last state.

Safe to run twice: the same rows give the same files, and only one run makes the last move.
"""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from datetime import datetime, timedelta
from uuid import UUID

import structlog
from django.db import InterfaceError, OperationalError, transaction
from django.db.models import F
from django.utils import timezone

from portal.audit.services import record
from portal.capacity.services import release_reservation
from portal.packages import timeline
from portal.packages.correcting.merging import achieved, enqueue_tables, note_end
from portal.packages.delivering.losses import ByShard, facts_of, lost_shards, tell
from portal.packages.delivering.report import report
from portal.packages.delivering.results import (
    Losses,
    Outcome,
    UnableToAddUp,
    rows_in_spite_of,
    rows_with_outcomes,
)
from portal.packages.delivering.written import Files, Tally
from portal.packages.manifest import BadRow, Row
from portal.packages.models import Package, Shard
from portal.packages.store import objects
from scheduler.domain.lifecycle import SHARD_FINAL, ItemStatus, PackageState, ShardState

ENDS = {PackageState.FINALISING: PackageState.COMPLETED, PackageState.CANCELLING: PackageState.CANCELLED}
TRIES_BEFORE_LOSS = 3
"""Failed tries, a minute apart, before an object that is not there counts as lost: a disk may come back."""
TRIES_BEFORE_TOTAL_LOSS = 30
"""Failed tries before a package of which nothing at all can be read is given up: its disk may not be mounted."""
MOST_COUNTED = 1_000
TOLD_EVERY = timedelta(seconds=10)
log = structlog.get_logger()
Clock = Callable[[], datetime]


def finalise(*, package_id: UUID, clock: Clock = timezone.now) -> None:
    """Write the files of a package whose shards have all ended and make it ``completed`` or ``cancelled``.

    Does nothing for a package in another state or with open shards. Raises :class:`UnableToAddUp` when results and
    settled counts differ, and whatever the object store raises: the package then stays where it is, and the sweep
    comes back to it. From the fourth time on, objects that are lost are taken for lost: their rows have failed, and
    the package says so.
    """
    package = _ready(package_id)
    if package is None:
        log.info("not to be finalised", action="finalise.skip", package=str(package_id))
        return
    try:
        _end(package, clock)
    except (OperationalError, InterfaceError):
        raise
    except Exception:
        failing = Package.objects.across_departments().filter(pk=package.pk, finalise_attempts__lt=MOST_COUNTED)
        failing.update(finalise_attempts=F("finalise_attempts") + 1)
        raise


def _end(package: Package, clock: Clock) -> None:
    losses = Losses() if package.finalise_attempts >= TRIES_BEFORE_LOSS else None
    tally = _write_tables(package, clock, losses)
    if losses and losses.has_lost_columns:
        tally = _write_tables(package, clock, losses)  # again, now that it is known that rows need their numbers
    losses = losses or Losses()
    _check(package, tally, losses)
    lost = lost_shards(package, losses, tally.by_shard)
    if losses.has_lost_columns and lost and not tally.by_status[ItemStatus.SUCCEEDED] and not _has_waited(package):
        raise UnableToAddUp("nothing of the package can be read: its store is away, or all of it is lost")
    corrected = achieved(package)
    package.finished_at = now = clock()
    end = ENDS[PackageState(package.state)]
    with transaction.atomic():
        if not _close(package, end, tally, now):
            return
        ran = tally.by_status[ItemStatus.SUCCEEDED]
        note_end(correction=package, succeeded=corrected, ran=ran, losses=losses, now=now)
        tell(package, losses, lost, tally.by_shard, tally.repeats_by_shard, now=now)
        content = report(package, tally.by_status, tally.by_reason, state=end, lost=facts_of(losses, lost))
        objects().put(f"{package.prefix}/out/report.json", content)
        enqueue_tables(package)


def _has_waited(package: Package) -> bool:
    return package.finalise_attempts >= TRIES_BEFORE_TOTAL_LOSS


def _ready(package_id: UUID) -> Package | None:
    package = (
        Package.objects.across_departments()
        .select_related("department", "model", "price_list", "created_by")
        .filter(pk=package_id, state__in=ENDS)
        .first()
    )
    if package is None or package.shards.exclude(state__in=SHARD_FINAL).exists():
        return None
    return package


def _write_tables(package: Package, clock: Clock, losses: Losses | None) -> Tally:
    tally, told_at = Tally(), clock()
    is_lost = losses is not None and losses.has_lost_columns
    with ExitStack() as stack:
        files = Files(package, stack, folder=package.out, has_lost_columns=is_lost)
        for row, outcome in _rows(package, losses):
            files.add(row.values, outcome)
            tally.add(outcome)
            if row.number % 1000 == 0 and clock() - told_at >= TOLD_EVERY:
                told_at = clock()
                Package.objects.across_departments().filter(pk=package.pk, state=package.state).update(
                    touched_at=told_at
                )
    return tally


def _rows(package: Package, losses: Losses | None) -> Iterator[tuple[Row | BadRow, Outcome]]:
    if losses is None:
        return rows_with_outcomes(package, store=objects(), is_final=True)
    return rows_in_spite_of(losses, package, store=objects())


def _check(package: Package, tally: Tally, losses: Losses) -> None:
    """Every row has ended, and the results of each shard, unless some are lost, are those that were settled."""
    if tally.by_status.total() != package.rows_total:
        raise UnableToAddUp(f"{tally.by_status.total()} results for {package.rows_total} rows")
    for shard in package.shards.exclude(no__in=losses.shards):
        _compare(shard, "rows", tally.by_shard, _settled(shard))
        if not losses.has_lost_repeats:
            _compare(shard, "repeats", tally.repeats_by_shard, _settled_repeats(shard))


def _compare(shard: Shard, what: str, by_shard: ByShard, settled: dict[str, int]) -> None:
    for status, count in settled.items():
        if (found := by_shard.get((shard.no, status), 0)) != count:
            raise UnableToAddUp(f"shard {shard.no}: {found} {status} {what} in its parts, {count} settled")


def _settled(shard: Shard) -> dict[str, int]:
    return _by_status(shard, shard.items, shard.succeeded, shard.quarantined, shard.failed)


def _settled_repeats(shard: Shard) -> dict[str, int]:
    counts = shard.repeats_succeeded, shard.repeats_quarantined, shard.repeats_failed
    return _by_status(shard, shard.repeats, *counts)


def _by_status(shard: Shard, total: int, succeeded: int, quarantined: int, failed: int) -> dict[str, int]:
    rest = total - succeeded - quarantined - failed
    return {
        ItemStatus.SUCCEEDED: succeeded,
        ItemStatus.QUARANTINED: quarantined,
        ItemStatus.FAILED: failed,
        ItemStatus.CANCELLED: rest if shard.state == ShardState.CANCELLED else 0,
    }


def _close(package: Package, end: PackageState, tally: Tally, now: datetime) -> bool:
    with transaction.atomic():
        expected = Package.objects.across_departments().filter(pk=package.pk, state=package.state)
        if expected.update(state=end, finished_at=now, touched_at=now, rows_read=F("rows_total")) != 1:
            log.info("somebody else has ended it", action="finalise.lost", package=str(package.pk))
            return False
        release_reservation(package_ref=package.pk, now=now)
        counts = {str(status): tally.by_status[status] for status in ItemStatus}
        timeline.record(package=package, code=end, now=now, **counts)
        record(action=f"package.{end}", subject=package.number, department=package.department, now=now, rows=counts)
    log.info("package ended", action="finalise", package=str(package.pk), state=end, **counts)
    return True

"""What corrections achieved, laid over the rows of the package that they correct.

The counts of the package move with the end of a correction. Its files are written anew after that, into a folder of
their own for each round; until they are, whoever asks for rows gets them laid over one another as they are read.
"""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import structlog
from django.db import transaction
from django.db.models import Exists, F, OuterRef, QuerySet
from django.utils import timezone

from portal.audit.services import record
from portal.packages import timeline
from portal.packages.manifest import Row
from portal.packages.models import Package
from portal.packages.overlay import Overlay, ended_rounds, ended_rows, losses_told
from portal.packages.progress import OVER, is_over, progress_of, progress_of_all
from portal.packages.report import report
from portal.packages.results import RowEnd, UnableToAddUp, quarantine_key, rows_with_outcomes
from portal.packages.store import objects
from portal.packages.written import Files, Tally
from scheduler.domain.lifecycle import ItemStatus, PackageState
from scheduler.records import SetAsideRow, load

TOLD_EVERY = timedelta(seconds=10)
log = structlog.get_logger()
Clock = Callable[[], datetime]


# --- reading ----------------------------------------------------------------------------------------------
def is_behind(package: Package) -> bool:
    """Whether corrections have ended that the written files of ``package`` do not know of yet."""
    return is_over(package) and package.corrections.filter(state__in=OVER, round__gt=package.merged_round).exists()


def current_rows(package: Package) -> Iterator[RowEnd]:
    """Every row that has ended so far, in manifest order, with what corrections made of it. Flat memory."""
    if is_over(package):
        return _merged(package, ended_rounds(package))
    return rows_with_outcomes(package, store=objects(), is_final=False)


def quarantined(package: Package) -> Iterator[SetAsideRow]:
    """Every row of a package that is over that is in quarantine now, in manifest order.

    Raises ``ObjectNotFound`` at the first row when the quarantine was never written, or is lost.
    """
    written = load(objects(), quarantine_key(package), SetAsideRow)
    rounds = ended_rounds(package, after=package.merged_round)
    if not rounds:
        yield from written
        return
    with closing(Overlay(package, rounds)) as overlay:
        for row, laid in overlay.beside(written, lambda aside: aside.row):
            if laid is None:
                yield row
            elif laid.outcome.status == ItemStatus.QUARANTINED:
                yield laid.set_aside(row.columns, overlay.columns)


def _merged(package: Package, rounds: list[Package]) -> Iterator[RowEnd]:
    if not rounds:
        yield from ended_rows(package)
        return
    with closing(Overlay(package, rounds)) as overlay:
        for (row, ended), laid in overlay.beside(ended_rows(package), lambda found: found[1].row):
            if laid is None or ended.status != ItemStatus.QUARANTINED:
                yield row, ended
            else:
                yield Row(row.number, laid.over(row.values, overlay.columns)), laid.outcome


# --- writing ----------------------------------------------------------------------------------------------
def note_end(*, correction: Package, succeeded: int, now: datetime) -> None:
    """A package has ended: if it corrects another, that one's counts move. Call it in the transaction of the end.

    Every row of a correction that succeeds was in quarantine: what was not is set aside when the file is read.
    """
    if correction.corrects_id is None:
        return
    found = Package.objects.across_departments().filter(pk=correction.corrects_id)
    found.update(rows_corrected=F("rows_corrected") + succeeded, touched_at=now)
    package = found.select_related("department").get()
    facts: dict[str, Any] = {"round": correction.round, "rows": succeeded, "left": progress_of(package).quarantined}
    timeline.record(package=package, code="corrected", now=now, **facts)
    record(action="package.corrected", subject=package.number, department=package.department, now=now, **facts)
    enqueue(package)


def enqueue(package: Package) -> None:
    """Have the files of ``package`` written anew once the transaction has ended; what is lost, the sweep finds."""
    from portal.packages.tasks import merge as task  # tasks call services: the way back is taken at run time only

    transaction.on_commit(lambda: task.apply_async((str(package.pk),), retry=False), robust=True)


def enqueue_tables(package: Package) -> None:
    """Have the further forms of its results written once the transaction has ended; what is lost, the sweep finds."""
    from portal.packages.tasks import tabulate as task

    transaction.on_commit(lambda: task.apply_async((str(package.pk),), retry=False), robust=True)


def behind() -> QuerySet[Package]:
    """All packages whose written files do not know of their last correction."""
    later = Package.objects.across_departments().filter(
        corrects=OuterRef("pk"), state__in=OVER, round__gt=OuterRef("merged_round")
    )
    return Package.objects.across_departments().filter(Exists(later), state__in=OVER)


def merge(*, package_id: UUID, clock: Clock = timezone.now) -> None:
    """Write the files of a package anew, with every correction that has ended. Safe to run twice, and at once.

    Raises :class:`UnableToAddUp` when rows and counts differ, and what the object store raises: nothing changes then.
    """
    package = behind().select_related("department", "model", "price_list").filter(pk=package_id).first()
    if package is None:
        log.info("nothing to merge", action="merge.skip", package=str(package_id))
        return
    rounds = ended_rounds(package)
    last, before = rounds[-1].round, package.merged_round
    folder = f"{package.prefix}/out/{last}"
    lost = losses_told(package)
    tally = _write(package, rounds, folder, clock, has_lost_columns=bool(lost.get("original_columns")))
    if not any(lost.values()):
        _check(package, rounds, tally)
    content = report(package, tally.by_status, tally.by_reason, state=PackageState(package.state), lost=lost)
    objects().put(f"{folder}/report.json", content)
    mine = Package.objects.across_departments().filter(pk=package.pk, merged_round=before)
    if mine.update(merged_round=last, touched_at=clock()) == 1 and before:
        objects().delete_prefix(f"{package.prefix}/out/{before}/")
    enqueue_tables(package)
    log.info("corrections merged", action="merge", package=str(package.pk), round=last)


def _write(package: Package, rounds: list[Package], folder: str, clock: Clock, *, has_lost_columns: bool) -> Tally:
    tally, told_at = Tally(), clock()
    with ExitStack() as stack:
        files = Files(package, stack, folder=folder, has_lost_columns=has_lost_columns)
        for row, ended in _merged(package, rounds):
            files.add(row.values, ended)
            tally.add(ended)
            if ended.row % 1000 == 0 and clock() - told_at >= TOLD_EVERY:
                told_at = clock()
                Package.objects.across_departments().filter(pk=package.pk).update(touched_at=told_at)
    return tally


def _check(package: Package, rounds: list[Package], tally: Tally) -> None:
    """As many rows as the manifest has, and as many succeeded as did in the package and in these rounds together."""
    own = progress_of(package).succeeded - package.rows_corrected
    expected = own + sum(one.succeeded for one in progress_of_all(rounds).values())
    found = tally.by_status[ItemStatus.SUCCEEDED]
    if tally.by_status.total() != package.rows_total or found != expected:
        total = tally.by_status.total()
        raise UnableToAddUp(f"{total} rows for {package.rows_total}, {found} succeeded for {expected}")

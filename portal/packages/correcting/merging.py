"""What corrections achieved, laid over the rows of the package that they correct.

The counts of the package move with the end of a correction. Its files are written anew after that, into a folder of
their own for each round; until they are, whoever asks for rows gets them laid over one another as they are read.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, closing
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import structlog
from django.db import transaction
from django.db.models import Exists, F, OuterRef, QuerySet
from django.utils import timezone

from portal.audit.services import record
from portal.packages import timeline
from portal.packages.correcting.overlay import Overlay, ended_rounds
from portal.packages.delivering.ended import ended_rows, in_quarantine, losses_told
from portal.packages.delivering.losses import facts_of, lost_shards, tell
from portal.packages.delivering.report import report
from portal.packages.delivering.results import (
    QUARANTINE,
    Losses,
    RowEnd,
    UnableToAddUp,
    quarantine_key,
    rows_with_outcomes,
)
from portal.packages.delivering.written import Files, Tally
from portal.packages.enqueueing import enqueue_after_commit
from portal.packages.following.progress import OVER, is_over, progress_of
from portal.packages.manifest import Row
from portal.packages.models import Package
from portal.packages.store import objects
from scheduler.domain.lifecycle import ItemStatus, PackageState
from scheduler.objects import ObjectNotFound
from scheduler.records import SetAsideRow, UnableToReadRecords, load

TOLD_EVERY = timedelta(seconds=10)
log = structlog.get_logger()
Clock = Callable[[], datetime]


# --- reading ----------------------------------------------------------------------------------------------
def is_behind(package: Package) -> bool:
    """Whether corrections have ended that the written files of ``package`` do not know of yet."""
    return is_over(package) and package.corrections.filter(state__in=OVER, round__gt=package.merged_round).exists()


def current_rows(package: Package) -> Iterator[RowEnd]:
    """Every row that has ended so far, in manifest order, with what corrections made of it. Flat memory."""
    if not is_over(package):
        return rows_with_outcomes(package, store=objects(), is_final=False)
    rounds = ended_rounds(package)
    return _merged(package, rounds) if rounds else ended_rows(package)


def quarantined(package: Package) -> Iterator[SetAsideRow]:
    """Every row of a package that is over that is in quarantine now, in manifest order; also if its file is lost."""
    last = 0
    try:
        for aside in _written_quarantine(package):
            yield aside
            last = aside.row
        return
    except (ObjectNotFound, UnableToReadRecords):
        log.error("written quarantine lost", action="quarantine.lost", package=str(package.pk), row=last + 1)
    yield from (aside for aside in in_quarantine(current_rows(package)) if aside.row > last)


def _written_quarantine(package: Package) -> Iterator[SetAsideRow]:
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
    with closing(Overlay(package, rounds)) as overlay:
        yield from _laid_over(ended_rows(package), overlay)


def _laid_over(rows: Iterable[RowEnd], overlay: Overlay) -> Iterator[RowEnd]:
    for (row, ended), laid in overlay.beside(rows, lambda found: found[1].row):
        if laid is None or ended.status != ItemStatus.QUARANTINED:
            yield row, ended
        else:
            yield Row(row.number, laid.over(row.values, overlay.columns)), laid.outcome


# --- writing ----------------------------------------------------------------------------------------------
def achieved(correction: Package) -> int:
    """How many rows of the package that it corrects ``correction`` has brought to their end; its files are written.

    Every such row was in quarantine: what was not is set aside when the file is read. A row of which nobody knows any
    more which one it corrects is not counted, as it cannot be laid over any.
    """
    if correction.corrects is None:
        return 0
    with closing(Overlay(correction.corrects, [correction])) as overlay:
        return overlay.succeeded


def note_end(*, correction: Package, succeeded: int, ran: int, losses: Losses, now: datetime) -> None:
    """A package has ended: if it corrects another, that one's counts move. Call it in the transaction of the end.

    ``succeeded`` is what it has :func:`achieved`, of ``ran`` rows of its own that have succeeded.
    """
    if correction.corrects_id is None:
        return
    found = Package.objects.across_departments().filter(pk=correction.corrects_id)
    found.update(rows_corrected=F("rows_corrected") + succeeded, touched_at=now)
    package = found.select_related("department").get()
    facts: dict[str, Any] = {"round": correction.round, "rows": succeeded, "left": progress_of(package).quarantined}
    timeline.record(package=package, code="corrected", now=now, **facts)
    record(action="package.corrected", subject=package.number, department=package.department, now=now, **facts)
    if losses.has_lost_columns:
        timeline.record(package=package, code="corrected_lost", now=now, round=correction.round)
    if ran > succeeded:
        timeline.record(package=package, code="aims_lost", now=now, round=correction.round, rows=ran - succeeded)
    enqueue(package)


def enqueue(package: Package) -> None:
    """Have the files of ``package`` written anew once the transaction has ended; what is lost, the sweep finds."""
    enqueue_after_commit("packages.merge", str(package.pk))


def enqueue_tables(package: Package) -> None:
    """Have the further forms of its results written once the transaction has ended; what is lost, the sweep finds."""
    enqueue_after_commit("packages.tabulate", str(package.pk))


def behind() -> QuerySet[Package]:
    """All packages whose written files do not know of their last correction."""
    later = Package.objects.across_departments().filter(
        corrects=OuterRef("pk"), state__in=OVER, round__gt=OuterRef("merged_round")
    )
    return Package.objects.across_departments().filter(Exists(later), state__in=OVER)


def merge(*, package_id: UUID, clock: Clock = timezone.now) -> None:
    """Write the files of a package anew, with every correction that has ended, or because one of them is lost.

    Safe to run twice, and at once. Raises :class:`UnableToAddUp` when rows and counts differ and no loss explains it,
    and what the object store raises: nothing changes then.
    """
    over = Package.objects.across_departments().select_related("department", "model", "price_list", "corrects")
    package = over.filter(pk=package_id, state__in=OVER).first()
    if package is None or not (is_behind(package) or _lacks_files(package)):
        log.info("nothing to merge", action="merge.skip", package=str(package_id))
        return
    rounds = ended_rounds(package)
    last, before = rounds[-1].round if rounds else 0, package.merged_round
    written = _written(package, rounds, clock, losses_told(package))
    with transaction.atomic():
        if not _is_as_it_was(package, rounds):
            log.info("merged or corrected meanwhile", action="merge.superseded", package=str(package_id))
            return
        lost = _told_anew(package, written, losses_told(package), clock())
        _check(package, written, rounds, clock())
        counts = written.tally.by_status, written.tally.by_reason
        content = report(package, *counts, state=PackageState(package.state), lost=lost)
        objects().put(f"{_folder(package, rounds)}/report.json", content)
        mine = Package.objects.across_departments().filter(pk=package.pk)
        mine.update(merged_round=last, tables_round=None, touched_at=clock())
    if before and before != last:
        objects().delete_prefix(f"{package.prefix}/out/{before}/")
    enqueue_tables(package)
    log.info("files written anew", action="merge", package=str(package.pk), round=last)


def _is_as_it_was(package: Package, rounds: list[Package]) -> bool:
    """Lock ``package``; whether no other run has written its files and no further correction has ended meanwhile."""
    locked = Package.objects.across_departments().select_for_update().get(pk=package.pk)
    package.rows_corrected = locked.rows_corrected
    return locked.merged_round == package.merged_round and ended_rounds(package) == rounds


def _lacks_files(package: Package) -> bool:
    names = ("results.jsonl", "results.csv", QUARANTINE, "report.json")
    return not all(objects().exists(f"{package.out}/{name}") for name in names)


def _folder(package: Package, rounds: list[Package]) -> str:
    return f"{package.prefix}/out/{rounds[-1].round}" if rounds else f"{package.prefix}/out"


@dataclass
class _Written:
    """What the new files contain, what ``own`` rows were under the corrections, and what was found to be lost."""

    tally: Tally = field(default_factory=Tally)
    own: Tally = field(default_factory=Tally)
    losses: Losses = field(default_factory=Losses)
    are_rounds_damaged: bool = False


def _written(package: Package, rounds: list[Package], clock: Clock, told: Mapping[str, Any]) -> _Written:
    """Write the files; once more where something was lost, now that it is known, and of nothing but what is left."""
    is_numbered = bool(told.get("original_columns"))
    written = _write(package, rounds, clock, is_written=True, is_numbered=is_numbered)
    if not written.losses.any:
        return written
    is_numbered = is_numbered or written.losses.has_lost_columns
    return _write(package, rounds, clock, is_written=False, is_numbered=is_numbered)


def _write(package: Package, rounds: list[Package], clock: Clock, *, is_written: bool, is_numbered: bool) -> _Written:
    written, told_at = _Written(), clock()
    with ExitStack() as stack:
        overlay = stack.enter_context(closing(Overlay(package, rounds)))
        files = Files(package, stack, folder=_folder(package, rounds), has_lost_columns=is_numbered)
        own = ended_rows(package, written.losses, is_written=is_written)
        for row, ended in _laid_over(_counted(own, written.own), overlay):
            files.add(row.values, ended)
            written.tally.add(ended)
            if ended.row % 1000 == 0 and clock() - told_at >= TOLD_EVERY:
                told_at = clock()
                Package.objects.across_departments().filter(pk=package.pk).update(touched_at=told_at)
        written.are_rounds_damaged = overlay.is_damaged
    return written


def _counted(rows: Iterable[RowEnd], tally: Tally) -> Iterator[RowEnd]:
    for found in rows:
        tally.add(found[1])
        yield found


def _told_anew(package: Package, written: _Written, told: Mapping[str, Any], now: datetime) -> dict[str, Any]:
    """Tell what is lost since the package ended. Returns the facts of all that is, for the report."""
    losses, own = written.losses, written.own
    new = replace(
        losses,
        has_lost_columns=losses.has_lost_columns and not told.get("original_columns"),
        has_lost_reasons=losses.has_lost_reasons and not told.get("reasons"),
        has_lost_repeats=losses.has_lost_repeats and not told.get("repeats"),
    )
    lost = lost_shards(package, new, own.by_shard)
    tell(package, new, lost, own.by_shard, own.repeats_by_shard, now=now)
    facts = facts_of(new, lost)
    return {name: told.get(name, 0) + fact if name == "results" else bool(told.get(name)) or fact
            for name, fact in facts.items()}  # fmt: skip


def _check(package: Package, written: _Written, rounds: list[Package], now: datetime) -> None:
    """As many rows as the manifest has, and as many succeeded as the package's counts say.

    Where corrections are lost, what cannot be laid over the package any more does not count any more either.
    """
    total, found = written.tally.by_status.total(), written.tally.by_status[ItemStatus.SUCCEEDED]
    expected = progress_of(package).succeeded
    if total != package.rows_total or found > expected or (found < expected and not written.are_rounds_damaged):
        raise UnableToAddUp(f"{total} rows for {package.rows_total}, {found} succeeded for {expected}")
    if missing := expected - found:
        mine = Package.objects.across_departments().filter(pk=package.pk)
        mine.update(rows_corrected=F("rows_corrected") - missing)
        timeline.record(package=package, code="aims_lost", now=now, round=rounds[-1].round, rows=missing)

"""The forms of the results that take long to make, written into the store once a package has ended.

Nobody waits for them to be told that it has: until they are there, they are made for whoever asks.
"""

import fcntl
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from datetime import datetime, timedelta
from uuid import UUID

import structlog
from django.conf import settings
from django.db.models import F, Q, QuerySet
from django.utils import timezone, translation

from portal.packages.correcting.merging import behind, current_rows
from portal.packages.delivering.results import UnableToAddUp
from portal.packages.delivering.tables import Format, ResultFile, UnableToFitIntoExcel
from portal.packages.following.progress import OVER
from portal.packages.manifest import UnableToRead
from portal.packages.models import Package
from portal.packages.store import objects
from scheduler.objects import ObjectNotFound
from scheduler.records import UnableToReadRecords

FORMS: tuple[Format, ...] = ("xlsx", "parquet")
TOLD_EVERY = timedelta(seconds=10)
AT_A_TIME = 5
"""Packages that a sweep enqueues: after an update all old ones are due at once."""
log = structlog.get_logger()
Clock = Callable[[], datetime]


def due() -> QuerySet[Package]:
    """All packages that are over whose results, as they now are, do not lie in the store in every form."""
    unwritten = Q(tables_round=None) | Q(tables_round__lt=F("merged_round"))
    return Package.objects.across_departments().filter(unwritten, state__in=OVER).exclude(pk__in=behind())


def tabulate(*, package_id: UUID, clock: Clock = timezone.now) -> None:
    """Write the results of a package that is over in each of ``FORMS``, in one pass. Safe to run twice, and at once.

    While another does the same on this machine nothing is done, so that readings need not wait for tables; the sweep
    comes back to the package.

    What cannot be put together, such as when objects are lost, is left out, and is not tried again: whoever asks for
    the file then gets what there is. Raises what the object store raises.
    """
    package = due().select_related("created_by", "corrects").filter(pk=package_id).first()
    if package is None:
        log.info("no tables to be written", action="tabulate.skip", package=str(package_id))
        return
    with _alone() as is_alone:
        if is_alone:
            _tabulate(package, clock)
        else:
            log.info("tables are being written already", action="tabulate.later", package=str(package_id))


@contextmanager
def _alone() -> Iterator[bool]:
    """Whether nobody else on this machine writes tables as long as the block lasts."""
    with (settings.VAR_DIR / "tabulating.lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)  # let go with the process, however that ends
        except BlockingIOError:
            yield False
            return
        yield True


def _tabulate(package: Package, clock: Clock) -> None:
    try:
        _write(package, clock)
    except (UnableToAddUp, UnableToRead, UnableToReadRecords, ObjectNotFound) as fault:
        log.warning("tables left out", action="tabulate", package=str(package.pk), why=str(fault))
    mine = Package.objects.across_departments().filter(pk=package.pk, merged_round=package.merged_round)
    if mine.update(tables_round=package.merged_round, touched_at=clock()) != 1:  # gone, or merged anew meanwhile
        for form in FORMS:
            objects().delete(f"{package.out}/results.{form}")


def _write(package: Package, clock: Clock) -> None:
    told_at = clock()
    with translation.override(package.created_by.language), ExitStack() as stack:
        files = [(file, stack.enter_context(objects().open_write(key))) for file, key in _files(package)]
        for file, writer in files:
            writer.write(file.start())
        for row, ended in current_rows(package):
            for file, writer in files:
                writer.write(file.add(row.values, ended))
            if ended.row % 1000 == 0 and clock() - told_at >= TOLD_EVERY:
                told_at = clock()
                Package.objects.across_departments().filter(pk=package.pk).update(touched_at=told_at)
        for file, writer in files:
            writer.write(file.end())
    log.info("tables written", action="tabulate", package=str(package.pk), rows=package.rows_total)


def _files(package: Package) -> list[tuple[ResultFile, str]]:
    """Each form that can hold the results, and where it will lie."""
    found = []
    for form in FORMS:
        try:
            found.append((ResultFile(package, form), f"{package.out}/results.{form}"))
        except UnableToFitIntoExcel:
            log.info("too large for Excel", action="tabulate", package=str(package.pk), rows=package.rows_total)
    return found

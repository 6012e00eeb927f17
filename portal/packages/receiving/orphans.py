"""Objects whose package may not exist: noted before they are written, so that no broken process leaves them for ever.

A note is an object itself, with the moment as its content. Notes are few, so the sweep reads them all.
"""

from datetime import UTC, datetime, timedelta
from uuid import UUID

import structlog

from portal.packages.models import Package
from portal.packages.store import objects
from scheduler.objects import ObjectNotFound

FOLDER = "unsettled/"
KEPT_FOR = timedelta(days=1)
log = structlog.get_logger()


def key(package: Package) -> str:
    """Where the note about ``package`` lies."""
    return FOLDER + package.prefix


def expect(package: Package, now: datetime) -> None:
    """Objects of ``package`` are about to lie in the store without it: before it is made, or once it is gone."""
    objects().put(key(package), now.isoformat().encode())


def settle(package: Package) -> None:
    """The package is made, or all of its objects are gone."""
    objects().delete(key(package))


def sweep(*, now: datetime) -> int:
    """Delete the objects of packages that were noted a day ago and do not exist; returns how many packages."""
    notes = [found.key for found in objects().list(FOLDER)]
    return sum(_cleared(note) for note in notes if _noted_at(note) < now - KEPT_FOR)


def _noted_at(note: str) -> datetime:
    try:
        return datetime.fromisoformat(objects().get(note).decode())
    except ObjectNotFound:  # settled meanwhile
        return datetime.max.replace(tzinfo=UTC)


def _cleared(note: str) -> bool:
    prefix = note.removeprefix(FOLDER)
    package = UUID(prefix.rpartition("/")[2])
    is_orphan = not Package.objects.across_departments().filter(pk=package).exists()
    if is_orphan:
        objects().delete_prefix(f"{prefix}/")
        log.info("objects of no package removed", action="sweep.orphan", package=str(package))
    objects().delete(note)
    return is_orphan

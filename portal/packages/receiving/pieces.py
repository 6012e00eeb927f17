"""Files on their way in, piece by piece: added to, interrupted, gone on with, given up, expired.

How they begin and what becomes of them is said in ``arrivals.py``. The bytes lie once, where the
package's manifest is to lie: an upload's id becomes its package's. How far it is, the object store says; nothing here
depends on what a process remembers.
"""

from collections.abc import Iterable
from datetime import datetime, timedelta

import structlog
from django.db import transaction
from django.utils.translation import gettext as _

from portal.departments.refusals import Refusal, UnableToFind
from portal.packages.models import Package, Upload
from portal.packages.receiving.uploads import unsaved_package
from portal.packages.store import objects
from portal.packages.wording import count
from scheduler.objects import ObjectBusy, ObjectNotFound, OffsetMismatch

KEPT_FOR = timedelta(days=1)
"""So long after its last piece an upload can be gone on with."""
log = structlog.get_logger()


class UnableToAdd(Refusal):
    """The piece cannot be added, or not now; what came before is kept."""

    code = "offset_mismatch"
    status = 409


def package_of(upload: Upload, now: datetime) -> Package:
    """The package that the upload becomes, not saved."""
    return unsaved_package(
        by=upload.created_by, department=upload.department, filename=upload.filename, now=now, ref=upload.pk
    )


def expires_at(upload: Upload) -> datetime:
    """Until when the upload is kept if nothing more comes."""
    return upload.touched_at + KEPT_FOR


def offset_of(upload: Upload) -> int:
    """How many bytes are kept. :class:`UnableToFind` if they are lost: then the file is sent again from the start."""
    key = package_of(upload, upload.created_at).manifest_key
    if upload.package_id:
        return upload.size
    try:
        return objects().unfinished_size(key)
    except ObjectNotFound:
        if objects().exists(key):  # all has come; no package was made of it yet
            return upload.size
        raise UnableToFind(_("What was sent of this file is not kept any more. Send it again.")) from None


def add(*, upload: Upload, at: int, chunks: Iterable[bytes], now: datetime) -> int:
    """Add a piece that begins at byte ``at``; returns how many bytes are kept then, also of a piece that broke off.

    Raises :class:`UnableToAdd` (with ``offset``) when the piece does not begin where the last one ended or goes
    beyond the declared size, or while somebody else adds one. Whatever is raised, by ``chunks`` too, what came is kept.
    """
    if (kept := offset_of(upload)) != at:
        raise _elsewhere(kept)
    if at == upload.size:
        return at
    try:
        _append(upload, at, chunks)
    finally:
        _touch(upload, now)
    return offset_of(upload)


def _append(upload: Upload, at: int, chunks: Iterable[bytes]) -> None:
    try:
        with objects().open_append(package_of(upload, upload.created_at).manifest_key, at=at) as writer:
            for chunk in chunks:
                if (at := at + len(chunk)) > upload.size:
                    raise _beyond(upload)
                writer.write(chunk)
    except OffsetMismatch as error:
        raise _elsewhere(error.size) from error
    except (ObjectBusy, ObjectNotFound) as error:
        raise busy() from error


def _elsewhere(kept: int) -> UnableToAdd:
    said = _("Of this file, %(kept)s bytes are kept. Go on from there.") % {"kept": count(kept)}
    return UnableToAdd(said, offset=kept)


def _beyond(upload: Upload) -> UnableToAdd:
    said = _("More came than the %(size)s bytes that were announced. Send the file again.") % {
        "size": count(upload.size)
    }
    return UnableToAdd(said, code="too_many_bytes", status=413)


def busy() -> UnableToAdd:
    """Somebody else is at it."""
    said = _("Another connection is sending this file right now. Wait a moment, then go on.")
    return UnableToAdd(said, code="upload_busy", status=423)


def _touch(upload: Upload, now: datetime) -> None:
    if Upload.objects.for_department(upload.department).filter(pk=upload.pk).update(touched_at=now):
        upload.touched_at = now


def drop(*, upload: Upload) -> None:
    """Forget the upload and what came of it; a package that it has become stays."""
    key = package_of(upload, upload.created_at).manifest_key
    with transaction.atomic():
        Upload.objects.for_department(upload.department).filter(pk=upload.pk).delete()
        transaction.on_commit(lambda: objects().discard(key))


def sweep(*, now: datetime) -> int:
    """Forget uploads to which nothing was added for a day; returns how many."""
    stale = Upload.objects.across_departments().filter(touched_at__lt=now - KEPT_FOR)
    for upload in stale:
        _expire(upload, now)
    return len(stale)


def _expire(upload: Upload, now: datetime) -> None:
    unchanged = Upload.objects.across_departments().filter(pk=upload.pk, touched_at=upload.touched_at)
    if not unchanged.delete()[0]:
        return
    package = package_of(upload, now)
    objects().discard(package.manifest_key)
    if not Package.objects.across_departments().filter(pk=upload.pk).exists():
        objects().delete_prefix(f"{package.prefix}/")
        log.info("upload expired", action="sweep.upload", upload=str(upload.pk))

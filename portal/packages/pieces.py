"""Files on their way in, piece by piece: begun, added to, interrupted, gone on with, and made a package at the end.

The bytes lie once, where the package's manifest is to lie: an upload's id becomes its package's. How far it is, the
object store says; nothing here depends on what a process remembers.
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from threading import Lock
from uuid import UUID

import structlog
from django.conf import settings
from django.db import IntegrityError, transaction
from django.utils.translation import gettext as _

from portal.departments.models import Department, Person
from portal.departments.refusals import Refusal, UnableToFind
from portal.packages.manifest import UnableToRead
from portal.packages.models import Package, Upload
from portal.packages.store import objects
from portal.packages.uploads import clean_filename, draft_from_stored, unread, unsaved_package
from scheduler.objects import ObjectBusy, ObjectNotFound, OffsetMismatch

KEPT_FOR = timedelta(days=1)
"""So long after its last piece an upload can be gone on with."""
log = structlog.get_logger()


class UnableToAdd(Refusal):
    """The piece cannot be added, or not now; what came before is kept."""

    code = "offset_mismatch"
    status = 409


def begin(
    *,
    by: Person,
    department: Department,
    filename: str,
    size: int,
    corrects: Package | None = None,
    now: datetime,
) -> Upload:
    """An upload of ``size`` bytes of which none has come yet. Raises :class:`Refusal` for a size that is never taken.

    With ``corrects`` the file is to hold corrected rows of that package.
    """
    filename = clean_filename(filename)
    _require_size(size, filename)
    upload = Upload(
        department=department, created_by=by, created_at=now, touched_at=now, filename=filename, size=size,
        corrects=corrects,
    )  # fmt: skip
    objects().begin(_package_of(upload, now).manifest_key)
    upload.save(force_insert=True)
    return upload


def _require_size(size: int, filename: str) -> None:
    limit = settings.UPLOAD_LIMIT_BYTES
    if size == 0:
        raise unread(UnableToRead("empty_file"), filename)
    if size > limit:
        raise unread(UnableToRead("too_large", limit=limit), filename)


def _package_of(upload: Upload, now: datetime) -> Package:
    """The package that the upload becomes, not saved."""
    return unsaved_package(
        by=upload.created_by, department=upload.department, filename=upload.filename, now=now, ref=upload.pk
    )


def expires_at(upload: Upload) -> datetime:
    """Until when the upload is kept if nothing more comes."""
    return upload.touched_at + KEPT_FOR


def offset_of(upload: Upload) -> int:
    """How many bytes are kept. :class:`UnableToFind` if they are lost: then the file is sent again from the start."""
    key = _package_of(upload, upload.created_at).manifest_key
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
        with objects().open_append(_package_of(upload, upload.created_at).manifest_key, at=at) as writer:
            for chunk in chunks:
                if (at := at + len(chunk)) > upload.size:
                    raise _beyond(upload)
                writer.write(chunk)
    except OffsetMismatch as error:
        raise _elsewhere(error.size) from error
    except (ObjectBusy, ObjectNotFound) as error:
        raise _busy() from error


def _elsewhere(kept: int) -> UnableToAdd:
    said = _("Of this file, %(kept)s bytes are kept. Go on from there.") % {"kept": kept}
    return UnableToAdd(said, offset=kept)


def _beyond(upload: Upload) -> UnableToAdd:
    said = _("More came than the %(size)s bytes that were announced. Send the file again.") % {"size": upload.size}
    return UnableToAdd(said, code="too_many_bytes", status=413)


def _busy() -> UnableToAdd:
    said = _("Another connection is sending this file right now. Wait a moment, then go on.")
    return UnableToAdd(said, code="upload_busy", status=423)


def _touch(upload: Upload, now: datetime) -> None:
    if Upload.objects.for_department(upload.department).filter(pk=upload.pk).update(touched_at=now):
        upload.touched_at = now


def complete(*, upload: Upload, now: datetime) -> Package:
    """The package of an upload whose last byte has come; asked again, the same one.

    Raises :class:`Refusal` for a file that cannot be read: the upload is gone then. Through an outage it stays.
    """
    with _alone(upload.pk):
        package = _made_of(upload) or _make(upload, now)
    Upload.objects.for_department(upload.department).filter(pk=upload.pk).update(package=package, touched_at=now)
    upload.package = package
    return package


_looked_at: set[UUID] = set()
_lock = Lock()


@contextmanager
def _alone(ref: UUID) -> Iterator[None]:
    """One look at a time, so that impatient senders cost no more; another process would only find the same."""
    with _lock:
        if ref in _looked_at:
            raise _busy()
        _looked_at.add(ref)
    try:
        yield
    finally:
        _looked_at.discard(ref)


def _made_of(upload: Upload) -> Package | None:
    return Package.objects.for_department(upload.department).filter(pk=upload.pk).first()


def _make(upload: Upload, now: datetime) -> Package:
    package = _package_of(upload, now)
    try:
        objects().finish(package.manifest_key)
    except ObjectNotFound:  # finished before, by somebody who got no further
        offset_of(upload)
    except ObjectBusy as error:
        raise _busy() from error
    try:
        return draft_from_stored(package=package, now=now)
    except IntegrityError:
        if made := _made_of(upload):
            return made
        raise
    except Refusal:
        Upload.objects.for_department(upload.department).filter(pk=upload.pk).delete()
        raise


def drop(*, upload: Upload) -> None:
    """Forget the upload and what came of it; a package that it has become stays."""
    key = _package_of(upload, upload.created_at).manifest_key
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
    package = _package_of(upload, now)
    objects().discard(package.manifest_key)
    if _made_of(upload) is None:
        objects().delete_prefix(f"{package.prefix}/")
        log.info("upload expired", action="sweep.upload", upload=str(upload.pk))

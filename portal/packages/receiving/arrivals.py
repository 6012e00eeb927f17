"""How an upload in pieces begins, and what becomes of it when its last byte has come: a draft, or a correction.

Everything here may be cut short and asked for again: the file lies under its last name before it is looked at, and
the package has the upload's id, so that nobody makes a second one.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from threading import Lock
from uuid import UUID

from django.conf import settings
from django.db import IntegrityError
from django.db.models import QuerySet
from django.utils.translation import gettext as _

from portal.departments.models import Department, Person
from portal.departments.refusals import Refusal, UnableToFind
from portal.packages.correcting import corrections
from portal.packages.manifest import UnableToRead
from portal.packages.models import Package, Upload
from portal.packages.receiving.pieces import busy, offset_of, package_of
from portal.packages.receiving.uploads import clean_filename, draft_from_stored, unread
from portal.packages.store import objects
from scheduler.objects import ObjectBusy, ObjectNotFound

MOST_UNFINISHED = 50
"""Uploads of a department that may be on their way at once."""


def begin(
    *,
    by: Person,
    department: Department,
    filename: str,
    size: int,
    corrects: Package | None = None,
    now: datetime,
) -> Upload:
    """An upload of ``size`` bytes of which none has come yet. Raises :class:`Refusal` for a size that is never taken,
    and where the department has ``MOST_UNFINISHED`` uploads on their way.

    With ``corrects`` the file is to hold corrected rows of that package; refused where it cannot be corrected now.
    """
    if corrects is not None:
        corrections.check(corrects)
    filename = clean_filename(filename)
    _require_size(size, filename)
    _require_room(department)
    upload = Upload(
        department=department, created_by=by, created_at=now, touched_at=now, filename=filename, size=size,
        corrects=corrects,
    )  # fmt: skip
    objects().begin(package_of(upload, now).manifest_key)
    upload.save(force_insert=True)
    return upload


def _require_size(size: int, filename: str) -> None:
    limit = settings.UPLOAD_LIMIT_BYTES
    if size == 0:
        raise unread(UnableToRead("empty_file"), filename)
    if size > limit:
        raise unread(UnableToRead("too_large", limit=limit), filename)


def _require_room(department: Department) -> None:
    """What is sent takes room before anybody looks at it. Two that begin at once may make it one more."""
    if Upload.objects.for_department(department).filter(package=None).count() >= MOST_UNFINISHED:
        said = _(
            "%(most)s files of your department are on their way or were broken off. Finish sending them, or try again "
            "later: a file that was broken off is forgotten after a day."
        )
        raise Refusal(said % {"most": MOST_UNFINISHED}, code="too_many_uploads", status=429)


def complete(*, upload: Upload, now: datetime) -> Package:
    """The package of an upload whose last byte has come; asked again, the same one.

    Raises :class:`Refusal` for a file that cannot be read: the upload is gone then. Through an outage it stays.
    """
    with _alone(upload.pk):
        try:
            package = _corrected(upload, _made_of(upload) or _make(upload, now), now)
        except Refusal:
            _forget(upload)
            raise
    _uploads_like(upload).update(package=package, touched_at=now)
    upload.package = package
    return package


_looked_at: set[UUID] = set()
_lock = Lock()


@contextmanager
def _alone(ref: UUID) -> Iterator[None]:
    """One look at a time, so that impatient senders cost no more; another process would only find the same."""
    with _lock:
        if ref in _looked_at:
            raise busy()
        _looked_at.add(ref)
    try:
        yield
    finally:
        _looked_at.discard(ref)


def _made_of(upload: Upload) -> Package | None:
    return Package.objects.for_department(upload.department).filter(pk=upload.pk).first()


def _make(upload: Upload, now: datetime) -> Package:
    package = package_of(upload, now)
    try:
        objects().finish(package.manifest_key)
    except ObjectNotFound:  # finished before, by somebody who got no further
        offset_of(upload)
    except ObjectBusy as error:
        raise busy() from error
    try:
        return draft_from_stored(package=package, now=now)
    except IntegrityError:
        if made := _made_of(upload):
            return made
        raise


def _corrected(upload: Upload, draft: Package, now: datetime) -> Package:
    if upload.corrects is None or draft.corrects_id is not None:
        return draft
    return corrections.adopt(root=upload.corrects, draft=draft, by=upload.created_by, now=now)


def _forget(upload: Upload) -> None:
    """After a refusal that took the file with it. Somebody else's being busy with it does not."""
    try:
        offset_of(upload)
    except UnableToFind:
        _uploads_like(upload).delete()


def _uploads_like(upload: Upload) -> QuerySet[Upload]:
    return Upload.objects.for_department(upload.department).filter(pk=upload.pk)

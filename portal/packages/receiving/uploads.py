"""From an uploaded file to a draft: one pass into the object store, refused as soon as it cannot be read."""

import re
import uuid
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from datetime import datetime
from functools import partial
from pathlib import PurePath

import structlog
from django.conf import settings
from django.db import transaction
from django.utils.translation import gettext as _

from portal.audit.services import record
from portal.departments.models import Department, Person
from portal.departments.refusals import Refusal, UnableToChangeState
from portal.packages import reasons, timeline, wording
from portal.packages.manifest import Reading, UnableToRead
from portal.packages.manifest.probe import Probe, Probed
from portal.packages.manifest.reading import AS_FOUND, Wish
from portal.packages.manifest.sniff import sniff, suffix_of
from portal.packages.models import Package
from portal.packages.receiving import orphans
from portal.packages.receiving.first_rows import keep_first_rows
from portal.packages.store import objects
from scheduler.domain.lifecycle import EDITABLE

CHUNK = 1024**2
log = structlog.get_logger()


def create_draft(
    *,
    by: Person | None,
    department: Department,
    filename: str,
    chunks: Iterable[bytes],
    name: str | None = None,
    wish: Wish = AS_FOUND,
    now: datetime,
) -> Package:
    """Store the file and make a draft of it; ``name`` defaults to the file's name without its ending.

    ``wish`` says how it is to be read, as far as that is not left to what is found. Raises :class:`Refusal` (field
    ``file``) for a file that cannot be read, and leaves nothing behind then, nor when ``chunks`` breaks off.
    """
    package = unsaved_package(by=by, department=department, filename=filename, name=name, now=now)
    return draft_from_chunks(package=package, chunks=chunks, wish=wish, now=now)


def unsaved_package(
    *,
    by: Person | None,
    department: Department,
    filename: str,
    name: str | None = None,
    now: datetime,
    ref: uuid.UUID | None = None,
) -> Package:
    """A package that is not saved yet: it knows where its manifest is to lie, and can be given a task already.

    ``ref`` becomes its id, for a manifest that lies in the store before its package is made.
    """
    package = Package(id=ref or uuid.uuid4(), department=department, created_by=by, created_at=now, touched_at=now)
    package.filename = clean_filename(filename)
    package.name = _clean_name(name) or _clean_name(PurePath(package.filename).stem) or package.filename
    package.manifest_key = f"{package.prefix}/manifest/original{suffix_of(package.filename)}"
    return package


def draft_from_chunks(*, package: Package, chunks: Iterable[bytes], wish: Wish = AS_FOUND, now: datetime) -> Package:
    """Store the manifest of ``package`` (:func:`unsaved_package`) and save the package; errors as `create_draft`."""
    with _kept_only_with(package, now):
        _save(package, _store(package, chunks, wish), now, wish)
    return package


def draft_from_stored(*, package: Package, now: datetime) -> Package:
    """Save ``package`` (:func:`unsaved_package`), whose manifest lies in the store; errors as `create_draft`.

    A file that cannot be read is removed. Through an outage it stays, so that the same call can be made again.
    """
    with _kept_only_with(package, now, is_lost=_is_final):
        _save(package, looked_through(package.manifest_key), now)
    return package


def _is_final(error: BaseException) -> bool:
    return isinstance(error, (UnableToRead, Refusal))


def _is_any(_error: BaseException) -> bool:
    return True


@contextmanager
def _kept_only_with(
    package: Package, now: datetime, *, is_lost: Callable[[BaseException], bool] = _is_any
) -> Iterator[None]:
    """What lies in the store of ``package`` goes again unless the package is made; why is told as a refusal.

    After an error that is not ``is_lost`` it stays for a day (:mod:`portal.packages.receiving.orphans`).
    """
    orphans.expect(package, now)
    try:
        yield
    except BaseException as error:
        if is_lost(error):
            objects().delete_prefix(f"{package.prefix}/")
            orphans.settle(package)
        if isinstance(error, UnableToRead):
            raise unread(error, package.filename) from error
        raise
    orphans.settle(package)


def _store(package: Package, chunks: Iterable[bytes], wish: Wish) -> Probed:
    probe = Probe(limit=settings.UPLOAD_LIMIT_BYTES, wish=wish)
    with objects().open_write(package.manifest_key) as writer:
        for chunk in chunks:
            probe.feed(chunk)
            writer.write(chunk)
        return probe.finish()


def looked_through(key: str, wish: Wish = AS_FOUND) -> Probed:
    """What the manifest under ``key`` is, all of its bytes looked at. Raises :class:`UnableToRead`."""
    probe = Probe(limit=settings.UPLOAD_LIMIT_BYTES, wish=wish)
    with objects().open_read(key) as stream:
        while chunk := stream.read(CHUNK):
            probe.feed(chunk)
    return probe.finish()


def _save(package: Package, found: Probed, now: datetime, wish: Wish = AS_FOUND) -> None:
    package.manifest_bytes, package.manifest_sha256 = found.size, found.sha256
    package.reading = reading_of(package.manifest_key, package.filename, found, wish).as_json()
    keep_first_rows(package)
    by, department = package.created_by, package.department
    with transaction.atomic():
        package.save(force_insert=True)
        record(action="package.uploaded", subject=package.number, by=by, department=department, now=now)
        timeline.record(package=package, code="uploaded", now=now)


def reading_of(key: str, filename: str, found: Probed, wish: Wish = AS_FOUND) -> Reading:
    """How the manifest under ``key`` is read. Raises :class:`UnableToRead`."""
    with objects().open_read(key) as stream:
        return sniff(stream, found, filename, wish, expanded_limit=settings.EXPANDED_LIMIT_BYTES)


def unread(error: UnableToRead, filename: str) -> Refusal:
    """What a person is told about a file that cannot be read."""
    log.info("unreadable", action="upload.refuse", code=error.code, cause=error.cause)
    details = dict(error.details)
    if error.code == "too_large":
        details["limit"] = wording.size(details["limit"])
    status = 413 if error.code == "too_large" else 422
    said = _("“%(file)s”: %(why)s") % {"file": filename, "why": reasons.sentence(error.code, details)}
    return Refusal(said, code=error.code, status=status, field="file", **details)


def clean_filename(filename: str) -> str:
    """The last part of what the browser sent, printable, at most 255 characters."""
    base = re.split(r"[/\\]", filename)[-1]
    printable = "".join(character for character in base if character.isprintable()).strip()
    return printable[-255:] or "manifest"


def _clean_name(name: str | None) -> str:
    return " ".join((name or "").split())[:200]


def discard_draft(*, package: Package, by: Person | None, now: datetime) -> None:
    """Delete a package that nothing was promised for, with its file and everything read from it."""
    orphans.expect(package, now)
    with transaction.atomic():
        doomed = Package.objects.for_department(package.department).filter(pk=package.pk, state__in=EDITABLE)
        if not doomed.delete()[0]:
            raise UnableToChangeState(
                _("The package is being read or promised, so it cannot be discarded. Cancel it instead.")
            )
        record(action="package.discarded", subject=package.number, by=by, department=package.department, now=now)
        transaction.on_commit(partial(_delete_objects, orphans.key(package), f"{package.prefix}/"))


def _delete_objects(note: str, prefix: str) -> None:
    with suppress(OSError):  # the sweep finds what is left
        objects().delete_prefix(prefix)
        objects().delete(note)

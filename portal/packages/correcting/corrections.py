"""Handing over quarantined rows again: the corrected file becomes a package of its own that names what it corrects.

It takes over the task, is read at once and goes on as every package does: its own promise, its own shards, its own
place on the bill. What it achieves is laid over the package that it corrects (portal.packages.correcting.merging).
"""

from collections.abc import Iterable
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import IntegrityError, transaction
from django.db.models import Max
from django.utils.translation import gettext as _

from portal.audit.services import record
from portal.departments.models import Department, Person
from portal.departments.refusals import Refusal, UnableToChangeState
from portal.packages import services, timeline
from portal.packages.correcting.corrected import plain_columns
from portal.packages.delivering.sheets import Layout
from portal.packages.following.progress import OVER, is_over, progress_of
from portal.packages.models import Package, TimelineEntry
from portal.packages.receiving.uploads import discard_draft, draft_from_chunks, unsaved_package
from portal.packages.task import UnableToSaveTask
from scheduler.domain.lifecycle import EDITABLE, PackageState

TAKEN_OVER = (
    "kind", "model", "id_column", "system_template", "user_template", "labels", "json_schema", "max_output_tokens",
    "temperature", "run_repeats_once",
)  # fmt: skip

REPLACED = "correction_replaced"
"""In the timeline of a package: one of its corrections, not accepted yet, gave way to the next."""


class UnableToCorrect(Refusal):
    """The rows cannot be handed over again, or not now; the sentence says what to do."""

    code = "unable_to_correct"
    status = 409


def submit(*, root: Package, by: Person, filename: str, chunks: Iterable[bytes], now: datetime) -> Package:
    """Hand over quarantined rows of ``root`` again, as the file has them now: a package that is being read already.

    A correction of ``root`` for which nothing is promised yet is discarded in its favour. Raises
    :class:`UnableToCorrect` where there is nothing to correct or a correction is under way, and :class:`Refusal`
    (field ``file``) for a file that cannot be read as a correction; nothing is kept of it then.
    """
    check(root)
    draft = unsaved_package(by=by, department=root.department, filename=filename, now=now)
    draft_from_chunks(package=draft, chunks=chunks, now=now)
    return adopt(root=root, draft=draft, by=by, now=now)


def adopt(*, root: Package, draft: Package, by: Person, now: datetime) -> Package:
    """Make a correction of ``root`` of a fresh ``draft`` (the corrected file, stored) and start reading it.

    Raises as :func:`submit`; the draft is gone then.
    """
    try:
        with transaction.atomic():
            return _adopted(root, draft, by=by, now=now)
    except BaseException as error:
        discard_draft(package=draft, by=by, now=now)
        if isinstance(error, IntegrityError):
            raise _under_way() from error
        raise


def check(root: Package) -> None:
    """Raise :class:`UnableToCorrect` unless ``root`` has rows in quarantine that can be handed over again now."""
    if root.corrects_id is not None:
        raise UnableToCorrect(
            _("This package is a correction itself. Hand over what is left at the package that it corrects."),
            code="is_correction",
            package=str(root.corrects_id),
        )
    if not is_over(root):
        raise UnableToCorrect(
            _("The package is not finished. Rows can be handed over again when it is."), code="not_over"
        )
    if not progress_of(root).quarantined:
        raise UnableToCorrect(_("Nothing of this package is in quarantine."), code="nothing_in_quarantine")
    going = open_correction(root)
    if going is not None and going.state not in EDITABLE | {PackageState.VALIDATING}:
        raise _under_way(going)


def open_correction(root: Package) -> Package | None:
    """The correction of ``root`` that has not ended, if there is one."""
    return root.corrections.exclude(state__in=OVER).select_related("department").first()


def rounds_of(root: Package) -> list[Package]:
    """Every correction of ``root``, the latest first."""
    return list(root.corrections.select_related("department", "created_by", "price_list").order_by("-round"))


def _under_way(going: Package | None = None) -> UnableToCorrect:
    said = _("A correction of this package is under way. Hand over further rows when it has ended.")
    facts: dict[str, Any] = {"package": str(going.pk)} if going else {}
    return UnableToCorrect(said, code="correction_under_way", **facts)


def _adopted(root: Package, draft: Package, *, by: Person, now: datetime) -> Package:
    locked = Package.objects.for_department(root.department).select_for_update().get(pk=root.pk)
    check(locked)
    _replace_open(locked, by=by, now=now)
    last = locked.corrections.aggregate(last=Max("round"))["last"] or 0
    _change(draft, now, corrects=locked, round=last + 1, reading=_reading(locked, draft), **_task_of(locked))
    record(
        action="package.correction_uploaded", subject=draft.number, by=by, department=root.department, now=now,
        corrects=root.number, round=draft.round,
    )  # fmt: skip
    timeline.record(package=locked, code="correction_uploaded", now=now, round=draft.round, by=by.name)
    try:
        services.start_reading(package=draft, by=by, now=now)
    except UnableToSaveTask as error:
        raise _unfit(error) from error
    return draft


def _replace_open(root: Package, *, by: Person, now: datetime) -> None:
    going = open_correction(root)
    if going is None:
        return
    try:
        if going.state == PackageState.VALIDATING:
            services.stop_reading(package=going, by=by, now=now)
        discard_draft(package=going, by=by, now=now)
    except UnableToChangeState as error:  # promised, or read to its end, meanwhile
        raise _under_way(going) from error
    timeline.record(
        package=root, code=REPLACED, now=now, round=going.round, by=by.name, replaced=str(going.pk)
    )  # fmt: skip


def root_of_replaced(ref: UUID, *, department: Department) -> Package | None:
    """The package of which ``ref`` was a correction that gave way to another one, if it was."""
    told = TimelineEntry.objects.for_department(department).filter(code=REPLACED, params__replaced=str(ref))
    entry = told.select_related("package").first()
    return entry.package if entry else None


def _reading(root: Package, draft: Package) -> dict[str, Any]:
    """How the corrected file is read: its columns as the package calls them, of which one must name the rows."""
    columns = plain_columns(draft.reading["columns"], draft.reading["format"])
    needed = Layout.of(root).row_column
    if needed not in columns:
        raise Refusal(
            _("The file has no column “%(column)s”, so nobody knows which row each line corrects. Start from the "
              "quarantine as it is downloaded here and keep that column.") % {"column": needed},
            code="no_row_column", field="file", column=needed,
        )  # fmt: skip
    return {**draft.reading, "columns": columns}


def _task_of(root: Package) -> dict[str, Any]:
    """The name too: which round it is, is said where it is shown, in the language of whoever looks."""
    return {name: getattr(root, name) for name in (*TAKEN_OVER, "name")}


def _change(draft: Package, now: datetime, **values: Any) -> None:
    fresh = Package.objects.for_department(draft.department).filter(
        pk=draft.pk, state=PackageState.DRAFT, corrects=None
    )
    if fresh.update(touched_at=now, **values) != 1:
        raise UnableToChangeState(
            _("The package has moved on in the meantime. Reload the page to see where it stands.")
        )
    draft.refresh_from_db()


def _unfit(error: UnableToSaveTask) -> Refusal:
    """Why the package's own task cannot be run on the corrected file: usually a column is missing."""
    missing = next((one for one in error.problems if one.code == "unknown_column"), None)
    if missing is not None:
        said = _("The file has no column “%(column)s”, which the task needs. Keep the columns of the download.")
        column = missing.details["column"]
        return Refusal(said % {"column": column}, code="missing_column", field="file", column=column)
    said = _("The task of the package cannot be run any more: %(problem)s")
    return UnableToCorrect(said % {"problem": error.message}, code="task_outdated")

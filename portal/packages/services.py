"""What people and the system do to a package before it is promised: save its task, read its manifest, sweep."""

from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Unpack

import structlog
from django.conf import settings
from django.db import transaction
from django.db.models import F
from django.utils.translation import gettext as _

from portal.audit.services import record
from portal.departments.models import Person
from portal.departments.refusals import Refusal, UnableToChangeState
from portal.packages.correcting import merging
from portal.packages.delivering import tabulating
from portal.packages.drafts import NOTHING_READ, change
from portal.packages.enqueueing import enqueue_after_commit
from portal.packages.models import Kind, Package
from portal.packages.preview import Preview, RenderedPrompt, preview
from portal.packages.promising.offered import why_not_offered
from portal.packages.prompts import fixed_messages, longest_label, tokenizer_of
from portal.packages.receiving import orphans, pieces
from portal.packages.store import objects
from portal.packages.task import Task, TaskFields, UnableToSaveTask, task_of
from portal.packages.wording import count
from scheduler.domain.lifecycle import EDITABLE, SHARD_FINAL, PackageState
from scheduler.tokenizers import Tokenizer, UnableToRenderChat

__all__ = [
    "Preview",
    "RenderedPrompt",
    "TaskFields",
    "UnableToSaveTask",
    "keep_typed",
    "preview",
    "save_task",
    "start_reading",
    "stop_reading",
    "sweep",
]

STUCK_AFTER = timedelta(seconds=60)
STALE_AFTER = timedelta(days=1)
log = structlog.get_logger()


def save_task(*, package: Package, by: Person | None, now: datetime, **fields: Unpack[TaskFields]) -> Package:
    """Save what is asked of the model and put the package back to draft, whatever was quoted for it before.

    Raises :class:`UnableToSaveTask` with one problem per field at fault, :class:`UnableToChangeState` when the
    package is promised, being read or finished. Returns the saved package.
    """
    if package.corrects_id is not None:
        raise UnableToChangeState(_("A correction has the task of the package that it corrects. It cannot be changed."))
    task = task_of(package, fields)
    problems = list(task.problems) or _not_offered(task, now) or _misfits(task)
    if problems:
        raise UnableToSaveTask(problems)
    with transaction.atomic():
        change(package, EDITABLE, now, state=PackageState.DRAFT, typed={}, **_columns(task), **NOTHING_READ)
        record(action="package.task_saved", subject=package.number, by=by, department=package.department, now=now)
    package.refresh_from_db()
    return package


def keep_typed(*, package: Package, typed: dict[str, str]) -> None:
    """Keep the task's form as it stands, whatever is in it, until the task is saved. Too late is not an error.

    Of what one page sends, the latest stays, in whatever order it arrives: ``typed["edit"]`` is ``page.number``.
    Nothing else of the package changes: offers made for the saved task still stand.
    """
    with transaction.atomic():
        drafts = Package.objects.for_department(package.department).filter(pk=package.pk, state__in=EDITABLE)
        held = drafts.select_for_update().values_list("typed", flat=True).first()
        if held is None or _is_overtaken(typed.get("edit", ""), held.get("edit", "")):
            return
        drafts.update(typed=typed)
    package.typed = typed


def _is_overtaken(edit: str, held: str) -> bool:
    """Was ``edit`` made on the same page as ``held``, and before it?"""
    page, _dot, number = edit.partition(".")
    held_page, _dot, held_number = held.partition(".")
    return page == held_page and number.isdecimal() and held_number.isdecimal() and int(number) < int(held_number)


def _columns(task: Task) -> dict[str, Any]:
    names = (
        "name", "kind", "model", "id_column", "system_template", "user_template",
        "labels", "json_schema", "max_output_tokens", "temperature",
        "run_repeats_once",
    )  # fmt: skip
    return {name: getattr(task, name) for name in names}


def _not_offered(task: Task, now: datetime) -> list[Refusal]:
    """Said before the whole file is read for a model that no offer could be made for."""
    assert task.model is not None  # no model is a problem of its field
    refusal = why_not_offered(task.model, now=now)
    return [refusal] if refusal else []


def _misfits(task: Task) -> list[Refusal]:
    """What is wrong with a task whose fields are each right: it does not fit its model."""
    assert task.model is not None  # no model is a problem of its field
    tokenizer = tokenizer_of(task.model)
    found: list[Refusal] = []
    if task.kind == Kind.TAGGING and (needed := longest_label(tokenizer, task.labels)) > task.max_output_tokens:
        said = _("The longest label needs %(needed)s tokens. Allow a longer output or shorten the label.")
        found.append(Refusal(said % {"needed": count(needed)}, code="label_too_long", field="labels"))
    return found + _prompt_misfits(task, tokenizer, task.model.context_tokens - task.max_output_tokens)


def _prompt_misfits(task: Task, tokenizer: Tokenizer, limit: int) -> list[Refusal]:
    """Why the part of the prompt that all rows share can be put to no model, or not to this one."""
    try:
        fixed = tokenizer.count_chat(fixed_messages(task.system, task.user))
    except UnableToRenderChat:
        said = _("This model takes no system prompt. Put its text into the prompt, or choose another model.")
        return [Refusal(said, code="template_fault", field="system_template")]
    if fixed < limit:
        return []
    said = _("The prompt alone has %(fixed)s tokens; prompt and row together may have %(limit)s. Shorten the prompt.")
    return [
        Refusal(
            said % {"fixed": count(fixed), "limit": count(max(0, limit))}, code="prompt_too_long", field="user_template"
        )
    ]


def start_reading(*, package: Package, by: Person | None, now: datetime) -> None:
    """Begin to read the manifest with the saved task; the package is ``validating`` until that is done.

    Raises :class:`UnableToSaveTask` if the saved task cannot be run, :class:`UnableToChangeState` if it is too late.
    """
    task = task_of(package)
    if task.problems:
        raise UnableToSaveTask(list(task.problems))
    with transaction.atomic():
        change(
            package, EDITABLE, now,
            **{**NOTHING_READ, "state": PackageState.VALIDATING, "ingest_epoch": F("ingest_epoch") + 1},
        )  # fmt: skip
        record(action="package.reading_started", subject=package.number, by=by, department=package.department, now=now)
        package.refresh_from_db()
        enqueue_after_commit("packages.ingest", str(package.pk), package.ingest_epoch)


def stop_reading(*, package: Package, by: Person | None, now: datetime) -> None:
    """Stop reading and go back to the draft; what was read so far is forgotten."""
    with transaction.atomic():
        change(
            package, frozenset({PackageState.VALIDATING}), now,
            **{**NOTHING_READ, "state": PackageState.DRAFT, "ingest_epoch": F("ingest_epoch") + 1},
        )  # fmt: skip
        record(action="package.reading_stopped", subject=package.number, by=by, department=package.department, now=now)
    package.refresh_from_db()


def sweep(*, now: datetime) -> None:
    """Enqueue again what the broker lost, and remove what broken uploads left behind. Safe to call at any time."""
    stuck = Package.objects.across_departments().filter(touched_at__lt=now - STUCK_AFTER)
    for package in stuck.filter(state=PackageState.VALIDATING):
        _enqueue_again(package, "packages.ingest", str(package.pk), package.ingest_epoch, now=now)
    ending = stuck.filter(state__in=[PackageState.FINALISING, PackageState.CANCELLING])
    for package in ending:
        if not package.shards.exclude(state__in=SHARD_FINAL).exists():
            _enqueue_again(package, "packages.finalise", str(package.pk), now=now)
    for package in merging.behind().filter(touched_at__lt=now - STUCK_AFTER):
        _enqueue_again(package, "packages.merge", str(package.pk), now=now)
    for package in tabulating.due().filter(touched_at__lt=now - STUCK_AFTER)[: tabulating.AT_A_TIME]:
        _enqueue_again(package, "packages.tabulate", str(package.pk), now=now)
    _remove_stale_uploads(now)
    pieces.sweep(now=now)
    orphans.sweep(now=now)
    objects().discard_unfinished(before=now - STALE_AFTER)


def _enqueue_again(package: Package, task: str, *args: str | int, now: datetime) -> None:
    with transaction.atomic():
        unchanged = Package.objects.across_departments().filter(
            pk=package.pk, state=package.state, touched_at=package.touched_at
        )
        if unchanged.update(touched_at=now) == 1:
            enqueue_after_commit(task, *args)
            log.info("stuck work enqueued again", action="sweep", task=task, package=str(package.pk))


def _remove_stale_uploads(now: datetime) -> None:
    oldest = (now - STALE_AFTER).timestamp()
    for path in Path(settings.FILE_UPLOAD_TEMP_DIR).glob("*.upload*"):
        try:
            if path.stat().st_mtime < oldest:
                path.unlink()
        except FileNotFoundError:
            continue

"""Reading a manifest: one pass from rows to shards, in flat memory, the same each time.

A run holds an ingest epoch. Whoever begins another run takes the next one, and the older run notices before it
writes anything and stops: what is written is written while the package's row is locked.
"""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import structlog
from django.conf import settings
from django.db import transaction
from django.db.models import F
from django.utils import timezone

from portal.audit.services import record
from portal.capacity.model_files import UnableToUseModel
from portal.capacity.models import Pool
from portal.capacity.queries import work_model_of
from portal.packages import timeline
from portal.packages.correcting.aims import aims_key
from portal.packages.correcting.targets import keep_long_cells, with_targets
from portal.packages.delivering.results import set_aside_key
from portal.packages.manifest import BadRow, Row, Rows, UnableToRead
from portal.packages.models import Kind, Package
from portal.packages.prompts import fixed_messages, longest_label, tokenizer_of
from portal.packages.reading.repeats import RepeatCounts, Repeats
from portal.packages.reading.screening import Screening
from portal.packages.reading.shard_writer import ShardWriter
from portal.packages.source import Place, manifest_rows
from portal.packages.store import objects
from portal.packages.task import Task, task_of
from scheduler.domain.lifecycle import PackageState
from scheduler.domain.sharding import cut
from scheduler.domain.work import WorkModel
from scheduler.records import CorrectingRow, writing
from scheduler.tokenizers import Tokenizer

MOST_ATTEMPTS = 3
TOLD_EVERY = timedelta(seconds=2)
LOOKED_UP_EVERY = 128 * 1024
"""Characters after which the clock is looked at: few rows, if they are long ones."""
CHARACTERS_OF_A_ROW = 2048
"""What a row takes whatever is in it."""
log = structlog.get_logger()
Clock = Callable[[], datetime]


class Superseded(Exception):
    """Another run has begun, or the person has stopped the reading."""


def ingest(*, package_id: UUID, epoch: int, clock: Clock = timezone.now) -> None:
    """Read the manifest of a ``validating`` package and leave it ``quoted``, or ``invalid`` with its refusal.

    Does nothing when the package is not being read in ``epoch``. Faults of ours are raised; the sweep tries again,
    three times in all.
    """
    package = _claimed(package_id, epoch, clock())
    if package is None:
        log.info("not to be read any more", action="ingest.skip", package=str(package_id), epoch=epoch)
        return
    run = _Run(package, clock)
    try:
        if package.ingest_attempts > MOST_ATTEMPTS:
            run.refuse("reading_failed")
        else:
            run.read()
    except UnableToRead as error:
        log.info("unreadable", action="ingest.refuse", package=str(package.pk), code=error.code, cause=error.cause)
        run.refuse(error.code, **error.details)
    except Superseded:
        _clear_if_discarded(package)
        log.info("reading superseded", action="ingest.superseded", package=str(package_id), epoch=epoch)


def _claimed(package_id: UUID, epoch: int, now: datetime) -> Package | None:
    """The package, with the next epoch for this run alone; ``None`` if somebody else has it."""
    mine = Package.objects.across_departments().filter(pk=package_id, state=PackageState.VALIDATING, ingest_epoch=epoch)
    begun = {"rows_read": 0, "reading_since": now, "reading_share": None}
    if mine.update(ingest_epoch=epoch + 1, ingest_attempts=F("ingest_attempts") + 1, touched_at=now, **begun) != 1:
        return None
    return Package.objects.across_departments().select_related("model", "department").get(pk=package_id)


def _clear_if_discarded(package: Package) -> None:
    if not Package.objects.across_departments().filter(pk=package.pk).exists():
        objects().delete_prefix(f"{package.prefix}/")


class _Run:
    """One run over one manifest, in the epoch that its package holds."""

    def __init__(self, package: Package, clock: Clock) -> None:
        self._package, self._clock, self._store = package, clock, objects()
        self._task = task_of(package)
        self._told_at = clock()
        self._rows_read = 0
        self._place = Place()
        self._shards = 0
        self._aim: Callable[[CorrectingRow], None] | None = None

    def read(self) -> None:
        self._forget_earlier_runs()
        if self._package.corrects is not None:
            keep_long_cells(self._package, tell=self._tell_in_time)
        tokenizer = self._tokenizer()
        with ExitStack() as stack:
            set_aside = stack.enter_context(writing(self._store, set_aside_key(self._package)))
            columns = dict.fromkeys(self._package.reading["columns"])
            repeats = Repeats(self._package, self._store, stack)
            if self._package.corrects is not None:
                self._aim = stack.enter_context(writing(self._store, aims_key(self._package)))
            screening = Screening(
                self._task,
                tokenizer,
                set_aside,
                repeats.add if self._task.runs_repeats_once else None,
                folder=settings.FILE_UPLOAD_TEMP_DIR,
                meanwhile=self._tell_in_time,
                columns=columns,
            )
            self._write_shards(screening, _output_tokens(self._task, tokenizer), repeats.counts)
            fixed = tokenizer.count_chat(fixed_messages(self._task.system, self._task.user))
            self._finish(screening, fixed, stack)

    def _write_shards(self, screening: Screening, output_tokens: int, repeats: RepeatCounts) -> None:
        model = self._work_model()
        shards = ShardWriter(self._package, self._store, hold=self._tell, model=model, output_tokens=output_tokens)
        with manifest_rows(self._package, self._place) as manifest:
            items = screening.items(self._rows(manifest))
            for shard in cut(items, model=model, output_tokens=output_tokens, target_s=settings.SHARD_TARGET_S):
                shards.add(shard, now=self._clock())
        shards.flush()
        shards.write_repeats(repeats, self._rows_read)
        self._shards = shards.count

    def refuse(self, code: str, **params: Any) -> None:
        """Leave the package ``invalid``: its settings are kept and may be corrected."""
        with transaction.atomic():
            self._update(state=PackageState.INVALID, refusal={"code": code, "params": params})
            self._record("package.refused", code=code)
            timeline.record(package=self._package, code="invalid", now=self._clock(), reason=code, **params)

    def _tokenizer(self) -> Tokenizer:
        if self._task.problems or self._task.model is None:  # changed since the person went on, such as a model
            raise UnableToRead("task_outdated", problem=str(self._task.problems[0].message))
        try:
            return tokenizer_of(self._task.model)
        except UnableToUseModel as refusal:
            raise UnableToRead("task_outdated", problem=str(refusal.message)) from refusal

    def _work_model(self) -> WorkModel:
        """The speeds of the model's first open pool: they decide where shards are cut, not what is promised."""
        pools = Pool.objects.filter(model=self._task.model).order_by("-is_open", "name")
        return work_model_of(pools.first() or Pool())

    def _rows(self, manifest: Rows) -> Iterator[Row | BadRow]:
        rows = self._telling(manifest)
        if self._aim is None:
            return rows
        return with_targets(self._package, rows, self._aim, tell=self._tell_in_time)

    def _telling(self, source: Rows) -> Iterator[Row | BadRow]:
        """``source``, with the progress told every two seconds even where no shard comes of it."""
        characters = 0
        for row in source:
            self._rows_read = row.number
            characters += CHARACTERS_OF_A_ROW + sum(map(len, row.values.values()))
            if characters > LOOKED_UP_EVERY:
                self._tell_in_time()
                characters = 0
            yield row

    def _tell_in_time(self) -> None:
        if self._clock() - self._told_at >= TOLD_EVERY:
            self._tell()

    def _update(self, **values: Any) -> None:
        """Change the package if this run still holds it, otherwise raise :class:`Superseded`."""
        mine = Package.objects.across_departments().filter(
            pk=self._package.pk, state=PackageState.VALIDATING, ingest_epoch=self._package.ingest_epoch
        )
        if mine.update(touched_at=self._clock(), **values) != 1:
            raise Superseded

    def _tell(self) -> None:
        self._update(rows_read=self._rows_read, reading_share=self._place.share())
        self._told_at = self._clock()

    def _forget_earlier_runs(self) -> None:
        with transaction.atomic():
            self._tell()
            self._package.shards.all().delete()
            for folder in ("shards", "parts", "out"):
                self._store.delete_prefix(f"{self._package.prefix}/{folder}/")

    def _finish(self, screening: Screening, fixed_tokens: int, set_aside: ExitStack) -> None:
        found: dict[str, Any] = {
            "rows_total": screening.rows_read,
            "rows_good": screening.good,
            "rows_set_aside": screening.by_code.total(),
            "rows_repeated": screening.repeats,
            "set_aside_by_code": dict(sorted(screening.by_code.items())),
            "rows_read": screening.rows_read,
            "input_tokens": screening.input_tokens,
            "fixed_prompt_tokens": fixed_tokens,
            "reading": {**self._package.reading, "columns": list(screening.columns)},
        }
        if screening.good:
            found |= {"state": PackageState.QUOTED, "refusal": None}
        else:
            refusal = {"code": "no_good_row", "params": {"rows": screening.rows_read}}
            found |= {"state": PackageState.INVALID, "refusal": refusal}
        with transaction.atomic():
            self._update(**found)
            set_aside.close()  # the object appears while the package is locked, as those of shards do
            self._record("package.read", rows=screening.rows_read, good=screening.good, shards=self._shards)
            self._tell_people(screening)
        log.info(
            "manifest read",
            action="ingest",
            package=str(self._package.pk),
            rows=screening.rows_read,
            good=screening.good,
            shards=self._shards,
        )

    def _record(self, action: str, **detail: Any) -> None:
        package = self._package
        record(action=action, subject=package.number, department=package.department, now=self._clock(), **detail)

    def _tell_people(self, screening: Screening) -> None:
        now, rows_read = self._clock(), screening.rows_read
        if screening.good:
            aside = screening.by_code.total()
            timeline.record(package=self._package, code="read", now=now, rows=rows_read, set_aside=aside)
        else:
            timeline.record(package=self._package, code="invalid", now=now, reason="no_good_row", rows=rows_read)


def _output_tokens(task: Task, tokenizer: Tokenizer) -> int:
    """Tokens that one item is expected to produce at most."""
    if task.kind == Kind.TAGGING:
        return longest_label(tokenizer, task.labels)
    return task.max_output_tokens

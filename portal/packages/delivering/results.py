"""What became of every row, as a stream in manifest order: the source of all downloads. Flat memory."""

import heapq
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any, TypeAlias

import msgspec
import structlog

from portal.packages.delivering.kept import Kept, keeping
from portal.packages.manifest import BadRow, Row, UnableToRead
from portal.packages.models import Package, Shard
from portal.packages.reading.repeats import RepeatCounts, repeated_rows
from portal.packages.running.tallies import parts_prefix
from portal.packages.source import manifest_rows
from scheduler.domain.lifecycle import ItemStatus, ShardState
from scheduler.objects import ObjectNotFound, ObjectStore
from scheduler.records import (
    ItemResult,
    RepeatedRow,
    SetAsideRow,
    ShardItem,
    UnableToReadRecords,
    is_part,
    load,
    merged,
    readable,
)

log = structlog.get_logger()
RowEnd: TypeAlias = "tuple[Row | BadRow, Outcome]"
QUARANTINE = "quarantine.jsonl.zst"
REASON_LOST = "reason_lost"
"""The code of a row that was set aside, but nobody knows any more why."""


class UnableToAddUp(RuntimeError):
    """Rows and results do not fit together: a fault of ours, and nothing may be delivered."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """How one manifest row ended. ``code`` says why it did not succeed, ``detail`` has the facts of its sentence.

    ``repeat_of`` names the row whose outcome it shares, because it asks the same; ``shard`` is then that row's.
    """

    row: int
    status: str
    output: Any = None
    code: str | None = None
    detail: dict[str, Any] = field(default_factory=dict)
    shard: int | None = None
    repeat_of: int | None = None


_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(Outcome).decode


def set_aside_key(package: Package) -> str:
    """Where ingest wrote the rows that it set aside."""
    return f"{package.prefix}/out/set_aside.jsonl.zst"


def quarantine_key(package: Package) -> str:
    """Where finalise wrote every row in quarantine, whoever put it there: codes and facts, no sentences."""
    return f"{package.out}/{QUARANTINE}"


@dataclass
class Losses:
    """What of a package's objects is lost for good, found while its rows were put together all the same."""

    shards: set[int] = field(default_factory=set)
    """Numbers of the shards of which a part is lost."""
    has_lost_columns: bool = False
    has_lost_reasons: bool = False
    has_lost_repeats: bool = False

    @property
    def any(self) -> bool:
        """Whether anything is lost."""
        return bool(self.shards) or self.has_lost_columns or self.has_lost_reasons or self.has_lost_repeats


def outcomes(
    package: Package, *, store: ObjectStore, is_final: bool, losses: Losses | None = None
) -> Iterator[Outcome]:
    """Every row that has ended, in manifest order.

    With ``is_final``, all shards must have ended: rows that never ran are told too, and a row of a settled shard
    without its result raises :class:`UnableToAddUp`. What is lost raises too, unless ``losses`` takes note of it:
    then every row is told, one whose result is lost as failed.
    """
    repeats = _Repeats(package, store, losses)
    unnamed = _Unnamed()
    if repeats.are_lost:
        unnamed.repeats = package.rows_repeated
    ended: Iterator[Outcome | RepeatedRow] = heapq.merge(
        _set_aside(package, store, losses, unnamed),
        _of_shards(package, store, is_final=is_final, losses=losses, unnamed=unnamed),
        repeats.rows(),
        key=_row_of,
    )
    if losses is not None:
        ended = _gapless(ended, package.rows_total, unnamed)
    with keeping() as kept:
        for found in ended:
            if isinstance(found, Outcome):
                repeats.keep(found, kept)
                yield found
            elif outcome := repeats.outcome(found, kept):
                yield outcome
            elif is_final:
                raise UnableToAddUp(f"row {found.row} repeats row {found.of}, which has no result")


def _row_of(found: Outcome | RepeatedRow) -> int:
    return found.row


class _Unnamed:
    """Rows that are counted, but of which no object says any more which they are.

    Those of a shard come one after the other between its neighbours' rows; a row that none of them can be was set
    aside, or else repeats another.
    """

    def __init__(self) -> None:
        self.set_aside = self.repeats = 0
        self._of_shards: deque[tuple[int, Outcome]] = deque()

    def of_shard(self, rows: int, ended: Outcome) -> None:
        """So many rows of the next shard have ``ended`` so."""
        if rows > 0:
            self._of_shards.append((rows, ended))

    def next(self, row: int) -> Outcome:
        """How ``row`` ended, the next that no object names."""
        if self._of_shards:
            rows, ended = self._of_shards.popleft()
            if rows > 1:
                self._of_shards.appendleft((rows - 1, ended))
            return replace(ended, row=row)
        if self.set_aside > 0:
            self.set_aside -= 1
            return Outcome(row, ItemStatus.QUARANTINED, code=REASON_LOST)
        if self.repeats <= 0:
            raise UnableToAddUp(f"row {row} has no result")
        self.repeats -= 1
        return Outcome(row, ItemStatus.FAILED, code="platform_fault")


def _gapless(
    ended: Iterator[Outcome | RepeatedRow], rows_total: int, unnamed: _Unnamed
) -> Iterator[Outcome | RepeatedRow]:
    """``ended`` and, where rows are missing up to ``rows_total``, how they ended as far as anybody can tell."""
    following = 1
    for found in ended:
        while following < found.row:
            yield unnamed.next(following)
            following += 1
        yield found
        following = found.row + 1
    for row in range(following, rows_total + 1):
        yield unnamed.next(row)


class _Repeats:
    """The repeats of a package and, as the rows before them go by, how they ended."""

    def __init__(self, package: Package, store: ObjectStore, losses: Losses | None) -> None:
        self._package, self._store = package, store
        self._counts: RepeatCounts | None = None
        try:
            self._counts = RepeatCounts(repeat.of for repeat in repeated_rows(package, store))
        except (ObjectNotFound, UnableToReadRecords):
            if losses is None:
                raise
            losses.has_lost_repeats = True

    @property
    def are_lost(self) -> bool:
        """Nobody knows any more which rows they are."""
        return self._counts is None

    def rows(self) -> Iterator[RepeatedRow]:
        """The repeats in row order."""
        return iter(()) if self._counts is None else repeated_rows(self._package, self._store)

    def keep(self, outcome: Outcome, kept: Kept) -> None:
        """Keep the outcome of a row that later ones repeat."""
        if self._counts is not None and self._counts.of(outcome.row):
            kept.put(outcome.row, _encode(outcome))

    def outcome(self, repeat: RepeatedRow, kept: Kept) -> Outcome | None:
        """How a repeat ended: as the row that it repeats, if that has."""
        found = kept.get(repeat.of)
        return None if found is None else replace(_decode(found), row=repeat.row, repeat_of=repeat.of)


def _set_aside(package: Package, store: ObjectStore, losses: Losses | None, unnamed: _Unnamed) -> Iterator[Outcome]:
    if not package.rows_set_aside:
        return
    told = 0
    try:
        for found in load(store, set_aside_key(package), SetAsideRow):
            told += 1
            yield Outcome(found.row, ItemStatus.QUARANTINED, code=found.code, detail=found.detail)
    except (ObjectNotFound, UnableToReadRecords):
        if losses is None:
            raise
        losses.has_lost_reasons = True
        unnamed.set_aside = package.rows_set_aside - told


def _of_shards(
    package: Package, store: ObjectStore, *, is_final: bool, losses: Losses | None, unnamed: _Unnamed
) -> Iterator[Outcome]:
    """Shards are cut in manifest order, so their rows one after the other are in manifest order as well."""
    for shard in list(
        package.shards.select_related("package").order_by("no")
    ):  # at once: a download may be read on from another thread
        results = merged(store, shard.parts) if is_final and losses is None else _left(shard, store, losses)
        ended = {
            row: Outcome(row, result.status, result.output, result.reason, result.detail, shard.no)
            for row, result in results.items()
        }
        if is_final and len(ended) < shard.items:
            named = [row for row in _rows_of(shard, store, losses) if row not in ended]
            ended |= {row: _never_ran(shard, row, losses) for row in named}
            if missing := shard.items - len(ended):
                unnamed.of_shard(missing, _never_ran(shard, 0, losses))
        yield from (ended[row] for row in sorted(ended))


def _left(shard: Shard, store: ObjectStore, losses: Losses | None) -> dict[int, ItemResult]:
    """The results in the parts that can be read."""
    keys = [key for key in shard.parts if is_part(key, parts_prefix(shard.package, shard.no))]
    durable = readable(store, keys)
    if losses is not None and len(durable.keys) < len(shard.parts):
        losses.shards.add(shard.no)
    return durable.results


def _rows_of(shard: Shard, store: ObjectStore, losses: Losses | None) -> list[int]:
    try:
        return [item.row for item in load(store, shard.key, ShardItem)]
    except (ObjectNotFound, UnableToReadRecords):
        if losses is None:
            raise
        return []


def _never_ran(shard: Shard, row: int, losses: Losses | None) -> Outcome:
    if shard.state == ShardState.CANCELLED and not (losses and shard.no in losses.shards):
        return Outcome(row, ItemStatus.CANCELLED, code="cancelled", shard=shard.no)
    if shard.state == ShardState.DEAD or (losses and shard.no in losses.shards):
        return Outcome(row, ItemStatus.FAILED, code="platform_fault", shard=shard.no)
    raise UnableToAddUp(f"row {row} of {shard.state} shard {shard.no} has no result")


def rows_with_outcomes(
    package: Package, *, store: ObjectStore, is_final: bool
) -> Iterator[tuple[Row | BadRow, Outcome]]:
    """Every row that has ended with its original columns; with ``is_final`` every row of the manifest, once."""
    ended = outcomes(package, store=store, is_final=is_final)
    with manifest_rows(package) as manifest:
        for outcome in ended:
            row = next((row for row in manifest if is_final or row.number >= outcome.row), None)
            if row is None or row.number != outcome.row:
                raise UnableToAddUp(f"the result of row {outcome.row} met row {row.number if row else 'none'}")
            yield row, outcome
        if is_final and (left := next(manifest, None)):
            raise UnableToAddUp(f"row {left.number} has no result")


def rows_in_spite_of(losses: Losses, package: Package, *, store: ObjectStore) -> Iterator[tuple[Row | BadRow, Outcome]]:
    """As :func:`rows_with_outcomes` in the end, for a package whose objects are in part lost; ``losses`` says which.

    A row whose columns are lost has none, a row whose result is lost has failed. Raises :class:`UnableToAddUp` for
    what no loss explains.
    """
    ended = outcomes(package, store=store, is_final=True, losses=losses)
    for row in _rows_that_were_read(package, losses):
        outcome = next(ended, None)
        if outcome is None or outcome.row != row.number:
            raise UnableToAddUp(f"the result of row {outcome.row if outcome else 'none'} met row {row.number}")
        yield row, outcome
    if outcome := next(ended, None):
        raise UnableToAddUp(f"row {outcome.row} is none of the manifest")


def _rows_that_were_read(package: Package, losses: Losses) -> Iterator[Row | BadRow]:
    """As many rows as ingest has read, the last of them by number only if the manifest is lost."""
    number = 0
    try:
        with manifest_rows(package) as manifest:
            for row in islice(manifest, package.rows_total):
                yield row
                number = row.number
    except UnableToRead:
        log.warning("manifest cannot be read", action="manifest.lost", package=str(package.pk), row=number + 1)
    losses.has_lost_columns = number < package.rows_total
    for lost in range(number + 1, package.rows_total + 1):
        yield Row(lost, {})

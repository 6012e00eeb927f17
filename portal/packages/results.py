"""What became of every row, as a stream in manifest order: the source of all downloads. Flat memory."""

import heapq
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from portal.packages.manifest import BadRow, Row, UnableToRead
from portal.packages.models import Package, Shard
from portal.packages.sheets import Layout, csv_lines, json_lines
from portal.packages.source import manifest_rows
from portal.packages.store import objects
from scheduler.domain.lifecycle import ItemStatus, ShardState
from scheduler.objects import ObjectNotFound, ObjectStore
from scheduler.records import SetAsideRow, ShardItem, load, merged

Format: TypeAlias = Literal["jsonl", "csv"]
PIECE = 1 << 16
"""Bytes that a download is handed over in: each piece costs a change of threads."""


class UnableToAddUp(RuntimeError):
    """Rows and results do not fit together: a fault of ours, and nothing may be delivered."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """How one manifest row ended. ``code`` says why it did not succeed, ``detail`` has the facts of its sentence."""

    row: int
    status: str
    output: Any = None
    code: str | None = None
    detail: dict[str, Any] = field(default_factory=dict)
    shard: int | None = None


def set_aside_key(package: Package) -> str:
    """Where ingest wrote the rows that it set aside."""
    return f"{package.prefix}/out/set_aside.jsonl.zst"


def quarantine_key(package: Package) -> str:
    """Where finalise wrote every row in quarantine, whoever put it there: codes and facts, no sentences."""
    return f"{package.prefix}/out/quarantine.jsonl.zst"


def outcomes(package: Package, *, store: ObjectStore, is_final: bool) -> Iterator[Outcome]:
    """Every row that has ended, in manifest order.

    With ``is_final``, all shards must have ended: rows that never ran are told too, and a row of a settled shard
    without its result raises :class:`UnableToAddUp`.
    """
    return heapq.merge(
        _set_aside(package, store),
        _of_shards(package, store, is_final=is_final),
        key=lambda outcome: outcome.row,
    )


def _set_aside(package: Package, store: ObjectStore) -> Iterator[Outcome]:
    if package.rows_set_aside:
        for found in load(store, set_aside_key(package), SetAsideRow):
            yield Outcome(found.row, ItemStatus.QUARANTINED, code=found.code, detail=found.detail)


def _of_shards(package: Package, store: ObjectStore, *, is_final: bool) -> Iterator[Outcome]:
    """Shards are cut in manifest order, so their rows one after the other are in manifest order as well."""
    for shard in list(package.shards.order_by("no")):  # at once: a download may be read on from another thread
        ended = {
            row: Outcome(row, result.status, result.output, result.reason, result.detail, shard.no)
            for row, result in merged(store, shard.parts).items()
        }
        if is_final and len(ended) < shard.items:
            ended |= {row: _never_ran(shard, row) for row in _rows_of(shard, store) if row not in ended}
        yield from (ended[row] for row in sorted(ended))


def _rows_of(shard: Shard, store: ObjectStore) -> Iterator[int]:
    return (item.row for item in load(store, shard.key, ShardItem))


def _never_ran(shard: Shard, row: int) -> Outcome:
    if shard.state == ShardState.CANCELLED:
        return Outcome(row, ItemStatus.CANCELLED, code="cancelled", shard=shard.no)
    if shard.state == ShardState.DEAD:
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


def partial(package: Package, form: Format) -> Iterator[bytes]:
    """The rows that have ended so far, in manifest order, as the pieces of a JSON Lines or CSV file."""
    piece = bytearray()
    for line in _partial_lines(package, form):
        piece += line
        if len(piece) >= PIECE:
            yield bytes(piece)
            piece.clear()
    yield bytes(piece)


def _partial_lines(package: Package, form: Format) -> Iterator[bytes]:
    layout = Layout.of(package)
    is_json = form == "jsonl"
    lines = json_lines() if is_json else csv_lines(layout.results_heading())
    yield lines.start()
    try:
        for row, ended in rows_with_outcomes(package, store=objects(), is_final=False):
            yield lines.line(layout.result(row.values, ended) if is_json else layout.cells(row.values, ended))
    except (ObjectNotFound, UnableToRead):  # discarded or read anew meanwhile: what was sent is all there is
        return

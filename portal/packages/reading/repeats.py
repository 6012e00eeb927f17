"""Rows that repeat an earlier row's request: which they are, and how many of them each item has.

Two kinds of objects say so. ``shards/repeats.jsonl.zst`` names every repeat in row order, for the results;
``shards/<no>.repeats.jsonl.zst`` says how many each item of a shard has, for its settlement.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack
from typing import Final

import numpy as np
import structlog
from numpy.typing import NDArray

from portal.packages.models import Package, Shard
from scheduler.objects import ObjectNotFound, ObjectStore
from scheduler.records import AnyRecord, RepeatCount, RepeatedRow, ShardItem, UnableToReadRecords, load, writing

PAGE: Final = 1 << 16
log = structlog.get_logger()


class RepeatCounts:
    """How many repeats each row has: 4 bytes a row at most, in pages that exist only where there are repeats."""

    def __init__(self, originals: Iterable[int] = ()) -> None:
        self._pages: dict[int, NDArray[np.uint32]] = {}
        for row in originals:
            self.add(row)

    def add(self, original: int) -> None:
        """One more repeat of the row ``original``."""
        page, place = divmod(original, PAGE)
        if page not in self._pages:
            self._pages[page] = np.zeros(PAGE, np.uint32)
        self._pages[page][place] += 1

    def of(self, row: int) -> int:
        """How many rows repeat ``row``."""
        page, place = divmod(row, PAGE)
        return int(self._pages[page][place]) if page in self._pages else 0

    def between(self, first: int, end: int) -> Iterator[RepeatCount]:
        """The rows from ``first`` up to but without ``end`` that have repeats, in their order."""
        for page in range(first // PAGE, (end - 1) // PAGE + 1):
            for place in np.flatnonzero(self._pages.get(page, _NONE)):
                row = page * PAGE + int(place)
                if first <= row < end:
                    yield RepeatCount(row, int(self._pages[page][place]))


_NONE: Final = np.zeros(0, np.uint32)


class Repeats:
    """The repeats of a package as they are found, in row order: written down, and counted by the item they repeat.

    The object with them, if there are any, appears when ``stack`` ends well.
    """

    def __init__(self, package: Package, store: ObjectStore, stack: ExitStack) -> None:
        self.counts = RepeatCounts()
        self._package, self._store, self._stack = package, store, stack
        self._write: Callable[[AnyRecord], None] | None = None

    def add(self, repeat: RepeatedRow) -> None:
        """One more; it comes after all that were added."""
        if self._write is None:
            self._write = self._stack.enter_context(writing(self._store, repeats_key(self._package)))
        self._write(repeat)
        self.counts.add(repeat.of)


def repeats_key(package: Package) -> str:
    """Where ingest wrote the repeats of a package."""
    return f"{package.prefix}/shards/repeats.jsonl.zst"


def shard_repeats_key(package: Package, no: int) -> str:
    """Where ingest wrote how many repeats the items of a shard have."""
    return f"{package.prefix}/shards/{no}.repeats.jsonl.zst"


def repeated_rows(package: Package, store: ObjectStore) -> Iterator[RepeatedRow]:
    """The repeats of ``package`` in row order. Raises as :func:`~scheduler.records.load` does."""
    return load(store, repeats_key(package), RepeatedRow) if package.rows_repeated else iter(())


def repeats_by_item(shard: Shard, store: ObjectStore) -> Mapping[int, int]:
    """How many repeats each of the shard's items has, by row; nothing for an item without.

    Where that cannot be read any more it is told from the package's repeats; empty if those are lost as well.
    ``OSError`` says that the store is away.
    """
    if not shard.repeats:
        return {}
    try:
        key = shard_repeats_key(shard.package, shard.no)
        return {found.row: found.repeats for found in load(store, key, RepeatCount)}
    except (ObjectNotFound, UnableToReadRecords):
        log.error("repeats of a shard lost", action="repeats.lost", package=str(shard.package_id), shard=shard.no)
        return _told_by_the_package(shard, store)


def _told_by_the_package(shard: Shard, store: ObjectStore) -> Mapping[int, int]:
    try:
        counts = RepeatCounts(found.of for found in repeated_rows(shard.package, store))
        rows = [item.row for item in load(store, shard.key, ShardItem)]
    except (ObjectNotFound, UnableToReadRecords):
        return {}
    return {row: counts.of(row) for row in rows if counts.of(row)}

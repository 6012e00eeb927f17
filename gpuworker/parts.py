"""The parts of one shard: which results are there already, and writing the next ones."""

import asyncio
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import TypeVar

import msgspec

from scheduler.domain.lifecycle import ItemStatus
from scheduler.objects import ObjectExists, ObjectNotFound, ObjectStore
from scheduler.records import (
    ItemResult,
    ShardItem,
    UnableToReadRecords,
    dump,
    load,
    part_key,
    part_order,
    parts_under,
    readable,
)
from scheduler.wire import Assignment, Counts, Usage

STORE_WAITS_S = (0.2, 0.5, 1.0, 2.0, 4.0)  # before each further try; then the shard goes back

Returned = TypeVar("Returned")


class UnableToUseObjects(Exception):
    """The object store failed in every try, or what lies there cannot be read. ``code`` says which."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


async def stored(call: Callable[[], Returned], waits_s: Iterable[float]) -> Returned:
    """``call()`` in a thread, again after input-output errors. Raises :class:`UnableToUseObjects`, ``ObjectExists``."""
    for wait_s in waits_s:
        try:
            return await asyncio.to_thread(_read, call)
        except ObjectExists:
            raise
        except OSError:
            await asyncio.sleep(wait_s)
    try:
        return await asyncio.to_thread(_read, call)
    except ObjectExists:
        raise
    except OSError as error:
        raise UnableToUseObjects("objects_unavailable", str(error)) from error


def _read(call: Callable[[], Returned]) -> Returned:
    try:
        return call()
    except ObjectNotFound as error:
        raise UnableToUseObjects("object_missing", f"there is no object {error}") from error
    except UnableToReadRecords as error:
        raise UnableToUseObjects("object_unreadable", str(error)) from error


@dataclass
class Totals:
    """Sums over the winning results of the known parts."""

    counts: Counts = field(default_factory=Counts)
    usage: Usage = field(default_factory=Usage)
    charged: Usage = field(default_factory=Usage)
    charged_items: int = 0

    def add(self, result: ItemResult) -> None:
        status = str(ItemStatus(result.status))
        self.counts = msgspec.structs.replace(self.counts, **{status: getattr(self.counts, status) + 1})
        self.usage += result.usage
        if result.charged:
            self.charged += result.usage
            self.charged_items += 1


@dataclass
class ShardParts:
    """What is durable of a shard, and the finished results that are not yet.

    Its totals cover exactly the parts it lists: results of this worker that are not written count for nothing.
    """

    store: ObjectStore
    assignment: Assignment
    waits_s: tuple[float, ...] = STORE_WAITS_S
    totals: Totals = field(default_factory=Totals)
    keys: list[str] = field(default_factory=list)
    unwritten: list[ItemResult] = field(default_factory=list)
    _seq: int = 0

    async def missing(self) -> list[ShardItem]:
        """The shard's items that no part has a result for, in running order. Call it first."""
        try:
            return await stored(self._missing, self.waits_s)
        except UnableToUseObjects as error:
            if error.code != "objects_unavailable":
                raise
        # After all those tries it is not the store that is away, if all but a part can be read.
        return await stored(lambda: self._missing(patient=False), ())

    def _missing(self, *, patient: bool = True) -> list[ShardItem]:
        items = list(load(self.store, self.assignment.shard_key, ShardItem))
        keys = parts_under(self.store, self.assignment.parts_prefix)
        # A part that cannot be read is as good as none: its rows run again, and it is named to nobody any more.
        durable = readable(self.store, keys, patient=patient)
        finished = durable.results
        totals = Totals()
        for item in items:
            if item.row in finished:
                totals.add(finished[item.row])
        self.keys, self.totals = list(durable.keys), totals
        self._seq = self._next_seq(keys)
        return [item for item in items if item.row not in finished]

    def _next_seq(self, keys: Iterable[str]) -> int:
        """After whatever lies under this epoch already: a part is never written over, not even a damaged one."""
        taken = (seq for epoch, seq in map(part_order, keys) if epoch == self.assignment.epoch)
        return max(taken, default=-1) + 1

    async def write(self) -> None:
        """Make what is finished durable. Raises :class:`UnableToUseObjects`; the results are then still unwritten."""
        results = list(self.unwritten)
        if not results:
            return
        key = part_key(self.assignment.parts_prefix, self.assignment.epoch, self._seq)
        await stored(lambda: self._write(key, dump(results)), self.waits_s)
        del self.unwritten[: len(results)]
        self._seq += 1
        self.keys.append(key)
        for result in results:
            self.totals.add(result)

    def _write(self, key: str, content: bytes) -> None:
        try:
            self.store.put_new(key, content)
        except ObjectExists:
            # An earlier try of this same write succeeded without our hearing of it; nobody else has this epoch.
            if self.store.get(key) != content:
                raise UnableToUseObjects("object_unreadable", f"{key} holds something else") from None

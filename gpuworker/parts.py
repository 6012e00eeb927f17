"""The parts of one shard: which results are there already, and writing the next ones."""

import asyncio
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import TypeVar

import msgspec
import zstandard

from scheduler.domain.lifecycle import ItemStatus
from scheduler.objects import ObjectExists, ObjectNotFound, ObjectStore
from scheduler.records import ItemResult, ShardItem, dump, load, merged, part_key
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
    except (msgspec.MsgspecError, zstandard.ZstdError, UnicodeError) as error:
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
        return await stored(self._missing, self.waits_s)

    def _missing(self) -> list[ShardItem]:
        items = list(load(self.store, self.assignment.shard_key, ShardItem))
        keys = [found.key for found in self.store.list(self.assignment.parts_prefix)]
        finished = merged(self.store, keys)
        totals = Totals()
        for item in items:
            if item.row in finished:
                totals.add(finished[item.row])
        self.keys, self.totals = keys, totals
        return [item for item in items if item.row not in finished]

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

"""Writing the shards of a package while its manifest is read: objects and rows of several at a time.

Each object is made durable on its own, which takes a disk milliseconds: several at once take it little longer.
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from functools import partial

from django.db import transaction

from portal.packages.models import Package, Shard
from portal.packages.reading.repeats import RepeatCounts, shard_repeats_key
from scheduler.domain.work import WorkModel
from scheduler.objects import ObjectStore
from scheduler.records import ShardItem, dump

SHARDS_AT_ONCE = 32
BYTES_AT_ONCE = 4 << 20
"""What waits to be written, at most: shards, or compressed bytes of them."""
AT_A_TIME = 8


class ShardWriter:
    """Writes shards in their order. ``hold`` takes the package's lock for this run, or raises if it is another's.

    Objects are written while the package is locked: a run that was superseded can never overwrite a newer one's.
    """

    def __init__(
        self, package: Package, store: ObjectStore, *, hold: Callable[[], None], model: WorkModel, output_tokens: int
    ) -> None:
        self._package, self._store, self._hold = package, store, hold
        self._model, self._output_tokens = model, output_tokens
        self._waiting: list[tuple[Shard, bytes]] = []
        self._bytes = 0
        self._first_rows: list[int] = []

    @property
    def count(self) -> int:
        """How many shards there are so far."""
        return len(self._first_rows)

    def add(self, items: list[ShardItem], *, now: datetime) -> None:
        """The next shard; it is written with others, after :meth:`flush` at the latest."""
        no, data, tokens = self.count, dump(items), sum(item.tokens for item in items)
        shard = Shard(
            department_id=self._package.department_id,
            package=self._package,
            no=no,
            key=f"{self._package.prefix}/shards/{no}.jsonl.zst",
            items=len(items),
            input_tokens=tokens,
            work_s=self._model.total_s(len(items), tokens, len(items) * self._output_tokens),
            touched_at=now,
        )
        self._first_rows.append(min(item.row for item in items))
        self._waiting.append((shard, data))
        self._bytes += len(data)
        if len(self._waiting) >= SHARDS_AT_ONCE or self._bytes >= BYTES_AT_ONCE:
            self.flush()

    def flush(self) -> None:
        """Write what waits."""
        waiting, self._waiting, self._bytes = self._waiting, [], 0
        if not waiting:
            return
        with transaction.atomic():
            self._hold()
            self._put({shard.key: data for shard, data in waiting})
            Shard.objects.bulk_create([shard for shard, _ in waiting])

    def write_repeats(self, counts: RepeatCounts, rows_read: int) -> None:
        """Tell each shard how many rows repeat its items: only at the end of the manifest is it known."""
        found: dict[int, bytes] = {}
        repeats: dict[int, int] = {}
        for no, first in enumerate(self._first_rows):
            end = self._first_rows[no + 1] if no + 1 < self.count else rows_read + 1
            if counted := list(counts.between(first, end)):
                found[no], repeats[no] = dump(counted), sum(one.repeats for one in counted)
            if len(found) >= SHARDS_AT_ONCE or (found and no + 1 == self.count):
                self._write_repeats(found, repeats)
                found, repeats = {}, {}

    def _write_repeats(self, found: dict[int, bytes], repeats: dict[int, int]) -> None:
        with transaction.atomic():
            self._hold()
            self._put({shard_repeats_key(self._package, no): data for no, data in found.items()})
            for no, count in repeats.items():
                self._package.shards.filter(no=no).update(repeats=count)

    def _put(self, objects: dict[str, bytes]) -> None:
        with ThreadPoolExecutor(min(AT_A_TIME, len(objects)), "shards") as writers:
            for written in [writers.submit(partial(self._store.put, key, data)) for key, data in objects.items()]:
                written.result()

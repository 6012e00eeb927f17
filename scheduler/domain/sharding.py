"""Cutting a package into shards: the unit that one worker runs, that is retried, parked and settled."""

from collections.abc import Iterable, Iterator
from typing import Protocol, TypeVar

from scheduler.domain.work import WorkModel

FEWEST_ITEMS = 50
MOST_ITEMS = 2000


class Sized(Protocol):
    """An item as cutting sees it: ``row`` in the manifest, ``tokens`` of its prompt."""

    @property
    def row(self) -> int: ...

    @property
    def tokens(self) -> int: ...


Item = TypeVar("Item", bound=Sized)


def cut(items: Iterable[Item], *, model: WorkModel, output_tokens: int, target_s: float) -> Iterator[list[Item]]:
    """Cut ``items``, in the order given, into shards of about ``target_s`` GPU-seconds each.

    ``output_tokens`` is what one item is expected to produce. A shard holds 50 to 2,000 items (the last one may
    hold fewer) and comes out in its running order. Holds one shard in memory. Same items in, same shards out.
    """
    shard: list[Item] = []
    work_s = 0.0
    for item in items:
        shard.append(item)
        work_s += model.item_s(item.tokens, output_tokens)
        if len(shard) >= MOST_ITEMS or (len(shard) >= FEWEST_ITEMS and work_s >= target_s):
            yield running_order(shard)
            shard, work_s = [], 0.0
    if shard:
        yield running_order(shard)


def running_order(items: Iterable[Item]) -> list[Item]:
    """The longest prompt first, so that a shard does not end waiting for one late giant; equals in row order."""
    return sorted(items, key=lambda item: (-item.tokens, item.row))

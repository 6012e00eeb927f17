"""Shards are cut the same way every time, within their bounds, and lose nothing."""

from itertools import pairwise
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scheduler.domain.sharding import FEWEST_ITEMS, MOST_ITEMS, cut
from scheduler.domain.work import WorkModel

MODEL = WorkModel(prefill_tokens_per_s=100, decode_tokens_per_s=10, item_overhead_s=0.5)


class Item(NamedTuple):
    row: int
    tokens: int


def items_of(tokens: list[int]) -> list[Item]:
    return [Item(row, n) for row, n in enumerate(tokens, start=1)]


def test_an_item_takes_its_prompt_its_output_and_the_overhead() -> None:
    assert MODEL.item_s(200, 30) == pytest.approx(2 + 3 + 0.5)


def test_the_total_of_many_items_is_the_sum_of_each() -> None:
    assert MODEL.total_s(3, 600, 90) == pytest.approx(3 * MODEL.item_s(200, 30))


@pytest.mark.parametrize("bad", [(0, 1, 0), (1, 0, 0), (1, 1, -1)])
def test_a_work_model_that_cannot_be_is_refused(bad: tuple[float, float, float]) -> None:
    with pytest.raises(ValueError, match="above zero"):
        WorkModel(*bad)


def test_a_shard_ends_with_the_item_that_reaches_the_target() -> None:
    # each item: 50/100 + 5/10 + 0.5 = 1.5 s, so 120 s are reached by the 80th
    shards = list(cut(items_of([50] * 200), model=MODEL, output_tokens=5, target_s=120))
    assert [len(shard) for shard in shards] == [80, 80, 40]


def test_long_items_still_make_shards_of_fifty() -> None:
    shards = list(cut(items_of([100_000] * 120), model=MODEL, output_tokens=5, target_s=60))
    assert [len(shard) for shard in shards] == [50, 50, 20]


def test_tiny_items_never_make_a_shard_of_more_than_two_thousand() -> None:
    swift = WorkModel(prefill_tokens_per_s=1e9, decode_tokens_per_s=1e9)
    shards = list(cut(items_of([1] * 4500), model=swift, output_tokens=1, target_s=60))
    assert [len(shard) for shard in shards] == [2000, 2000, 500]


def test_no_items_make_no_shards() -> None:
    assert list(cut([], model=MODEL, output_tokens=1, target_s=60)) == []


def test_inside_a_shard_the_longest_prompt_comes_first_and_equals_stay_in_row_order() -> None:
    (shard,) = cut(items_of([5, 9, 5, 7]), model=MODEL, output_tokens=1, target_s=60)
    assert [item.row for item in shard] == [2, 4, 1, 3]


@given(st.lists(st.integers(1, 4000), max_size=400), st.integers(1, 300), st.floats(1, 600))
def test_every_item_lands_in_exactly_one_shard_in_manifest_order(tokens: list[int], output: int, target: float) -> None:
    items = items_of(tokens)
    shards = list(cut(items, model=MODEL, output_tokens=output, target_s=target))
    assert [row for shard in shards for row in sorted(i.row for i in shard)] == [i.row for i in items]
    assert all(FEWEST_ITEMS <= len(shard) <= MOST_ITEMS for shard in shards[:-1])
    assert all(a.tokens > b.tokens or (a.tokens == b.tokens and a.row < b.row) for s in shards for a, b in pairwise(s))
    assert shards == list(cut(items, model=MODEL, output_tokens=output, target_s=target))

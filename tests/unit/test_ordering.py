"""Who goes next, and how many."""

import random
from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scheduler.domain.ordering import Runnable, in_flight_limit, order, room_for, share_out

NOW = datetime(2026, 12, 1, tzinfo=UTC)


def package(n: int, *, hours: float = 10, express: bool = False, admitted: int = 0, shards: int = 5) -> Runnable:
    return Runnable(UUID(int=n), express, NOW + timedelta(hours=hours), NOW + timedelta(minutes=admitted), shards)


def test_express_goes_first_then_the_earliest_deadline_then_who_came_first() -> None:
    late_express = package(1, hours=4, express=True)
    soon, later = package(2, hours=1), package(3, hours=2)
    same_but_newer = package(4, hours=2, admitted=1)
    assert order([same_but_newer, later, soon, late_express]) == [late_express, soon, later, same_but_newer]


def test_the_most_urgent_package_fills_the_room_before_the_next_one_gets_any() -> None:
    urgent, other = package(1, hours=1, shards=3), package(2, hours=2, shards=9)
    assert share_out([other, urgent], 5) == [(UUID(int=1), 3), (UUID(int=2), 2)]
    assert share_out([other, urgent], 2) == [(UUID(int=1), 2)]
    assert share_out([other, urgent], 0) == []


@given(
    st.lists(st.tuples(st.integers(1, 5), st.booleans(), st.integers(0, 9)), max_size=12),
    st.integers(0, 40),
    st.randoms(),
)
def test_sharing_out_never_exceeds_room_or_supply_and_ignores_the_input_order(
    found: list[tuple[int, bool, int]], room: int, chance: random.Random
) -> None:
    packages = [package(n, hours=h, express=e, shards=k) for n, (h, e, k) in enumerate(found)]
    shares = share_out(packages, room)
    assert sum(n for _, n in shares) == min(room, sum(p.shards for p in packages))
    shuffled = packages[:]
    chance.shuffle(shuffled)
    assert share_out(shuffled, room) == shares


@pytest.mark.parametrize(
    ("workers", "held", "share", "room"),
    [(2, 0, 1.0, 4), (2, 3, 1.0, 1), (2, 9, 1.0, 0), (0, 0, 1.0, 0), (2, 0, 0.0, 0), (1, 0, 0.01, 2)],
)
def test_each_living_worker_has_one_shard_and_one_in_reserve(workers: int, held: int, share: float, room: int) -> None:
    assert room_for(workers=workers, held=held, share=share) == room


@pytest.mark.parametrize(
    ("share", "at_once", "limit"), [(0, 8, 0), (0.05, 8, 1), (0.25, 8, 2), (0.85, 8, 6), (1, 8, 8)]
)
def test_offline_work_never_holds_more_than_its_share(share: float, at_once: int, limit: int) -> None:
    assert in_flight_limit(share=share, max_in_flight=at_once) == limit

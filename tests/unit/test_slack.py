"""What slack says can be promised is what an optimal plan could keep: against linear programming and brute force."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from scheduler.domain.admission import Hold, assess
from scheduler.domain.calendar import CapacityPath, capacity_path
from scheduler.domain.slack import Promise, Slack

NOW = datetime(2026, 3, 2, 10, 0, tzinfo=UTC)
STEP = timedelta(minutes=10)


def path_with(capacities: list[int]) -> CapacityPath:
    """A path that gives these whole GPU-seconds in its buckets."""
    edges = NOW.timestamp() + 600.0 * np.arange(len(capacities) + 1)
    return CapacityPath(edges, np.concatenate(([0.0], np.cumsum(np.array(capacities, dtype=float)))))


@dataclass(frozen=True)
class Wish:
    """Work in whole GPU-seconds and a deadline in whole buckets."""

    work: int
    bucket: int

    @property
    def promise(self) -> Promise:
        return Promise(NOW + self.bucket * STEP, self.work)


def can_be_kept(capacities: list[int], wishes: list[Wish]) -> bool:
    """Linear programme: share every bucket among the wishes that are not yet due."""
    n = len(capacities)
    if not wishes:
        return True
    within = np.kron(np.ones((1, len(wishes))), np.eye(n))
    done = np.kron(np.eye(len(wishes)), np.ones((1, n)))
    bounds = [(0, capacities[k] if k < wish.bucket else 0) for wish in wishes for k in range(n)]
    found = linprog(
        np.zeros(n * len(wishes)), A_ub=within, b_ub=capacities, A_eq=done, b_eq=[wish.work for wish in wishes],
        bounds=bounds,
    )  # fmt: skip
    return bool(found.status == 0)


capacities_of = st.lists(st.integers(0, 600), min_size=3, max_size=8)
wishes_of = st.lists(st.builds(Wish, st.integers(1, 900), st.integers(1, 8)), min_size=1, max_size=7)


def admitted(capacities: list[int], wishes: list[Wish]) -> list[Wish]:
    """First come, first served: those that slack lets in."""
    taken: list[Wish] = []
    for wish in wishes:
        slack = Slack(path_with(capacities), [one.promise for one in taken])
        if slack.can_promise(wish.work, wish.promise.deadline_at):
            taken.append(wish)
    return taken


@settings(max_examples=150, deadline=None)
@given(capacities_of, wishes_of)
def test_slack_promises_exactly_what_an_optimal_plan_can_keep(capacities: list[int], wishes: list[Wish]) -> None:
    wishes = [wish for wish in wishes if wish.bucket <= len(capacities)]
    taken: list[Wish] = []
    for wish in wishes:
        slack = Slack(path_with(capacities), [one.promise for one in taken])
        possible = can_be_kept(capacities, [*taken, wish])
        assert slack.can_promise(wish.work, wish.promise.deadline_at) == possible
        if possible:
            taken.append(wish)
    assert Slack(path_with(capacities), [one.promise for one in taken]).min_slack() >= -1e-6


@settings(max_examples=100, deadline=None)
@given(capacities_of, wishes_of, st.integers(1, 900), st.integers(1, 60))
def test_alternatives_are_the_best_that_could_be_promised(
    capacities: list[int], wishes: list[Wish], work: int, item: int
) -> None:
    slack = Slack(path_with(capacities), [one.promise for one in admitted(capacities, wishes)])
    ends = [NOW + k * STEP for k in range(len(capacities) + 1)]
    feasible = [end for end in ends if slack.can_promise(work, end)]
    assert slack.earliest_deadline(work) == (feasible[0] if feasible else None)
    for end in ends:
        most = slack.items_by(end, item)
        assert slack.can_promise(most * item, end)
        assert not slack.can_promise((most + 1) * item, end)


@settings(max_examples=100, deadline=None)
@given(capacities_of, wishes_of, st.integers(1, 900), st.integers(1, 8))
def test_expected_start_and_finish_are_those_of_earliest_deadline_first(
    capacities: list[int], wishes: list[Wish], work: int, bucket: int
) -> None:
    taken = admitted(capacities, wishes)
    slack = Slack(path_with(capacities), [one.promise for one in taken])
    deadline = NOW + bucket * STEP
    ahead = sum(one.work for one in taken if one.bucket <= bucket)
    started, finished, given_s = None, None, 0.0
    for k, capacity in enumerate(capacities):
        for second in range(0, 600, 10):  # a bucket gives its capacity evenly
            if started is None and given_s + capacity / 60 > ahead + 1e-6:
                started = NOW + k * STEP + timedelta(seconds=second)
            given_s += capacity / 60
            if finished is None and given_s >= ahead + work - 1e-6:
                finished = NOW + k * STEP + timedelta(seconds=second + 10)
    for found, stepped in (
        (slack.expected_start(deadline), started),
        (slack.expected_finish(work, deadline), finished),
    ):
        assert (found is None) == (stepped is None)
        if found and stepped:
            assert abs((found - stepped).total_seconds()) <= 10


def test_a_deadline_within_a_bucket_counts_as_its_start() -> None:
    slack = Slack(path_with([600, 600]))
    assert not slack.can_promise(601, NOW + 1.9 * STEP)
    assert slack.can_promise(600, NOW + 1.9 * STEP)
    assert not slack.can_promise(1, NOW + 0.9 * STEP)


def test_an_overdue_promise_is_owed_now_and_takes_from_everybody() -> None:
    slack = Slack(path_with([600, 600]), [Promise(NOW - timedelta(days=1), 700)])
    assert slack.min_slack() == -700
    assert slack.free_by(NOW + 2 * STEP) == 500
    assert slack.earliest_deadline(500) == NOW + 2 * STEP


def test_nothing_is_promised_beyond_the_horizon() -> None:
    slack = Slack(path_with([600]))
    assert not slack.can_promise(1, NOW + 2 * STEP)
    assert slack.earliest_deadline(601) is None
    assert slack.expected_finish(601, NOW + STEP) is None


def test_items_that_take_no_time_are_a_mistake() -> None:
    with pytest.raises(ValueError, match="takes time"):
        Slack(path_with([600])).items_by(NOW + STEP, 0)


def test_an_offer_holds_back_what_may_pass_while_it_stands() -> None:
    slack = Slack(path_with([600] * 6))
    told = assess(slack, work_s=1000, expected_s=700, deadline_at=NOW + 2 * STEP, hold=Hold(300, 600))
    assert not told.is_feasible  # 1,000 of 1,200, but 300 may pass before somebody accepts
    assert told.items_that_fit(100) == 90
    assert told.earliest_deadline_at == NOW + 3 * STEP  # 1,600 of 1,800
    assert told.expected_finish_at == NOW + timedelta(seconds=700)
    had = assess(slack, work_s=1000, expected_s=700, deadline_at=NOW + 2.5 * STEP, hold=Hold(200, 600))
    assert had.earliest_deadline_at == NOW + 2.5 * STEP  # what can be had is never later than what is named
    plain = assess(slack, work_s=1000, expected_s=700, deadline_at=NOW + 2 * STEP)
    assert plain.is_feasible
    assert plain.items_that_fit(100) == 100


def test_a_fortnight_with_many_promises_is_answered_by_the_same_rule() -> None:
    path = capacity_path([], 0.5, ZoneInfo("Asia/Shanghai"), 8, NOW)
    slack = Slack(path, [Promise(NOW + timedelta(hours=i), 1000.0) for i in range(1, 200)])
    assert len(path.edges) == 14 * 144 + 1
    assert slack.earliest_deadline(5000.0) == NOW + 3 * STEP  # 2,400 GPU-seconds a bucket; nothing is due before 11:00

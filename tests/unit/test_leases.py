"""What happens to a shard when an attempt ends badly."""

from datetime import UTC, datetime, timedelta

import pytest

from scheduler.domain.leases import after_failure, can_expire, is_unclaimed, renewed

NOW = datetime(2026, 12, 1, tzinfo=UTC)


def s(seconds: float) -> datetime:
    return NOW + timedelta(seconds=seconds)


def test_the_third_failure_in_a_row_is_the_last() -> None:
    first = after_failure(attempts=0, made_progress=False, now=NOW)
    second = after_failure(attempts=first.attempts, made_progress=False, now=NOW)
    third = after_failure(attempts=second.attempts, made_progress=False, now=NOW)
    assert [x.is_dead for x in (first, second, third)] == [False, False, True]
    assert third.attempts == 3


def test_each_failure_waits_longer_than_the_one_before() -> None:
    waits = [after_failure(attempts=n, made_progress=False, now=NOW).not_before for n in (0, 1)]
    assert waits == [s(5), s(20)]


def test_an_attempt_that_finished_items_starts_the_count_anew() -> None:
    setback = after_failure(attempts=2, made_progress=True, now=NOW)
    assert (setback.is_dead, setback.attempts) == (False, 1)


def test_a_lease_is_renewed_from_when_the_worker_was_heard() -> None:
    assert renewed(NOW, 30) == s(30)


@pytest.mark.parametrize(
    ("assigned", "ignored", "lost"),
    [
        (-14, -100, False),  # it may still be on its way
        (-15, -100, True),  # an idle worker should have taken it by now
        (-100, -14, False),  # the worker became idle just now
        (-100, -15, True),
        (-300, None, False),  # all are busy: it waits its turn
        (-616, None, True),  # nobody may claim it any more
    ],
)
def test_an_assignment_is_lost_when_somebody_idle_ignores_it(assigned: int, ignored: int | None, lost: bool) -> None:
    ignored_since = None if ignored is None else s(ignored)
    assert is_unclaimed(assigned_at=s(assigned), ignored_since=ignored_since, now=NOW) is lost


@pytest.mark.parametrize(("since", "can"), [(None, False), (-14, False), (-15, True)])
def test_leases_do_not_expire_before_the_workers_can_have_been_heard(since: int | None, can: bool) -> None:
    assert can_expire(hearing_since=None if since is None else s(since), lease_s=30, now=NOW) is can

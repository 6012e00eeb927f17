"""What a tick wants of a pool, from what it sees."""

from datetime import UTC, datetime, timedelta
from uuid import UUID

from scheduler.domain.lifecycle import PackageState
from scheduler.domain.ordering import Runnable
from scheduler.pace import OVER, Finished, Pace
from scheduler.plan import Attention, HeldShard, PoolNow, plan
from scheduler.wire import Heartbeat

NOW = datetime(2026, 12, 1, tzinfo=UTC)
RUNNING, PAUSED, CANCELLING = PackageState.RUNNING, PackageState.PAUSED, PackageState.CANCELLING


def worker(name: str, *shards: str, pool: str = "p", engine: str = "ready") -> Heartbeat:
    return Heartbeat(name, pool, "m", shards, 0, 0.0, engine, NOW)


def pool(*held: HeldShard, share: float = 1.0, waiting: int = 9) -> PoolNow:
    package = Runnable(UUID(int=1), False, NOW + timedelta(hours=1), NOW, waiting)
    return PoolNow(pk=1, name="p", share=share, max_in_flight=8, runnable=(package,), held=held)


def released(now: PoolNow, *workers: Heartbeat) -> int:
    return sum(n for _, n in plan(now, workers).release)


def test_a_worker_gets_one_shard_and_one_in_reserve() -> None:
    assert released(pool(), worker("a")) == 2
    assert released(pool(HeldShard("x/0/1", "a", RUNNING)), worker("a", "x/0/1")) == 1
    assert released(pool(HeldShard("x/0/1", "a", RUNNING), HeldShard("x/1/1", "", RUNNING)), worker("a", "x/0/1")) == 0


def test_the_shard_of_a_dead_worker_takes_no_room_from_the_living() -> None:
    assert released(pool(HeldShard("x/0/1", "dead", RUNNING)), worker("a")) == 2


def test_a_worker_that_is_about_to_go_gets_nothing_more() -> None:
    assert released(pool(), worker("a", engine="stopping")) == 0
    assert Attention().note(["p"], [worker("a", engine="stopping")], NOW) == {"p": NOW}  # as if nobody were there


def test_nothing_is_given_out_while_the_pool_is_closed_or_empty() -> None:
    assert released(pool(share=0), worker("a")) == 0
    assert released(pool()) == 0
    assert plan(pool(share=0), [worker("a")]).control.in_flight_per_worker == 0


def test_running_shards_of_paused_and_cancelled_packages_are_asked_to_park() -> None:
    held = [
        HeldShard("a/0/1", "w", RUNNING),
        HeldShard("b/0/1", "w", PAUSED),
        HeldShard("c/0/1", "w", CANCELLING),
        HeldShard("c/1/1", "", CANCELLING),  # only assigned: nobody to ask
    ]
    park = plan(pool(*held), [worker("w", "a/0/1")]).control.park
    assert park == {"b/0/1": "operator_pause", "c/0/1": "user_cancel"}


def test_a_worker_that_runs_an_older_epoch_is_asked_to_stop() -> None:
    held = HeldShard("a/0/2", "new", RUNNING)
    assert plan(pool(held), [worker("old", "a/0/1"), worker("new", "a/0/2")]).control.park == {"a/0/1": "lease_lost"}


def test_a_pool_pays_no_attention_while_a_worker_idles_without_a_break() -> None:
    attention = Attention()
    later = NOW + timedelta(seconds=10)
    assert attention.note(["p"], [worker("a")], NOW) == {"p": NOW}
    assert attention.note(["p"], [worker("a")], later) == {"p": NOW}
    assert attention.note(["p"], [worker("a", "x/0/1")], later) == {}
    assert attention.note(["p"], [worker("a")], later) == {"p": later}


def test_a_pool_without_workers_pays_no_attention_either() -> None:
    attention = Attention()
    attention.note(["p"], [worker("a", "x/0/1")], NOW)
    later = NOW + timedelta(seconds=10)
    assert attention.note(["p", "q"], [worker("b", "x/1/1", pool="q")], later) == {"p": later}


def test_the_pace_is_that_of_the_last_minute() -> None:
    pace = Pace()
    for second in range(0, 121, 10):  # 1 item a second for a minute, then 3
        done = second if second <= 60 else 60 + 3 * (second - 60)
        told = pace.note({"x": Finished(done, NOW)}, NOW + timedelta(seconds=second))
    assert (told["x"].done, told["x"].per_s) == (240, 3.0)


def test_a_pace_that_nobody_can_know_yet_is_not_told_and_none_runs_backwards() -> None:
    pace = Pace()
    assert pace.note({"x": Finished(5, NOW - OVER)}, NOW) == {}
    assert pace.note({"x": Finished(3, NOW - OVER)}, NOW + timedelta(seconds=1))["x"].per_s == 0


def test_a_run_that_began_just_now_goes_at_its_mean_so_far() -> None:
    """However much of it had ended when it was first seen."""
    live = Pace().note({"x": Finished(8_000, NOW - timedelta(seconds=4))}, NOW)
    assert live["x"].per_s == 2_000


def test_a_package_that_was_paused_begins_anew() -> None:
    pace, long_ago = Pace(), NOW - timedelta(hours=1)
    pace.note({"x": Finished(10, long_ago)}, NOW)
    pace.note({}, NOW + timedelta(seconds=10))
    assert pace.note({"x": Finished(20, long_ago)}, NOW + timedelta(seconds=20)) == {}

"""Progress, outlook and timeline of a package, from its shards."""

from datetime import UTC, datetime, timedelta

import msgspec
import pytest
import redis
from django.conf import settings

from portal.packages import timeline
from portal.packages.following.live import pace_of
from portal.packages.following.outlook import Outlook, expected_finishes, margin_of, outlook_of
from portal.packages.following.progress import cells_of, progress_of, progress_of_all
from portal.packages.following.story import story_of
from portal.packages.models import Shard
from portal.packages.views.follow import state_of
from scheduler import wire
from scheduler.domain.lifecycle import Cause, PackageState, ShardState
from tests.shards import NOW, promised
from tests.world import World


def say(package_id: object, no: int, **fields: object) -> None:
    assert Shard.objects.across_departments().filter(package=package_id, no=no).update(**fields) == 1


def test_counts_add_up_to_the_manifest_whatever_the_shards_say(world: World) -> None:
    """Six shards of 4 rows and 3 rows set aside: 27 rows in all."""
    package = promised(world, shards=6, state=PackageState.CANCELLING, rows_total=27, rows_good=24, rows_set_aside=3)
    say(package.pk, 0, state=ShardState.SETTLED, succeeded=3, quarantined=1)
    say(package.pk, 1, state=ShardState.RUNNING, succeeded=2)
    say(package.pk, 2, state=ShardState.DEAD, succeeded=1, failed=3)
    say(package.pk, 3, state=ShardState.CANCELLED, succeeded=1)
    say(package.pk, 4, state=ShardState.WAITING, cause=Cause.PREEMPTION)
    found = progress_of(package)
    assert (found.succeeded, found.quarantined, found.failed, found.cancelled, found.to_go) == (7, 4, 3, 3, 10)
    assert found.succeeded + found.quarantined + found.failed + found.cancelled + found.to_go == found.total == 27
    assert (found.shard_count, found.settled_shards, found.running_shards, found.parked) == (6, 1, 1, 1)
    assert (found.dead_shards, found.cancelled_shards) == (1, 1)


def test_progress_is_100_percent_only_when_nothing_is_to_go(world: World) -> None:
    package = promised(world, shards=1, rows_total=100_000, rows_good=4, rows_set_aside=99_996)
    assert progress_of(package).percent == 99.9
    say(package.pk, 0, state=ShardState.SETTLED, succeeded=4)
    assert progress_of(package).percent == 100


def test_one_query_tells_the_progress_of_many_packages(world: World, django_assert_num_queries) -> None:  # type: ignore[no-untyped-def]
    packages = [promised(world, shards=2) for _ in range(3)]
    with django_assert_num_queries(1):
        assert len(progress_of_all(packages)) == 3


def test_very_many_shards_share_cells(world: World) -> None:
    package = promised(world, shards=7)
    say(package.pk, 4, state=ShardState.DEAD, failed=4)
    cells = cells_of(package, at_most=3)
    assert [(cell.first_no, cell.last_no, cell.items) for cell in cells] == [(0, 2, 12), (3, 5, 12), (6, 6, 4)]
    assert [cell.look for cell in cells] == ["", "x", ""]


def test_a_cell_says_what_its_shard_does(world: World) -> None:
    package = promised(world, shards=4)
    say(package.pk, 0, state=ShardState.SETTLED, succeeded=4)
    say(package.pk, 1, state=ShardState.SETTLED, succeeded=3, quarantined=1)
    say(package.pk, 2, state=ShardState.RUNNING)
    say(package.pk, 3, cause=Cause.OPERATOR_PAUSE)
    assert [(cell.look, str(cell.state_label)) for cell in cells_of(package)] == [
        ("d", "settled"), ("q", "settled"), ("r", "running"), ("p", "parked"),
    ]  # fmt: skip


def test_the_expected_finish_counts_what_is_due_before(world: World) -> None:
    """One replica, always open: 20 s for each of two packages, earliest deadline first."""
    late = promised(world, shards=2, deadline_at=NOW + timedelta(hours=20))
    soon = promised(world, shards=2, deadline_at=NOW + timedelta(hours=10))
    assert expected_finishes([late, soon], now=NOW) == {
        soon.pk: NOW + timedelta(seconds=20),
        late.pk: NOW + timedelta(seconds=40),
    }


def test_a_running_package_is_expected_by_its_own_pace(world: World) -> None:
    """8 rows to go at 0.1 a second on one GPU: 80 s, trusted from 0.9 to 1.15 times."""
    package = promised(world, shards=2, state=PackageState.RUNNING)
    tell_pace(str(package.pk), per_s=0.1, at=NOW)
    found = outlook_of(package, progress=progress_of(package), pace=pace_of(package, now=NOW), now=NOW)
    assert found == Outlook(NOW + timedelta(seconds=72), NOW + timedelta(seconds=92))


@pytest.mark.parametrize(("hours", "tone", "is_late"), [(5, "good", False), (9.5, "warn", False), (11, "bad", True)])
def test_the_margin_is_measured_against_the_promise(world: World, hours: float, tone: str, is_late: bool) -> None:
    package = promised(world, deadline_at=NOW + timedelta(hours=10))
    margin = margin_of(package, expected_at=NOW + timedelta(hours=hours), now=NOW)
    assert margin is not None
    assert (margin.tone, margin.is_late) == (tone, is_late)


def tell_pace(package: str, *, per_s: float, at: datetime) -> None:
    client = redis.Redis.from_url(settings.REDIS_URL)
    client.set(wire.live_key(package), msgspec.json.encode(wire.Live(at=at, done=1, per_s=per_s)), ex=60)
    client.close()


def test_an_old_word_on_the_pace_is_not_taken_for_news(world: World) -> None:
    package = promised(world)
    assert pace_of(package, now=NOW) is None
    tell_pace(str(package.pk), per_s=3.5, at=NOW - timedelta(minutes=2))
    pace = pace_of(package, now=NOW)
    assert pace is not None
    assert (pace.per_s, pace.is_fresh) == (3.5, False)


@pytest.mark.parametrize(("state", "is_told"), [(PackageState.RUNNING, True), (PackageState.PAUSED, False)])
def test_only_what_runs_has_a_pace(world: World, state: PackageState, is_told: bool) -> None:
    package = promised(world, state=state)
    tell_pace(str(package.pk), per_s=3.5, at=NOW)
    assert (state_of(package, person=world.alice, now=NOW)["pace"] is not None) == is_told


def test_the_story_tells_the_latest_first_and_a_common_fate_once(world: World) -> None:
    package = promised(world)
    timeline.record(package=package, code="started", now=NOW)
    for shard in (3, 4, 5):
        timeline.record(
            package=package, code="shard_parked", now=NOW + timedelta(minutes=4), shard=shard, cause="preemption"
        )
    timeline.record(package=package, code="paused", now=NOW + timedelta(hours=1), by="Bob")
    assert [one.text for one in story_of(package)] == [
        "Paused (Bob)",
        "3 shards parked: online traffic comes first",
        "Started",
    ]


def test_a_read_manifest_is_told_with_what_was_set_aside(world: World) -> None:
    package = promised(world)
    timeline.record(package=package, code="read", now=datetime(2026, 12, 1, tzinfo=UTC), rows=30000, set_aside=212)
    assert [one.text for one in story_of(package)] == ["30,000 rows read, 212 set aside"]

"""Ticks, against the real database, Redis and bus: packages get through whatever happens between two of them."""

import os
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta

import msgspec
import pytest
import redis
from django.conf import settings
from django.db import OperationalError

from portal.capacity.models import Pool
from portal.packages.models import Package
from portal.packages.running import control, dispatch
from scheduler import wire
from scheduler.board import Board
from scheduler.bus import Bus, open_bus
from scheduler.cycle import Cycle
from scheduler.domain.lifecycle import PackageState
from scheduler.objects import ObjectStore, open_store
from tests import shards
from tests.shards import ITEMS, NOW, HandWorker, promised, shard_of, state_of
from tests.world import World

URL = os.environ["REDIS_URL"]


def s(seconds: float) -> datetime:
    return NOW + timedelta(seconds=seconds)


@pytest.fixture
def client() -> Iterator["redis.Redis"]:
    """Redis, empty."""
    with redis.Redis.from_url(URL) as made:
        made.flushdb()
        yield made


@pytest.fixture
def bus(client: "redis.Redis") -> Iterator[Bus]:
    made = open_bus(os.environ["BUS_URL"])
    yield made
    made.close()


@pytest.fixture
def store() -> ObjectStore:
    return open_store("memory:")


@pytest.fixture
def cycle(world: World, bus: Bus, store: ObjectStore) -> Iterator[Cycle]:
    board = Board(URL)
    made = Cycle(bus=bus, board=board, store=store, member="s1")
    yield made
    made.close()
    board.close()


@pytest.fixture
def worker(bus: Bus, store: ObjectStore) -> HandWorker:
    made = HandWorker(bus, store, URL)
    made.beat()
    return made


@pytest.fixture(autouse=True)
def swept(monkeypatch: pytest.MonkeyPatch) -> list[datetime]:
    """When the sweep ran. What it does is tested elsewhere."""
    when: list[datetime] = []
    monkeypatch.setattr("scheduler.cycle.sweep", lambda now: when.append(now))
    return when


def states(package: Package) -> list[str]:
    return [shard.state for shard in package.shards.order_by("no")]


def test_a_package_runs_to_its_end(world: World, cycle: Cycle, worker: HandWorker) -> None:
    package = promised(world, shards=5)
    for second in range(10):
        assert cycle.tick(s(second))
        for given in worker.take():
            worker.run(given)
    assert states(package) == ["settled"] * 5
    assert state_of(package) == "finalising"


def test_no_more_is_given_out_than_the_workers_can_take(
    world: World, cycle: Cycle, bus: Bus, store: ObjectStore, worker: HandWorker
) -> None:
    package = promised(world, shards=9)
    cycle.tick(NOW)
    assert states(package).count("assigned") == 2
    HandWorker(bus, store, URL, name="w2").beat()
    cycle.tick(s(1))
    assert states(package).count("assigned") == 4
    cycle.tick(s(2))
    assert states(package).count("assigned") == 4


def test_nothing_is_given_out_without_a_worker(world: World, cycle: Cycle) -> None:
    package = promised(world)
    assert cycle.tick(NOW)
    assert states(package) == ["waiting", "waiting"]


def test_a_more_urgent_package_overtakes_at_the_next_shard(world: World, cycle: Cycle, worker: HandWorker) -> None:
    patient = promised(world, shards=4)
    cycle.tick(NOW)
    urgent = promised(world, shards=1, tier="express", deadline_at=s(4 * 3600))
    for given in worker.take():
        worker.run(given)
    cycle.tick(s(1))
    assert [given.package for given in worker.take()] == [str(urgent.pk), str(patient.pk)]


def test_a_closed_pool_gives_nothing_out_and_allows_nothing_in_flight(
    world: World, cycle: Cycle, worker: HandWorker
) -> None:
    world.pool.windows.all().delete()
    Pool.objects.update(base_share=0)
    package = promised(world)
    cycle.tick(NOW)
    assert states(package) == ["waiting", "waiting"]
    said = worker.control()
    assert said is not None
    assert said.in_flight_per_worker == 0


def test_the_workers_are_told_their_share_of_the_window(world: World, cycle: Cycle, worker: HandWorker) -> None:
    Pool.objects.update(base_share="0.5", max_in_flight=8)
    world.pool.windows.update(share="0.75")  # 22:00 to 08:00 in Shanghai
    for at, limit in ((NOW, 6), (NOW + timedelta(hours=12), 4)):
        cycle.tick(at)
        said = worker.control()
        assert said is not None
        assert said.in_flight_per_worker == limit


def test_viewers_are_told_how_fast_a_package_goes(
    world: World, cycle: Cycle, worker: HandWorker, client: "redis.Redis"
) -> None:
    package = promised(world, shards=1)
    cycle.tick(NOW)
    (given,) = worker.take()
    worker.say(shards.progressed(given, done=1))
    cycle.tick(s(1))
    worker.say(shards.progressed(given, done=3))
    cycle.tick(s(5))
    live = msgspec.json.decode(client.get(wire.live_key(str(package.pk))), type=wire.Live)
    assert (live.done, live.per_s) == (3, 0.75)  # three since it began, at second 1


def test_a_message_that_nobody_understands_is_set_aside_and_the_next_is_heard(
    world: World, cycle: Cycle, worker: HandWorker, bus: Bus
) -> None:
    package = promised(world, shards=1)
    cycle.tick(NOW)
    (given,) = worker.take()
    bus.publish(wire.EVENTS_TOPIC, b"\xff not json", key="x")
    bus.publish(wire.EVENTS_TOPIC, wire.encode(given), key="x")
    worker.run(given)
    assert cycle.tick(s(1))
    assert states(package) == ["settled"]
    dead = bus.subscribe([wire.DEAD_TOPIC], group="test", member="t").poll(timeout_s=1, at_most=9)
    letters = [msgspec.json.decode(d.payload, type=wire.DeadLetter) for d in dead]
    assert [letter.payload for letter in letters] == [b"\xff not json", wire.encode(given)]
    assert letters[1].reason == "UnableToDecode: an assignment is not an event"


def test_an_event_that_cannot_be_applied_is_set_aside_and_the_next_is_heard(
    world: World, cycle: Cycle, worker: HandWorker
) -> None:
    package = promised(world, shards=2)
    cycle.tick(NOW)
    impossible, good = worker.take()
    worker.say(shards.parked(impossible, cause="boredom", done=0))
    worker.run(good)
    assert cycle.tick(s(1))
    assert states(package)[good.shard] == "settled"


def test_an_event_waits_while_the_database_is_away_and_then_counts(
    world: World, cycle: Cycle, worker: HandWorker, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = promised(world, shards=1)
    cycle.tick(NOW)
    (given,) = worker.take()
    worker.run(given)
    with monkeypatch.context() as broken:

        def away(*_: object, **__: object) -> bool:
            raise OperationalError("the database is away")

        broken.setattr(dispatch, "apply", away)
        assert not cycle.tick(s(1))
    assert states(package) == ["assigned"]
    assert cycle.tick(s(2))
    assert states(package) == ["settled"]


def test_a_pause_parks_what_runs_and_a_resume_repeats_nothing(world: World, cycle: Cycle, worker: HandWorker) -> None:
    package = promised(world, shards=1)
    cycle.tick(NOW)
    (given,) = worker.take()
    worker.claim(given)
    worker.beat(given)
    cycle.tick(s(1))
    control.pause(package=package, by=world.alice, now=s(2))
    cycle.tick(s(2))
    said = worker.control()
    assert said is not None
    assert said.park == {wire.shard_name(given.package, 0, 1): "operator_pause"}
    worker.say(shards.parked(given, cause="operator_pause", done=3))
    worker.beat()
    cycle.tick(s(3))
    assert (states(package), worker.take()) == (["waiting"], [])
    control.resume(package=package, by=world.alice, now=s(4))
    cycle.tick(s(4))
    (again,) = worker.take()
    assert (again.epoch, again.attempt, shard_of(package).succeeded) == (2, 1, 3)
    said = worker.control()
    assert said is not None
    assert said.park == {}


def test_a_cancel_ends_a_running_package_and_charges_what_is_finished(
    world: World, cycle: Cycle, worker: HandWorker
) -> None:
    package = promised(world, shards=3)
    cycle.tick(NOW)
    given = worker.take()[0]
    worker.claim(given)
    worker.beat(given)
    cycle.tick(s(1))
    control.cancel(package=package, by=world.alice, now=s(2))
    cycle.tick(s(3))
    assert states(package) == ["running", "cancelled", "cancelled"]
    said = worker.control()
    assert said is not None
    assert said.park[wire.shard_name(given.package, 0, 1)] == "user_cancel"
    worker.say(shards.parked(given, cause="user_cancel", done=1))
    cycle.tick(s(4))
    assert states(package) == ["cancelled"] * 3
    assert state_of(package) == "cancelling"


def test_a_worker_that_lost_its_lease_is_told_to_stop(
    world: World, cycle: Cycle, worker: HandWorker, bus: Bus, store: ObjectStore
) -> None:
    package = promised(world, shards=1)
    cycle.tick(NOW)
    (old,) = worker.take()
    worker.claim(old)
    worker.beat(old)
    cycle.tick(s(1))
    other = HandWorker(bus, store, URL, name="w2")
    other.beat()
    cycle.tick(s(2 + settings.LEASE_S))  # the first worker is silent, then the shard waits a little
    assert states(package) == ["waiting"]
    cycle.tick(s(10 + settings.LEASE_S))
    (new,) = other.take()
    assert new.epoch == 2
    said = worker.control()
    assert said is not None
    assert said.park == {wire.shard_name(old.package, 0, 1): "lease_lost"}


def test_an_assignment_in_reserve_is_left_alone_while_its_worker_is_busy(
    world: World, cycle: Cycle, worker: HandWorker
) -> None:
    package = promised(world, shards=2)
    cycle.tick(NOW)
    (running,) = worker.take(at_most=1)
    worker.claim(running)
    worker.beat(running)
    for second in range(1, 60, 5):
        worker.say(shards.progressed(running, done=1))
        cycle.tick(s(second))
    assert states(package) == ["running", "assigned"]
    assert shard_of(package, 1).epoch == 1


def test_a_wiped_bus_stops_nothing_for_good(
    world: World, cycle: Cycle, worker: HandWorker, client: "redis.Redis"
) -> None:
    package = promised(world, shards=3)
    cycle.tick(NOW)
    client.flushdb()
    for second in range(1, 40):
        worker.beat()
        cycle.tick(s(second))
        for given in worker.take():
            worker.run(given)
    assert states(package) == ["settled"] * 3
    assert [shard_of(package, no).attempts for no in range(3)] == [0, 0, 0]


def test_a_new_scheduler_goes_on_where_the_old_one_stopped(
    world: World, cycle: Cycle, worker: HandWorker, bus: Bus, store: ObjectStore
) -> None:
    package = promised(world, shards=2)
    cycle.tick(NOW)
    taken = worker.take()
    worker.claim(taken[0])
    cycle.tick(s(1))
    cycle.close()
    for given in taken:
        worker.run(given)
    later = s(10 * settings.LEASE_S)  # every lease has run out, but the workers did speak
    board = Board(URL)
    heir = Cycle(bus=bus, board=board, store=store, member="s2")
    heir.tick(later)
    board.close()
    assert states(package) == ["settled", "settled"]
    assert [shard_of(package, no).attempts for no in (0, 1)] == [0, 0]


def test_everything_said_again_changes_nothing(
    world: World, cycle: Cycle, worker: HandWorker, client: "redis.Redis"
) -> None:
    package = promised(world, shards=2)
    for second in range(3):
        cycle.tick(s(second))
        for given in worker.take():
            worker.run(given)
    before = [(x.state, x.epoch, x.succeeded, x.settled_at) for x in package.shards.order_by("no")]
    for group in client.xinfo_groups(wire.EVENTS_TOPIC):
        client.xgroup_setid(wire.EVENTS_TOPIC, group["name"], "0")  # the bus begins from the first event again
    assert cycle.tick(s(9))
    assert [(x.state, x.epoch, x.succeeded, x.settled_at) for x in package.shards.order_by("no")] == before
    assert [row[1] for row in before] == [1, 1]
    assert sum(row[2] for row in before) == 2 * ITEMS


def test_a_missing_redis_holds_up_only_what_needs_it(world: World, bus: Bus, store: ObjectStore) -> None:
    package = promised(world, state=PackageState.CANCELLING)
    board = Board("redis://127.0.0.1:1/0")
    lonely = Cycle(bus=open_bus("redis://127.0.0.1:1/0"), board=board, store=store, member="s3")
    assert not lonely.tick(NOW)
    assert states(package) == ["cancelled", "cancelled"]
    lonely.close()
    board.close()


def test_lost_work_is_looked_for_every_now_and_then(world: World, cycle: Cycle, swept: list[datetime]) -> None:
    for second in range(0, 31, 5):
        cycle.tick(s(second))
    assert swept == [s(0), s(15), s(30)]


def test_a_heartbeat_that_cannot_be_read_hides_no_other(
    world: World, cycle: Cycle, worker: HandWorker, client: "redis.Redis", store: ObjectStore
) -> None:
    package = promised(world)
    client.set(wire.heartbeat_key("broken"), b"{", ex=60)
    assert cycle.tick(NOW)
    assert states(package) == ["assigned", "assigned"]


def test_assignments_are_published_after_they_are_committed(
    world: World, cycle: Cycle, worker: HandWorker, bus: Bus, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = promised(world, shards=1)
    seen: list[str] = []
    real: Callable[..., None] = bus.publish

    def publish(topic: str, payload: bytes, *, key: str) -> None:
        seen.append(shard_of(package).state)
        real(topic, payload, key=key)

    monkeypatch.setattr(bus, "publish", publish)
    cycle.tick(NOW)
    assert seen == ["assigned"]

"""The scheduler as a program: stopped, killed and started again, it goes on from what the database says."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from datetime import timedelta

import pytest
import redis
from django.utils import timezone

from portal.packages.store import objects
from scheduler.bus import Bus, open_bus
from tests.programs import database_url, until
from tests.shards import HandWorker, promised, state_of
from tests.world import World

URL = os.environ["REDIS_URL"]
Start = Callable[[], "subprocess.Popen[bytes]"]


@pytest.fixture
def start(transactional_db: None) -> Iterator[Start]:
    """Start the program on the tests' database; whatever still runs is killed at the end."""
    with redis.Redis.from_url(URL) as client:
        client.flushdb()
    environment = os.environ | {"DATABASE_URL": database_url(), "SLACKWATER_TICK_S": "0.1"}
    started: list[subprocess.Popen[bytes]] = []

    def begin() -> "subprocess.Popen[bytes]":
        program = subprocess.Popen([sys.executable, "-m", "scheduler"], env=environment, stderr=subprocess.PIPE)
        started.append(program)
        return program

    yield begin
    for program in started:
        program.kill()
        program.communicate()


@pytest.fixture
def bus() -> Iterator[Bus]:
    made = open_bus(os.environ["BUS_URL"])
    yield made
    made.close()


def test_a_killed_scheduler_is_replaced_by_another_and_the_package_gets_through(
    start: Start, world: World, bus: Bus
) -> None:
    package = promised(world, shards=6, deadline_at=timezone.now() + timedelta(hours=1))
    worker = HandWorker(bus, objects(), URL)
    worker.beat()

    def settle_some(at_least: int) -> bool:
        worker.beat()
        for given in worker.take():
            worker.run(given)
        return package.shards.filter(state="settled").count() >= at_least

    first = start()
    until(lambda: settle_some(2))
    first.kill()
    first.wait()
    assert package.shards.exclude(state="settled").exists()
    start()
    until(lambda: settle_some(6))
    until(lambda: state_of(package) == "finalising")
    assert set(package.shards.values_list("attempts", flat=True)) == {0}


def test_a_scheduler_that_is_told_to_stop_ends_soon_and_well(start: Start, world: World) -> None:
    program = start()
    with redis.Redis.from_url(URL) as client:
        until(lambda: bool(client.exists("slackwater:control:echo")))
    program.send_signal(signal.SIGTERM)
    _, said = program.communicate(timeout=5)
    assert program.returncode == 0
    assert b'"action": "scheduler.stop"' in said


def test_a_scheduler_with_an_impossible_setting_does_not_start(monkeypatch: pytest.MonkeyPatch) -> None:
    environment = os.environ | {"SLACKWATER_TICK_S": "often"}
    ended = subprocess.run([sys.executable, "-m", "scheduler"], env=environment, capture_output=True, check=False)
    assert ended.returncode == 2
    assert b"SLACKWATER_TICK_S must be a number of seconds" in ended.stderr

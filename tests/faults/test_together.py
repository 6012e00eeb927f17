"""Scheduler and workers as programs: killed and wiped while a package runs, they lose, repeat and double nothing."""

import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
import redis

from portal.billing.models import LedgerEntry
from portal.packages.models import Package
from portal.packages.store import objects
from scheduler.records import ShardItem, dump, merged
from tests.programs import database_url, until
from tests.shards import ITEMS, promised, state_of
from tests.world import World

IN_FLIGHT = 2
SHARDS = 12
URL = os.environ["REDIS_URL"]


class Programs:
    """A scheduler and echo workers on the tests' stores."""

    def __init__(self, calls: Path) -> None:
        self._environment = os.environ | {
            "DATABASE_URL": database_url(),
            "SLACKWATER_TICK_S": "0.1",
            "SLACKWATER_LEASE_S": "3",
            "SLACKWATER_POOL": "echo",
            "SLACKWATER_MODEL": "echo",
            "SLACKWATER_ENGINE": "echo",
            "SLACKWATER_CONTEXT_TOKENS": "512",
            "SLACKWATER_MAX_IN_FLIGHT": str(IN_FLIGHT),
            "SLACKWATER_ECHO_DELAY_S": "0.5",
            "SLACKWATER_CALL_LOG": str(calls),
        }
        self._started: list[subprocess.Popen[bytes]] = []

    def start(self, module: str) -> "subprocess.Popen[bytes]":
        program = subprocess.Popen(
            [sys.executable, "-m", module], env=self._environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        self._started.append(program)
        return program

    def kill_all(self) -> None:
        for program in self._started:
            program.kill()
            program.wait()


@pytest.fixture
def calls(tmp_path: Path) -> Path:
    return tmp_path / "calls"


@pytest.fixture
def programs(transactional_db: None, calls: Path) -> Iterator[Programs]:
    wipe()
    made = Programs(calls)
    yield made
    made.kill_all()


def with_objects(package: Package) -> Package:
    """Write what ingest would have written: one object a shard."""
    for shard in package.shards.all():
        first = shard.no * ITEMS + 1
        items = [
            ShardItem(row, str(row), [{"role": "user", "content": f"row {row}"}], 10)
            for row in range(first, first + ITEMS)
        ]
        objects().put(shard.key, dump(items))
    return package


def wipe() -> None:
    """Everything in Redis, the bus included, is gone."""
    with redis.Redis.from_url(URL) as client:
        client.flushdb()


def settled(package: Package) -> int:
    return package.shards.filter(state="settled").count()


def check_invariants(package: Package, calls: Path, *, kills: int) -> None:
    rows = [
        row
        for shard in package.shards.order_by("no")
        for row, result in merged(objects(), shard.parts).items()
        if result.status == "succeeded"
    ]
    assert sorted(rows) == list(range(1, SHARDS * ITEMS + 1))
    entries = LedgerEntry.objects.across_departments().filter(package_ref=package.pk)
    assert sorted(entry.shard_no for entry in entries) == list(range(SHARDS))
    assert sum(entry.items for entry in entries) == SHARDS * ITEMS
    called = Counter(calls.read_text().split())
    assert len(called) == SHARDS * ITEMS
    # Only what was in flight, or finished and not yet written, when its worker was killed runs again.
    assert called.total() - len(called) <= kills * ITEMS


def test_killing_and_wiping_loses_repeats_and_doubles_nothing(programs: Programs, world: World, calls: Path) -> None:
    package = with_objects(promised(world, shards=SHARDS))
    scheduler = programs.start("scheduler")
    worker, _ = programs.start("gpuworker"), programs.start("gpuworker")
    until(lambda: settled(package) >= 1, within_s=60)
    worker.kill()
    until(lambda: settled(package) >= 3, within_s=60)
    programs.start("gpuworker")
    wipe()
    until(lambda: settled(package) >= 6, within_s=60)
    scheduler.kill()
    programs.start("scheduler")
    until(lambda: state_of(package) == "finalising", within_s=90)
    check_invariants(package, calls, kills=1)

"""A real worker process, with the echo engine: killed, stopped, cut off, and what that must not cost."""

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from uuid import uuid4

import msgspec
import pytest
import redis

from scheduler import wire
from scheduler.bus import Subscription, open_bus
from scheduler.objects.file import FileStore
from tests.environment import free_port, start_valkey
from tests.workbench import HOME, PACKAGE, assignment, items, put_shard, results

ROWS = 60


@dataclass
class Site:
    """A pool of its own on one Redis, with its store and its worker processes."""

    folder: Path
    redis_url: str
    pool: str = field(default_factory=lambda: f"pool-{uuid4().hex[:8]}")
    processes: list[subprocess.Popen[bytes]] = field(default_factory=list)
    events: list[wire.Event] = field(default_factory=list)
    _ear: Subscription | None = None

    @property
    def store(self) -> FileStore:
        return FileStore(self.folder / "objects")

    @property
    def calls(self) -> Counter[str]:
        log = self.folder / "calls"
        return Counter(log.read_text().split()) if log.exists() else Counter()

    def start_worker(self, *, delay_s: float = 0.05) -> subprocess.Popen[bytes]:
        environment = {
            **os.environ,
            "REDIS_URL": self.redis_url,
            "BUS_URL": self.redis_url,
            "OBJECTS_URL": f"file://{self.folder / 'objects'}",
            "SLACKWATER_POOL": self.pool,
            "SLACKWATER_MODEL": "echo",
            "SLACKWATER_ENGINE": "echo",
            "SLACKWATER_CONTEXT_TOKENS": "1000",
            "SLACKWATER_MAX_IN_FLIGHT": "4",
            "SLACKWATER_CALL_LOG": str(self.folder / "calls"),
            "SLACKWATER_ECHO_DELAY_S": str(delay_s),
        }
        log = (self.folder / "worker.log").open("ab")
        process = subprocess.Popen([sys.executable, "-m", "gpuworker"], env=environment, stderr=log)
        log.close()
        self.processes.append(process)
        return process

    def control(self, in_flight: int = 4, **more: object) -> None:
        wanted = wire.Control(in_flight, **more)  # type: ignore[arg-type]
        with redis.Redis.from_url(self.redis_url) as client:
            client.set(wire.control_key(self.pool), msgspec.json.encode(wanted))

    def heartbeats(self) -> list[bytes]:
        with redis.Redis.from_url(self.redis_url) as client:
            return [beat for key in client.scan_iter(wire.heartbeat_key("*")) if (beat := client.get(key))]

    def assign(self, given: wire.Assignment) -> None:
        bus = open_bus(self.redis_url)
        bus.publish(wire.work_topic(self.pool, given.settings.kind), wire.encode(given), key=given.package)
        bus.close()

    def said(self, kind: type[wire.Event], *, epoch: int | None = None) -> list[wire.Event]:
        """What workers of this site have said so far, of one kind."""
        if self._ear is None:
            bus = open_bus(self.redis_url)
            self._ear = bus.subscribe([wire.EVENTS_TOPIC], group=f"ear-{self.pool}", member="ear")
        for delivery in self._ear.poll(timeout_s=0, at_most=1000):
            self.events.append(wire.decode(delivery.payload))  # type: ignore[arg-type]
        found = [event for event in self.events if isinstance(event, kind)]
        return [event for event in found if epoch in {None, event.epoch} and event.package == PACKAGE]

    def close(self) -> None:
        for process in self.processes:
            process.kill()
            process.wait()


def until(condition: Callable[[], object], *, within_s: float = 20.0) -> None:
    deadline = time.monotonic() + within_s
    while not condition():
        assert time.monotonic() < deadline, "it never happened"
        time.sleep(0.02)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[tuple[subprocess.Popen[bytes], int]]:
    """A Valkey that the test may stop."""
    port = free_port()
    process = start_valkey(port)
    yield process, port
    process.kill()
    process.wait()


@pytest.fixture
def site(tmp_path: Path, server: tuple[subprocess.Popen[bytes], int]) -> Iterator[Site]:
    site = Site(tmp_path, f"redis://127.0.0.1:{server[1]}/0")
    put_shard(site.store, items(ROWS))
    yield site
    site.close()


def parts_of(site: Site) -> list[str]:
    return [found.key for found in site.store.list(f"{HOME}/parts/0/")]


def test_after_a_kill_a_worker_runs_again_only_what_was_not_durable(site: Site) -> None:
    site.control()
    site.start_worker(delay_s=0.2)
    site.assign(assignment(epoch=1))
    until(lambda: len(parts_of(site)) >= 1)
    durable = set(results(site.store, parts_of(site)))
    site.processes[0].kill()
    site.processes[0].wait()
    durable |= set(results(site.store, parts_of(site)))
    before = site.calls
    site.start_worker(delay_s=0)
    site.assign(assignment(epoch=2))
    until(lambda: site.said(wire.Settled))
    (end,) = site.said(wire.Settled)
    assert isinstance(end, wire.Settled)
    again = site.calls - before
    assert not {f"{PACKAGE}/0/{row}" for row in durable} & set(again)
    assert len(again) == ROWS - len(durable)
    assert sorted(results(site.store, end.parts)) == list(range(1, ROWS + 1))
    assert (end.counts.succeeded, end.charged_items) == (ROWS, ROWS)
    assert end.charged.completion_tokens == 4 * ROWS


def test_an_epoch_runs_once_though_it_is_delivered_twice_to_two_workers(site: Site) -> None:
    site.control()
    for _ in range(2):
        site.start_worker(delay_s=0)
    for _ in range(4):
        site.assign(assignment(epoch=1))
    until(lambda: site.said(wire.Settled))
    site.assign(assignment(epoch=1))
    put_shard(site.store, items(2), shard=1)
    site.assign(assignment(shard=1))
    until(lambda: len(site.said(wire.Settled)) == 2)
    assert len(site.said(wire.Claimed)) == 2
    assert site.calls == Counter(
        {f"{PACKAGE}/0/{row}": 1 for row in range(1, ROWS + 1)} | {f"{PACKAGE}/1/{row}": 1 for row in (1, 2)}
    )


def test_told_to_end_a_worker_gives_its_shard_back_and_goes(site: Site) -> None:
    site.control()
    worker = site.start_worker(delay_s=0.3)
    site.assign(assignment())
    until(lambda: len(site.calls) >= 8)
    worker.send_signal(signal.SIGTERM)
    assert worker.wait(timeout=10) == 0
    (parked,) = site.said(wire.Parked)
    assert isinstance(parked, wire.Parked)
    assert parked.cause == "shutdown"
    assert parked.counts.succeeded == len(results(site.store, parked.parts)) >= 4
    assert not site.heartbeats()


def test_an_idle_worker_ends_at_once(site: Site) -> None:
    site.control()
    worker = site.start_worker()
    until(site.heartbeats)
    worker.send_signal(signal.SIGTERM)
    assert worker.wait(timeout=5) == 0


def test_a_shard_is_parked_by_name_with_its_cause(site: Site) -> None:
    site.control()
    site.start_worker(delay_s=0.3)
    given = assignment()
    site.assign(given)
    until(lambda: len(site.calls) >= 6)
    site.control(park={wire.shard_name(PACKAGE, 0, 1): "user_cancel"})
    until(lambda: site.said(wire.Parked), within_s=5)
    assert [event.cause for event in site.said(wire.Parked)] == ["user_cancel"]  # type: ignore[union-attr]


def test_a_drained_pools_worker_gives_back_and_goes(site: Site) -> None:
    site.control()
    worker = site.start_worker(delay_s=0.3)
    site.assign(assignment())
    until(lambda: len(site.calls) >= 2)
    site.control(drain=True)
    assert worker.wait(timeout=10) == 0
    assert [event.cause for event in site.said(wire.Parked)] == ["shutdown"]  # type: ignore[union-attr]


def test_with_nothing_allowed_no_shard_is_claimed(site: Site) -> None:
    site.control(0)
    site.start_worker()
    site.assign(assignment())
    beats: set[bytes] = set()
    until(lambda: beats.update(site.heartbeats()) or len(beats) >= 4)
    assert not site.said(wire.Claimed)
    site.control(4)
    until(lambda: site.said(wire.Settled))


def test_redis_away_and_empty_again_costs_no_finished_work(
    site: Site, server: tuple[subprocess.Popen[bytes], int]
) -> None:
    process, port = server
    site.control()
    site.start_worker(delay_s=0.1)
    site.assign(assignment())
    until(lambda: len(site.calls) >= 6)
    process.kill()
    process.wait()
    until(lambda: len(results(site.store, parts_of(site))) == ROWS)  # it works on, on the last known word
    back = start_valkey(port)
    try:
        site._ear = None
        until(lambda: site.said(wire.Settled))
        (end,) = site.said(wire.Settled)
        assert end.counts.succeeded == ROWS  # type: ignore[union-attr]
        assert max(site.calls.values()) == 1
        put_shard(site.store, items(3), shard=1)
        site.assign(assignment(shard=1))  # into a stream and a group that were lost
        until(lambda: len(site.said(wire.Settled)) == 2)
    finally:
        site.close()
        back.kill()
        back.wait()


def test_what_cannot_be_understood_is_set_aside_and_the_next_runs(site: Site) -> None:
    site.control()
    site.start_worker(delay_s=0)
    bus = open_bus(site.redis_url)
    topic = wire.work_topic(site.pool, "generation")
    bus.publish(topic, b"\xff not a message", key="x")
    stray = wire.Faulted(package="p", shard=0, epoch=1, worker="w", at=assignment().not_after, reason="lost its way")
    bus.publish(topic, wire.encode(stray), key="x")
    site.assign(assignment())
    until(lambda: site.said(wire.Settled))
    dead = bus.subscribe([wire.DEAD_TOPIC], group="test", member="test")
    letters = [json.loads(delivery.payload) for delivery in dead.poll(timeout_s=1, at_most=10)]
    bus.close()
    assert [letter["topic"] for letter in letters] == [topic, topic]


def test_an_assignment_for_another_model_is_left_alone(site: Site) -> None:
    site.control()
    site.start_worker(delay_s=0)
    site.assign(msgspec.structs.replace(assignment(), model="another"))
    site.assign(assignment(epoch=2))
    until(lambda: site.said(wire.Settled))
    assert {event.epoch for event in site.said(wire.Claimed)} == {2}


def test_wrong_settings_end_the_worker_with_their_name(tmp_path: Path) -> None:
    environment = {**os.environ, "SLACKWATER_POOL": "p", "SLACKWATER_ENGINE": "steam"}
    ended = subprocess.run([sys.executable, "-m", "gpuworker"], env=environment, capture_output=True, timeout=20)
    assert ended.returncode == 2
    assert b"SLACKWATER_ENGINE" in ended.stderr

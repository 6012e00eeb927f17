"""A real worker process, with the echo engine: killed, stopped, cut off, and what that must not cost."""

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from gpuworker.__main__ import worker_of
from gpuworker.engines import EngineAnswer, EngineDied, EngineRequest
from gpuworker.settings import WorkerSettings
from scheduler import wire
from scheduler.bus import open_bus
from tests.environment import free_port, start_valkey
from tests.programs import until
from tests.workbench import HOME, PACKAGE, answer, assignment, items, put_shard, results
from tests.worker_site import Site

ROWS = 60


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
        site.listen_anew()
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


class DyingEngine:
    """Answers two requests, then is gone."""

    def __init__(self) -> None:
        self.answered = 0

    async def start(self) -> None: ...

    async def stop(self) -> None: ...

    async def generate(self, request: EngineRequest) -> EngineAnswer:
        if self.answered == 2:
            raise EngineDied("out of memory")
        self.answered += 1
        return answer("two words")


def test_when_its_engine_dies_a_worker_keeps_what_is_finished_says_so_and_ends(site: Site) -> None:
    site.control(1)
    site.assign(assignment())
    worker = worker_of(WorkerSettings.from_environment(site.environment()))
    worker.engine = DyingEngine()
    with pytest.raises(EngineDied):
        asyncio.run(worker.serve())
    assert [event.reason for event in site.said(wire.Faulted)] == ["engine_died"]  # type: ignore[union-attr]
    assert sorted(results(site.store, parts_of(site))) == [1, 2]
    assert not site.heartbeats()

"""A pool with real worker processes, for tests that kill them."""

import os
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from uuid import uuid4

import msgspec
import redis

from scheduler import wire
from scheduler.bus import Subscription, open_bus
from scheduler.objects.file import FileStore
from tests.workbench import PACKAGE


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

    def start_worker(self, *, delay_s: float = 0.05, **more: str) -> subprocess.Popen[bytes]:
        """A worker process with the echo engine, each answer taking ``delay_s``, or as the variables ``more`` say."""
        environment = self.environment() | {"SLACKWATER_ECHO_DELAY_S": str(delay_s)} | more
        log = (self.folder / "worker.log").open("ab")
        process = subprocess.Popen([sys.executable, "-m", "gpuworker"], env=environment, stderr=log)
        log.close()
        self.processes.append(process)
        return process

    def environment(self) -> dict[str, str]:
        """What a worker of this pool is told."""
        return {
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
        }

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

    def listen_anew(self) -> None:
        """After Redis was started again."""
        self._ear = None

    def close(self) -> None:
        for process in self.processes:
            process.kill()
            process.wait()

"""The worker's pulse, once a second over Redis: it says how it is, and hears how much it may run."""

import asyncio
import time
from collections.abc import Callable

import msgspec
import redis
import structlog

from scheduler.wire import HEARTBEAT_TTL_S, Control, Heartbeat, control_key, heartbeat_key

PULSE_S = 1.0
HOLD_S = 120.0
"""How long the scheduler's last word holds when it cannot be heard; then nothing new starts until it speaks again."""
REDIS_TIMEOUT_S = 2.0
log = structlog.get_logger()


def connect(url: str) -> "redis.Redis":
    """A client that gives up soon: the next pulse is a second away."""
    return redis.Redis.from_url(url, socket_connect_timeout=REDIS_TIMEOUT_S, socket_timeout=REDIS_TIMEOUT_S)


class Pulse:
    """``control`` is the last that was heard. Until the scheduler has spoken nothing may start.

    While Redis is away or empty the last word holds for ``HOLD_S``: windows close, and a worker that hears nothing
    must not go on as if they did not.
    """

    def __init__(
        self, client: "redis.Redis", pool: str, worker: str, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.control = Control(in_flight_per_worker=0)
        self._redis, self._pool, self._worker = client, pool, worker
        self._heard = True
        self._clock, self._heard_at = clock, clock()

    async def run(self, heartbeat: Callable[[], Heartbeat], on_control: Callable[[Control], None]) -> None:
        """Beat until cancelled; ``on_control`` is told what was heard each time."""
        while True:
            await asyncio.to_thread(self.beat, heartbeat())
            on_control(self.control)
            await asyncio.sleep(PULSE_S)

    def beat(self, heartbeat: Heartbeat) -> None:
        """One beat. Never raises for Redis's sake; says once that it is away, and once that it is back."""
        try:
            self._redis.set(heartbeat_key(self._worker), msgspec.json.encode(heartbeat), ex=HEARTBEAT_TTL_S)
            self._hear(self._redis.get(control_key(self._pool)))
        except (redis.RedisError, msgspec.MsgspecError) as error:
            if self._heard:
                log.warning("no control from Redis", action="worker.pulse", worker=self._worker, reason=str(error))
            self._heard = False
        else:
            if not self._heard:
                log.info("Redis is back", action="worker.pulse", worker=self._worker)
            self._heard = True
        if self._clock() - self._heard_at > HOLD_S and self.control.in_flight_per_worker:
            log.warning("no word from the scheduler: nothing new starts", action="worker.pulse", worker=self._worker)
            self.control = Control(in_flight_per_worker=0)

    def _hear(self, payload: object) -> None:
        if isinstance(payload, bytes):
            self.control = msgspec.json.decode(payload, type=Control)
            self._heard_at = self._clock()

    def end(self) -> None:
        """Take the heartbeat back: the worker is gone from now on, not when it expires."""
        try:
            self._redis.delete(heartbeat_key(self._worker))
            self._redis.close()
        except redis.RedisError as error:
            log.warning("heartbeat left to expire", action="worker.pulse", worker=self._worker, reason=str(error))

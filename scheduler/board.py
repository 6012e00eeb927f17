"""The board in Redis on which workers say that they live and the scheduler says what it wants of them.

It owns no truth: whatever is wiped is written again by the next tick or heartbeat.
"""

from collections.abc import Iterator, Sequence

import msgspec
import redis
import structlog
from redis.backoff import NoBackoff
from redis.retry import Retry

from scheduler.wire import Control, Heartbeat, Live, control_key, heartbeat_key, live_key

log = structlog.get_logger()
TIMEOUT_S = 2.0
CONTROL_TTL_S = 30  # a dead scheduler must not be obeyed for ever
LIVE_TTL_S = 60


class UnableToReachBoard(ConnectionError):
    """Redis does not answer; nobody knows which workers live."""


class Board:
    """One connection pool. Every method raises :class:`UnableToReachBoard`."""

    def __init__(self, url: str) -> None:
        self._redis = redis.Redis.from_url(
            url, socket_timeout=TIMEOUT_S, socket_connect_timeout=TIMEOUT_S, retry=Retry(NoBackoff(), 1)
        )

    def workers(self) -> list[Heartbeat]:
        """Every worker that spoke within the last few seconds, by name. What cannot be read is left out and logged."""
        try:
            keys = sorted(self._redis.scan_iter(match=heartbeat_key("*"), count=1000))
            said = self._redis.mget(keys) if keys else []
        except redis.RedisError as error:
            raise UnableToReachBoard(str(error)) from error
        return list(_readable(said))

    def show(self, *, controls: dict[str, Control], live: dict[str, Live]) -> None:
        """Write what is wanted of each pool and how fast each package goes, in one round trip."""
        try:
            with self._redis.pipeline(transaction=False) as pipe:
                for pool, control in controls.items():
                    pipe.set(control_key(pool), msgspec.json.encode(control), ex=CONTROL_TTL_S)
                for package, rate in live.items():
                    pipe.set(live_key(package), msgspec.json.encode(rate), ex=LIVE_TTL_S)
                pipe.execute()
        except redis.RedisError as error:
            raise UnableToReachBoard(str(error)) from error

    def close(self) -> None:
        self._redis.close()


def _readable(said: Sequence[bytes | str | None]) -> Iterator[Heartbeat]:
    for payload in said:
        if payload is None:
            continue  # expired between the two questions
        try:
            yield msgspec.json.decode(payload, type=Heartbeat)
        except msgspec.MsgspecError as error:
            log.warning("heartbeat not understood", action="board.unreadable", reason=str(error))

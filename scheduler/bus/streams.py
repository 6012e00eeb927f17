"""The bus on Redis or Valkey streams with consumer groups.

Streams are trimmed to about ``CAP`` messages, read or not: what is lost so comes back through leases. A group that
is gone (after a flush) is made again by the next poll. What a member received but never acknowledged goes to
whoever polls after ``redeliver_after_s``.
"""

import contextlib
import time
from collections import deque
from collections.abc import Iterable, Iterator
from typing import Any, TypeAlias

import redis
from redis.backoff import NoBackoff
from redis.exceptions import OutOfMemoryError, ReadOnlyError, RedisError, ResponseError
from redis.retry import Retry

from scheduler.bus.port import Delivery, UnableToReachBus

CAP = 20_000
REDELIVER_AFTER_S = 30.0
LONGEST_BLOCK_S = 5.0
SOCKET_TIMEOUT_S = 3 * LONGEST_BLOCK_S
FORGET_MEMBER_AFTER_MS = 3_600_000

_PAYLOAD = b"p"
_Entries: TypeAlias = list[tuple[bytes, dict[bytes, bytes] | None]]


@contextlib.contextmanager
def _reaching() -> Iterator[None]:
    """Turn what Redis says when it cannot serve into :class:`UnableToReachBus`."""
    try:
        yield
    except (redis.ConnectionError, redis.TimeoutError, OutOfMemoryError, ReadOnlyError) as error:
        raise UnableToReachBus(str(error)) from error


class StreamsBus:
    """A connection pool to one Redis; ``url`` as redis-py takes it. Thread-safe."""

    def __init__(self, url: str, *, redeliver_after_s: float = REDELIVER_AFTER_S, cap: int = CAP) -> None:
        self._redeliver_after_s, self._cap = redeliver_after_s, cap
        self._redis = redis.Redis.from_url(
            url,
            socket_connect_timeout=LONGEST_BLOCK_S,
            socket_timeout=SOCKET_TIMEOUT_S,
            retry=Retry(NoBackoff(), 1),  # once, for a pooled connection that the server has closed meanwhile
        )

    def publish(self, topic: str, payload: bytes, *, key: str) -> None:
        """Append to the topic's stream; one stream keeps the order of every ``key``."""
        with _reaching():
            self._redis.xadd(topic, {_PAYLOAD: payload, b"k": key.encode()}, maxlen=self._cap, approximate=True)

    def subscribe(self, topics: Iterable[str], *, group: str, member: str) -> "StreamsSubscription":
        """Does not wait for Redis: the group is made by the first poll that reaches it."""
        return StreamsSubscription(
            self._redis, tuple(topics), group=group, member=member, redeliver_after_s=self._redeliver_after_s
        )

    def close(self) -> None:
        self._redis.close()


class StreamsSubscription:
    """One consumer of a group over one stream per topic. For one thread at a time."""

    def __init__(
        self, client: "redis.Redis", topics: tuple[str, ...], *, group: str, member: str, redeliver_after_s: float
    ) -> None:
        self._redis, self._group, self._member = client, group, member
        self._topics = deque(topics)
        self._redeliver_after_s = redeliver_after_s
        self._look_for_lost_at = 0.0
        self._has_groups = False
        self._surplus: deque[Delivery] = deque()

    def poll(self, *, timeout_s: float, at_most: int) -> list[Delivery]:
        """Blocks for 5 s at most, whatever ``timeout_s``; topics take turns in being served first."""
        with _reaching():
            try:
                return self._poll(min(timeout_s, LONGEST_BLOCK_S), at_most)
            except ResponseError as error:
                if not str(error).startswith("NOGROUP"):
                    raise
                self._has_groups = False  # Redis was flushed
                return self._poll(0, at_most)

    def _poll(self, timeout_s: float, at_most: int) -> list[Delivery]:
        if not self._has_groups:
            self._make_groups()
        taken = [self._surplus.popleft() for _ in range(min(at_most, len(self._surplus)))]
        for take in (self._take_lost, self._take_new):
            if len(taken) < at_most:
                taken += take(at_most - len(taken))
        if not taken and timeout_s > 0:
            taken = self._wait(timeout_s, at_most)
        return taken

    def _make_groups(self) -> None:
        for topic in self._topics:
            try:
                self._redis.xgroup_create(topic, self._group, id="0", mkstream=True)
            except ResponseError as error:
                if not str(error).startswith("BUSYGROUP"):
                    raise
            self._forget_dead_members(topic)
        self._has_groups = True

    def _forget_dead_members(self, topic: str) -> None:
        """Every start of a program is a new member; those that hold nothing and are long silent go."""
        for member in self._redis.xinfo_consumers(topic, self._group):
            if member["pending"] == 0 and member["idle"] > FORGET_MEMBER_AFTER_MS:
                self._redis.xgroup_delconsumer(topic, self._group, member["name"])

    def _take_lost(self, at_most: int) -> list[Delivery]:
        """Messages that some member, this one included, received long ago and never acknowledged."""
        if time.monotonic() < self._look_for_lost_at:
            return []
        taken: list[Delivery] = []
        idle_ms = int(self._redeliver_after_s * 1000)
        for topic in self._topics:
            if len(taken) < at_most:
                reply = self._redis.xautoclaim(topic, self._group, self._member, idle_ms, count=at_most - len(taken))
                taken += _deliveries(topic, reply[1])
        if not taken:
            self._look_for_lost_at = time.monotonic() + self._redeliver_after_s / 4
        return taken

    def _take_new(self, at_most: int) -> list[Delivery]:
        """One stream after the other: the count of a single read would hold for each of them."""
        self._topics.rotate(-1)
        taken: list[Delivery] = []
        for topic in self._topics:
            if len(taken) < at_most:
                taken += self._read([topic], count=at_most - len(taken), block_ms=None)
        return taken

    def _wait(self, timeout_s: float, at_most: int) -> list[Delivery]:
        found = self._read(list(self._topics), count=at_most, block_ms=max(1, int(timeout_s * 1000)))
        self._surplus.extend(found[at_most:])  # two streams spoke at the same instant: rare
        return found[:at_most]

    def _read(self, topics: list[str], *, count: int, block_ms: int | None) -> list[Delivery]:
        streams: dict[Any, Any] = dict.fromkeys(topics, ">")
        reply: Any = self._redis.xreadgroup(self._group, self._member, streams, count=count, block=block_ms)
        pairs = reply.items() if isinstance(reply, dict) else reply or ()
        return [d for topic, entries in pairs for d in _deliveries(topic.decode(), entries)]

    def ack(self, delivery: Delivery) -> None:
        """Raises :class:`UnableToReachBus`; the message then comes again."""
        with _reaching():
            self._redis.xack(delivery.topic, self._group, delivery.token)

    def close(self) -> None:
        """Leave the group, unless messages are still in this member's name: others will find them there."""
        with contextlib.suppress(RedisError):
            for topic in self._topics:
                if not self._redis.xpending_range(topic, self._group, "-", "+", 1, consumername=self._member):
                    self._redis.xgroup_delconsumer(topic, self._group, self._member)


def _deliveries(topic: str, entries: _Entries) -> list[Delivery]:
    """Entries that were trimmed while pending come without fields and are left out."""
    return [Delivery(topic, fields[_PAYLOAD], token.decode()) for token, fields in entries if fields]

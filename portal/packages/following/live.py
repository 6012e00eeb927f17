"""Live progress: the scheduler's word on how fast a package goes, and the stream of server-sent events.

Redis owns no truth: without it a page still shows what the database knows, and says that the rate is not known.
"""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache

import msgspec
import redis
from asgiref.sync import sync_to_async
from django.conf import settings

from portal.packages.models import Package
from scheduler import wire

FRESH_FOR = timedelta(seconds=10)
INTERVAL_S = 1.0
STILL_HERE_S = 15.0
LONGEST_STREAM_S = 300.0


MOST_STREAMS = 8
"""Streams of one person at once, over all their tabs and devices; a further one polls."""


class Streams:
    """How many streams each person has open in this process."""

    def __init__(self, most: int = MOST_STREAMS) -> None:
        self._most = most
        self._open: Counter[object] = Counter()

    def is_full(self, whose: object) -> bool:
        """Whether ``whose`` have as many as they may."""
        return self._open[whose] >= self._most

    async def counted(self, whose: object, stream: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
        """``stream``, counted from its first event until it ends or its reader goes."""
        self._open[whose] += 1
        try:
            async for event in stream:
                yield event
        finally:
            self._open[whose] -= 1
            if not self._open[whose]:
                del self._open[whose]


streams = Streams()


@dataclass(frozen=True)
class Pace:
    """How fast a package goes: finished items per second over the last minute, as of ``at``."""

    per_s: float
    at: datetime
    is_fresh: bool


@dataclass(frozen=True)
class Fragment:
    """What a viewer sees now; ``is_last`` when nothing will change any more."""

    html: str
    is_last: bool


def pace_of(package: Package, *, now: datetime) -> Pace | None:
    """The package's pace, or ``None`` when nobody has said or Redis does not answer."""
    try:
        said = _redis().get(wire.live_key(str(package.pk)))
    except redis.RedisError:
        return None
    if not isinstance(said, bytes):
        return None
    try:
        live = msgspec.json.decode(said, type=wire.Live)
    except msgspec.MsgspecError:
        return None
    return Pace(per_s=live.per_s, at=live.at, is_fresh=now - live.at <= FRESH_FOR)


async def events(
    look: Callable[[], Fragment], *, longest_s: float = LONGEST_STREAM_S, interval_s: float = INTERVAL_S
) -> AsyncIterator[bytes]:
    """Whole-state fragments as server-sent events, when they change, at most one per ``interval_s``.

    Ends with an ``end`` event after the last one. A stream that has lasted ``longest_s`` ends without it, and the
    browser comes back: so a sign-out or a lost role takes effect.
    """
    loop = asyncio.get_running_loop()
    ends_at, speak_by, shown = loop.time() + longest_s, loop.time() + STILL_HERE_S, ""
    while loop.time() < ends_at:
        fragment = await sync_to_async(look)()
        if fragment.html != shown:
            shown, speak_by = fragment.html, loop.time() + STILL_HERE_S
            yield _event("state", shown)
        elif loop.time() >= speak_by:
            speak_by = loop.time() + STILL_HERE_S
            yield b": still here\n\n"
        if fragment.is_last:
            yield _event("end", "over")
            return
        await asyncio.sleep(interval_s)


async def one_event(look: Callable[[], Fragment], *, again_s: float) -> AsyncIterator[bytes]:
    """The present state once; the browser asks again after ``again_s``. So a page polls that may not stream."""
    fragment = await sync_to_async(look)()
    yield f"retry: {again_s * 1000:.0f}\n\n".encode() + _event("state", fragment.html)
    if fragment.is_last:
        yield _event("end", "over")


def _event(name: str, data: str) -> bytes:
    lines = "".join(f"data: {line}\n" for line in data.splitlines())
    return f"event: {name}\n{lines}\n".encode()


@cache
def _redis() -> redis.Redis:
    return redis.Redis.from_url(settings.REDIS_URL, socket_timeout=0.5, socket_connect_timeout=0.5)

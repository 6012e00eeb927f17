"""How fast packages go: items per second over the last minute, for whoever is watching."""

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from scheduler.wire import Live

OVER = timedelta(seconds=60)


@dataclass(frozen=True)
class Finished:
    """What has ended of a running package so far, and when it began to run."""

    items: int
    started_at: datetime


class Pace:
    """Remembers the last minute of each running package."""

    def __init__(self) -> None:
        self._seen: dict[str, deque[tuple[datetime, int]]] = {}

    def note(self, done: Mapping[str, Finished], now: datetime) -> dict[str, Live]:
        """The pace of each package of ``done``, which are all that are remembered, as far as it can be told yet.

        A package that began within the minute goes at its mean so far, however late it is first seen.
        """
        self._seen = {package: self._seen.get(package) or _began(done[package], now) for package in done}
        told = {package: self._live(self._seen[package], so_far.items, now) for package, so_far in done.items()}
        return {package: live for package, live in told.items() if live}

    @staticmethod
    def _live(seen: deque[tuple[datetime, int]], items: int, now: datetime) -> Live | None:
        seen.append((now, items))
        while len(seen) > 2 and seen[1][0] <= now - OVER:
            seen.popleft()
        began_at, began_with = seen[0]
        over_s = (now - began_at).total_seconds()
        return Live(at=now, done=items, per_s=max(0.0, (items - began_with) / over_s)) if over_s > 0 else None


def _began(so_far: Finished, now: datetime) -> deque[tuple[datetime, int]]:
    is_young = now - so_far.started_at < OVER
    return deque([(so_far.started_at, 0)] if is_young else [])

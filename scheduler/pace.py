"""How fast packages go: items per second over the last minute, for whoever is watching."""

from collections import deque
from collections.abc import Mapping
from datetime import datetime, timedelta

from scheduler.wire import Live

OVER = timedelta(seconds=60)


class Pace:
    """Remembers the last minute of each running package."""

    def __init__(self) -> None:
        self._seen: dict[str, deque[tuple[datetime, int]]] = {}

    def note(self, done: Mapping[str, int], now: datetime) -> dict[str, Live]:
        """The pace of each package of ``done`` (finished items so far), which are all that are remembered."""
        self._seen = {package: self._seen.get(package, deque()) for package in done}
        return {package: self._live(self._seen[package], items, now) for package, items in done.items()}

    @staticmethod
    def _live(seen: deque[tuple[datetime, int]], items: int, now: datetime) -> Live:
        seen.append((now, items))
        while len(seen) > 2 and seen[1][0] <= now - OVER:
            seen.popleft()
        began_at, began_with = seen[0]
        over_s = (now - began_at).total_seconds()
        return Live(at=now, done=items, per_s=max(0.0, (items - began_with) / over_s) if over_s > 0 else 0.0)

"""Prefix slack: what can still be promised (SCHEDULING §1).

Shards make packages divisible and interruptible, so a set of promises can be kept exactly when for every deadline d
the work due by d fits into the capacity until d, and earliest deadline first keeps them. Slack S(x) is capacity
until x minus work due by x. All deadlines round down to a ten-minute edge: the grid never promises more than there is.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

import numpy as np

from scheduler.domain.calendar import CapacityPath, Floats

TOLERANCE_S = 1e-6
"""Sums of floats are compared within a microsecond."""


@dataclass(frozen=True)
class Promise:
    """``work_s`` GPU-seconds owed by ``deadline_at``. An overdue promise is owed now."""

    deadline_at: datetime
    work_s: float


class Slack:
    """The capacity of a pool against everything promised on it."""

    def __init__(self, path: CapacityPath, promises: Iterable[Promise] = ()) -> None:
        self.path = path
        self.promises = tuple(promises)
        due = np.zeros_like(path.edges)
        for promise in self.promises:
            due[path.index_before(promise.deadline_at)] += promise.work_s
        self._slack: Floats = path.cumulative - np.cumsum(due)
        self._least_from: Floats = np.minimum.accumulate(self._slack[::-1])[::-1]

    def can_promise(self, work_s: float, deadline_at: datetime) -> bool:
        """Whether ``work_s`` more by ``deadline_at`` leaves every promise kept."""
        return self.free_by(deadline_at) + TOLERANCE_S >= work_s

    def free_by(self, deadline_at: datetime) -> float:
        """GPU-seconds that can still be promised by ``deadline_at``: min of S over [deadline, ∞), at least 0."""
        if deadline_at > self.path.horizon_at:
            return 0.0
        return max(0.0, float(self._least_from[self.path.index_before(deadline_at)]))

    def items_by(self, deadline_at: datetime, item_s: float) -> int:
        """How many items of ``item_s`` GPU-seconds each can be promised by ``deadline_at``."""
        if item_s <= 0:
            raise ValueError("an item takes time")
        return math.floor((self.free_by(deadline_at) + TOLERANCE_S) / item_s)

    def earliest_deadline(self, work_s: float) -> datetime | None:
        """The earliest edge by which ``work_s`` can be promised, or ``None`` if not within the horizon."""
        short = np.flatnonzero(self._slack + TOLERANCE_S < work_s)
        first = int(short[-1]) + 1 if len(short) else 0
        return self.path.edge_at(first) if first < len(self.path.edges) else None

    def min_slack(self) -> float:
        """GPU-seconds that may be lost before any promise breaks; negative when one is already broken."""
        return float(self._slack.min())

    def work_ahead(self, deadline_at: datetime) -> float:
        """Promised work that earliest deadline first serves before a newcomer with this deadline."""
        return sum(promise.work_s for promise in self.promises if promise.deadline_at <= deadline_at)

    def expected_start(self, deadline_at: datetime) -> datetime | None:
        """When work due by ``deadline_at`` gets its first GPU-second, if nothing more urgent arrives."""
        return self._served_after(self.work_ahead(deadline_at), side="right")

    def expected_finish(self, work_s: float, deadline_at: datetime) -> datetime | None:
        """When ``work_s`` due by ``deadline_at`` is done, if nothing more urgent arrives. Not a promise."""
        return self._served_after(self.work_ahead(deadline_at) + work_s, side="left")

    def _served_after(self, served_s: float, *, side: str) -> datetime | None:
        """The instant at which the pool has given ``served_s`` (``left``) or begins to give more (``right``)."""
        served = self.path.cumulative
        after = int(np.searchsorted(served, served_s, side="right" if side == "right" else "left"))
        if after >= len(served):
            return None
        if after == 0:
            return self.path.now
        before, width = after - 1, float(served[after] - served[after - 1])
        passed = (served_s - float(served[before])) / width if width > 0 else 0.0
        seconds = float(self.path.edges[after] - self.path.edges[before]) * passed
        return self.path.edge_at(before) + timedelta(seconds=seconds)

"""When a pool may do offline work: weekly windows in wall time, and the capacity that they add up to.

A window is local wall time, so that "22:00-08:00" has nine or eleven hours in the nights when clocks change.
Everything that leaves this module is an instant (UTC) or GPU-seconds. Intervals are half-open.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from itertools import pairwise
from zoneinfo import ZoneInfo

import numpy as np
import numpy.typing as npt

BUCKET_S = 600
HORIZON_DAYS = 14
_DAY = timedelta(days=1)

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class WeeklyWindow:
    """A weekly interval with its offline ``share`` (0 to 1).

    ``days`` is a bit mask of the days on which it starts (bit 0 is Monday). An end at or before the start is on
    the next day; equal times mean the whole day.
    """

    days: int
    starts: time
    ends: time
    share: float
    name: str = ""


@dataclass(frozen=True)
class Occurrence:
    """One window on one day, as instants: ``start_at`` belongs to it, ``end_at`` does not."""

    start_at: datetime
    end_at: datetime
    share: float
    name: str = ""


def occurrences(
    windows: Sequence[WeeklyWindow], zone: ZoneInfo, start_at: datetime, end_at: datetime
) -> Iterator[Occurrence]:
    """Every occurrence that overlaps [``start_at``, ``end_at``), by day, uncut."""
    day = start_at.astimezone(zone).date() - _DAY  # one may have begun yesterday
    last = end_at.astimezone(zone).date()
    while day <= last:
        for window in windows:
            if window.days >> day.weekday() & 1:
                found = _on(window, day, zone)
                if found.start_at < end_at and found.end_at > start_at:
                    yield found
        day += _DAY


def share_at(windows: Sequence[WeeklyWindow], base_share: float, zone: ZoneInfo, at: datetime) -> float:
    """The offline share at this instant: the largest of the windows that hold, ``base_share`` outside them."""
    shares = [found.share for found in occurrences(windows, zone, at, at + timedelta(microseconds=1))]
    return max(shares, default=base_share)


@dataclass(frozen=True)
class CapacityPath:
    """Offline capacity from ``now`` on: ``cumulative[k]`` GPU-seconds until ``edges[k]`` (Unix seconds).

    ``edges[0]`` is now, the others lie on the ten-minute grid. Between two edges nothing is promised to be even.
    """

    edges: Floats
    cumulative: Floats

    @property
    def now(self) -> datetime:
        return _instant(self.edges[0])

    @property
    def horizon_at(self) -> datetime:
        """The last instant for which anything can be promised."""
        return _instant(self.edges[-1])

    def edge_at(self, index: int) -> datetime:
        return _instant(self.edges[index])

    def index_before(self, at: datetime) -> int:
        """The last edge at or before ``at``: deadlines round down. What is already past counts as now."""
        return max(0, int(np.searchsorted(self.edges, at.timestamp(), side="right")) - 1)

    def until(self, at: datetime) -> float:
        """About how many GPU-seconds there are from now until ``at``; for showing, not for promising."""
        return float(np.interp(at.timestamp(), self.edges, self.cumulative))


def capacity_path(
    windows: Sequence[WeeklyWindow],
    base_share: float,
    zone: ZoneInfo,
    replicas: int,
    now: datetime,
    horizon_days: int = HORIZON_DAYS,
) -> CapacityPath:
    """The capacity of ``replicas`` over the next ``horizon_days``, exact at every edge."""
    now = now.astimezone(UTC)
    end_at = now + timedelta(days=horizon_days)
    found = list(occurrences(windows, zone, now, end_at))
    turns = sorted({now, end_at} | {at for one in found for at in (one.start_at, one.end_at) if now < at < end_at})
    served = [0.0]
    for start, end in pairwise(turns):
        share = max((one.share for one in found if one.start_at <= start < one.end_at), default=base_share)
        served.append(served[-1] + share * replicas * (end - start).total_seconds())
    edges = _edges(now.timestamp(), end_at.timestamp())
    return CapacityPath(edges, np.interp(edges, [at.timestamp() for at in turns], served))


def _edges(start: float, end: float) -> Floats:
    first = (start // BUCKET_S + 1) * BUCKET_S
    return np.concatenate(([start], np.arange(first, end + 1e-6, BUCKET_S)))


def _on(window: WeeklyWindow, day: date, zone: ZoneInfo) -> Occurrence:
    end_day = day if window.ends > window.starts else day + _DAY
    return Occurrence(_utc(day, window.starts, zone), _utc(end_day, window.ends, zone), window.share, window.name)


def _utc(day: date, wall: time, zone: ZoneInfo) -> datetime:
    """The instant of a wall time: of two the first; one that clocks skip is read as if they had not changed yet."""
    return datetime.combine(day, wall, tzinfo=zone).astimezone(UTC)


def _instant(seconds: float) -> datetime:
    return datetime.fromtimestamp(float(seconds), tz=UTC)

"""A pool's week as a strip: seven rows of 24 hours, each hour as high as the share that offline work may use."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from scheduler.domain.calendar import WeeklyWindow, occurrences, share_at

_MONDAY = datetime(2024, 1, 1, tzinfo=UTC)  # any Monday: a week of the calendar has no clock changes
_UTC = ZoneInfo("UTC")
_DAY = timedelta(days=1)

# The drawing's own units: a row of 22 with a gap of 6 for each day, 24 for each hour, room for names at the left.
ROW, GAP, LEFT, HOUR, TOP = 22, 6, 44, 24, 4
WIDTH, HEIGHT = LEFT + 24 * HOUR + 8, TOP + 7 * (ROW + GAP) + 18
HOURS_Y = HEIGHT - 5
HOURS = [(LEFT + hour * HOUR, hour) for hour in range(0, 25, 3)]
"""Where hours are written under the rows: (x, hour)."""


@dataclass(frozen=True)
class Stretch:
    """A part of a day with one share; the rectangle in the units of the drawing. ``hours`` is "22:00–24:00"."""

    x: int
    y: float
    width: int
    height: float
    percent: int
    hours: str


@dataclass(frozen=True)
class DayRow:
    """``day`` 0 is Monday; ``y`` and ``text_y`` say where it is drawn."""

    day: int
    y: int
    text_y: int
    stretches: list[Stretch]


def week(windows: Sequence[WeeklyWindow], base_share: float) -> list[DayRow]:
    """The seven rows, Monday first."""
    return [_row(day, windows, base_share) for day in range(7)]


def _row(day: int, windows: Sequence[WeeklyWindow], base_share: float) -> DayRow:
    start = _MONDAY + day * _DAY
    y = TOP + day * (ROW + GAP)
    shares = [(at, share_at(windows, base_share, _UTC, at)) for at in _edges(windows, start)[:-1]]
    steps = [(at, share) for n, (at, share) in enumerate(shares) if n == 0 or share != shares[n - 1][1]]
    ends = [at for at, _share in steps[1:]] + [start + _DAY]
    stretches = [_stretch(at - start, end - start, y, share) for (at, share), end in zip(steps, ends, strict=True)]
    return DayRow(day, y, y + ROW - 6, stretches)


def _edges(windows: Sequence[WeeklyWindow], start: datetime) -> list[datetime]:
    end = start + _DAY
    edges = {start, end}
    for found in occurrences(windows, _UTC, start, end):
        edges.update(at for at in (found.start_at, found.end_at) if start < at < end)
    return sorted(edges)


def _stretch(begins: timedelta, ends: timedelta, y: int, share: float) -> Stretch:
    x, right = (LEFT + round(at / _DAY * 24 * HOUR) for at in (begins, ends))
    height = round(share * ROW, 1)
    return Stretch(x, y + ROW - height, right - x, height, round(share * 100), f"{_clock(begins)}–{_clock(ends)}")


def _clock(at: timedelta) -> str:
    minutes = at // timedelta(minutes=1)
    return f"{minutes // 60:02d}:{minutes % 60:02d}"

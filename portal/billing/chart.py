"""The bars of a month: where each day's bar stands, in the units of the drawing."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta

from portal.billing.periods import Month
from portal.billing.statement import Sums

PITCH = 20
WIDTH = 12
HEIGHT = 72
LABEL_Y = HEIGHT + 14


@dataclass(frozen=True)
class Bar:
    """A day; ``height`` 0 where nothing was charged. Days that people count by carry a ``label``."""

    day: date
    sums: Sums | None
    x: int
    y: float
    height: float
    label: str

    @property
    def middle(self) -> int:
        return self.x + WIDTH // 2


@dataclass(frozen=True)
class Bars:
    """The drawing is ``width`` by ``height`` units."""

    bars: list[Bar]
    width: int
    height: int = LABEL_Y + 4
    floor: int = HEIGHT
    bar_width: int = WIDTH
    label_y: int = LABEL_Y


def bars_of(month: Month, days: Sequence[tuple[date, Sums]]) -> Bars:
    """One bar for each day of ``month``, the dearest at full height."""
    by_day = dict(days)
    dearest = max((sums.exact for sums in by_day.values()), default=None) or 1
    count = month.last_day.day
    bars = []
    for i in range(count):
        day = month.first_day + timedelta(days=i)
        sums = by_day.get(day)
        height = max(2.0, float(sums.exact / dearest) * HEIGHT) if sums else 0.0
        label = str(day.day) if day.day == 1 or day.day % 5 == 0 else ""
        bars.append(
            Bar(day, sums, i * PITCH + (PITCH - WIDTH) // 2, round(HEIGHT - height, 2), round(height, 2), label)
        )
    return Bars(bars, count * PITCH)

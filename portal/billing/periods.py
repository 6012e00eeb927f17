"""Billing months: a calendar month in a department's own zone, half-open in instants."""

import re
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo


@dataclass(frozen=True, order=True)
class Month:
    """A calendar month. ``str`` gives ``2026-03``, as in addresses and file names."""

    year: int
    number: int

    @classmethod
    def of(cls, at: datetime, zone: ZoneInfo) -> "Month":
        """The month in which ``at`` lies on ``zone``'s calendar."""
        local = at.astimezone(zone)
        return cls(local.year, local.month)

    @classmethod
    def parse(cls, text: str) -> "Month":
        """``2026-03``; raises ``ValueError`` for anything else."""
        if not re.fullmatch(r"[0-9]{4}-[0-9]{2}", text):
            raise ValueError(f"{text!r} is not a month like 2026-03")
        day = date(int(text[:4]), int(text[5:]), 1)
        return cls(day.year, day.month)

    def __str__(self) -> str:
        return f"{self.year:04}-{self.number:02}"

    @property
    def first_day(self) -> date:
        return date(self.year, self.number, 1)

    @property
    def last_day(self) -> date:
        return self.next().first_day - timedelta(days=1)

    def next(self) -> "Month":
        return Month(self.year + self.number // 12, self.number % 12 + 1)

    def previous(self) -> "Month":
        return Month(self.year - (self.number == 1), (self.number - 2) % 12 + 1)

    def start_at(self, zone: ZoneInfo) -> datetime:
        """The month's first instant (UTC)."""
        return datetime.combine(self.first_day, time(), tzinfo=zone).astimezone(UTC)

    def end_at(self, zone: ZoneInfo) -> datetime:
        """The first instant after the month (UTC)."""
        return self.next().start_at(zone)


def zone_name(zone: ZoneInfo, month: Month) -> str:
    """``Asia/Shanghai (UTC+8)``; both offsets for a month in which clocks change."""
    offsets = [_offset(at.astimezone(zone)) for at in (month.start_at(zone), month.end_at(zone) - timedelta(seconds=1))]
    return f"{zone.key} (UTC{'/'.join(dict.fromkeys(offsets))})"


def _offset(local: datetime) -> str:
    text = local.strftime("%z")
    minutes = "" if text[3:5] == "00" else f":{text[3:5]}"
    return f"{text[0]}{int(text[1:3])}{minutes}"

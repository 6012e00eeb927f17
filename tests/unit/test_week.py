"""The week strip shows what the calendar says."""

from datetime import time

from portal.capacity.week import HOUR, LEFT, ROW, week
from scheduler.domain.calendar import WeeklyWindow

EVERY_DAY, MONDAY, SUNDAY = 0b111_1111, 0b000_0001, 0b100_0000


def shares(windows: list[WeeklyWindow], base: float, day: int) -> list[tuple[str, int]]:
    return [(part.hours, part.percent) for part in week(windows, base)[day].stretches]


def test_a_night_window_is_drawn_on_both_sides_of_midnight() -> None:
    night = WeeklyWindow(EVERY_DAY, time(22), time(8), 0.85)
    assert shares([night], 0.25, 3) == [("00:00–08:00", 85), ("08:00–22:00", 25), ("22:00–24:00", 85)]


def test_sundays_night_reaches_into_monday() -> None:
    night = WeeklyWindow(SUNDAY, time(22), time(8), 1)
    assert shares([night], 0, 0) == [("00:00–08:00", 100), ("08:00–24:00", 0)]
    assert shares([night], 0, 1) == [("00:00–24:00", 0)]


def test_where_windows_overlap_the_largest_share_is_drawn_once() -> None:
    windows = [WeeklyWindow(MONDAY, time(8), time(18), 0.5), WeeklyWindow(MONDAY, time(12), time(13), 0.5),
               WeeklyWindow(MONDAY, time(17), time(20), 0.8)]  # fmt: skip
    drawn = shares(windows, 0, 0)
    assert drawn == [("00:00–08:00", 0), ("08:00–17:00", 50), ("17:00–20:00", 80), ("20:00–24:00", 0)]


def test_a_stretch_is_as_wide_as_its_hours_and_as_high_as_its_share() -> None:
    part = week([WeeklyWindow(MONDAY, time(6), time(12), 0.5)], 0)[0].stretches[1]
    assert (part.x, part.width, part.height) == (LEFT + 6 * HOUR, 6 * HOUR, ROW / 2)
    assert part.y + part.height == week([], 0)[0].y + ROW

"""Windows in wall time become shares and capacity in instants, also when clocks change."""

from datetime import UTC, datetime, time, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scheduler.domain.calendar import WeeklyWindow, capacity_path, occurrences, share_at

SHANGHAI, BERLIN = ZoneInfo("Asia/Shanghai"), ZoneInfo("Europe/Berlin")
EVERY_DAY = 0b111_1111
NIGHT = WeeklyWindow(EVERY_DAY, time(22), time(8), 0.85, "night")


def shanghai(day: int, hour: int, minute: int = 0) -> datetime:
    """An instant in the week of Monday 2 March 2026."""
    return datetime(2026, 3, day, hour, minute, tzinfo=SHANGHAI)


@pytest.mark.parametrize(
    ("at", "share"),
    [
        (shanghai(2, 21, 59), 0.25),
        (shanghai(2, 22), 0.85),
        (shanghai(3, 0), 0.85),
        (shanghai(3, 7, 59), 0.85),
        (shanghai(3, 8), 0.25),
    ],
)
def test_a_night_window_holds_from_its_start_until_before_its_end(at: datetime, share: float) -> None:
    assert share_at([NIGHT], 0.25, SHANGHAI, at) == share
    assert share_at([NIGHT], 0.25, SHANGHAI, at.astimezone(UTC)) == share


def test_of_windows_that_overlap_the_largest_share_wins_even_when_below_the_base() -> None:
    lunch = WeeklyWindow(EVERY_DAY, time(12), time(14), 0.1)
    sale = WeeklyWindow(EVERY_DAY, time(13), time(15), 0.0)
    assert [share_at([lunch, sale], 0.5, SHANGHAI, shanghai(2, hour)) for hour in (11, 12, 13, 14, 15)] == [
        0.5, 0.1, 0.1, 0.0, 0.5,
    ]  # fmt: skip


def test_the_mask_names_the_days_on_which_a_window_starts() -> None:
    friday_night = WeeklyWindow(0b001_0000, time(22), time(8), 1.0)
    held = [share_at([friday_night], 0, SHANGHAI, shanghai(day, 23)) for day in range(2, 9)]
    assert held == [0, 0, 0, 0, 1.0, 0, 0]
    assert share_at([friday_night], 0, SHANGHAI, shanghai(7, 7)) == 1.0  # Saturday morning


def test_equal_times_are_the_whole_day() -> None:
    sunday = WeeklyWindow(0b100_0000, time(6), time(6), 1.0)
    assert [share_at([sunday], 0, SHANGHAI, at) for at in (shanghai(8, 5, 59), shanghai(8, 6), shanghai(9, 5, 59))] == [
        0, 1.0, 1.0,
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("evening", "hours"),
    [
        (datetime(2026, 3, 27, 12, tzinfo=UTC), 10),
        (datetime(2026, 3, 28, 12, tzinfo=UTC), 9),  # clocks go forward in this night
        (datetime(2026, 10, 24, 12, tzinfo=UTC), 11),  # and back in this one
    ],
)
def test_a_night_is_as_long_as_the_clocks_make_it(evening: datetime, hours: int) -> None:
    (night,) = occurrences([NIGHT], BERLIN, evening, evening + timedelta(hours=18))
    assert night.end_at - night.start_at == timedelta(hours=hours)
    path = capacity_path([NIGHT], 0, BERLIN, 4, evening, horizon_days=1)
    assert path.until(evening + timedelta(hours=23)) == pytest.approx(hours * 3600 * 0.85 * 4)


def test_a_window_that_starts_in_a_skipped_hour_still_happens() -> None:
    skipped = WeeklyWindow(EVERY_DAY, time(2, 30), time(5), 1.0)
    (found,) = occurrences([skipped], BERLIN, datetime(2026, 3, 29, tzinfo=UTC), datetime(2026, 3, 29, 12, tzinfo=UTC))
    assert found.start_at == datetime(2026, 3, 29, 1, 30, tzinfo=UTC)  # 03:30 summer time
    assert found.end_at == datetime(2026, 3, 29, 3, 0, tzinfo=UTC)


def test_edges_lie_on_the_ten_minute_grid_after_now() -> None:
    now = datetime(2026, 3, 2, 10, 3, 20, tzinfo=UTC)
    path = capacity_path([], 0.5, SHANGHAI, 2, now, horizon_days=1)
    assert path.now == now
    assert path.edge_at(1) == datetime(2026, 3, 2, 10, 10, tzinfo=UTC)
    assert path.cumulative[0] == 0
    assert path.cumulative[1] == pytest.approx(400)  # 400 s × 0.5 × 2
    assert path.horizon_at == datetime(2026, 3, 3, 10, 0, tzinfo=UTC)


def test_a_deadline_rounds_down_to_an_edge_and_the_past_is_now() -> None:
    now = datetime(2026, 3, 2, 10, 3, tzinfo=UTC)
    path = capacity_path([], 1, SHANGHAI, 1, now)
    assert path.index_before(now - timedelta(days=1)) == 0
    assert path.index_before(now + timedelta(minutes=6)) == 0
    assert path.index_before(now + timedelta(minutes=7)) == 1
    assert path.index_before(now + timedelta(minutes=16)) == 1


times = st.builds(time, st.integers(0, 23), st.sampled_from([0, 5, 17, 30]))
shares = st.sampled_from([0.0, 0.1, 0.25, 0.85, 1.0])
windows = st.lists(st.builds(WeeklyWindow, st.integers(1, 127), times, times, shares), max_size=4)
zones = st.sampled_from([SHANGHAI, BERLIN, ZoneInfo("America/St_Johns"), ZoneInfo("Asia/Kathmandu")])
starts = st.datetimes(datetime(2026, 3, 1), datetime(2026, 11, 30), timezones=st.just(UTC)).map(
    lambda at: at.replace(second=0, microsecond=0)
)


def by_wall_clock(held: list[WeeklyWindow], base: float, zone: ZoneInfo, at: datetime) -> float:
    """An independent reading, minute by minute, for days on which clocks do not change."""
    local = at.astimezone(zone)
    found = []
    for window in held:
        for back in (0, 1):
            day = local.date() - timedelta(days=back)
            end = day + timedelta(days=window.ends <= window.starts)
            begins, ends = datetime.combine(day, window.starts), datetime.combine(end, window.ends)
            if window.days & 1 << day.weekday() and begins <= local.replace(tzinfo=None) < ends:
                found.append(window.share)
    return max(found, default=base)


@settings(max_examples=40, deadline=None)
@given(windows, shares, starts)
def test_capacity_is_the_sum_of_its_minutes(held: list[WeeklyWindow], base: float, now: datetime) -> None:
    path = capacity_path(held, base, SHANGHAI, 3, now, horizon_days=1)
    minutes = int((path.horizon_at - now).total_seconds() // 60)
    by_minute = [by_wall_clock(held, base, SHANGHAI, now + timedelta(minutes=i)) * 180 for i in range(minutes)]
    assert path.cumulative[-1] == pytest.approx(sum(by_minute))
    first = int((path.edge_at(1) - now).total_seconds() // 60)
    assert path.cumulative[1] == pytest.approx(sum(by_minute[:first]))


@settings(max_examples=60, deadline=None)
@given(windows, shares, zones, starts)
def test_capacity_never_falls_and_never_exceeds_the_pool(
    held: list[WeeklyWindow], base: float, zone: ZoneInfo, now: datetime
) -> None:
    path = capacity_path(held, base, zone, 3, now)
    for width, given_s in zip(
        path.edges[1:] - path.edges[:-1], path.cumulative[1:] - path.cumulative[:-1], strict=True
    ):
        assert -1e-6 <= given_s <= 3 * width + 1e-6

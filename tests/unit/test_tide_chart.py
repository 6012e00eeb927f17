"""The tide chart is drawn to scale. All coordinates are worked out by hand."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from portal.capacity.tide import Tide, TideWindow
from portal.packages.following import chart
from portal.packages.following.scale import Frame

SHANGHAI = ZoneInfo("Asia/Shanghai")
START = datetime(2026, 12, 1, 12, 0, tzinfo=UTC)  # 20:00 in Shanghai
HOUR = timedelta(hours=1)
# 100 units a hour, 50 units a GPU when the highest level is 2.
FRAME = Frame("test", width=800, height=150, left=0, right=800, top=0, bottom=100, apart=20)
TIDE = Tide(
    zone=SHANGHAI,
    start_at=START,
    now=START,
    step=HOUR,
    replicas=2,
    capacity=[0.5, 0.5, 1.9, 1.9, 1.9, 1.9, 0.5, 0.5],
    promised=[0.5, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0],
    yours=[0.0, 0.0, 0.5, 1.5, 0.0, 0.0, 0.0, 0.0],
    work_s=7200,
    windows=[TideWindow(START + 2 * HOUR, START + 6 * HOUR, "night", 0.95)],
    earliest_deadline_at=START + 4 * HOUR,
    deadline_at=START + 7 * HOUR,
)


def draw(tide: Tide = TIDE) -> chart.Chart:
    return chart.draw(tide, FRAME, zone=SHANGHAI)


def test_capacity_is_a_step_line_from_left_to_right() -> None:
    assert draw().shore == "M0 75H200V5H600V75H800"


def test_promised_work_is_filled_from_the_floor() -> None:
    assert draw().promised == "M0 75H100V100H200V50H300V100H800V100H0Z"


def test_ones_own_package_lies_on_top_of_what_is_promised() -> None:
    """From 200 to 300 between 1.0 and 1.5 GPUs, from 300 to 400 between 0 and 1.5."""
    assert draw().yours == "M200 25H400V100H300V50H200Z"


def test_the_label_is_inside_the_largest_even_block_where_it_fits() -> None:
    label = draw().label
    assert label is not None
    assert (label.x, label.anchor, label.is_inside, label.dot_x) == ("350", "middle", True, "")


def test_a_sliver_gets_a_dot_and_its_label_beside_it() -> None:
    label = draw(replace(TIDE, promised=[0.0] * 8, yours=[0.0] * 5 + [0.05, 0.0, 0.0])).label
    assert label is not None
    assert (label.is_inside, label.x, label.anchor) == (False, "608", "start")
    assert label.dot_x == "550"


def test_no_package_no_label() -> None:
    nothing = draw(replace(TIDE, yours=[0.0] * 8))
    assert nothing.label is None
    assert nothing.yours == ""


def test_what_cannot_be_promised_is_hatched_up_to_the_earliest_deadline() -> None:
    assert draw().hatch_width == "400"
    assert draw(replace(TIDE, earliest_deadline_at=None)).hatch_width == ""


def test_the_deadline_is_a_line_and_left_out_when_beyond_the_chart() -> None:
    assert draw().deadline_x == "700"
    assert draw().deadline_flips
    assert draw(replace(TIDE, deadline_at=START + 9 * HOUR)).deadline_x == ""


def test_hours_and_days_are_those_of_the_department() -> None:
    drawn = draw()
    assert [(hour.x, f"{hour.at:%H}") for hour in drawn.hours][:4] == [
        ("100", "21"), ("200", "22"), ("300", "23"), ("400", "00"),
    ]  # fmt: skip
    assert [(day.x, f"{day.at:%d}") for day in drawn.days] == [("400", "02")]


def test_windows_are_shaded_with_their_share() -> None:
    (band,) = draw().bands
    assert (band.x, band.width, band.name, band.percent, band.has_room) == ("200", "400", "night", 95, True)


def test_levels_are_round_numbers_of_gpus() -> None:
    assert [(level.label, level.y) for level in draw().levels] == [
        ("0.5", "75"),
        ("1", "50"),
        ("1.5", "25"),
        ("2", "0"),
    ]


def test_the_table_says_the_same_in_gpu_hours() -> None:
    day, night, morning = chart.stretches(TIDE)
    assert (day.gpus, day.promised_h, day.yours_h, day.free_h) == (0.5, 0.5, 0.0, 0.5)
    assert (night.gpus, night.promised_h, night.yours_h, night.window) == (1.9, 1.0, 2.0, "night")
    assert round(night.free_h, 6) == 4.6  # 4 h × 1.9 − 1.0 − 2.0
    assert (morning.start_at, morning.end_at) == (START + 6 * HOUR, START + 8 * HOUR)


def test_a_day_with_a_changed_clock_keeps_its_hours() -> None:
    """Berlin, 28 March 2027: after 01:00 comes 03:00."""
    start_at = datetime(2027, 3, 27, 22, 0, tzinfo=UTC)
    drawn = chart.draw(replace(TIDE, start_at=start_at, windows=[]), FRAME, zone=ZoneInfo("Europe/Berlin"))
    assert [f"{hour.at:%H}" for hour in drawn.hours][:4] == ["00", "01", "03", "04"]
    assert [hour.x for hour in drawn.hours][:4] == ["100", "200", "300", "400"]

"""Numbers, times and durations read the same everywhere."""

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from zoneinfo import ZoneInfo

import pytest
from django.utils import timezone

from portal.packages import wording

NOW = datetime(2026, 12, 1, 7, 0, tzinfo=UTC)  # 15:00 in Shanghai


@pytest.mark.parametrize(
    ("length", "said"),
    [
        (timedelta(seconds=5), "5 s"),
        (timedelta(minutes=48), "48 min"),
        (timedelta(hours=10, minutes=20, seconds=59), "10 h 20 min"),
        (timedelta(hours=6), "6 h"),
        (timedelta(days=1, hours=5, minutes=30), "1 day 5 h"),
        (timedelta(days=3), "3 days"),
        (timedelta(minutes=-25), "25 min"),
    ],
)
def test_a_span_is_told_in_its_two_largest_units(length: timedelta, said: str) -> None:
    assert wording.span(length) == said


@pytest.mark.parametrize(
    ("hours", "said"),
    [
        (0, "today 15:00"),
        (8.5, "today 23:30"),
        (13, "tomorrow 04:00"),
        (-20, "yesterday 19:00"),
        (72, "Fri 4 Dec, 15:00"),
    ],
)
def test_near_instants_have_names_in_the_departments_zone(hours: float, said: str) -> None:
    with timezone.override(ZoneInfo("Asia/Shanghai")):
        assert wording.when(NOW + timedelta(hours=hours), NOW) == said


def test_money_shows_its_currency_and_two_places() -> None:
    assert wording.money(Decimal("1958.2"), "CNY") == "¥\u00a01,958.20"
    assert wording.money(Decimal("3"), "CHF") == "CHF\u00a03.00"
    assert wording.money(None, "CNY") == "–"


@pytest.mark.parametrize(("octets", "said"), [(0, "0 B"), (999, "999 B"), (1500, "1.5 kB"), (93_100_000, "93.1 MB")])
def test_sizes_are_in_powers_of_a_thousand(octets: int, said: str) -> None:
    assert wording.size(octets) == said


@pytest.mark.parametrize(("seconds", "said"), [(48, "48 s"), (750, "12.5 min"), (22_320, "6.2 h")])
def test_gpu_time_is_in_the_unit_that_reads_best(seconds: float, said: str) -> None:
    assert wording.gpu_time(seconds) == said


@pytest.mark.parametrize(
    ("per_s", "said"), [(3993.1, "3,993"), (58.34, "58.3"), (1.0, "1"), (0.0, "0"), (0.25, "0.2"), (0.04, "0.04")]
)
def test_a_pace_has_a_decimal_only_where_it_tells_something(per_s: float, said: str) -> None:
    assert wording.pace(per_s) == said


@pytest.mark.parametrize(
    ("minutes", "said"),
    [
        (0, "today 15:00"),
        (1, "today 15:01"),
        (35, "today 15:00 – 15:35"),
        (13 * 60, "today 15:00 – tomorrow 04:00"),
    ],
)
def test_a_stretch_of_time_names_its_day_once(minutes: int, said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timezone, "now", lambda: NOW)
    with timezone.override(ZoneInfo("Asia/Shanghai")):
        assert wording.stretch(NOW, NOW + timedelta(minutes=minutes)) == said
        assert wording.stretch(None, NOW) == "today 15:00"


def test_the_window_of_every_new_installation_is_translated_and_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wording, "pgettext", lambda _context, text: f"<{text}>")
    assert [wording.window(name) for name in ("night", "Ferien", "")] == ["<night>", "Ferien", ""]

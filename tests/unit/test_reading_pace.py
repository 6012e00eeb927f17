"""The pace of a reading: worked out from what was told last."""

from datetime import UTC, datetime, timedelta

from portal.packages.models import Package
from portal.packages.reading.reading_pace import ReadingPace, reading_pace

NOON = datetime(2026, 12, 1, 12, tzinfo=UTC)


def read(rows: int, seconds: float, share: float | None) -> ReadingPace:
    at = NOON + timedelta(seconds=seconds)
    return reading_pace(Package(rows_read=rows, reading_since=NOON, reading_share=share, touched_at=at))


def test_what_has_not_begun_has_no_pace() -> None:
    assert reading_pace(Package(touched_at=NOON)) == ReadingPace(is_begun=False)


def test_a_quarter_of_the_file_in_ten_seconds_leaves_thirty() -> None:
    assert read(25_000, 10, 0.25) == ReadingPace(
        is_begun=True, rows=25_000, per_s=2_500, percent=25, left=timedelta(seconds=30)
    )


def test_a_pace_is_not_told_too_soon() -> None:
    assert read(100, 0.4, 0.5) == ReadingPace(is_begun=True, rows=100)


def test_without_a_place_there_is_a_pace_but_no_end() -> None:
    assert read(9_000, 3, None) == ReadingPace(is_begun=True, rows=9_000, per_s=3_000)

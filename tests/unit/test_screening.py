"""Rows are taken in groups that stay small, however long the rows are."""

from collections.abc import Iterator

from portal.packages.manifest import BadRow, Row
from portal.packages.screening import GROUP, GROUP_CHARACTERS, grouped


def _rows(count: int, characters: int) -> Iterator[Row | BadRow]:
    return (Row(number, {"text": "x" * characters}) for number in range(1, count + 1))


def test_short_rows_fill_groups() -> None:
    assert [len(group) for group in grouped(_rows(2 * GROUP + 1, 3))] == [GROUP, GROUP, 1]


def test_long_rows_make_small_groups() -> None:
    assert [len(group) for group in grouped(_rows(5, GROUP_CHARACTERS // 2))] == [2, 2, 1]


def test_no_row_is_lost_between_groups() -> None:
    found = [row.number for group in grouped(_rows(1_000, GROUP_CHARACTERS // 100)) for row in group]
    assert found == list(range(1, 1_001))

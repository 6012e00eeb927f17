"""Ids that a manifest has used already are found with the row that used them first."""

from hypothesis import given
from hypothesis import strategies as st

from portal.packages.seen import SeenIds


@given(st.lists(st.lists(st.sampled_from("abcdefghij"), max_size=9), max_size=12))
def test_the_first_row_of_every_repeated_id_is_known(groups: list[list[str]]) -> None:
    seen, first, row = SeenIds(), dict[str, int](), 0
    for group in groups:
        rows = list(range(row + 1, row + 1 + len(group)))
        row += len(group)
        expected = []
        for id_, number in zip(group, rows, strict=True):
            expected.append(first.get(id_, 0))
            first.setdefault(id_, number)
        assert seen.add(group, rows) == expected


def test_many_ids_stay_apart() -> None:
    seen = SeenIds()
    for start in range(0, 50_000, 1_000):
        rows = range(start + 1, start + 1_001)
        assert not any(seen.add([f"id-{row}" for row in rows], rows))
    assert seen.add(["id-49999", "new"], [60_000, 60_001]) == [49_999, 0]

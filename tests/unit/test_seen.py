"""Keys that a manifest has had already are found with the row that had them first, in memory or in files."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from portal.packages.reading import seen as rooms
from portal.packages.reading.seen import Seen, key_of

KEYS = [high + low for high in (b"a" * 8, b"b" * 8, b"\xff" * 8, b"\0" * 8) for low in (b"x" * 8, b"\0" * 8, b"y" * 8)]
"""Few enough to be repeated, and alike in their upper halves, which only chance makes of real ones."""


@pytest.fixture(params=[False, True], ids=["in memory", "in files"])
def spilled(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param:
        monkeypatch.setattr(rooms, "SPILLED", 4)
        monkeypatch.setattr(rooms, "BLOCK", 3)


@pytest.mark.usefixtures("spilled")
@given(st.lists(st.lists(st.sampled_from(KEYS), max_size=9), max_size=12))
def test_the_first_row_of_every_repeated_key_is_known(groups: list[list[bytes]]) -> None:
    seen, first, row = Seen(), dict[bytes, int](), 0
    for group in groups:
        rows = list(range(row + 1, row + 1 + len(group)))
        row += len(group)
        expected = []
        for key, number in zip(group, rows, strict=True):
            expected.append(first.get(key, 0))
            first.setdefault(key, number)
        assert seen.add(group, rows) == expected


def test_many_keys_stay_apart(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(rooms, "SPILLED", 5_000)
    monkeypatch.setattr(rooms, "BLOCK", 2_000)
    seen = Seen(tmp_path)
    keys = [key_of(f"id-{row}".encode()) for row in range(50_000)]
    for start in range(0, 50_000, 1_000):
        rows = range(start + 1, start + 1_001)
        assert not any(seen.find(keys[start : start + 1_000]))
        seen.keep(dict(zip(keys[start : start + 1_000], rows, strict=True)))
    assert seen.find(keys) == list(range(1, 50_001))
    assert seen.find([key_of(b"new")]) == [0]
    assert list(tmp_path.iterdir()) == []  # the files have no names: they go with the process


def test_what_was_only_looked_up_is_not_kept() -> None:
    seen = Seen()
    assert seen.find(KEYS) == [0] * len(KEYS)
    assert seen.find(KEYS) == [0] * len(KEYS)
    seen.keep({KEYS[0]: 7})
    assert seen.find(KEYS[:2]) == [7, 0]

"""What is kept for later rows comes back, also from the disk, and goes with its block."""

import sqlite3

import pytest

from portal.packages.delivering import kept as rooms
from portal.packages.delivering.kept import keeping


def test_what_was_kept_comes_back_as_often_as_it_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rooms, "MEMORY_KIB", 64)
    with keeping() as kept:
        for row in range(1, 2_000):
            kept.put(row, b"%d" % row * 200)  # far more than the memory it is given
        for row in (1, 1_999, 1, 1_000):
            assert kept.get(row) == b"%d" % row * 200
        assert kept.get(2_000) is None
    with pytest.raises(sqlite3.ProgrammingError):
        kept.get(1)

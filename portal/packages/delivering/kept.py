"""Outcomes that later rows need again, kept on disk while rows stream past. Flat memory."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager

MEMORY_KIB = 16 << 10


class Kept:
    """Bytes by row number, in a nameless temporary database of which so much is in memory."""

    def __init__(self, database: sqlite3.Connection) -> None:
        self._database = database

    def put(self, row: int, content: bytes) -> None:
        """Keep ``content`` for ``row``."""
        self._database.execute("INSERT INTO kept VALUES (?, ?)", (row, content))

    def get(self, row: int) -> bytes | None:
        """What is kept for ``row``, as often as it is asked for."""
        found = self._database.execute("SELECT content FROM kept WHERE row = ?", (row,)).fetchone()
        return None if found is None else bytes(found[0])


@contextmanager
def keeping() -> Iterator[Kept]:
    """Room that lasts as long as the block. A download may be read on from another thread, one at a time."""
    database = sqlite3.connect("", check_same_thread=False, isolation_level=None)
    try:
        for setting in ("journal_mode = OFF", "synchronous = OFF", f"cache_size = -{MEMORY_KIB}"):
            database.execute(f"PRAGMA {setting}")
        database.execute("CREATE TABLE kept (row INTEGER PRIMARY KEY, content BLOB)")
        database.execute("BEGIN")
        yield Kept(database)
    finally:
        database.close()

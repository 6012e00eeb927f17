"""A record of every call of the engine, for tests that count what ran again after a kill."""

import os

from scheduler.wire import Assignment


class CallLog:
    """Appends ``<package>/<shard>/<row>`` to a file before each call."""

    def __init__(self, path: str) -> None:
        # One short write to an append-only file is whole, also when several workers share it.
        self._file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)

    def note(self, assignment: Assignment, row: int) -> None:
        os.write(self._file, f"{assignment.package}/{assignment.shard}/{row}\n".encode())

    def close(self) -> None:
        os.close(self._file)

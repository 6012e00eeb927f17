"""What a manifest has had already, ids or requests: 24 bytes for each, in memory that stays small. Pure."""

import os
from collections.abc import Iterable, Sequence
from hashlib import blake2b
from itertools import pairwise
from mmap import MADV_DONTNEED, MADV_RANDOM, mmap
from pathlib import Path
from tempfile import TemporaryFile

import numpy as np
from numpy.typing import NDArray

Words = NDArray[np.uint64]
SPILLED = 1 << 19
"""Runs of so many keys lie in temporary files; 12 MiB are the largest that stay in memory."""
BLOCK = 1 << 17
"""Keys that are merged at a time, about."""


def key_of(content: bytes) -> bytes:
    """128 bits that stand for ``content``. Of ten million, two share them with a probability below 10⁻²⁴."""
    return blake2b(content, digest_size=16).digest()


class Seen:
    """Remembers keys with the row that had each first, as sorted runs that are merged as they grow.

    Large runs lie in unnamed files in ``folder``, which go with this object; ``OSError`` says that there is no room.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder
        self._runs: list[_Run] = []

    def add(self, keys: Sequence[bytes], rows: Sequence[int]) -> list[int]:
        """For each key the row that had it first, or 0 if that is its own; those that are new are kept."""
        found, fresh = self.find(keys), dict[bytes, int]()
        for at, (key, row) in enumerate(zip(keys, rows, strict=True)):
            if not found[at] and (first := fresh.setdefault(key, row)) != row:
                found[at] = first
        self.keep(fresh)
        return found

    def find(self, keys: Sequence[bytes]) -> list[int]:
        """For each key the row that it was kept with, or 0 for one that is unknown."""
        high, low = _words(keys)
        order = np.argsort(high)  # looked up in order, a large run is read from its beginning to its end
        high, low = high[order], low[order]
        sorted_rows = np.zeros(len(keys), np.uint64)
        for run in self._runs:
            run.find(high, low, sorted_rows)
        for run in self._runs:
            run.rest()
        rows = np.empty_like(sorted_rows)
        rows[order] = sorted_rows
        return rows.tolist()

    def keep(self, fresh: dict[bytes, int]) -> None:
        """Remember keys, none of them known yet, with the row of each (from 1).

        They are a run of their own; the last two runs are merged while the older is not twice as long, so that there
        are few.
        """
        if not fresh:
            return
        self._runs.append(_Run.of(*_words(list(fresh)), np.fromiter(fresh.values(), np.uint64, len(fresh))))
        while len(self._runs) > 1 and self._runs[-2].size < 2 * self._runs[-1].size:
            newer, older = self._runs.pop(), self._runs.pop()
            self._runs.append(_merged(older, newer, self._folder))


class _Run:
    """Keys sorted by their upper half, with their lower halves and rows; each key once."""

    def __init__(self, high: Words, low: Words, rows: Words, file: mmap | None = None) -> None:
        self.high, self.low, self.rows = high, low, rows
        self.size = len(rows)
        self._file = file

    @classmethod
    def of(cls, high: Words, low: Words, rows: Words) -> "_Run":
        order = np.argsort(high)
        return cls(high[order], low[order], rows[order])

    @classmethod
    def room(cls, size: int, folder: Path | None) -> "_Run":
        """Room for ``size`` keys, in a file if they are many. The file has its space now: a full disk is an error."""
        if size < SPILLED:
            return cls(np.empty(size, np.uint64), np.empty(size, np.uint64), np.empty(size, np.uint64))
        with TemporaryFile(dir=folder) as file:
            os.posix_fallocate(file.fileno(), 0, 24 * size)
            mapped = mmap(file.fileno(), 24 * size)
        mapped.madvise(MADV_RANDOM)  # a page that is looked at brings no neighbours into memory
        words = np.frombuffer(mapped, np.uint64)
        return cls(words[:size], words[size : 2 * size], words[2 * size :], mapped)

    def find(self, high: Words, low: Words, rows: Words) -> None:
        """Put the row of every key that is here into ``rows``."""
        at = np.minimum(np.searchsorted(self.high, high), self.size - 1)
        alike = np.flatnonzero(self.high[at] == high)  # of keys that are unknown, nothing further is read
        places = at[alike]
        same = self.low[places] == low[alike]
        rows[alike[same]] = self.rows[places[same]]
        for index in alike[~same]:  # two keys of one upper half: 3 in a million manifests of ten million rows
            self._find_further(int(index), int(at[index]), high, low, rows)

    def _find_further(self, index: int, place: int, high: Words, low: Words, rows: Words) -> None:
        while place < self.size and self.high[place] == high[index]:
            if self.low[place] == low[index]:
                rows[index] = self.rows[place]
            place += 1

    def rest(self) -> None:
        """Give back the memory of a run that lies in a file: its pages stay cached for as long as there is room."""
        if self._file is not None:
            self._file.madvise(MADV_DONTNEED)


def _merged(one: _Run, other: _Run, folder: Path | None) -> _Run:
    """Both in one, made piece by piece: keys are evenly spread, so pieces of their range are alike in size."""
    whole = _Run.room(one.size + other.size, folder)
    pieces = -(-whole.size // BLOCK)
    fences = np.array([(piece << 64) // pieces for piece in range(1, pieces)], np.uint64)
    done = 0
    for piece in zip(_cut(one, fences), _cut(other, fences), strict=True):
        high, low, rows = (np.concatenate(halves) for halves in zip(*piece, strict=True))
        order, end = np.argsort(high, kind="stable"), done + len(rows)
        whole.high[done:end], whole.low[done:end], whole.rows[done:end] = high[order], low[order], rows[order]
        done = end
        for run in (one, other, whole):
            run.rest()
    return whole


def _cut(run: _Run, fences: Words) -> Iterable[tuple[Words, Words, Words]]:
    edges = [0, *np.searchsorted(run.high, fences).tolist(), run.size]
    for start, end in pairwise(edges):
        yield run.high[start:end], run.low[start:end], run.rows[start:end]


def _words(keys: Sequence[bytes]) -> tuple[Words, Words]:
    words = np.frombuffer(b"".join(keys), np.uint64).reshape(-1, 2)
    return words[:, 0].copy(), words[:, 1].copy()

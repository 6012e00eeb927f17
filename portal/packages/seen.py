"""Which ids a manifest has used already, in 16 bytes an id. Pure."""

from collections.abc import Sequence
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

Words = NDArray[np.uint64]


class SeenIds:
    """Remembers 64-bit hashes of ids with the row of each, as sorted runs that are merged as they grow.

    Two different ids among 10 million share a hash with a probability of about 3 in a million.
    """

    def __init__(self) -> None:
        self._runs: list[tuple[Words, Words]] = []

    def add(self, ids: Sequence[str], rows: Sequence[int]) -> list[int]:
        """For each id the row that used it first, or 0 if that is its own row."""
        hashes = np.fromiter(map(_hash, ids), np.uint64, len(ids))
        numbers = np.asarray(rows, np.uint64)
        first = self._first_here(hashes, numbers)
        for known, known_rows in self._runs:
            at = np.minimum(np.searchsorted(known, hashes), len(known) - 1)
            first = np.where(known[at] == hashes, known_rows[at], first)
        new = first == 0
        self._keep(hashes[new], numbers[new])
        return [int(row) for row in first]

    @staticmethod
    def _first_here(hashes: Words, rows: Words) -> Words:
        _, index, inverse = np.unique(hashes, return_index=True, return_inverse=True)
        first: Words = rows[index][inverse]
        return np.where(first == rows, np.uint64(0), first)

    def _keep(self, hashes: Words, rows: Words) -> None:
        """Add a run; merge the last two while the older one is not twice as long, so that runs stay few."""
        if not len(hashes):
            return
        self._runs.append(_sorted(hashes, rows))
        while len(self._runs) > 1 and len(self._runs[-2][0]) < 2 * len(self._runs[-1][0]):
            (a, a_rows), (b, b_rows) = self._runs.pop(), self._runs.pop()
            self._runs.append(_sorted(np.concatenate([a, b]), np.concatenate([a_rows, b_rows])))


def _hash(text: str) -> int:
    return int.from_bytes(blake2b(text.encode(), digest_size=8).digest(), "little")


def _sorted(hashes: Words, rows: Words) -> tuple[Words, Words]:
    order = np.argsort(hashes, kind="stable")
    return hashes[order], rows[order]

"""Writes the corpus: ``python -m tests.corpus.make FOLDER``. The same bytes each time."""

import sys
from pathlib import Path

from tests.corpus.all_files import CASES
from tests.corpus.case import Case


def written(cases: list[Case], folder: Path) -> int:
    """Write the files of ``cases`` below ``folder``; returns their bytes."""
    size = 0
    for case in cases:
        path = folder / case.name
        path.parent.mkdir(parents=True, exist_ok=True)
        size += path.write_bytes(case.content())
    return size


def unconfirmed(cases: list[Case]) -> list[str]:
    """Names of files in which an independent reader finds something else than we expect."""
    return [case.name for case in cases if case.oracle and not _agrees(case)]


def _agrees(case: Case) -> bool:
    assert case.oracle is not None
    found = [tuple(row) for row in case.oracle(case.content())]
    return found == [tuple(case.columns), *map(tuple, case.rows)]


if __name__ == "__main__":
    print(f"{len(CASES)} files, {written(CASES, Path(sys.argv[1])) / 1e6:.0f} MB in {sys.argv[1]}")

"""Reads the large files of the corpus in this process alone, so that its peak memory can be held to a bound."""

import sys
from pathlib import Path

from tests.corpus.__main__ import peaks
from tests.corpus.all_files import CASES
from tests.corpus.case import Case
from tests.corpus.checking import check


def main() -> None:
    """Arguments: a folder to which the files were written, and the most MB; status 1 for what is not right."""
    folder, most = Path(sys.argv[1]), float(sys.argv[2])
    wrong = check([case for case in CASES if case.is_large], folder, _told)
    own, readers = peaks()
    print(f"peak {own:.0f} MB here, {readers:.0f} MB in a reader's own process, of {most:.0f}")
    sys.exit(1 if wrong or max(own, readers) > most else 0)


def _told(case: Case, said: list[str]) -> None:
    if said:
        print(case.name, *said, sep="\n    ")

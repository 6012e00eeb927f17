"""Reads a file as an upload is read, and says how that differs from what must come out."""

from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

from portal.packages.manifest import BadRow, Reading, UnableToRead, rows
from portal.packages.manifest.probe import Probe
from portal.packages.manifest.sniff import sniff
from tests.corpus.case import Case

CHUNK = 1 << 16
MOST_SAID = 200
MOST_DIFFERENCES = 4


def complaints(case: Case, path: Path) -> list[str]:
    """What is not as it must be, in words; nothing when all is right."""
    try:
        reading = _reading(case, path)
        said = _of_rows(case, path, reading)
    except UnableToRead as refusal:
        return _of_refusal(case, refusal)
    if case.refusal:
        return [f"read, but must be refused with {case.refusal}"]
    return [*_of_reading(case, reading), *said]


def _reading(case: Case, path: Path) -> Reading:
    probe = Probe(limit=1 << 31, wish=case.wish)
    with path.open("rb") as stream:
        while chunk := stream.read(CHUNK):
            probe.feed(chunk)
        stream.seek(0)
        return sniff(stream, probe.finish(), case.filename, case.wish)


def _of_rows(case: Case, path: Path, reading: Reading) -> list[str]:
    """Read to the end; what is told are the first differences."""
    expected, said, told, last = _expected(case), list[str](), False, 0
    with path.open("rb") as stream, closing(rows(stream, reading)) as found:
        for row in found:
            last += 1
            assert row.number == last, f"row {last} is numbered {row.number}"
            must = next(expected, None)
            is_ = row.code if isinstance(row, BadRow) else tuple(row.values.get(name) for name in reading.columns)
            if is_ != must:
                said.append(f"row {row.number} is {is_!r}"[:MOST_SAID] + f", must be {must!r}"[:MOST_SAID])
            elif isinstance(row, BadRow) and not told:
                said, told = said + _untold(case, row.detail), True
    missing = sum(1 for _ in expected)
    return [*said[:MOST_DIFFERENCES], *([f"{missing} rows are missing after row {last}"] if missing else [])]


def _expected(case: Case) -> Iterator[str | tuple[str, ...]]:
    """For each row the code with which it is set aside, or its values."""
    good = iter(case.rows)
    for number in range(1, len(case.rows) + len(case.aside) + 1):
        yield case.aside.get(number) or tuple(next(good))


def _of_refusal(case: Case, refusal: UnableToRead) -> list[str]:
    if refusal.code != case.refusal:
        return [f"refused with {refusal.code} {refusal.details}, must be {case.refusal or 'read'}"]
    return _untold(case, refusal.details)


def _untold(case: Case, details: dict[str, Any]) -> list[str]:
    wrong = {key: must for key, must in case.told.items() if details.get(key) != must}
    return [f"{key} is {details.get(key)!r}, must be {must!r}" for key, must in wrong.items()]


def _of_reading(case: Case, reading: Reading) -> list[str]:
    found = [
        f"{key} is {getattr(reading, key)!r}, must be {told!r}"
        for key, told in case.found.items() if getattr(reading, key) != told
    ]  # fmt: skip
    if reading.columns != tuple(case.columns):
        found.append(f"columns are {reading.columns[:9]}, must be {tuple(case.columns)[:9]}"[:MOST_SAID])
    return found


Progress = Callable[[Case, list[str]], None]


def check(cases: list[Case], folder: Path, told: Progress) -> int:
    """Check the files that :mod:`tests.corpus.make` wrote to ``folder``; how many are not right."""
    wrong = 0
    for case in cases:
        try:
            said = complaints(case, folder / case.name)
        except Exception as error:
            said = [f"broke off: {type(error).__name__}: {error}"[:MOST_SAID]]
        wrong += bool(said)
        told(case, said)
    return wrong

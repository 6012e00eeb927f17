"""Rows in quarantine, grouped by reason, with a few of each to look at."""

import csv
import io
import json
from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass
from itertools import islice

from portal.packages import reasons
from portal.packages.models import Package
from portal.packages.progress import Progress, is_over
from portal.packages.results import set_aside_key
from portal.packages.store import objects
from scheduler.objects import ObjectNotFound
from scheduler.records import SetAsideRow, load

SAMPLES = 5
LOOKED_AT = 2_000
"""Rows that are read in search of samples: enough to meet every usual reason, few enough for a page."""
SHOWN = 240
"""Characters of a row that are shown."""


@dataclass(frozen=True)
class Sample:
    """One row: its number in the manifest, why it was set aside, and its text."""

    row: int
    why: str
    text: str


@dataclass(frozen=True)
class Reason:
    """How many rows for one reason."""

    code: str
    label: str
    rows: int


@dataclass(frozen=True)
class Group:
    """The rows of one reason, a few of them in full."""

    reason: Reason
    samples: tuple[Sample, ...]


def reasons_of(package: Package, progress: Progress) -> list[Reason]:
    """Quarantined rows by reason, the most frequent first; what workers set aside is told apart in the end only."""
    counts = _reported(package) if is_over(package) else None
    if counts is None:
        counts = {code: int(rows) for code, rows in package.set_aside_by_code.items()}
        later = progress.quarantined - progress.set_aside
        if later > 0:
            counts["output_invalid"] = counts.get("output_invalid", 0) + later
    found = [Reason(code, reasons.label(code), rows) for code, rows in counts.items()]
    return sorted(found, key=lambda reason: (-reason.rows, reason.code))


def groups_of(package: Package, progress: Progress) -> list[Group]:
    """Every reason with up to ``SAMPLES`` of its rows; a rare reason may have none among the first rows."""
    samples: dict[str, list[Sample]] = defaultdict(list)
    for code, sample in islice(_rows(package), LOOKED_AT):
        if len(samples[code]) < SAMPLES:
            samples[code].append(sample)
    return [Group(reason, tuple(samples[reason.code])) for reason in reasons_of(package, progress)]


def _reported(package: Package) -> dict[str, int] | None:
    """The counts of the report, once it is written."""
    try:
        report = json.loads(objects().get(f"{package.prefix}/out/report.json"))
    except (ObjectNotFound, ValueError):
        return None
    counts: dict[str, int] = report["quarantined_by_reason"]
    return counts


def _rows(package: Package) -> Iterator[tuple[str, Sample]]:
    """(code, sample) of rows in quarantine: all of them once the file is written, before that what was read."""
    try:
        yield from (_written if is_over(package) else _read)(package)
    except ObjectNotFound:
        return


def _read(package: Package) -> Iterator[tuple[str, Sample]]:
    for row in load(objects(), set_aside_key(package), SetAsideRow):
        values = (str(value) for value in row.columns.values())
        yield row.code, Sample(row.row, reasons.sentence(row.code, row.detail), _text(values))


def _written(package: Package) -> Iterator[tuple[str, Sample]]:
    """From quarantine.csv, whose columns are known by their place; the sentence is in the file's language."""
    raw = objects().open_read(f"{package.prefix}/out/quarantine.csv")
    with closing(raw), io.TextIOWrapper(raw, encoding="utf-8-sig", newline="") as lines:
        for number, code, why, *values in islice(csv.reader(lines), 1, None):
            yield code, Sample(int(number), why, _text(values))


def _text(values: Iterable[str]) -> str:
    text = " · ".join(value for value in values if value.strip())
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}…"

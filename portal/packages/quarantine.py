"""Rows in quarantine, grouped by reason, with a few of each to look at."""

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice

from django.conf import settings
from django.utils import translation
from django.utils.translation import get_language

from portal.packages import reasons
from portal.packages.models import Package
from portal.packages.progress import Progress, is_over
from portal.packages.results import quarantine_key, set_aside_key
from portal.packages.sheets import Layout, csv_lines
from portal.packages.store import objects
from scheduler.objects import ObjectNotFound
from scheduler.records import SetAsideRow, load

SAMPLES = 5
LOOKED_AT = 2_000
"""Rows that are read in search of samples: enough to meet every usual reason, few enough for a page."""
SHOWN = 240
"""Characters of a row that are shown."""
AT_ONCE = 200
"""Rows of a download that are made at once."""


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


def as_csv(package: Package) -> Iterator[bytes]:
    """The whole quarantine of a package that is over, as pieces of a CSV file, in the language of this moment.

    Raises ``ObjectNotFound`` when it is not written.
    """
    if not objects().exists(quarantine_key(package)):
        raise ObjectNotFound(quarantine_key(package))
    return _csv(package, get_language() or settings.LANGUAGE_CODE)


def _csv(package: Package, language: str) -> Iterator[bytes]:
    """The language is set for each piece anew: pieces are asked for outside of the request, on any thread."""
    layout = Layout.of(package)
    lines = csv_lines(layout.quarantine_heading())
    rows = load(objects(), quarantine_key(package), SetAsideRow)
    yield lines.start()
    while group := list(islice(rows, AT_ONCE)):
        with translation.override(language):
            piece = [lines.line(layout.quarantine_cells(row, reasons.sentence(row.code, row.detail))) for row in group]
        yield b"".join(piece)


def _rows(package: Package) -> Iterator[tuple[str, Sample]]:
    """(code, sample) of rows in quarantine: all of them once the package is over, before that what was read."""
    key = quarantine_key(package) if is_over(package) else set_aside_key(package)
    try:
        for row in load(objects(), key, SetAsideRow):
            values = (str(value) for value in row.columns.values())
            yield row.code, Sample(row.row, reasons.sentence(row.code, row.detail), _text(values))
    except ObjectNotFound:
        return


def _text(values: Iterable[str]) -> str:
    text = " · ".join(value for value in values if value.strip())
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}…"

"""Rows in quarantine, grouped by reason, with a few of each to look at."""

import json
from collections import Counter, defaultdict
from collections.abc import Generator, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice

from django.conf import settings
from django.utils import translation
from django.utils.translation import get_language
from django.utils.translation import gettext as _

from portal.billing.cells import guarded
from portal.packages import reasons
from portal.packages.correcting.merging import current_rows, is_behind, quarantined
from portal.packages.delivering.excel import ROWS_PER_SHEET, ExcelLines
from portal.packages.delivering.results import set_aside_key
from portal.packages.delivering.sheets import Layout, Lines, csv_lines, guarded_lines
from portal.packages.delivering.tables import check_excel
from portal.packages.following.progress import Progress, is_over, progress_of
from portal.packages.models import Package
from portal.packages.store import objects
from scheduler.domain.lifecycle import ItemStatus, PackageState
from scheduler.objects import ObjectNotFound
from scheduler.records import SetAsideRow, load

SAMPLES = 5
LOOKED_AT = 2_000
"""Rows that are read in search of samples: enough to meet every usual reason, few enough for a page."""
SHOWN = 240
"""Characters of a row that are shown."""
PER_PAGE = 50
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

    @property
    def has_more(self) -> bool:
        """Whether there are more rows than those shown."""
        return self.reason.rows > len(self.samples)


@dataclass(frozen=True)
class Listing:
    """One page of the rows of one reason."""

    reason: Reason
    samples: tuple[Sample, ...]
    number: int
    pages: int

    @property
    def before(self) -> int:
        """The number of the page before this one; 0 for none."""
        return self.number - 1

    @property
    def after(self) -> int:
        """The number of the page after this one; 0 for none."""
        return self.number + 1 if self.number < self.pages else 0


def rows_aside(package: Package, progress: Progress) -> int:
    """How many rows are in quarantine, also of a package of whose rows none could be used."""
    return progress.quarantined if progress.total else package.rows_set_aside


def reasons_of(package: Package, progress: Progress) -> list[Reason]:
    """Quarantined rows by reason, the most frequent first; what workers set aside is told apart in the end only."""
    if not rows_aside(package, progress):
        return []
    counts = _counted(package) if is_over(package) else None
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


def listing_of(package: Package, progress: Progress, code: str, number: int) -> Listing | None:
    """The rows of one reason, ``PER_PAGE`` a page; ``None`` if there are none for this reason."""
    reason = next((one for one in reasons_of(package, progress) if one.code == code), None)
    if reason is None:
        return None
    pages = -(-reason.rows // PER_PAGE)
    number = min(max(1, number), pages)
    found = (sample for of, sample in _rows(package) if of == code)
    return Listing(reason, tuple(islice(found, (number - 1) * PER_PAGE, number * PER_PAGE)), number, pages)


def _counted(package: Package) -> dict[str, int]:
    """The counts as the files have them, or as they are while files are about to be written anew."""
    reported = None if is_behind(package) else _reported(package)
    return Counter(aside.code for aside in quarantined(package)) if reported is None else reported


def _reported(package: Package) -> dict[str, int] | None:
    """The counts of the report, once it is written."""
    try:
        report = json.loads(objects().get(f"{package.out}/report.json"))
    except (ObjectNotFound, ValueError):
        return None
    counts: dict[str, int] = report["quarantined_by_reason"]
    return counts


def is_readable(package: Package) -> bool:
    """Whether the package has been read, so that its rows in quarantine can be downloaded."""
    return package.state not in {PackageState.DRAFT, PackageState.VALIDATING} and (
        is_over(package) or objects().exists(set_aside_key(package))
    )


def as_table(package: Package, form: str) -> Generator[bytes]:
    """The quarantine as pieces of a ``csv`` or ``xlsx`` file, in today's language; before the end, what there is yet.

    Both are written so that the file can be corrected in a spreadsheet and handed over again. Raises
    ``ObjectNotFound`` when nothing has been read, ``UnableToFitIntoExcel`` for what does not fit onto one sheet: of a
    corrected file, one is read.
    """
    if not is_readable(package):
        raise ObjectNotFound(set_aside_key(package))
    heading = Layout.of(package).quarantine_heading()
    if form == "xlsx":
        rows = rows_aside(package, progress_of(package))
        check_excel(rows=rows, columns=len(heading), most_rows=ROWS_PER_SHEET)
    lines = csv_lines(heading) if form == "csv" else _excel_lines(heading)
    return _table(package, lines, get_language() or settings.LANGUAGE_CODE)


def _so_far(package: Package) -> Iterator[SetAsideRow]:
    """Every row in quarantine: all of them once the package is over, before that what has come into it yet."""
    progress = progress_of(package)
    if is_over(package):
        yield from quarantined(package)
    elif progress.quarantined <= progress.set_aside:
        yield from load(objects(), set_aside_key(package), SetAsideRow)
    else:
        for row, ended in current_rows(package):
            if ended.status == ItemStatus.QUARANTINED:
                yield SetAsideRow(ended.row, ended.code or "", ended.detail, dict(row.values))


def _excel_lines(heading: list[str]) -> Lines:
    """Guarded as CSV is: whoever hands it over again may have come from either, and saved it as the other."""
    return guarded_lines(ExcelLines([guarded(name) for name in heading], title=_("Quarantine")))


def _table(package: Package, lines: Lines, language: str) -> Generator[bytes]:
    """The language is set for each piece anew: pieces are asked for outside of the request, on any thread."""
    layout = Layout.of(package)
    rows = _so_far(package)
    yield lines.start()
    while group := list(islice(rows, AT_ONCE)):
        with translation.override(language):
            piece = [lines.line(layout.quarantine_cells(row, reasons.sentence(row.code, row.detail))) for row in group]
        yield b"".join(piece)
    yield lines.end()


def _rows(package: Package) -> Iterator[tuple[str, Sample]]:
    """(code, sample) of rows in quarantine: all of them once the package is over, before that what was read."""
    rows = quarantined(package) if is_over(package) else load(objects(), set_aside_key(package), SetAsideRow)
    try:
        for row in rows:
            values = (str(value) for value in row.columns.values())
            yield row.code, Sample(row.row, reasons.sentence(row.code, row.detail), _text(values))
    except ObjectNotFound:
        return


def _text(values: Iterable[str]) -> str:
    text = " · ".join(value for value in values if value.strip())
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}…"

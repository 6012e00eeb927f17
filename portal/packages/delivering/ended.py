"""How the rows of a package that is over ended in its own run: as the files say that it ended with.

Those hold everything, so that what happens to manifest, shards or parts afterwards changes nothing. Where the files
themselves are lost, rows are put together once more of what there is.
"""

import json
from collections.abc import Iterable, Iterator
from typing import Any

import msgspec
import structlog

from portal.packages.delivering.results import QUARANTINE, Losses, Outcome, RowEnd, rows_in_spite_of
from portal.packages.delivering.sheets import Layout
from portal.packages.manifest import Row
from portal.packages.models import Package
from portal.packages.store import objects
from scheduler.domain.lifecycle import ItemStatus
from scheduler.objects import ObjectNotFound
from scheduler.records import SetAsideRow, UnableToReadRecords, load

log = structlog.get_logger()
_LOST_CODES = {"columns_lost": "original_columns", "reasons_lost": "reasons", "repeats_lost": "repeats"}


class FilesLost(Exception):
    """The results that were written are gone or damaged from some row on."""


def ended_rows(package: Package, losses: Losses | None = None, *, is_written: bool = True) -> Iterator[RowEnd]:
    """Every row of ``package`` as its own run left it, in manifest order. Flat memory.

    ``losses`` takes note of what is lost of objects that are still needed; without ``is_written`` the files are left
    alone. Raises :class:`~portal.packages.delivering.results.UnableToAddUp` for what no loss explains.
    """
    last = 0
    try:
        for found in _written(package) if is_written else ():
            yield found
            last = found[1].row
    except FilesLost:
        log.error("written results lost", action="results.lost", package=str(package.pk), row=last + 1)
    if last < package.rows_total:
        yield from (found for found in _once_more(package, losses) if found[1].row > last)


def losses_told(package: Package) -> dict[str, Any]:
    """What the report of the package says is lost, or its timeline if the report is lost as well."""
    for folder in dict.fromkeys((package.out, f"{package.prefix}/out")):
        try:
            told: dict[str, Any] = json.loads(objects().get(f"{folder}/report.json")).get("lost", {})
        except (ObjectNotFound, ValueError):
            continue
        return told
    codes = set(package.timeline.filter(code__in=_LOST_CODES).values_list("code", flat=True))
    return {name: True for code, name in _LOST_CODES.items() if code in codes}


def _once_more(package: Package, losses: Losses | None) -> Iterator[RowEnd]:
    return rows_in_spite_of(Losses() if losses is None else losses, package, store=objects())


# --- as written -------------------------------------------------------------------------------------------
def _written(package: Package) -> Iterator[RowEnd]:
    """The rows of results.jsonl, those in quarantine with their reasons."""
    layout, number = Layout.of(package), ""
    if losses_told(package).get("original_columns"):
        layout, number = layout.numbered()
    repeat = layout.repeat if package.rows_repeated else ""  # later, corrections may have brought such a column
    ours = {layout.status, layout.output, layout.code} | ({repeat, number} - {""})
    aside = _Aside(package)
    for row, line in enumerate(_lines(package), 1):
        status, output, code = line[layout.status], line[layout.output], line[layout.code]
        repeat_of = line.get(repeat) if repeat else None
        if status == ItemStatus.QUARANTINED and (found := aside.of(row)):
            values = {name: value for name, value in found.columns.items() if name != number}
            yield Row(row, values), Outcome(row, status, output, found.code, found.detail, repeat_of=repeat_of)
        else:
            values = {name: value for name, value in line.items() if name not in ours}
            if number and not any(values.values()):  # nobody knows them: they are laid over nothing
                values = {}
            yield Row(row, values), Outcome(row, status, output, code, repeat_of=repeat_of)


def _lines(package: Package) -> Iterator[dict[str, Any]]:
    decode = msgspec.json.Decoder(dict[str, Any]).decode
    try:
        with objects().open_read(f"{package.prefix}/out/results.jsonl") as stream:
            for line in stream:
                yield decode(line)
    except (ObjectNotFound, msgspec.MsgspecError, UnicodeError) as error:
        raise FilesLost from error


class _Aside:
    """The rows in quarantine that the package ended with, asked for in their order."""

    def __init__(self, package: Package) -> None:
        self._rows = _set_aside(package)
        self._next = next(self._rows, None)

    def of(self, row: int) -> SetAsideRow | None:
        """The row with this number, if it was in quarantine."""
        while self._next is not None and self._next.row < row:
            self._next = next(self._rows, None)
        return self._next if self._next is not None and self._next.row == row else None


def _set_aside(package: Package) -> Iterator[SetAsideRow]:
    last = 0
    try:
        for aside in load(objects(), f"{package.prefix}/out/{QUARANTINE}", SetAsideRow):
            yield aside
            last = aside.row
        return
    except (ObjectNotFound, UnableToReadRecords):
        log.error("written quarantine lost", action="quarantine.lost", package=str(package.pk), row=last + 1)
    yield from (aside for aside in in_quarantine(_once_more(package, None)) if aside.row > last)


def in_quarantine(rows: Iterable[RowEnd]) -> Iterator[SetAsideRow]:
    """Those of ``rows`` that are in quarantine."""
    for row, ended in rows:
        if ended.status == ItemStatus.QUARANTINED:
            yield SetAsideRow(ended.row, ended.code or "", ended.detail, dict(row.values))

"""Which rows the lines of a corrected file are for, looked at while the file is read for good."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from itertools import chain, islice
from typing import TypeVar

from portal.packages.correcting.aims import Told
from portal.packages.correcting.corrected import row_named
from portal.packages.correcting.long_cells import long_cells_key, too_long_for_excel
from portal.packages.correcting.merging import quarantined
from portal.packages.correcting.overlay import ELSEWHERE, Overlay, ended_rounds
from portal.packages.delivering.ended import ended_rows
from portal.packages.delivering.sheets import Layout
from portal.packages.manifest import BadRow, Row
from portal.packages.models import Package
from portal.packages.reading.seen import Seen, key_of
from portal.packages.store import objects
from scheduler.records import CorrectingRow, SetAsideRow, writing

AT_ONCE = 1024
"""Ids that are looked up at once."""
Tell = Callable[[], None]
AnyRow = Row | BadRow
Some = TypeVar("Some")


class RowSet:
    """A set of row numbers from 1, in one bit for each row of the manifest."""

    def __init__(self, rows_total: int) -> None:
        self._bits = bytearray(rows_total // 8 + 1)

    def add(self, row: int) -> None:
        """Put ``row`` into the set."""
        self._bits[row >> 3] |= 1 << (row & 7)

    def __contains__(self, row: int) -> bool:
        return row >> 3 < len(self._bits) and bool(self._bits[row >> 3] & 1 << (row & 7))


def with_targets(correction: Package, rows: Iterable[AnyRow], aim: Told, *, tell: Tell) -> Iterator[AnyRow]:
    """``rows`` of a corrected file; those that are for no row in quarantine, or take another's id, as bad rows.

    ``aim`` is told which row in quarantine each of the others is for. ``tell`` is called often while the corrected
    package is gone through; what it raises ends the reading.
    """
    package = correction.corrects
    assert package is not None
    in_quarantine = _in_quarantine(package)
    taken = _ids_taken(package, correction.id_column, in_quarantine, tell) if correction.id_column else None
    aimed = _aimed(rows, Layout.of(package).row_column, in_quarantine, RowSet(package.rows_total), aim)
    return aimed if taken is None else _with_own_ids(aimed, correction.id_column, taken)


def keep_long_cells(correction: Package, *, tell: Tell) -> None:
    """Keep what a workbook of the quarantine has cut, before the file of ``correction`` is read for good."""
    assert correction.corrects is not None
    found = filter(None, map(too_long_for_excel, _told(correction.corrects, tell)))
    first = next(found, None)
    if first is not None:
        with writing(objects(), long_cells_key(correction)) as keep:
            for aside in chain([first], found):
                keep(aside)


def _told(package: Package, tell: Tell) -> Iterator[SetAsideRow]:
    for group in _groups(quarantined(package)):
        tell()
        yield from group


def _in_quarantine(package: Package) -> RowSet:
    found = RowSet(package.rows_total)
    for aside in quarantined(package):
        found.add(aside.row)
    return found


def _aimed(rows: Iterable[AnyRow], row_column: str, in_quarantine: RowSet, met: RowSet, aim: Told) -> Iterator[AnyRow]:
    """Each row that is readable, if it names a row in quarantine that no line before it has named."""
    for row in rows:
        if isinstance(row, BadRow):
            yield row
            continue
        target = row_named(row.values, row_column)
        if target is None:
            yield BadRow(row.number, "no_row_number", {"column": row_column}, row.values)
        elif target not in in_quarantine:
            yield BadRow(row.number, "not_in_quarantine", {"row": target}, row.values)
        elif target in met:
            yield BadRow(row.number, "row_repeated", {"row": target}, row.values)
        else:
            met.add(target)
            aim(CorrectingRow(row.number, target))
            yield row


def _ids_taken(package: Package, id_column: str, in_quarantine: RowSet, tell: Tell) -> Seen:
    """The ids of every row of the package that is not in quarantine, as they are now."""
    taken = Seen()
    with closing(Overlay(package, ended_rounds(package))) as overlay:
        for group in _groups(overlay.beside(ended_rows(package), lambda found: found[1].row)):
            tell()
            found = [(row.number, {**row.values, **laid.values} if laid else row.values) for (row, _), laid in group]
            own = {row: _id_of(values, id_column) for row, values in found if row not in in_quarantine}
            taken.add([key_of(id_.encode()) for id_ in own.values()], list(own))
    return taken


def _id_of(values: dict[str, str], id_column: str) -> str:
    return values.get(id_column, "").strip()


def _with_own_ids(rows: Iterable[AnyRow], id_column: str, taken: Seen) -> Iterator[AnyRow]:
    """Each row whose id no other row of the package has."""
    for group in _groups(rows):
        ids = [_id_of(row.values, id_column) for row in group]
        for row, id_, first in zip(group, ids, taken.find([key_of(id_.encode()) for id_ in ids]), strict=True):
            if first and id_ and isinstance(row, Row):
                detail = {"id": id_[:200], "first_row": first, ELSEWHERE: True}
                yield BadRow(row.number, "duplicate_id", detail, row.values)
            else:
                yield row


def _groups(rows: Iterable[Some]) -> Iterator[list[Some]]:
    source = iter(rows)
    while group := list(islice(source, AT_ONCE)):
        yield group

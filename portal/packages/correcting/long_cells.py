"""Cells that our own Excel file had cut, whole again as they come back in a corrected file.

Excel holds 32,767 characters in a cell, so a longer one is cut where the quarantine is given out as a workbook
(``delivering/excel.py``). What such a cell held is kept beside a correction while its file is read for good.
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager

import msgspec

from portal.billing.cells import guarded, unguarded
from portal.packages.delivering.excel import cut_cell
from portal.packages.delivering.kept import Kept, keeping
from portal.packages.manifest import BadRow, Row
from portal.packages.models import Package
from portal.packages.store import objects
from scheduler.objects import ObjectNotFound
from scheduler.records import SetAsideRow, load

_BREAK = re.compile(r"\r\n?|\n")


def long_cells_key(correction: Package) -> str:
    """Where the cells are kept that are too long for Excel, of the rows that ``correction`` may correct."""
    return f"{correction.prefix}/out/long_cells.jsonl.zst"


def too_long_for_excel(aside: SetAsideRow) -> SetAsideRow | None:
    """The row with only those of its cells that a workbook has cut; ``None`` without such a cell."""
    long = {name: text for name, text in aside.columns.items() if isinstance(text, str) and cut_cell(guarded(text))}
    return SetAsideRow(aside.row, aside.code, {}, long) if long else None


class LongCells:
    """The cells of :func:`long_cells_key`, by the row that they are of."""

    def __init__(self, kept: Kept) -> None:
        self._kept = kept

    def whole(self, row: Row, target: int) -> Row | BadRow:
        """``row`` of a corrected file, for the row ``target``, with every cut cell as it was before.

        A bad row if one was changed as it stood there: nobody knows the rest of it.
        """
        content = self._kept.get(target)
        if content is None:
            return row
        values = dict(row.values)
        for name, original in msgspec.msgpack.decode(content, type=dict[str, str]).items():
            found = _judged(values.get(name, ""), original)
            if found is None:
                return BadRow(row.number, "cut_cell", {"row": target, "column": name}, row.values)
            values[name] = found
        return row._replace(values=values)


def _judged(text: str, original: str) -> str | None:
    """What ``text`` in the place of ``original`` stands for; ``None`` for a cut cell that was changed."""
    cut = cut_cell(guarded(original))
    if cut is None or cut.mark not in text or text in (original, guarded(original)):
        return text
    as_given = {_plain(cut.text), _plain(unguarded(cut.text))}
    return original if _plain(text) in as_given else None


def _plain(text: str) -> str:
    """``text`` without what programs change in a cell that nobody touched: ends of lines, and space around it."""
    return _BREAK.sub("\n", text).strip()


@contextmanager
def long_cells(correction: Package) -> Iterator[LongCells | None]:
    """What is kept for ``correction``, as long as the block lasts; ``None`` for nothing. Flat memory."""
    if not objects().exists(long_cells_key(correction)):
        yield None
        return
    with keeping() as kept:
        for aside in _loaded(correction):
            kept.put(aside.row, msgspec.msgpack.encode(aside.columns))
        yield LongCells(kept)


def _loaded(correction: Package) -> Iterator[SetAsideRow]:
    try:
        yield from load(objects(), long_cells_key(correction), SetAsideRow)
    except ObjectNotFound:  # gone meanwhile: the correction is discarded or read anew
        return

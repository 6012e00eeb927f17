"""Which row of the corrected package each row of a correction is for, as it was found when its file was read.

It is written down then, beside the shards: what a correction achieves can be laid over the package whatever becomes
of the file that was handed over.
"""

from collections.abc import Callable, Iterator

import structlog

from portal.packages.correcting.corrected import row_named
from portal.packages.delivering.results import RowEnd
from portal.packages.delivering.sheets import Layout
from portal.packages.manifest import BadRow
from portal.packages.models import Package
from portal.packages.store import objects
from scheduler.objects import ObjectNotFound
from scheduler.records import CorrectingRow, UnableToReadRecords, load

NOT_FOR_A_ROW = frozenset({"no_row_number", "not_in_quarantine", "row_repeated"})
"""Why a line of a corrected file was set aside that is for no row of the package, or not for one in quarantine."""
log = structlog.get_logger()
Told = Callable[[CorrectingRow], None]


def aims_key(correction: Package) -> str:
    """Where ingest wrote which row each row of ``correction`` is for."""
    return f"{correction.prefix}/shards/aims.jsonl.zst"


class Aims:
    """The rows that the rows of ``correction`` are for, asked for in the order of the latter.

    Where that is lost, the column with the row number says so, if the row still has it.
    """

    def __init__(self, correction: Package) -> None:
        assert correction.corrects is not None
        self._row_column = Layout.of(correction.corrects).row_column
        self.are_lost = False
        self._found = self._read(correction)
        self._next = next(self._found, None)

    def of(self, found: RowEnd) -> int | None:
        """The row that ``found`` is for, if it is for one in quarantine."""
        row, ended = found
        while self._next is not None and self._next.row < ended.row:
            self._next = next(self._found, None)
        if self._next is not None:
            return self._next.of if self._next.row == ended.row else None
        if not self.are_lost or isinstance(row, BadRow) or ended.code in NOT_FOR_A_ROW:
            return None
        return row_named(row.values, self._row_column)

    def _read(self, correction: Package) -> Iterator[CorrectingRow]:
        try:
            yield from load(objects(), aims_key(correction), CorrectingRow)
        except (ObjectNotFound, UnableToReadRecords):
            log.error("aims of a correction lost", action="aims.lost", package=str(correction.pk))
            self.are_lost = True

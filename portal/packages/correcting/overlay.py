"""What corrections made of a package's rows, ready to be laid over them: on disk, so that memory stays flat."""

import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import msgspec

from portal.packages.correcting.aims import Aims
from portal.packages.delivering.ended import ended_rows
from portal.packages.delivering.results import Losses, Outcome
from portal.packages.following.progress import OVER
from portal.packages.manifest import BadRow, Row
from portal.packages.manifest.reading import RAW
from portal.packages.models import Package
from scheduler.domain.lifecycle import ItemStatus
from scheduler.records import SetAsideRow

ELSEWHERE = "is_elsewhere"
"""In the facts of a repeated id: the row that has it is one of the corrected package, not of this file."""
_LAID = frozenset({ItemStatus.SUCCEEDED, ItemStatus.QUARANTINED})
Some = TypeVar("Some")


@dataclass(frozen=True, slots=True)
class Laid:
    """What a correction made of one row: its ``values`` as handed over, and how it ended."""

    values: dict[str, str]
    outcome: Outcome

    def over(self, values: Mapping[str, Any], columns: frozenset[str]) -> dict[str, Any]:
        """``values`` of the row as corrected: what was handed over in place of its own."""
        own = {name: value for name, value in values.items() if name != RAW}
        known = columns | own.keys()
        return own | {name: value for name, value in self.values.items() if name in known}

    def set_aside(self, values: Mapping[str, Any], columns: frozenset[str]) -> SetAsideRow:
        """The row as it stands in quarantine now."""
        ended = self.outcome
        return SetAsideRow(ended.row, ended.code or "", ended.detail, self.over(values, columns))


def ended_rounds(package: Package, *, after: int = 0) -> list[Package]:
    """The corrections of ``package`` that have ended, in the order of their rounds; those ``after`` a round."""
    ended = package.corrections.filter(state__in=OVER, round__gt=after)
    return list(ended.select_related("corrects", "department", "model").order_by("round"))


class Overlay:
    """The rows that some corrections of one package handed over, by row; of several, the last one counts.

    Close it to let go of its file. It may be read on from another thread than the one that made it.
    """

    def __init__(self, package: Package, rounds: list[Package]) -> None:
        self.columns = frozenset(package.reading["columns"])
        self._losses = Losses()
        self._are_aims_lost = False
        self._rows = sqlite3.connect("", check_same_thread=False, isolation_level=None)  # "": a file without a name
        self._rows.execute("CREATE TABLE laid (row INTEGER PRIMARY KEY, round, line, succeeded, what)")
        self._rows.execute("CREATE INDEX lines ON laid (round, line)")
        for correction in rounds:
            self._lay(correction)

    @property
    def is_damaged(self) -> bool:
        """Whether something of the corrections is lost, so that some of their rows may be missing."""
        return self._losses.any or self._are_aims_lost

    @property
    def succeeded(self) -> int:
        """How many rows succeeded."""
        found: int = self._rows.execute("SELECT count(*) FROM laid WHERE succeeded").fetchone()[0]
        return found

    def close(self) -> None:
        """Let go of what it holds on disk."""
        self._rows.close()

    def __iter__(self) -> Iterator[Laid]:
        """What is laid over rows, in the order of the rows."""
        for (what,) in self._rows.execute("SELECT what FROM laid ORDER BY row"):
            yield msgspec.msgpack.decode(what, type=Laid)

    def beside(self, rows: Iterable[Some], number: Callable[[Some], int]) -> Iterator[tuple[Some, Laid | None]]:
        """Each of ``rows``, which come in the order of their ``number``, with what is laid over it."""
        laid = iter(self)
        following = next(laid, None)
        for row in rows:
            while following is not None and following.outcome.row < number(row):
                following = next(laid, None)
            yield row, following if following is not None and following.outcome.row == number(row) else None

    def _lay(self, correction: Package) -> None:
        self._rows.execute("BEGIN")
        aims = Aims(correction)
        for line, ended in ended_rows(correction, self._losses):
            if ended.status in _LAID and (row := aims.of((line, ended))):
                self._put(correction, row, line, ended)
        self._are_aims_lost |= aims.are_lost
        self._rows.execute("COMMIT")

    def _put(self, correction: Package, row: int, line: Row | BadRow, ended: Outcome) -> None:
        laid = Laid(line.values, self._placed(correction, row, ended))
        self._rows.execute(
            "INSERT INTO laid VALUES (?, ?, ?, ?, ?) ON CONFLICT (row) DO UPDATE SET"
            " round=excluded.round, line=excluded.line, succeeded=excluded.succeeded, what=excluded.what"
            " WHERE NOT succeeded",
            [row, correction.round, line.number, ended.status == ItemStatus.SUCCEEDED, msgspec.msgpack.encode(laid)],
        )

    def _placed(self, correction: Package, row: int, ended: Outcome) -> Outcome:
        """``ended`` as of a row of the corrected package; other rows that it names are named as there, too."""
        detail, repeat_of = ended.detail, ended.repeat_of
        if ended.code == "duplicate_id" and not detail.get(ELSEWHERE):
            detail = {**detail, "first_row": self._row_of(correction, detail["first_row"])}
        if repeat_of is not None:
            repeat_of = self._row_of(correction, repeat_of)
        return replace(ended, row=row, shard=None, detail=detail, repeat_of=repeat_of)

    def _row_of(self, correction: Package, line: int) -> int | None:
        query = "SELECT row FROM laid WHERE round = ? AND line = ?"
        found = self._rows.execute(query, [correction.round, line]).fetchone()
        return found[0] if found else None

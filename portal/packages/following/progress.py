"""How far a package is: counts over its shards that add up to the manifest at every moment."""

import uuid
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from django.db.models import Count, F, QuerySet, Sum
from django.utils.translation import gettext as _

from portal.packages.models import SHARD_STATE_LABELS, Package, Shard
from scheduler.domain.lifecycle import SHARD_FINAL, Cause, PackageState, ShardState

MOST_CELLS = 400
OVER = frozenset({PackageState.COMPLETED, PackageState.CANCELLED})
PARKED = frozenset({Cause.PREEMPTION, Cause.OPERATOR_PAUSE})
_LOOKS: dict[str, str] = {ShardState.RUNNING: "r", ShardState.DEAD: "x", ShardState.CANCELLED: "c"}
_READ = frozenset(set(PackageState) - {PackageState.DRAFT, PackageState.VALIDATING, PackageState.INVALID})


@dataclass(frozen=True)
class Progress:
    """Rows of the manifest by how they ended, and shards by state.

    ``total`` = ``succeeded`` + ``quarantined`` + ``failed`` + ``cancelled`` + ``to_go`` always holds;
    ``quarantined`` includes the rows that were set aside before anything ran (``set_aside``). A row that a correction
    brought to its end succeeded, and is not quarantined any more. The ``repeated`` rows end with the shard of the row
    that they repeat; for the rows ``to_go`` the model is still to be asked ``requests_to_go`` times.
    """

    total: int = 0
    set_aside: int = 0
    succeeded: int = 0
    quarantined: int = 0
    failed: int = 0
    cancelled: int = 0
    to_go: int = 0
    repeated: int = 0
    requests_to_go: int = 0
    shards: dict[str, int] = field(default_factory=dict)
    parked: int = 0

    @property
    def finished(self) -> int:
        """Rows that have ended, one way or another."""
        return self.total - self.to_go

    @property
    def percent(self) -> float:
        """Finished rows in percent, one decimal, 100 only when nothing is to go."""
        if not self.total:
            return 0.0
        share = self.finished / self.total * 100
        return 100.0 if not self.to_go else min(99.9, round(share, 1))

    @property
    def shard_count(self) -> int:
        return sum(self.shards.values())

    @property
    def settled_shards(self) -> int:
        return self.shards.get(ShardState.SETTLED, 0)

    @property
    def running_shards(self) -> int:
        return self.shards.get(ShardState.RUNNING, 0) + self.shards.get(ShardState.ASSIGNED, 0)

    @property
    def dead_shards(self) -> int:
        return self.shards.get(ShardState.DEAD, 0)

    @property
    def cancelled_shards(self) -> int:
        return self.shards.get(ShardState.CANCELLED, 0)

    @property
    def done_percent(self) -> float:
        return self._of_total(self.succeeded)

    @property
    def aside_percent(self) -> float:
        return self._of_total(self.quarantined)

    @property
    def bad_percent(self) -> float:
        return self._of_total(self.failed)

    def _of_total(self, rows: int) -> float:
        return round(rows / self.total * 100, 2) if self.total else 0.0


@dataclass(frozen=True)
class Cell:
    """One square of the shard grid: a shard, or several neighbours when there are very many.

    Its ``items`` and how they ended include the rows that repeat them.
    """

    look: str
    first_no: int
    last_no: int
    state: str
    items: int
    succeeded: int
    quarantined: int
    failed: int
    attempts: int

    @property
    def finished(self) -> int:
        return self.succeeded + self.quarantined + self.failed

    @property
    def text(self) -> str:
        """The cell in words, for those who read it or hear it."""
        facts = {
            "no": self.first_no, "last": self.last_no, "state": self.state_label,
            "done": f"{self.finished:,}", "rows": f"{self.items:,}",
        }  # fmt: skip
        if self.first_no == self.last_no:
            return _("Shard %(no)s: %(state)s, %(done)s of %(rows)s rows") % facts
        return _("Shards %(no)s–%(last)s: %(state)s, %(done)s of %(rows)s rows") % facts

    @property
    def state_label(self) -> str:
        """The state in words; a parked shard says so."""
        return _("parked") if self.look == "p" else str(SHARD_STATE_LABELS[ShardState(self.state)])


def progress_of(package: Package) -> Progress:
    """The progress of one package, in one query."""
    return progress_of_all([package])[package.pk]


def progress_of_all(packages: Iterable[Package]) -> dict[uuid.UUID, Progress]:
    """The progress of each of ``packages`` by id, in one query. They must come from a scoped query."""
    found = {package.pk: package for package in packages}
    # The packages were found through their department; their shards are theirs.
    shards = Shard.objects.across_departments().filter(package_id__in=found)
    rows: dict[uuid.UUID, list[Mapping[str, Any]]] = defaultdict(list)
    for row in _sums(shards):
        rows[row["package_id"]].append(row)
    return {key: _progress(package, rows[key]) for key, package in found.items()}


def cells_of(package: Package, *, at_most: int = MOST_CELLS) -> list[Cell]:
    """The shard grid in shard order; neighbours share a cell when there would be more than ``at_most``."""
    fields = (
        "no", "state", "cause", F("items") + F("repeats"), F("succeeded") + F("repeats_succeeded"),
        F("quarantined") + F("repeats_quarantined"), F("failed") + F("repeats_failed"), "attempts",
    )  # fmt: skip
    rows = list(package.shards.order_by("no").values_list(*fields))
    size = -(-len(rows) // at_most) or 1
    return [_cell(rows[start : start + size]) for start in range(0, len(rows), size)]


def _sums(shards: QuerySet[Shard]) -> Iterable[Mapping[str, Any]]:
    return (
        shards.order_by()
        .values("package_id", "state", "cause")
        .annotate(
            n=Count("id"),
            asked=Sum("items"),
            answered=Sum(F("succeeded") + F("quarantined") + F("failed")),
            rows=Sum(F("items") + F("repeats")),
            good=Sum(F("succeeded") + F("repeats_succeeded")),
            aside=Sum(F("quarantined") + F("repeats_quarantined")),
            lost=Sum(F("failed") + F("repeats_failed")),
        )
    )


def _progress(package: Package, rows: list[Mapping[str, Any]]) -> Progress:
    aside = package.rows_set_aside
    if package.state not in _READ:
        return Progress()
    corrected = package.rows_corrected
    start = Progress(
        total=package.rows_total,
        set_aside=aside,
        succeeded=corrected,
        quarantined=aside - corrected,
        repeated=package.rows_repeated,
    )
    done = start
    for row in rows:
        done = _add(done, row)
    ended = done.succeeded + done.quarantined + done.failed + done.cancelled
    return replace(done, to_go=max(0, done.total - ended))


def _add(so_far: Progress, row: Mapping[str, Any]) -> Progress:
    state = row["state"]
    unfinished = row["rows"] - row["good"] - row["aside"] - row["lost"]
    is_parked = state == ShardState.WAITING and row["cause"] in PARKED
    return replace(
        so_far,
        succeeded=so_far.succeeded + row["good"],
        quarantined=so_far.quarantined + row["aside"],
        failed=so_far.failed + row["lost"],
        cancelled=so_far.cancelled + (unfinished if state == ShardState.CANCELLED else 0),
        shards={**so_far.shards, state: so_far.shards.get(state, 0) + row["n"]},
        requests_to_go=so_far.requests_to_go + (0 if state in SHARD_FINAL else row["asked"] - row["answered"]),
        parked=so_far.parked + (row["n"] if is_parked else 0),
    )


def _cell(rows: list[tuple[Any, ...]]) -> Cell:
    states = [row[1] for row in rows]
    state = min(states, key=_urgency)
    sums = [sum(row[i] for row in rows) for i in range(3, 8)]
    return Cell(
        look=_look(state, {row[2] for row in rows}, quarantined=sums[2]),
        first_no=rows[0][0],
        last_no=rows[-1][0],
        state=state,
        items=sums[0],
        succeeded=sums[1],
        quarantined=sums[2],
        failed=sums[3],
        attempts=sums[4],
    )


def _urgency(state: str) -> int:
    """Of several shards in one cell, the state that says most about what is going on."""
    order = [ShardState.DEAD, ShardState.RUNNING, ShardState.ASSIGNED, ShardState.WAITING, ShardState.CANCELLED]
    return order.index(ShardState(state)) if state in order else len(order)


def _look(state: str, causes: set[str], *, quarantined: int) -> str:
    """The class that colours a cell: done, with quarantined rows, running, parked, dead (x), cancelled."""
    if state == ShardState.WAITING:
        return "p" if causes & PARKED else ""
    if state == ShardState.SETTLED:
        return "q" if quarantined else "d"
    return _LOOKS.get(state, "")


def is_over(package: Package) -> bool:
    """Nothing of this package will change any more."""
    return package.state in OVER

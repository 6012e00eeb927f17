"""The files that a package ends with, written in one pass over its rows, and what they then contain."""

from collections import Counter
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any

from portal.packages.delivering.results import QUARANTINE, Outcome
from portal.packages.delivering.sheets import Layout, Lines, csv_lines, json_lines
from portal.packages.models import Package
from portal.packages.store import objects
from scheduler.domain.lifecycle import ItemStatus
from scheduler.objects import ObjectWriter
from scheduler.records import SetAsideRow, writing


@dataclass
class Tally:
    """What the written files contain: rows by status, by reason, and by shard and status."""

    by_status: Counter[str] = field(default_factory=Counter)
    by_reason: Counter[tuple[str, str]] = field(default_factory=Counter)
    by_shard: Counter[tuple[int, str]] = field(default_factory=Counter)
    """Of items alone: their repeats are counted in ``repeats_by_shard``."""
    repeats_by_shard: Counter[tuple[int, str]] = field(default_factory=Counter)

    def add(self, outcome: Outcome) -> None:
        """Count the row that ended so."""
        self.by_status[outcome.status] += 1
        if outcome.code and outcome.status != ItemStatus.SUCCEEDED:
            self.by_reason[outcome.status, outcome.code] += 1
        if outcome.repeat_of is not None:
            self.repeats_by_shard[outcome.shard or 0, outcome.status] += 1
        elif outcome.shard is not None:
            self.by_shard[outcome.shard, outcome.status] += 1


class Files:
    """The tables and the quarantine, written together in one pass over the rows; they appear when ``stack`` ends.

    ``has_lost_columns``: rows get a further column with their number, as they may have lost their own.
    """

    def __init__(self, package: Package, stack: ExitStack, *, folder: str, has_lost_columns: bool = False) -> None:
        self._layout, self._number = Layout.of(package), ""
        if has_lost_columns:
            self._layout, self._number = self._layout.numbered()
        self._folder, self._stack = folder, stack
        self._results = self._open("results.csv", csv_lines(self._layout.results_heading()))
        self._objects = self._open("results.jsonl", json_lines())
        self._quarantine = stack.enter_context(writing(objects(), f"{folder}/{QUARANTINE}"))

    def _open(self, name: str, lines: Lines) -> tuple[ObjectWriter, Lines]:
        writer = self._stack.enter_context(objects().open_write(f"{self._folder}/{name}"))
        writer.write(lines.start())
        return writer, lines

    def add(self, values: dict[str, str], outcome: Outcome) -> None:
        """Write the row that ended so, after those before it in the manifest."""
        if self._number:
            values = {**values, self._number: str(outcome.row)}
        self._put(self._results, self._layout.cells(values, outcome))
        self._put(self._objects, self._layout.result(values, outcome))
        if outcome.status == ItemStatus.QUARANTINED:
            self._quarantine(SetAsideRow(outcome.row, outcome.code or "", outcome.detail, values))

    @staticmethod
    def _put(file: tuple[ObjectWriter, Lines], content: Any) -> None:
        writer, lines = file
        writer.write(lines.line(content))

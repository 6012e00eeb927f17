"""The lines of the files that people download: JSON Lines for programs, CSV that Excel opens rightly."""

import csv
import io
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import msgspec

from portal.billing.cells import guarded
from portal.packages.following.progress import OVER
from portal.packages.manifest.reading import RAW
from portal.packages.models import Kind, Package
from scheduler.records import SetAsideRow

_LINE_ENDS = (("\u2028", "\\u2028"), ("\u2029", "\\u2029"), ("\x85", "\\u0085"))
"""Legal inside JSON text, but taken for ends of lines by many readers."""


class Ended(Protocol):
    """What a line says of how a row ended."""

    @property
    def row(self) -> int: ...
    @property
    def status(self) -> str: ...
    @property
    def output(self) -> Any: ...
    @property
    def code(self) -> str | None: ...
    @property
    def repeat_of(self) -> int | None: ...


@dataclass(frozen=True, slots=True)
class Layout:
    """The columns of a package's downloads: its own, then ours under names that its own do not use."""

    columns: tuple[str, ...]
    status: str
    output: str
    code: str
    """Of why a row did not succeed: the code, as in the quarantine; only that has the sentence beside it."""
    properties: Mapping[str, str]
    """For extraction: top-level property → name of its column."""
    repeat: str = ""
    """The column that says whose result a repeated row got; ``""`` for a package without repeats."""

    @classmethod
    def of(cls, package: Package) -> "Layout":
        """The layout of ``package``."""
        columns = tuple(package.reading["columns"])
        if package.corrects is not None:
            ours = cls.of(package.corrects).ours
            columns = tuple(name for name in columns if name not in ours)
        taken = set(columns)
        status, output, code = (
            _free(name, taken) for name in ("slackwater_status", "slackwater_output", "slackwater_code")
        )
        schema = package.json_schema or {} if package.kind == Kind.EXTRACTION else {}
        properties = {name: _free(name, taken) for name in schema.get("properties", {})}
        repeat = _free("slackwater_repeat_of", taken) if _has_repeats(package) else ""
        return cls(columns, status, output, code, properties, repeat)

    def numbered(self) -> tuple["Layout", str]:
        """This layout with a further column, and its name: for the number of rows whose own columns are lost."""
        name = _free("slackwater_row", set(self.results_heading()))
        return replace(self, columns=(*self.columns, name)), name

    def result(self, values: Mapping[str, str], ended: Ended) -> dict[str, Any]:
        """A line of results.jsonl: every key the row had, and how it ended."""
        own = {name: values.get(name, "") for name in self.columns}
        further = {name: value for name, value in values.items() if name not in own and name != RAW}
        ours = {self.status: ended.status, self.output: ended.output, self.code: ended.code}
        if self.repeat:
            ours[self.repeat] = ended.repeat_of
        if further.keys() & ours.keys():  # a key of this row alone has a name of ours
            taken = {*own, *further, *ours}
            further = {_free(name, taken) if name in ours else name: value for name, value in further.items()}
        return own | further | ours

    def results_heading(self) -> list[str]:
        """The heading of the results as a table."""
        repeat = [self.repeat] if self.repeat else []
        return [*self.columns, self.status, self.output, *self.properties.values(), self.code, *repeat]

    def cells(self, values: Mapping[str, str], ended: Ended) -> list[Any]:
        """A line of the results as a table, under :meth:`results_heading`."""
        own = [values.get(name, "") for name in self.columns]
        extracted = ended.output if isinstance(ended.output, dict) else {}
        properties = [_cell(extracted.get(name)) for name in self.properties]
        repeat = [_cell(ended.repeat_of)] if self.repeat else []
        return [*own, ended.status, _cell(ended.output), *properties, ended.code or "", *repeat]

    def values(self, values: Mapping[str, str], ended: Ended) -> list[Any]:
        """The same line with the values as they are in JSON, the output as text."""
        own = [values.get(name, "") for name in self.columns]
        extracted = ended.output if isinstance(ended.output, dict) else {}
        properties = [_value(extracted.get(name)) for name in self.properties]
        repeat = [ended.repeat_of] if self.repeat else []
        output = None if ended.output is None else _cell(ended.output)
        return [*own, ended.status, output, *properties, ended.code, *repeat]

    def quarantine_heading(self) -> list[str]:
        """The heading of quarantine.csv: row number, code, sentence, the original columns, what fitted none."""
        taken = set(self.columns)
        return [
            *(_free(name, taken) for name in ("slackwater_row", "slackwater_code", "slackwater_reason")),
            *self.columns,
            _free("slackwater_raw", taken),
        ]

    @property
    def row_column(self) -> str:
        """The column of quarantine.csv that says which row a line is: a corrected file must have it."""
        return self.quarantine_heading()[0]

    @property
    def ours(self) -> frozenset[str]:
        """The other columns that quarantine.csv has beside the original ones; a corrected file need not have them."""
        return frozenset(self.quarantine_heading()) - {self.row_column, *self.columns}

    def quarantine_cells(self, aside: SetAsideRow, sentence: str) -> list[Any]:
        """A line of quarantine.csv, under :meth:`quarantine_heading`."""
        own = (aside.columns.get(name, "") for name in self.columns)
        return [aside.row, aside.code, sentence, *own, aside.columns.get(RAW, "")]


def _has_repeats(package: Package) -> bool:
    """Whether rows of ``package`` repeat others, in its own run or as they were corrected."""
    if package.rows_repeated or not package.rows_corrected:
        return package.rows_repeated > 0
    return package.corrections.filter(state__in=OVER, rows_repeated__gt=0).exists()


def _free(name: str, taken: set[str]) -> str:
    """``name``, or the first of ``name_2``, ``name_3`` … that is not taken; from now on it is."""
    free, number = name, 2
    while free in taken:
        free, number = f"{name}_{number}", number + 1
    taken.add(free)
    return free


def _cell(value: Any) -> Any:
    """A JSON value in one cell: text and numbers as they are, the rest as JSON."""
    if value is None:
        return ""
    if isinstance(value, str) or (isinstance(value, int | float) and not isinstance(value, bool)):
        return value
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _value(value: Any) -> Any:
    """A JSON value by itself, or as JSON where it has parts."""
    return _cell(value) if isinstance(value, dict | list) else value


class Lines(Protocol):
    """Turns what is to be in a file into its bytes, line by line; a form may hold lines back until it is due."""

    def start(self) -> bytes: ...

    def line(self, content: Any, /) -> bytes: ...

    def end(self) -> bytes: ...


class _JsonLines:
    def start(self) -> bytes:
        return b""

    def line(self, content: dict[str, Any], /) -> bytes:
        text = msgspec.json.encode(content).decode()
        for raw, escaped in _LINE_ENDS:
            text = text.replace(raw, escaped)
        return f"{text}\n".encode()

    def end(self) -> bytes:
        return b""


class _CsvLines:
    """RFC 4180 with a byte order mark, without which Excel does not take UTF-8 for what it is."""

    def __init__(self, heading: Sequence[str]) -> None:
        self._buffer = io.StringIO(newline="")
        self._writer = csv.writer(self._buffer)
        self._heading = heading

    def start(self) -> bytes:
        return b"\xef\xbb\xbf" + self.line(self._heading)

    def line(self, content: Iterable[Any], /) -> bytes:
        self._writer.writerow([guarded(cell) for cell in content])
        text = self._buffer.getvalue()
        self._buffer.seek(0)
        self._buffer.truncate()
        return text.encode()

    def end(self) -> bytes:
        return b""


class _GuardedLines:
    def __init__(self, lines: Lines) -> None:
        self.start, self.end, self._line = lines.start, lines.end, lines.line

    def line(self, content: Iterable[Any], /) -> bytes:
        return self._line([guarded(cell) for cell in content])


def guarded_lines(lines: Lines) -> Lines:
    """``lines`` of cells each of which is :func:`guarded`."""
    return _GuardedLines(lines)


def json_lines() -> Lines:
    """JSON Lines; ``line`` takes the object."""
    return _JsonLines()


def csv_lines(heading: Sequence[str]) -> Lines:
    """CSV under ``heading``; ``line`` takes the cells."""
    return _CsvLines(heading)

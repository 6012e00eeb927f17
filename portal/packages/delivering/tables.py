"""The results of a package as a file in the form that a person asks for, line by line. Flat memory."""

from collections.abc import Callable, Generator, Iterator, Mapping
from typing import Any, Literal, TypeAlias

import structlog
from django.utils.translation import gettext as _

from portal.departments.refusals import Refusal
from portal.packages.delivering import excel
from portal.packages.delivering.ended import losses_told
from portal.packages.delivering.excel import ExcelLines
from portal.packages.delivering.parquet import ParquetLines
from portal.packages.delivering.results import Outcome, RowEnd, UnableToAddUp
from portal.packages.delivering.sheets import Layout, Lines, csv_lines, json_lines
from portal.packages.following.progress import is_over
from portal.packages.manifest import UnableToRead
from portal.packages.models import Package
from scheduler.objects import ObjectNotFound
from scheduler.records import UnableToReadRecords

Format: TypeAlias = Literal["jsonl", "csv", "xlsx", "parquet"]
log = structlog.get_logger()
PIECE = 1 << 16
"""Bytes that a download is handed over in: each piece costs a change of threads."""
_TYPES = {"integer": "whole", "number": "number", "boolean": "flag"}
"""JSON Schema's types of properties → those of Parquet columns; whatever else a property is becomes text."""


class UnableToFitIntoExcel(Refusal):
    """There is more than Excel opens; the other forms have it all."""

    code = "too_large_for_excel"


def check_excel(*, rows: int, columns: int, most_rows: int | None = None) -> None:
    """Raise :class:`UnableToFitIntoExcel` for a table that Excel would not open."""
    most_rows = most_rows or excel.MOST_ROWS
    if rows > most_rows:
        raise UnableToFitIntoExcel(
            _("An Excel file of %(rows)s rows could not be opened (%(most)s at most). Take the CSV file.")
            % {"rows": rows, "most": most_rows},
            most=most_rows,
        )
    if columns > excel.MOST_COLUMNS:
        raise UnableToFitIntoExcel(
            _("Excel has no more than %(most)s columns; this table has %(columns)s. Take the CSV file.")
            % {"columns": columns, "most": excel.MOST_COLUMNS},
            most=excel.MOST_COLUMNS,
        )


class ResultFile:
    """The results of ``package`` in one form: bytes before, for each row, and after."""

    def __init__(self, package: Package, form: Format) -> None:
        self._layout, self._number = Layout.of(package), ""
        if is_over(package) and losses_told(package).get("original_columns"):
            self._layout, self._number = self._layout.numbered()
        self._lines, self._content = _FORMS[form](self._layout, package)

    def start(self) -> bytes:
        """The bytes before the first row."""
        return self._lines.start()

    def add(self, values: Mapping[str, str], ended: Outcome) -> bytes:
        """The bytes that are ready with the row that ended so."""
        if self._number:
            values = {**values, self._number: str(ended.row)}
        return self._lines.line(self._content(values, ended))

    def end(self) -> bytes:
        """The bytes after the last row."""
        return self._lines.end()


Content: TypeAlias = Callable[[Mapping[str, str], Outcome], Any]


def _jsonl(layout: Layout, _package: Package) -> tuple[Lines, Content]:
    return json_lines(), layout.result


def _csv(layout: Layout, _package: Package) -> tuple[Lines, Content]:
    return csv_lines(layout.results_heading()), layout.cells


def _xlsx(layout: Layout, package: Package) -> tuple[Lines, Content]:
    heading = layout.results_heading()
    check_excel(rows=package.rows_total, columns=len(heading))
    return ExcelLines(heading, title=_("Results")), layout.cells


def _parquet(layout: Layout, package: Package) -> tuple[Lines, Content]:
    kinds = dict.fromkeys(layout.results_heading(), "text")
    kinds |= {layout.properties[name]: kind for name, kind in _kinds_of(package).items() if name in layout.properties}
    if layout.repeat:
        kinds[layout.repeat] = "whole"
    return ParquetLines(kinds), layout.values


def _kinds_of(package: Package) -> dict[str, str]:
    """The types of the properties that a package extracts, as far as its schema gives each just one, or null."""
    properties = (package.json_schema or {}).get("properties", {})
    return {name: _kind_of(schema) for name, schema in properties.items()}


def _kind_of(schema: Any) -> str:
    types = schema.get("type") if isinstance(schema, dict) else None
    told = {types} if isinstance(types, str) else set(types or ()) - {"null"}
    return _TYPES.get(told.pop(), "text") if len(told) == 1 else "text"


_FORMS: Mapping[str, Callable[[Layout, Package], tuple[Lines, Content]]] = {
    "jsonl": _jsonl,
    "csv": _csv,
    "xlsx": _xlsx,
    "parquet": _parquet,
}


def streamed(package: Package, form: Format, rows: Iterator[RowEnd]) -> Generator[bytes]:
    """``rows`` of ``package`` as the pieces of a file. Refuses at once what Excel could not open."""
    return _in_pieces(_lines(ResultFile(package, form), rows))


def _lines(file: ResultFile, rows: Iterator[RowEnd]) -> Iterator[bytes]:
    """The file line by line. What cannot be read breaks it off, so that no part of it passes for the whole."""
    yield file.start()
    try:
        for row, ended in rows:
            yield file.add(row.values, ended)
    except (ObjectNotFound, UnableToRead, UnableToReadRecords, UnableToAddUp):
        log.exception("download broken off", action="download.broken")
        raise
    yield file.end()


def _in_pieces(lines: Iterator[bytes]) -> Generator[bytes]:
    piece = bytearray()
    for line in lines:
        piece += line
        if len(piece) >= PIECE:
            yield bytes(piece)
            piece.clear()
    yield bytes(piece)

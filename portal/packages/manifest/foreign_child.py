"""Reads one file of a format whose library cannot be bounded from within, in a process of its own.

Run as a script by :mod:`portal.packages.manifest.foreign`, with no more of the portal than this file and
``arrow_texts``: standard input is the file, standard output gets lines of JSON. The first says what the file is, each
further one is a list of rows, or of columns, the last is ``{"end": true}`` or ``{"error": code, …facts}``. Whatever
happens here ends this process alone.
"""

import importlib.util
import json
import mmap
import os
import resource
import sys
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any, Final, NoReturn

OPEN_FILES: Final = 64
MOST_TEXT: Final = 1_000_001
"""Characters of one text: one more than a field may have, so that the reader can tell."""
MOST_LINE: Final = 4_000_001
MOST_COLUMNS: Final = 2_000
"""More than are taken; of a table that has more only their names are told."""
WRITTEN_AT_ONCE: Final = 1 << 18
"""Characters after which rows are handed over, at most one row late."""
FILE: Final = "/dev/fd/0"


class Unreadable(Exception):
    """The file cannot be read: a code, and facts."""

    def __init__(self, code: str, **facts: Any) -> None:
        super().__init__(code)
        self.told = {"error": code, **facts}


def say(found: Any) -> None:
    """One line of JSON to whoever started this."""
    sys.stdout.buffer.write(json.dumps(found, ensure_ascii=False).encode("utf-8", "replace") + b"\n")
    sys.stdout.buffer.flush()


def say_rows(rows: Iterator[list[Any]]) -> None:
    """Rows as they come, several in a line."""
    held: list[list[Any]] = []
    size = 0
    for row in rows:
        held.append(row)
        size += _size(row)
        if size > WRITTEN_AT_ONCE or len(held) >= 1_000:
            say(held)
            held, size = [], 0
    if held:
        say(held)


def _size(row: list[Any]) -> int:
    return sum(len(cell[-1]) + 10 for cell in row[1])


def _within(cells: Iterator[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """``cells``, each with its text last, as much of them as shows that a row is too long."""
    kept: list[tuple[Any, ...]] = []
    left = MOST_LINE
    for cell in cells:
        text = cell[-1][: min(MOST_TEXT, left)]
        left -= len(text)
        kept.append((*cell[:-1], text))
        if left <= 0:
            break
    return kept


# --- .xls ---------------------------------------------------------------------------------------------------------


def read_xls(wished: str) -> None:
    """Rows ``[number, [[column, kind, format code, text], …]]`` of the wished sheet, or the first one with cells."""
    import xlrd

    try:
        book = xlrd.open_workbook(FILE, formatting_info=True, on_demand=True, ragged_rows=True, logfile=_Nowhere())
    except MemoryError:
        raise
    except Exception as error:  # it raises whatever a wrong byte leads to
        raise _not_xls(str(error)) from error
    hidden = book._sheet_visibility  # told elsewhere only by sheets that are loaded: 1 by a person, 2 by a program
    ordered = sorted(range(book.nsheets), key=lambda at: hidden[at])
    names = [book.sheet_names()[at] for at in ordered if hidden[at] < 2]
    if wished and wished not in names:
        raise Unreadable("unknown_sheet", sheet=wished[:255])
    sheet = book.sheet_by_name(wished or _likely(book, names))
    merged = [[top + 1, left + 1, bottom, right] for top, bottom, left, right in sheet.merged_cells]
    say({"sheet": sheet.name, "sheets": names, "is_mac": book.datemode == 1, "merged": merged})
    say_rows(_xls_rows(book, sheet))


_EMPTY: Final = (0, 6)


def _likely(book: Any, names: list[str]) -> str:
    """The first sheet with two rows or more, or else with one."""
    lone = ""
    for name in names:
        sheet = book.sheet_by_name(name)
        filled = (at for at in range(sheet.nrows) if any(ctype not in _EMPTY for ctype in sheet.row_types(at)))
        rows = sum(1 for _at in islice(filled, 2))
        if rows == 2:
            return name
        book.unload_sheet(name)
        lone = lone or (name if rows else "")
    if not lone:
        raise Unreadable("no_sheet")
    return lone


class _Nowhere:
    """Where the library's remarks go."""

    def write(self, _text: str) -> None:
        """Nothing."""

    def flush(self) -> None:
        """Nothing."""


def _xls_rows(book: Any, sheet: Any) -> Iterator[list[Any]]:
    for at in range(sheet.nrows):
        cells = _within(_xls_cells(book, sheet.row(at)))
        if cells:
            yield [at + 1, cells]


def _xls_cells(book: Any, row: list[Any]) -> Iterator[tuple[int, str, str, str]]:
    from xlrd.biffh import error_text_from_code

    for column, cell in enumerate(row, start=1):
        match cell.ctype:
            case 1 if cell.value:
                yield column, "text", "", cell.value
            case 2 | 3:
                yield column, "n", _xls_format(book, cell.xf_index), _digits(cell.value)
            case 4:
                yield column, "b", "", str(int(cell.value))
            case 5:
                yield column, "e", "", error_text_from_code.get(cell.value, "#ERROR")


def _xls_format(book: Any, at: int | None) -> str:
    try:
        return str(book.format_map[book.xf_list[at].format_key].format_str)
    except (IndexError, KeyError, TypeError):
        return "General"


def _digits(value: float) -> str:
    return str(int(value)) if value.is_integer() and abs(value) < 10**15 else repr(value)


_OTHERS: Final = (
    ("EncryptedPackage", "locked_file", ""),
    ("WordDocument", "wrong_format", "Word (.doc)"),
    ("PowerPoint Document", "wrong_format", "PowerPoint (.ppt)"),
    ("__properties_version1.0", "wrong_format", "Outlook (.msg)"),
)


def _not_xls(why: str) -> Unreadable:
    if "encrypted" in why:
        return Unreadable("locked_file")
    with Path(FILE).open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        for stream, code, found in _OTHERS:
            if data.find(stream.encode("utf-16-le")) >= 0:
                return Unreadable(code, **({"found": found} if found else {}))
    return Unreadable("broken_table")


# --- .parquet -----------------------------------------------------------------------------------------------------

ROWS_AT_ONCE: Final = 512
MOST_ROWS: Final = 50_000_000
MOST_CELLS: Final = 1_000_000_000
FEW_CELLS: Final = 20_000_000
MOST_CELLS_PER_BYTE: Final = 100
"""A file with more than a few cells that claims more is made of nothing but repetitions: no manifest is."""


def read_parquet(_wished: str) -> None:
    """Columns of texts, a few hundred rows at a time: ``""`` for nulls, ``[problem, shown]`` for what has no text."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    pa.set_cpu_count(1)
    pa.set_io_thread_count(1)
    with Path(FILE).open("rb") as file:
        try:
            parquet = pq.ParquetFile(file, buffer_size=1 << 20, pre_buffer=False)
        except (pa.ArrowException, OSError) as error:
            raise Unreadable("locked_file" if "crypt" in str(error) else "broken_table") from error
        _say_parquet(parquet)


def _texts() -> Callable[[Any], list[Any]]:
    """What makes texts of columns: a file beside this one, which is no package here."""
    spec = importlib.util.spec_from_file_location("arrow_texts", Path(__file__).with_name("arrow_texts.py"))
    if spec is None or spec.loader is None:
        raise AssertionError
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    found: Callable[[Any], list[Any]] = module.texts
    return found


def _say_parquet(parquet: Any) -> None:
    texts = _texts()
    all_names = parquet.schema_arrow.names
    places = [at for at, name in enumerate(all_names) if not name.startswith("__index_level_")]
    names = [all_names[at] for at in places]
    about = {"columns": names, "rows": parquet.metadata.num_rows}
    _refuse_claims(parquet.metadata.num_rows, len(names))
    if len(names) > MOST_COLUMNS or not parquet.metadata.num_rows:
        say(about)
        return
    pieces = parquet.iter_batches(batch_size=ROWS_AT_ONCE, use_threads=False)
    for number, piece in enumerate(pieces):
        columns = [piece.column(at) for at in places]
        if number == 0:
            _refuse_bytes(names, columns, texts)
            say(about)
        _say_columns(columns, piece.num_rows, texts)


def _refuse_claims(rows: int, columns: int) -> None:
    """A few bytes can stand for any number of rows: what cannot be meant is refused before one is read."""
    if rows > MOST_ROWS or rows * columns > MOST_CELLS:
        raise Unreadable("too_many_rows", rows=rows, limit=min(MOST_ROWS, MOST_CELLS // max(columns, 1)))
    if rows * columns > max(FEW_CELLS, MOST_CELLS_PER_BYTE * Path(FILE).stat().st_size):
        raise Unreadable("too_many_rows", problem="claimed_rows", rows=rows)


def _refuse_bytes(names: list[str], columns: list[Any], texts: Callable[[Any], list[Any]]) -> None:
    """A column in which the first rows have nothing but bytes that are no text is one of images or the like."""
    for name, column in zip(names, columns, strict=True):
        found = [cell for cell in texts(column) if cell]
        if found and all(cell[0] == "binary_value" for cell in found):
            raise Unreadable("binary_column", column=name[:255])


def _say_columns(columns: list[Any], rows: int, texts: Callable[[Any], list[Any]]) -> None:
    """One line of JSON for so many rows, or several where their texts are long."""
    cells = [texts(column) for column in columns]
    if sum(len(_shown(cell)) for column in cells for cell in column) <= MOST_LINE:
        say(cells)
    elif rows == 1:
        say([[cell] for cell in _cut([column[0] for column in cells])])
    else:
        del cells
        half = rows // 2
        _say_columns([column.slice(0, half) for column in columns], half, texts)
        _say_columns([column.slice(half) for column in columns], rows - half, texts)


def _cut(row: list[Any]) -> list[Any]:
    """As much of a row as shows that it is too long."""
    left = MOST_LINE
    for at, cell in enumerate(row):
        text = _shown(cell)[: min(MOST_TEXT, left)]
        row[at] = text if isinstance(cell, str) else [cell[0], text]
        left -= len(text)
    return row


def _shown(cell: Any) -> str:
    return str(cell if isinstance(cell, str) else cell[1])


# --- the process --------------------------------------------------------------------------------------------------


def limit_resources(memory_bytes: int, cpu_s: int) -> None:
    """What a file may cost. The library's own threads and caches are kept out of it by the environment."""
    resource.setrlimit(resource.RLIMIT_DATA, (memory_bytes, memory_bytes))
    resource.setrlimit(resource.RLIMIT_CPU, (cpu_s, cpu_s + 5))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_NOFILE, (OPEN_FILES, OPEN_FILES))


def main(kind: str, wished: str, memory_bytes: str, cpu_s: str) -> NoReturn:
    """Read standard input as ``kind``, within so many bytes of writable memory and seconds of the processor."""
    limit_resources(int(memory_bytes), int(cpu_s))
    try:
        {"xls": read_xls, "parquet": read_parquet}[kind](wished)
        told: dict[str, Any] = {"end": True}
    except Unreadable as error:
        told = error.told
    except MemoryError:
        told = {"error": "table_too_large"}
    except BrokenPipeError:
        os._exit(1)
    except Exception as error:
        is_memory = type(error).__name__ == "ArrowMemoryError" or "alloc" in str(error)
        told = {"error": "table_too_large" if is_memory else "broken_table"}
    say(told)
    os._exit(0)  # no library gets to tidy up what it may have broken


if __name__ == "__main__":
    main(*sys.argv[1:])

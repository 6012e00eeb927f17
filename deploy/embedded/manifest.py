"""The demo's manifest: ours, or the first rows of somebody's own file."""

import csv
import io
import json
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from openpyxl import load_workbook

from deploy.embedded.client import UnableToGoOn
from deploy.embedded.programs import ROOT

OURS = ROOT / "static" / "samples" / "product-reviews.csv"
LOOKED_AT = 50

Row = dict[str, Any]


@dataclass(frozen=True)
class Manifest:
    """A file to submit, the column to label and, where one is known, the column that names a row."""

    path: Path
    column: str
    id_column: str


def manifest(data: Path | None, *, limit: int | None, column: str | None, folder: Path) -> Manifest:
    """Our sample, or ``data``; with ``limit`` a file in ``folder`` that has its first rows only."""
    source = data or OURS
    if not source.is_file():
        raise UnableToGoOn(f"There is no file {source}.")
    path = _cut(source, limit, folder) if limit else source
    head = list(islice(_rows(path), LOOKED_AT))
    if not head:
        raise UnableToGoOn(f"{source} has no rows.")
    if column and column not in head[0]:
        raise UnableToGoOn(f"{source.name} has no column {column!r}; it has {', '.join(map(repr, head[0]))}.")
    chosen = column or ("review" if data is None else _longest_text(head))
    return Manifest(path, chosen, "review_id" if data is None else "")


def _longest_text(head: list[Row]) -> str:
    """The column whose texts are longest: what people want labelled is what they wrote."""
    return max(head[0], key=lambda name: sum(len(str(row.get(name) or "")) for row in head))


def _cut(source: Path, limit: int, folder: Path) -> Path:
    """A spreadsheet becomes CSV; text files keep their lines' order and become UTF-8."""
    head = list(islice(_rows(source), limit))
    if source.suffix.lower() == ".jsonl":
        path = folder / f"{source.stem}-{limit}.jsonl"
        path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in head), encoding="utf-8")
        return path
    path = folder / f"{source.stem}-{limit}.csv"
    with path.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.DictWriter(stream, list(head[0]) if head else [], extrasaction="ignore")
        writer.writeheader()
        writer.writerows(head)
    return path


def _rows(path: Path) -> Iterator[Row]:
    kind = path.suffix.lower()
    if kind == ".xlsx":
        yield from _sheet_rows(path)
        return
    with _text(path) as stream:
        if kind == ".jsonl":
            yield from (json.loads(line) for line in stream if line.strip())
        else:
            yield from csv.DictReader(stream)


def _sheet_rows(path: Path) -> Iterator[Row]:
    lines = load_workbook(path, read_only=True, data_only=True).worksheets[0].iter_rows(values_only=True)
    header = [str(cell or "") for cell in next(lines, ())]
    for line in lines:
        yield dict(zip(header, ("" if cell is None else str(cell) for cell in line), strict=False))


def _text(path: Path) -> io.TextIOWrapper:
    """UTF-8 if the whole file is, else GB18030: the same order in which the portal looks."""
    try:
        with path.open(encoding="utf-8-sig") as probe:
            while probe.read(1 << 20):
                pass
    except UnicodeDecodeError:
        return path.open(encoding="gb18030", newline="")
    return path.open(encoding="utf-8-sig", newline="")

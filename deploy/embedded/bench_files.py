"""The manifests that ``./run bench ingest`` reads: rows made of our sample's sentences, no two of them alike."""

import csv
import json
import random
from collections.abc import Callable, Iterator
from pathlib import Path

from deploy.embedded.manifest import OURS

Fields = tuple[str, str, str]
COLUMNS = ("review_id", "stars", "text")
TEXT_BYTES = 105
"""Bytes at which a text is long enough: with id, stars and quotes a million rows are about 150 MB."""


def written(kind: str, path: Path, rows: int) -> Path:
    """``path`` with so many rows as ``csv``, ``jsonl`` or ``xlsx``; the same texts each time."""
    WRITERS[kind](path, rows)
    return path


def _rows(count: int) -> Iterator[Fields]:
    chosen = random.Random(4)  # noqa: S311
    sentences = _sentences()
    for number in range(1, count + 1):
        text = f"Order {number}:"
        while len(text.encode()) < TEXT_BYTES:
            text += f" {chosen.choice(sentences)}"
        yield f"R{number:07}", str(chosen.randint(1, 5)), text


def _sentences() -> list[str]:
    """The sample's short reviews, English and Chinese."""
    with OURS.open(encoding="utf-8", newline="") as stream:
        reviews = [row["review"].strip() for row in csv.DictReader(stream)]
    return [review for review in reviews if 0 < len(review.encode()) < TEXT_BYTES]


def _csv(path: Path, rows: int) -> None:
    with path.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(COLUMNS)
        writer.writerows(_rows(rows))


def _jsonl(path: Path, rows: int) -> None:
    with path.open("w", encoding="utf-8") as stream:
        for review_id, stars, text in _rows(rows):
            row = {"review_id": review_id, "stars": int(stars), "text": text}
            stream.write(json.dumps(row, ensure_ascii=False) + "\n")


def _xlsx(path: Path, rows: int) -> None:
    import xlsxwriter

    with xlsxwriter.Workbook(str(path), {"constant_memory": False, "tmpdir": str(path.parent)}) as book:
        sheet = book.add_worksheet("reviews")
        sheet.write_row(0, 0, COLUMNS)
        for line, (review_id, stars, text) in enumerate(_rows(rows), start=1):
            sheet.write_string(line, 0, review_id)
            sheet.write_number(line, 1, int(stars))
            sheet.write_string(line, 2, text)


WRITERS: dict[str, Callable[[Path, int], None]] = {"csv": _csv, "jsonl": _jsonl, "xlsx": _xlsx}

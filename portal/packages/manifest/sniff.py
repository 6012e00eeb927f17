"""How a stored upload is read: format, delimiter, columns. Pure."""

import csv
import io
import json
import re
from itertools import islice
from pathlib import PurePath
from typing import BinaryIO

from portal.packages.manifest import csv_rows, jsonl_rows, xlsx_rows
from portal.packages.manifest.probe import Probed
from portal.packages.manifest.reading import Reading, UnableToRead
from portal.packages.manifest.workbook import damage_told, opened

TEXT_SUFFIXES = frozenset({"", ".csv", ".tsv", ".tab", ".txt", ".jsonl", ".ndjson", ".json"})
JSON_SUFFIXES = frozenset({".jsonl", ".ndjson", ".json"})
_DELIMITERS = (",", "\t", ";", "|")
_NOTED = re.compile('"?sep=([,;|\t])"?\r?\n', re.IGNORECASE)
"""The first line that tells Excel the delimiter."""
_SAMPLE = 256 * 1024
_SAMPLE_ROWS = 20
_ZIPPED = {
    "word/document.xml": "Word",
    "ppt/presentation.xml": "PowerPoint",
    "content.xml": "OpenDocument",
    "xl/workbook.bin": "Excel (.xlsb)",
}


def suffix_of(filename: str) -> str:
    """The ending of ``filename`` in lower case with its dot, or ``""``; short and plain enough for a key."""
    suffix = PurePath(filename).suffix.lower()
    return suffix if suffix[1:].isalnum() and suffix.isascii() and len(suffix) <= 10 else ""


def sniff(stream: BinaryIO, found: Probed, filename: str) -> Reading:
    """How the file is read; raises :class:`UnableToRead` when it cannot be, or has no row."""
    suffix = suffix_of(filename)
    if found.content == "zip":
        _refuse_other_zip(stream)
        reading = xlsx_rows.describe(stream)
    elif suffix not in TEXT_SUFFIXES:
        raise UnableToRead("unknown_format", suffix=suffix)
    else:
        reading = _sniff_text(stream, found, is_json=suffix in JSON_SUFFIXES)
    return reading


def _refuse_other_zip(stream: BinaryIO) -> None:
    with damage_told(), opened(stream) as archive:
        names = set(archive.namelist())
    if "xl/workbook.xml" in names:
        return
    known = next((kind for name, kind in _ZIPPED.items() if name in names), None)
    if known is None and "[Content_Types].xml" in names:  # a workbook may lie elsewhere, or be missing
        return
    raise UnableToRead("wrong_format", found=known or "ZIP")


def _sniff_text(stream: BinaryIO, found: Probed, *, is_json: bool) -> Reading:
    sample = stream.read(_SAMPLE).decode(found.encoding, "ignore")
    stream.seek(0)
    start = sample.lstrip()
    if not start:
        raise UnableToRead("empty_file")
    if start.startswith("[") and (is_json or _is_json_array(start)):
        raise UnableToRead("json_array")
    if is_json or _is_json_line(start):
        return jsonl_rows.describe(stream, found.encoding, found.certainty)
    reading = Reading("csv", found.encoding, _delimiter(sample), certainty=found.certainty)
    return csv_rows.describe(stream, reading)


def _is_json_line(start: str) -> bool:
    try:
        return isinstance(json.loads(start.partition("\n")[0]), dict)
    except (ValueError, RecursionError):
        return False


def _is_json_array(start: str) -> bool:
    """Does the text begin as an array of objects? (A CSV heading may well begin with a bracket.)"""
    return start[1:].lstrip().startswith("{")


def _delimiter(sample: str) -> str:
    """The delimiter that splits the heading and the most rows of ``sample`` into the same number of fields."""

    def fitness(delimiter: str) -> tuple[float, int]:
        reader = csv.reader(io.StringIO(sample, newline=""), delimiter=delimiter)
        try:
            counts = [len(fields) for fields in islice(reader, _SAMPLE_ROWS + 1) if fields]
        except csv.Error:
            return (0.0, 0)
        if not counts or counts[0] < 2:
            return (0.0, 0)
        return (sum(count == counts[0] for count in counts) / len(counts), counts[0])

    noted = _NOTED.match(sample)
    if noted:
        return noted[1]
    best = max(_DELIMITERS, key=fitness)
    return best if fitness(best)[1] else ","

"""How a text file is read: CSV or JSON Lines, its delimiter and columns. Pure."""

import csv
import io
import json
import re
from itertools import islice
from typing import BinaryIO

from portal.packages.manifest import csv_rows, jsonl_rows
from portal.packages.manifest.probe import Probed
from portal.packages.manifest.reading import AS_FOUND, Reading, UnableToRead, Wish

_DELIMITERS = (",", "\t", ";", "|")
_NOTED = re.compile('"?sep=([,;|\t])"?\r?\n', re.IGNORECASE)
"""The first line that tells Excel the delimiter."""
_SAMPLE = 256 * 1024
_SAMPLE_ROWS = 20


def describe(stream: BinaryIO, found: Probed, *, is_json: bool, wish: Wish = AS_FOUND) -> Reading:
    """How the text in ``stream`` is read; ``is_json`` is what its name says. Raises :class:`UnableToRead`."""
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

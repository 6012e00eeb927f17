"""How a text file is read: CSV, JSON Lines or OpenAI lines, its delimiter and columns. Pure."""

import csv
import io
import re
from itertools import islice
from typing import BinaryIO

from portal.packages.manifest import csv_rows, jsonl_rows, openai_rows
from portal.packages.manifest.json_values import Malformed, object_of
from portal.packages.manifest.probe import Probed
from portal.packages.manifest.reading import AS_FOUND, Reading, UnableToRead, Wish
from portal.packages.manifest.replayed import head_of, replayed

_DELIMITERS = (",", "\t", ";", "|")
_NOTED = re.compile('"?sep=([,;|\t])"?\r?\n', re.IGNORECASE)
"""The first line that tells Excel the delimiter."""
_SAMPLE = 256 * 1024
_SAMPLE_ROWS = 20


def describe(stream: BinaryIO, found: Probed, *, is_json: bool, wish: Wish = AS_FOUND) -> Reading:
    """How the text in ``stream`` is read, from where it stands on; ``is_json`` is what its name says.

    Raises :class:`UnableToRead`, also for a ``wish`` that the file does not fit.
    """
    encoding, certainty = (wish.encoding, "chosen") if wish.encoding else (found.encoding, found.certainty)
    head = head_of(stream, _SAMPLE)
    sample = head.decode(encoding, "ignore")
    start = sample.lstrip("\ufeff \t\r\n")
    if not start:
        raise UnableToRead("empty_file")
    if start.startswith("[") and (is_json or _is_json_array(start)):
        raise UnableToRead("json_array")
    text = replayed(head, stream)
    if is_json or _is_json_line(start):
        return _of_json(text, encoding, certainty, start)
    delimiter = wish.delimiter or _delimiter(sample)
    reading = Reading(
        "csv", encoding, delimiter, certainty=certainty,
        quote='"' if wish.quote is None else wish.quote,
        has_heading=wish.has_heading is not False,
    )  # fmt: skip
    return csv_rows.describe(text, reading)


def _of_json(text: BinaryIO, encoding: str, certainty: str, start: str) -> Reading:
    if _is_request(start):
        return openai_rows.describe(Reading("openai", encoding, certainty=certainty))
    return jsonl_rows.describe(text, encoding, certainty)


def _is_request(start: str) -> bool:
    """Is the first line that is an object one of the OpenAI batch format?"""
    for line in start.splitlines()[: jsonl_rows.LOOKED_AT]:
        try:
            return openai_rows.is_request(object_of(line))
        except Malformed:
            continue
    return False


def _is_json_line(start: str) -> bool:
    try:
        return bool(object_of(re.split(r"[\r\n]", start, maxsplit=1)[0]))
    except Malformed:
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

"""How a text file is read: CSV, JSON Lines or OpenAI lines, its delimiter and columns. Pure."""

import json
from itertools import islice
from typing import BinaryIO

from portal.packages.manifest import csv_rows, jsonl_rows, openai_rows
from portal.packages.manifest.decoding import sampled
from portal.packages.manifest.dialect import dialect_of
from portal.packages.manifest.json_values import Malformed, object_of
from portal.packages.manifest.lines import lines_of
from portal.packages.manifest.probe import Probed
from portal.packages.manifest.reading import AS_FOUND, Reading, UnableToRead, Wish
from portal.packages.manifest.replayed import Watched, head_of, replayed
from portal.packages.manifest.text_probe import TextProbe

_SAMPLE = 256 * 1024


def describe(stream: BinaryIO, found: Probed, *, is_json: bool, wish: Wish = AS_FOUND) -> Reading:
    """How the text in ``stream`` is read, from where it stands on; ``is_json`` is what its name says.

    Raises :class:`UnableToRead`, also for a ``wish`` that the file does not fit.
    """
    if not wish.encoding or (found.encoding, found.certainty) == (wish.encoding, "chosen"):
        return _described(stream, found.encoding, found.certainty, is_json, wish)
    probe = TextProbe(b"", wish.encoding)  # what was found says nothing of this encoding
    watched = Watched(stream, probe.feed)
    try:
        return _described(watched, wish.encoding, "chosen", is_json, wish)
    finally:
        watched.drain()
        probe.finish()  # that the encoding is wrong explains whatever else is


def _described(stream: BinaryIO, encoding: str, certainty: str, is_json: bool, wish: Wish) -> Reading:
    head = head_of(stream, _SAMPLE)
    sample = sampled(head, encoding)
    start = sample.lstrip()
    if not start:
        raise UnableToRead("empty_file")
    if start.startswith("[") and (is_json or _is_json_array(start)):
        raise UnableToRead("json_array")
    text, is_whole = replayed(head, stream), len(head) < _SAMPLE
    lines = lines_of(start)
    if _is_object(lines[0], is_cut=len(lines) == 1 and not is_whole) or (is_json and not _is_json_by_name_alone(lines)):
        return _of_json(text, encoding, certainty)
    plain = Reading("csv", encoding, certainty=certainty)
    return csv_rows.describe(text, dialect_of(sample, wish, plain, is_whole=is_whole))


def _of_json(text: BinaryIO, encoding: str, certainty: str) -> Reading:
    """Requests of the OpenAI batch format if the first line that is an object is one, or else any objects."""
    looked_at = list(islice(jsonl_rows.records(text, encoding), jsonl_rows.LOOKED_AT))
    first = next((record for record in looked_at if isinstance(record, jsonl_rows.Record)), None)
    if first and openai_rows.is_request(first.found):
        return openai_rows.describe(Reading("openai", encoding, certainty=certainty))
    return jsonl_rows.describe(looked_at, encoding, certainty)


def _is_object(line: str, *, is_cut: bool) -> bool:
    """Is ``line`` an object with something in it? One that ``is_cut`` begins as no heading does, with a brace."""
    if is_cut:
        return line.startswith("{")
    try:
        return bool(object_of(line))
    except Malformed as error:
        return error.problem == "nested_too_deep" and line.startswith("{")


def _is_json_by_name_alone(lines: list[str]) -> bool:
    """Does none of the first lines begin as an object, nor is the first one any other JSON?"""
    return not _is_json(lines[0]) and not any(line.lstrip().startswith("{") for line in lines[: jsonl_rows.LOOKED_AT])


def _is_json(line: str) -> bool:
    """Is ``line`` a list or text of JSON, or the beginning of such? (A CSV heading may be in quotes.)"""
    try:
        return isinstance(json.loads(line), list | str)
    except RecursionError:
        return True
    except ValueError:
        return line.startswith("[")


def _is_json_array(start: str) -> bool:
    """Does the text begin as an array of objects? (A CSV heading may well begin with a bracket.)"""
    return start[1:].lstrip().startswith("{")

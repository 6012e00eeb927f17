"""How a text file is read: CSV, JSON Lines or OpenAI lines, its delimiter and columns. Pure."""

import re
from typing import BinaryIO

from portal.packages.manifest import csv_rows, jsonl_rows, openai_rows
from portal.packages.manifest.decoding import sampled
from portal.packages.manifest.dialect import dialect_of
from portal.packages.manifest.json_values import Malformed, object_of
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
    text = replayed(head, stream)
    if (is_json and not _is_json_by_name_alone(start)) or _is_json_line(start):
        return _of_json(text, encoding, certainty, start)
    plain = Reading("csv", encoding, certainty=certainty)
    return csv_rows.describe(text, dialect_of(sample, wish, plain, is_whole=len(head) < _SAMPLE))


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


def _is_json_by_name_alone(start: str) -> bool:
    """Does no line begin as an object, nor the first one as any other JSON?"""
    lines = start.splitlines()[: jsonl_rows.LOOKED_AT]
    return start[0] not in '["' and not any(line.lstrip().startswith("{") for line in lines)


def _is_json_array(start: str) -> bool:
    """Does the text begin as an array of objects? (A CSV heading may well begin with a bracket.)"""
    return start[1:].lstrip().startswith("{")

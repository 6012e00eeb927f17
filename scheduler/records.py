"""The lines inside shard and part objects (CONTRACTS §4): zstandard-compressed JSON lines.

A shard object holds its items in running order; a part object holds finished items and never changes.
Same records in, same bytes out.
"""

import io
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeVar

import msgspec
import structlog
import zstandard

from scheduler.domain.lifecycle import ItemStatus
from scheduler.objects import ObjectNotFound, ObjectStore
from scheduler.tokenizers import ChatMessage
from scheduler.wire import Usage

LEVEL = 3
LONGEST_LINE = 64 << 20
"""Bytes of one record that a reader takes into memory; a longer one is damage, not data."""
LONGEST_RESULT = 16 << 20
ENDED = frozenset({ItemStatus.SUCCEEDED, ItemStatus.QUARANTINED, ItemStatus.FAILED})
_PART_NAME = re.compile(r"([0-9]{1,9})-([0-9]{1,9})\.jsonl\.zst")

log = structlog.get_logger()


class UnableToReadRecords(ValueError):
    """An object is there but does not hold what it should: it is damaged, and stays so."""


class ShardItem(msgspec.Struct, frozen=True, rename={"row": "i"}):
    """One request: ``row`` is the manifest row (from 1), ``id`` the row's own id, ``tokens`` its prompt's length."""

    row: int
    id: str
    request: list[ChatMessage]
    tokens: int


class ItemResult(msgspec.Struct, frozen=True, rename={"row": "i"}, omit_defaults=True):
    """How one item ended. ``status`` is an ``ItemStatus``; ``reason`` a code; ``detail`` facts for its sentence."""

    row: int
    status: str
    output: Any = None
    reason: str | None = None
    detail: dict[str, Any] = {}
    usage: Usage = Usage()
    charged: bool = False


class SetAsideRow(msgspec.Struct, frozen=True, rename={"row": "i"}):
    """A manifest row in quarantine, with its original columns (text as read)."""

    row: int
    code: str
    detail: dict[str, Any]
    columns: dict[str, Any]


class RepeatedRow(msgspec.Struct, frozen=True, rename={"row": "i"}):
    """A manifest row whose request equals that of the earlier row ``of``, which is an item."""

    row: int
    of: int


class RepeatCount(msgspec.Struct, frozen=True, rename={"row": "i", "repeats": "n"}):
    """How many later rows repeat the item ``row``."""

    row: int
    repeats: int


class CorrectingRow(msgspec.Struct, frozen=True, rename={"row": "i"}):
    """A row of a corrected file, which is for the row ``of`` of the package that it corrects."""

    row: int
    of: int


AnyRecord: TypeAlias = ShardItem | ItemResult | SetAsideRow | RepeatedRow | RepeatCount | CorrectingRow
Record = TypeVar("Record", ShardItem, ItemResult, SetAsideRow, RepeatedRow, RepeatCount, CorrectingRow)
_encoder = msgspec.json.Encoder()


def dump(records: Iterable[AnyRecord]) -> bytes:
    """The bytes of an object that holds ``records``."""
    compressor = zstandard.ZstdCompressor(level=LEVEL, write_content_size=False).compressobj()
    return compressor.compress(_encoder.encode_lines(records)) + compressor.flush()


@contextmanager
def writing(store: ObjectStore, key: str) -> Iterator[Callable[[AnyRecord], None]]:
    """A function that appends one record to the new object ``key``, which appears when the block ends well."""
    compressor = zstandard.ZstdCompressor(level=LEVEL, write_content_size=False).compressobj()
    with store.open_write(key) as sink:

        def write(record: AnyRecord) -> None:
            sink.write(compressor.compress(_encoder.encode(record) + b"\n"))

        yield write
        sink.write(compressor.flush())


def load(store: ObjectStore, key: str, kind: type[Record], *, longest: int = LONGEST_LINE) -> Iterator[Record]:
    """The records of the object ``key``, streamed. Raises ``ObjectNotFound`` and :class:`UnableToReadRecords`."""
    decoder = msgspec.json.Decoder(kind)
    with store.open_read(key) as raw, zstandard.ZstdDecompressor().stream_reader(raw) as plain:
        lines = io.BufferedReader(plain, 1 << 16)
        try:
            while line := lines.readline(longest + 1):
                if len(line) > longest:
                    raise UnableToReadRecords(f"{key} has a record of more than {longest} bytes")
                yield decoder.decode(line)
        except (msgspec.MsgspecError, zstandard.ZstdError, UnicodeError) as error:
            raise UnableToReadRecords(f"{key}: {error}") from error


def part_key(prefix: str, epoch: int, seq: int) -> str:
    """The key of a part under ``<dept>/<package>/parts/<shard>/``."""
    return f"{prefix}{epoch}-{seq}.jsonl.zst"


def part_order(key: str) -> tuple[int, int]:
    """(epoch, seq) of a part key: of several results for one row, the lowest wins. ``ValueError`` for another key."""
    found = _PART_NAME.fullmatch(key.rpartition("/")[2])
    if found is None:
        raise ValueError(f"not the key of a part: {key!r}")
    return int(found[1]), int(found[2])


def is_part(key: str, prefix: str) -> bool:
    """Whether ``key`` names a part right under ``prefix``."""
    return key.startswith(prefix) and _PART_NAME.fullmatch(key[len(prefix) :]) is not None


def merged(store: ObjectStore, keys: Iterable[str]) -> dict[int, ItemResult]:
    """The one result of each row over ``keys``, by row. Raises as :func:`load` does."""
    results: dict[int, ItemResult] = {}
    for key in sorted(keys, key=part_order):
        for result in _results(store, key):
            results.setdefault(result.row, result)
    return results


def _results(store: ObjectStore, key: str) -> list[ItemResult]:
    found = list(load(store, key, ItemResult, longest=LONGEST_RESULT))
    if any(result.status not in ENDED for result in found):
        raise UnableToReadRecords(f"{key} has a result of a status that there is not")
    return found


@dataclass(frozen=True, slots=True)
class Durable:
    """What can be read of some parts: the one result of each row, the ``keys`` it is from, and what is ``lost``."""

    results: dict[int, ItemResult]
    keys: tuple[str, ...]
    lost: tuple[str, ...]


def readable(store: ObjectStore, keys: Iterable[str], *, patient: bool = True) -> Durable:
    """As :func:`merged`, but a part that is missing or damaged counts as not there, as a whole, and is named.

    ``OSError`` (the store is away) is raised to a ``patient`` caller, who asks again; to another it is a loss too.
    """
    results: dict[int, ItemResult] = {}
    read: list[str] = []
    lost: list[str] = []
    beyond = (UnableToReadRecords, ObjectNotFound) if patient else (UnableToReadRecords, ObjectNotFound, OSError)
    for key in sorted(keys, key=part_order):
        try:
            found = _results(store, key)
        except beyond as error:
            log.error("part cannot be read", action="part.lost", key=key, reason=type(error).__name__)
            lost.append(key)
            continue
        read.append(key)
        for result in found:
            results.setdefault(result.row, result)
    return Durable(results, tuple(read), tuple(lost))


def parts_under(store: ObjectStore, prefix: str) -> list[str]:
    """The keys of the parts right under ``prefix``; whatever else lies there is none of ours."""
    return [found.key for found in store.list(prefix) if is_part(found.key, prefix)]

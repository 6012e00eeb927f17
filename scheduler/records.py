"""The lines inside shard and part objects (CONTRACTS §4): zstandard-compressed JSON lines.

A shard object holds its items in running order; a part object holds finished items and never changes.
Same records in, same bytes out.
"""

import io
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import msgspec
import zstandard

from scheduler.objects import ObjectStore
from scheduler.tokenizers import ChatMessage
from scheduler.wire import Usage

LEVEL = 3


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


Record = TypeVar("Record", ShardItem, ItemResult, SetAsideRow)
_encoder = msgspec.json.Encoder()


def dump(records: Iterable[ShardItem | ItemResult | SetAsideRow]) -> bytes:
    """The bytes of an object that holds ``records``."""
    compressor = zstandard.ZstdCompressor(level=LEVEL, write_content_size=False).compressobj()
    chunks = [compressor.compress(_encoder.encode(record) + b"\n") for record in records]
    return b"".join([*chunks, compressor.flush()])


@contextmanager
def writing(store: ObjectStore, key: str) -> Iterator[Callable[[ShardItem | ItemResult | SetAsideRow], None]]:
    """A function that appends one record to the new object ``key``, which appears when the block ends well."""
    compressor = zstandard.ZstdCompressor(level=LEVEL, write_content_size=False).compressobj()
    with store.open_write(key) as sink:

        def write(record: ShardItem | ItemResult | SetAsideRow) -> None:
            sink.write(compressor.compress(_encoder.encode(record) + b"\n"))

        yield write
        sink.write(compressor.flush())


def load(store: ObjectStore, key: str, kind: type[Record]) -> Iterator[Record]:
    """The records of the object ``key``, streamed. Raises ``ObjectNotFound`` and ``msgspec.DecodeError``."""
    decoder = msgspec.json.Decoder(kind)
    with store.open_read(key) as raw, zstandard.ZstdDecompressor().stream_reader(raw) as plain:
        for line in io.BufferedReader(plain, 1 << 16):
            yield decoder.decode(line)


def part_key(prefix: str, epoch: int, seq: int) -> str:
    """The key of a part under ``<dept>/<package>/parts/<shard>/``."""
    return f"{prefix}{epoch}-{seq}.jsonl.zst"


def part_order(key: str) -> tuple[int, int]:
    """(epoch, seq) of a part key: of several results for one row, the lowest wins."""
    epoch, _, seq = key.rpartition("/")[2].removesuffix(".jsonl.zst").partition("-")
    return int(epoch), int(seq)


def merged(store: ObjectStore, keys: Iterable[str]) -> dict[int, ItemResult]:
    """The one result of each row over ``keys``, by row."""
    results: dict[int, ItemResult] = {}
    for key in sorted(keys, key=part_order):
        for result in load(store, key, ItemResult):
            results.setdefault(result.row, result)
    return results

"""Files as other programs write them. Nothing of what is tested here has a part in it."""

import gzip
import io
import json
import zipfile
from collections.abc import Callable, Mapping
from typing import Any

import zstandard

from tests.corpus.case import Table


def encoded(text: str, encoding: str) -> bytes:
    """``text`` in ``encoding``; UTF-16 with its byte order mark."""
    mark = "\ufeff" if encoding.startswith("utf-16") else ""
    return (mark + text).encode(encoding)


def delimited(table: Table, delimiter: str = ",", end: str = "\r\n", quote: str = '"') -> str:
    """Fields are quoted where they must be, as Excel and the csv module do."""

    def field(text: str) -> str:
        must = any(character in text for character in (delimiter, quote, "\n", "\r"))
        return f"{quote}{text.replace(quote, quote * 2)}{quote}" if must else text

    return "".join(delimiter.join(map(field, row)) + end for row in table)


def json_lines(objects: list[Any]) -> str:
    return "".join(json.dumps(found, ensure_ascii=False) + "\n" for found in objects)


def gzipped(data: bytes) -> bytes:
    return gzip.compress(data, mtime=0)


def zstandarded(data: bytes) -> bytes:
    return zstandard.ZstdCompressor(level=3).compress(data)


def zipped(files: Mapping[str, bytes]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(zipfile.ZipInfo(name), data, zipfile.ZIP_DEFLATED)
    return out.getvalue()


PACKERS: dict[str, Callable[[bytes, str], tuple[str, bytes]]] = {
    "gzip": lambda data, name: (f"{name}.gz", gzipped(data)),
    "zstd": lambda data, name: (f"{name}.zst", zstandarded(data)),
    "zip": lambda data, name: (f"{name.partition('.')[0]}.zip", zipped({name: data})),
}

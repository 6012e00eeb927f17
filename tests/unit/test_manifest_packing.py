"""Packed manifests: a file within an upload is read as if it had been uploaded itself, and never costs memory."""

import gzip
import io
import os
import struct
import tracemalloc
import zipfile
from collections.abc import Callable
from typing import BinaryIO

import pytest
import zstandard

from portal.packages.manifest import Reading, Row, UnableToRead, packing, rows
from portal.packages.manifest.packing import unpacked
from tests.manifests import read, reading_of, workbook

CSV = "编号,文本\n1,很好\n2,不好\n".encode()
ROWS = [Row(1, {"编号": "1", "文本": "很好"}), Row(2, {"编号": "2", "文本": "不好"})]
MIB = 1024**2


def _zip(files: dict[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return out.getvalue()


def _zstd(data: bytes) -> bytes:
    return zstandard.ZstdCompressor(write_checksum=True).compress(data)


def _refused(data: bytes, filename: str = "a.zip") -> UnableToRead:
    with pytest.raises(UnableToRead) as error:
        read(data, filename)
    return error.value


@pytest.mark.parametrize(
    ("data", "filename", "how", "member"),
    [
        (gzip.compress(CSV), "reviews.csv.gz", "gzip", ""),
        (gzip.compress(CSV), "reviews", "gzip", ""),
        (gzip.compress(CSV[:9]) + gzip.compress(b"") + gzip.compress(CSV[9:]), "a.gz", "gzip", ""),
        (gzip.compress(CSV) + bytes(512), "a.gz", "gzip", ""),
        (_zstd(CSV), "reviews.csv.zst", "zstd", ""),
        (_zstd(CSV[:9]) + b"\x50\x2a\x4d\x18\x02\0\0\0hi" + _zstd(CSV[9:]), "a.zst", "zstd", ""),
        (b"\x50\x2a\x4d\x18\x02\0\0\0hi" + _zstd(CSV), "a.zst", "zstd", ""),
        (_zip({"reviews.csv": CSV}), "reviews.zip", "zip", "reviews.csv"),
        (_zip({"a.csv": CSV}, zipfile.ZIP_STORED), "a.zip", "zip", "a.csv"),
        (_zip({"x/": b"", "x/a.csv": CSV, "__MACOSX/x/._a.csv": b"?", "x/.DS_Store": b"?"}), "a.zip", "zip", "a.csv"),
        (_zip({"../../etc/pass\twd.csv": CSV}), "a.zip", "zip", "passwd.csv"),
        (_zip({"C:\\files\\a.csv": CSV}), "a.zip", "zip", "a.csv"),
    ],
)
def test_a_packed_file_is_read(data: bytes, filename: str, how: str, member: str) -> None:
    reading = reading_of(data, filename)
    assert (reading.format, reading.packing, reading.member) == ("csv", how, member)
    assert read(data, filename) == ROWS


def test_the_ending_of_the_inner_name_counts() -> None:
    data = b'"only a text"\n{"id": 1}\n'
    assert reading_of(gzip.compress(data), "a.jsonl.gz").format == "jsonl"
    assert reading_of(_zip({"a.jsonl": data}), "a.zip").format == "jsonl"


@pytest.mark.parametrize("pack", [gzip.compress, _zstd, lambda data: _zip({"a.xlsx": data})])
def test_a_workbook_may_lie_packed(pack: Callable[[bytes], bytes]) -> None:
    data = pack(workbook([["id", "text"], [1, "a"]]))
    assert reading_of(data, "a.xlsx.gz").format == "xlsx"
    assert read(data, "a.xlsx.gz") == [Row(1, {"id": "1", "text": "a"})]


def test_names_that_old_chinese_packers_wrote_are_read() -> None:
    data = _zip({"??.csv": CSV}).replace(b"??.csv", "评.csv".encode("gbk"))
    assert reading_of(data, "a.zip").member == "评.csv"


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (gzip.compress(CSV)[:-3], "broken_archive"),
        (gzip.compress(CSV)[:-12], "broken_archive"),
        (gzip.compress(CSV)[:12], "broken_archive"),
        (gzip.compress(CSV)[:-8] + bytes(8), "broken_archive"),
        (gzip.compress(CSV) + b"more", "broken_archive"),
        (_zstd(CSV)[:-5], "broken_archive"),
        (_zstd(CSV)[:-1] + b"!", "broken_archive"),
        (_zip({"a.csv": CSV})[:-9], "broken_archive"),
        (_zip({"a.csv": CSV}, zipfile.ZIP_STORED).replace(b"1,", b"3,"), "broken_archive"),
        (_zip({"a.csv": CSV}, zipfile.ZIP_BZIP2), "unusual_packing"),
        (_zip({}), "empty_archive"),
        (_zip({"__MACOSX/._a": b""}), "empty_archive"),
        (gzip.compress(b""), "empty_file"),
        (gzip.compress(gzip.compress(CSV)), "nested_archive"),
        (_zip({"a.csv.gz": gzip.compress(CSV)}), "nested_archive"),
        (_zip({"a.zip": _zip({"a.csv": CSV})}), "nested_archive"),
        (gzip.compress(bytes(257) + b"ustar" + bytes(250)), "wrong_format"),
        (gzip.compress(b"%PDF-1.7"), "wrong_format"),
        (gzip.compress(b"id\n"), "no_rows"),
    ],
)
def test_what_cannot_be_unpacked_says_why(data: bytes, code: str) -> None:
    assert _refused(data).code == code


def test_an_archive_of_several_files_names_them() -> None:
    error = _refused(_zip({"a.csv": CSV, "x/b.csv": CSV, "c": b"", "d": b""}))
    assert (error.code, error.details) == ("several_files", {"count": 4, "names": "“a.csv”, “b.csv”, “c” …"})


def test_a_locked_archive_is_told_as_such() -> None:
    data = bytearray(_zip({"a.csv": CSV}))
    data[6] |= 1
    data[data.index(b"PK\x01\x02") + 8] |= 1
    assert _refused(bytes(data)).code == "locked_file"


def _zeros_gzip(size: int) -> bytes:
    return gzip.compress(bytes(size), compresslevel=9)


def _zeros_zstd(size: int) -> bytes:
    pack = zstandard.ZstdCompressor(level=19).compressobj()
    return b"".join([pack.compress(bytes(MIB)) for _ in range(size // MIB)] + [pack.flush()])


def _zeros_zip(size: int) -> bytes:
    return _zip({"a.csv": bytes(size)})


def _drained(stream: BinaryIO) -> None:
    while stream.read(MIB):
        pass


@pytest.mark.parametrize(("bomb", "how"), [(_zeros_gzip, "gzip"), (_zeros_zstd, "zstd"), (_zeros_zip, "zip")])
def test_a_bomb_is_refused_in_flat_memory(
    bomb: Callable[[int], bytes], how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(packing, "UNSUSPECTED", 8 * MIB)
    data = bomb(64 * MIB)
    tracemalloc.start()
    with unpacked(io.BytesIO(data), how) as inner, pytest.raises(UnableToRead, match="archive_too_large"):
        _drained(inner)
    assert tracemalloc.get_traced_memory()[1] < 72 * MIB
    tracemalloc.stop()


@pytest.mark.parametrize("how", ["gzip", "zstd", "zip"])
def test_the_limit_of_the_installation_holds(how: str) -> None:
    noise = os.urandom(300_000)
    data = {"gzip": gzip.compress(noise), "zstd": _zstd(noise), "zip": _zip({"a": noise})}[how]
    with unpacked(io.BytesIO(data), how, 300_000) as inner:
        assert inner.read() == noise
    with unpacked(io.BytesIO(data), how, 299_999) as inner, pytest.raises(UnableToRead, match="expands_too_far"):
        inner.read()


def test_a_file_of_endless_empty_pieces_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packing, "MOST_MEMBERS", 5_000)

    class Endless(io.BytesIO):
        def read(self, size: int | None = -1, /) -> bytes:
            return gzip.compress(b"") * 1000

    with unpacked(Endless(), "gzip", 1000) as inner, pytest.raises(UnableToRead, match="archive_too_large"):
        inner.read()


def test_a_window_beyond_bounds_is_refused() -> None:
    wide = zstandard.ZstdCompressionParameters(window_log=30, enable_ldm=True)
    pack = zstandard.ZstdCompressor(compression_params=wide).compressobj()
    assert _refused(pack.compress(CSV) + pack.flush(), "a.zst").code == "unusual_packing"


def test_closing_the_rows_lets_go_of_what_is_unpacked() -> None:
    data = gzip.compress(CSV)
    found = rows(io.BytesIO(data), reading_of(data, "a.csv.gz"))
    next(found)
    found.close()
    assert list(found) == []


def test_a_reading_that_no_longer_fits_is_refused() -> None:
    reading = Reading("csv", columns=("id",), packing="gzip")
    with pytest.raises(UnableToRead, match="broken_archive"):
        list(rows(io.BytesIO(struct.pack("<Q", 7)), reading))

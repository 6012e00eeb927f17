"""Excel 97 workbooks (.xls): records of BIFF8 in a compound file, as [MS-XLS] and [MS-CFB] lay them down."""

import struct
from collections.abc import Mapping

_FREE, _END, _FAT = 0xFFFFFFFF, 0xFFFFFFFE, 0xFFFFFFFD
_SECTOR = 512


def ole(streams: Mapping[str, bytes]) -> bytes:
    """A compound file with these streams, each filled up to 4096 bytes or more so that none is a short one."""
    padded = {name: data.ljust(4096, b"\0") for name, data in streams.items()}
    chains: list[int] = []
    starts: dict[str, int] = {}
    body = b""
    for name, data in padded.items():
        sectors = -(-len(data) // _SECTOR)
        starts[name] = len(chains)
        chains += [len(chains) + step + 1 for step in range(sectors - 1)] + [_END]
        body += data.ljust(sectors * _SECTOR, b"\0")
    directory = _directory(padded, starts)
    first = len(chains)
    chains += [first + step + 1 for step in range(len(directory) // _SECTOR - 1)] + [_END]
    fats = 1
    while (len(chains) + fats) * 4 > fats * _SECTOR:
        fats += 1
    places = list(range(len(chains), len(chains) + fats))
    table = struct.pack(f"<{len(chains) + fats}I", *chains, *[_FAT] * fats).ljust(fats * _SECTOR, b"\xff")
    header = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(16) + struct.pack("<HHHHH", 0x3E, 3, 0xFFFE, 9, 6)
    header += bytes(6) + struct.pack("<IIIIIIIII", 0, fats, first, 0, 4096, _END, 0, _END, 0)
    header += struct.pack("<109I", *places, *[_FREE] * (109 - fats))
    return header + body + directory + table


def _directory(streams: Mapping[str, bytes], starts: Mapping[str, int]) -> bytes:
    names = list(streams)
    entries = [_entry("Root Entry", 5, _FREE, 1 if names else _FREE, _END, 0)]
    entries += [
        _entry(name, 2, at + 2 if at + 1 < len(names) else _FREE, _FREE, starts[name], len(streams[name]))
        for at, name in enumerate(names)
    ]
    data = b"".join(entries)
    return data.ljust(-(-len(data) // _SECTOR) * _SECTOR, b"\0")


def _entry(name: str, kind: int, right: int, child: int, start: int, size: int) -> bytes:
    encoded_name = name.encode("utf-16-le") + b"\0\0"
    return (
        encoded_name.ljust(64, b"\0") + struct.pack("<HBBIII", len(encoded_name), kind, 1, _FREE, right, child)
        + bytes(36) + struct.pack("<IQ", start, size)
    )  # fmt: skip


def biff(rows: list[list[str | float]], *, locked: bool = False) -> bytes:
    """The stream of an Excel 97 workbook with one sheet of texts and numbers."""

    def record(kind: int, data: bytes = b"") -> bytes:
        return struct.pack("<HH", kind, len(data)) + data

    def opening(kind: int) -> bytes:
        return record(0x809, struct.pack("<HHHHII", 0x600, kind, 0x0DBB, 0x07CC, 0, 6))

    def cell(row: int, column: int, value: str | float) -> bytes:
        place = struct.pack("<HHH", row, column, 0)
        if isinstance(value, str):
            return record(0x204, place + struct.pack("<HB", len(value), 1) + value.encode("utf-16-le"))
        return record(0x203, place + struct.pack("<d", value))

    name = "数据"
    lock = record(0x2F, struct.pack("<HHH", 0, 1, 1) + bytes(48)) if locked else b""
    head = opening(5) + lock + record(0x42, struct.pack("<H", 1200)) + record(0xE0, bytes(20))
    sheet_at = len(head) + 4 + 8 + len(name) * 2 + 4
    boundsheet = struct.pack("<IBBBB", sheet_at, 0, 0, len(name), 1) + name.encode("utf-16-le")
    cells = b"".join(cell(at, place, value) for at, row in enumerate(rows) for place, value in enumerate(row))
    return head + record(0x85, boundsheet) + record(0x0A) + opening(0x10) + cells + record(0x0A)

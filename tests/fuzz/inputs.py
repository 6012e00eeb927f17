"""Random tables, and files that were right until something happened to them."""

from collections.abc import Callable
from typing import Any

import pyarrow as pa
from hypothesis import strategies as st

from tests.corpus import workbooks
from tests.corpus.excel import text_row, xlsx
from tests.corpus.excel97 import biff, ole
from tests.corpus.json_lines import OBJECTS
from tests.corpus.opendocument import ods, ods_row
from tests.corpus.requests import CASES as REQUESTS
from tests.corpus.tables import parquet
from tests.corpus.texts import COLUMNS, ROWS
from tests.corpus.writers import PACKERS, delimited, gzipped, json_lines, zipped, zstandarded

TABLE = [COLUMNS, *ROWS]
IN_PROCESS: dict[str, bytes] = {
    "a.csv": delimited(TABLE).encode(),
    "gb.csv": delimited(TABLE, ";").encode("gb18030"),
    "wide.tsv": delimited(TABLE, "\t").encode("utf-16"),
    "a.jsonl": json_lines(OBJECTS).encode(),
    "requests.jsonl": REQUESTS[0].content(),
    "deep.jsonl": f'{{"id":"1","a":{"[" * 98}{{"b":1}}{"]" * 98}}}\n{{"id":"2"}}\n'.encode(),
    "stray.csv": ('id,text\n1,a\n2,"open\n' + "".join(f"{n},x\n" for n in range(3, 9)) + '9,close"\n10,z\n').encode(),
    "a.xlsx": xlsx(workbooks.ROWS),
    "stored.xlsx": zipped({"mimetype": b"x"}) + xlsx(workbooks.ROWS),
    "a.ods": ods(("S", ods_row("id", "text") + ods_row("1", "a"))),
    "a.csv.gz": gzipped(delimited(TABLE).encode()),
    "a.csv.zst": zstandarded(delimited(TABLE).encode()),
    "a.zip": zipped({"a.csv": delimited(TABLE).encode()}),
}
APART: dict[str, bytes] = {
    "a.xls": ole({"Workbook": biff([["id", "text"], ["1", "a"], [2.0, "b"]])}),
    "a.parquet": parquet({"id": ["1", "2"], "text": ["a", "b"], "n": [1, 2], "l": [["x"], None]}),
    "times.parquet": parquet(
        {
            "id": ["1", "2"],
            "at": pa.array([1, None], pa.timestamp("ns", "Asia/Shanghai")),
            "m": pa.array([[("k", 0.1)], None], pa.map_(pa.string(), pa.float32())),
            "d": pa.array([1, 2], pa.date32()),
        }
    ),
}
"""Read in a process of their own: each takes a second."""
_SNIPPETS = [
    *(b'"', b"'", b"\0", b"\r", b"\n", b"\r\r\n", b",", b"\t", b";", b"{", b"}", b"[", b"\xff", b"\xfe\xff", b"\x80"),
    *(b"\xed\xa0\x80", b"\x81\x30\x81\x30", b"\xef\xbb\xbf", b"\\ud800", b"sep=;\n", b"1e999", b"=1+1", b'{"id":1}\n'),
    *(b"PK\x03\x04", b"\x1f\x8b", b"&x;", b"]]>", b"<c>"),
    *("\u2028".encode(), "\x85".encode(), b"\x0b", b"\x0c", b"\x1c", b'{"a":' * 400, b"[" * 120, b"sep=^\n"),
]


@st.composite
def spoiled(draw: st.DrawFn, files: dict[str, bytes]) -> tuple[str, bytes]:
    """A file's name and its bytes after up to eight mishaps."""
    name = draw(st.sampled_from(sorted(files)))
    data = bytearray(files[name])
    for _mishap in range(draw(st.integers(1, 8))):
        _befall(draw, data)
    return name, bytes(data)


def _befall(draw: st.DrawFn, data: bytearray) -> None:
    at = draw(st.integers(0, len(data)))
    match draw(st.sampled_from(["flip", "insert", "cut", "drop", "repeat"])):
        case "flip" if at < len(data):
            data[at] ^= draw(st.integers(1, 255))
        case "insert":
            data[at:at] = draw(st.one_of(st.sampled_from(_SNIPPETS), st.binary(max_size=8)))
        case "cut":
            del data[at:]
        case "drop":
            del data[at : at + draw(st.integers(1, 40))]
        case "repeat":
            data[at:at] = data[at : at + draw(st.integers(1, 400))] * draw(st.integers(1, 20))


_ANY = st.characters(exclude_categories=["Cs"], exclude_characters="\0")
_PLAIN = st.characters(categories=["L", "N", "P", "S"], max_codepoint=0xFFFF)


def tables(character: st.SearchStrategy[str], *, widest: int = 5) -> st.SearchStrategy[list[list[str]]]:
    """Rows of texts, all of one width, the first column numbering them so that none is empty or like another."""

    def numbered(found: list[list[str]]) -> list[list[str]]:
        return [[f"n{at}", *row] for at, row in enumerate(found, start=1)]

    def rows(width: int) -> st.SearchStrategy[list[list[str]]]:
        text = st.text(character, max_size=12)
        return st.lists(st.lists(text, min_size=width, max_size=width), min_size=1, max_size=8).map(numbered)

    return st.integers(1, widest).flatmap(rows)


_ENDS = st.sampled_from("\u2028\u2029\x85\x0b\x0c\x1c\x1d\x1e\r\n")
"""What some call the end of a line, and the ends of lines."""
any_table = tables(_ANY | _ENDS)
plain_table = tables(_PLAIN)
line_table = tables(st.characters(exclude_categories=["Cs", "Cc", "Cn", "Co", "Zl", "Zp"]))
"""What XML can hold."""


def heading(table: list[list[str]]) -> list[str]:
    return ["id", *(f"text {at}" for at in range(1, len(table[0])))]


def as_sheet(table: list[list[str]]) -> bytes:
    return xlsx("".join(text_row(at, *row) for at, row in enumerate([heading(table), *table], start=1)))


def as_ods(table: list[list[str]]) -> bytes:
    return ods(("S", "".join(ods_row(*row) for row in [heading(table), *table])))


def as_xls(table: list[list[str]]) -> bytes:
    return ole({"Workbook": biff([heading(table), *table])})  # type: ignore[list-item]


_DAYS = st.integers(-(2**31), 2**31 - 1)
_MOMENTS = st.integers(-(2**63), 2**63 - 1)
_KINDS = [pa.timestamp("us"), pa.timestamp("ns", "Asia/Shanghai"), pa.duration("ms"), pa.time64("ns"), pa.int64()]


@st.composite
def odd_parquet(draw: st.DrawFn) -> bytes:
    """A Parquet file with what Parquet can hold and no text can, and values that no calendar has."""
    rows = draw(st.integers(1, 5))

    def some(values: st.SearchStrategy[Any], kind: pa.DataType) -> pa.Array:
        return pa.array(draw(st.lists(st.none() | values, min_size=rows, max_size=rows)), kind)

    numbers = some(_MOMENTS, pa.int64())
    moments = numbers.view(draw(st.sampled_from(_KINDS)))
    floats = some(st.lists(st.floats(width=32), max_size=3), pa.list_(pa.float32()))
    return parquet({
        draw(st.text(max_size=3)) + "t": some(st.text(st.sampled_from("ab好\0\u2028\n"), max_size=5), pa.string()),
        "b": some(st.binary(max_size=5), pa.binary()).view(pa.string()),
        "when": moments,
        "day": some(_DAYS, pa.int32()).view(pa.date32()),
        "floats": floats,
        "within": pa.array([{"x": each} for each in moments], pa.struct({"x": moments.type})),
    })  # fmt: skip


def as_parquet(table: list[list[str]]) -> bytes:
    columns: dict[str, Any] = {name: [row[at] for row in table] for at, name in enumerate(heading(table))}
    return parquet(columns)


def as_lines(table: list[list[str]]) -> bytes:
    return json_lines([dict(zip(heading(table), row, strict=True)) for row in table]).encode()


WHOLE: dict[str, tuple[st.SearchStrategy[list[list[str]]], Callable[[list[list[str]]], bytes]]] = {
    "a.xlsx": (line_table, as_sheet),
    "a.ods": (plain_table, as_ods),
    "a.jsonl": (any_table, as_lines),
}
WHOLE_APART: dict[str, tuple[st.SearchStrategy[list[list[str]]], Callable[[list[list[str]]], bytes]]] = {
    "a.xls": (plain_table, as_xls),
    "a.parquet": (any_table, as_parquet),
}
packing = st.sampled_from([None, *PACKERS])


def packed(data: bytes, name: str, how: str | None) -> tuple[str, bytes]:
    return (name, data) if how is None else PACKERS[how](data, name)

"""Random tables, and files that were right until something happened to them."""

from collections.abc import Callable
from typing import Any

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
}
"""Read in a process of their own: each takes a second."""
_SNIPPETS = [
    *(b'"', b"'", b"\0", b"\r", b"\n", b"\r\r\n", b",", b"\t", b";", b"{", b"}", b"[", b"\xff", b"\xfe\xff", b"\x80"),
    *(b"\xed\xa0\x80", b"\x81\x30\x81\x30", b"\xef\xbb\xbf", b"\\ud800", b"sep=;\n", b"1e999", b"=1+1", b'{"id":1}\n'),
    *(b"PK\x03\x04", b"\x1f\x8b", b"&x;", b"]]>", b"<c>"),
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


any_table = tables(_ANY)
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

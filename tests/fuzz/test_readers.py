"""Whatever bytes come, a reader reads them or says why not; and what was written in any form is read as it was.

`python -m tests.fuzz MINUTES` does the same for longer and counts.
"""

import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from portal.packages.manifest import Row
from portal.packages.manifest.reading import Wish
from tests.corpus.texts import DELIMITERS, ENCODINGS
from tests.corpus.writers import delimited, encoded
from tests.fuzz.inputs import (
    APART,
    IN_PROCESS,
    WHOLE,
    WHOLE_APART,
    any_table,
    heading,
    odd_parquet,
    packed,
    packing,
    spoiled,
)
from tests.fuzz.reading import found

_quickly = settings(max_examples=250, deadline=None, suppress_health_check=list(HealthCheck))
_apart = settings(max_examples=6, deadline=None, suppress_health_check=list(HealthCheck))
_names = st.sampled_from(["a.csv", "a.tsv", "a.jsonl", "a.xlsx", "a.ods", "a.xls", "a.parquet", "a.gz", "a.zip", "a"])
_wishes = st.just(Wish()) | st.builds(
    Wish,
    encoding=st.sampled_from([None, "utf-8", "gb18030", "big5", "utf-16", "utf-16-le", "utf-16-be", "windows-1252"]),
    delimiter=st.sampled_from([None, ",", "\t", ";", "|", "~"]),
    quote=st.sampled_from([None, '"', "'", ""]),
    has_heading=st.sampled_from([None, True, False]),
)
_starts = st.sampled_from(
    [b"", b"PK\x03\x04", b"\x1f\x8b\x08", b"\x28\xb5\x2f\xfd", b"\xff\xfe", b"\xef\xbb\xbf", b"{", b'id,text\n1,"']
)


@_quickly
@given(_names, _starts, st.binary(max_size=3000), _wishes)
def test_any_bytes_are_read_or_refused(name: str, start: bytes, data: bytes, wish: Wish) -> None:
    found(start + data, name, wish, kind="bytes")


@_quickly
@given(_names, st.text(st.sampled_from("ab1,;\t|\"'\r\n {}[]:好\0é"), max_size=200), _wishes)
def test_any_text_is_read_or_refused(name: str, text: str, wish: Wish) -> None:
    found(text.encode(), name, wish, kind="texts")


@_quickly
@given(spoiled(IN_PROCESS), _wishes)
def test_spoiled_files_are_read_or_refused(file: tuple[str, bytes], wish: Wish) -> None:
    found(file[1], file[0], wish, kind="spoiled")


@_apart
@given(spoiled(APART))
def test_spoiled_tables_are_read_or_refused(file: tuple[str, bytes]) -> None:
    found(file[1], file[0], kind="spoiled tables")


@_apart
@given(odd_parquet())
def test_a_parquet_file_with_whatever_it_can_hold_is_read_row_by_row(data: bytes) -> None:
    came = found(data, "a.parquet", kind="odd parquet")
    assert isinstance(came, tuple) or came.code in {"binary_column", "unusable_column"}


_DEEP = st.recursive(st.none() | st.text(max_size=3), lambda within: st.lists(within, max_size=2))


@_quickly
@given(st.lists(st.tuples(_DEEP, st.integers(0, 300)), min_size=1, max_size=5), st.sampled_from(["[", '{"a":']))
def test_values_within_values_are_read_or_set_aside(values: list[tuple[object, int]], opening: str) -> None:
    closing = {"[": "]"}.get(opening, "}")
    lines = [f'{{"id":1,"v":{opening * depth}{json.dumps(value)}{closing * depth}}}\n' for value, depth in values]
    came = found("".join(lines).encode(), "a.jsonl", kind="deep")
    assert isinstance(came, tuple) or came.code == "no_object"


@_quickly
@given(any_table, st.sampled_from(sorted(DELIMITERS.values())), st.sampled_from(sorted(ENCODINGS)), packing)
def test_a_table_comes_through_any_encoding(
    table: list[list[str]], delimiter: str, encoding: str, how: str | None
) -> None:
    data = encoded(delimited([heading(table), *table], delimiter), encoding)
    name, data = packed(data, "a.csv", how)
    wish = Wish(ENCODINGS[encoding].removesuffix("-sig"), delimiter, '"', has_heading=True)
    _comes_through(table, data, name, wish)


@pytest.mark.parametrize("name", sorted(WHOLE))
def test_a_table_comes_through_any_format(name: str) -> None:
    tables, write = WHOLE[name]

    @_quickly
    @given(tables, packing)
    def holds(table: list[list[str]], how: str | None) -> None:
        filename, data = packed(write(table), name, how)
        _comes_through(table, data, filename, Wish())

    holds()


@pytest.mark.parametrize("name", sorted(WHOLE_APART))
def test_a_table_comes_through_formats_that_others_read(name: str) -> None:
    tables, write = WHOLE_APART[name]

    @_apart
    @given(tables, packing)
    def holds(table: list[list[str]], how: str | None) -> None:
        filename, data = packed(write(table), name, how)
        _comes_through(table, data, filename, Wish())

    holds()


def _comes_through(table: list[list[str]], data: bytes, name: str, wish: Wish) -> None:
    came = found(data, name, wish, kind=f"tables as {name.partition('.')[2]}")
    assert isinstance(came, tuple), f"refused: {came.code} {came.details}"
    reading, read = came
    assert list(reading.columns) == heading(table)
    assert [list(row.values.values()) if isinstance(row, Row) else row for row in read] == table

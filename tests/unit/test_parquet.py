"""Parquet files hold what they were given, read by pyarrow."""

import io
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import parquet

from portal.packages.delivering import parquet as ours
from portal.packages.delivering.parquet import ParquetLines

KINDS = {"id": "text", "n": "whole", "price": "number", "is_new": "flag"}


def table(kinds: dict[str, str], lines: list[list[Any]]) -> pa.Table:
    file = ParquetLines(kinds)
    data = b"".join([file.start(), *(file.line(line) for line in lines), file.end()])
    return parquet.read_table(io.BytesIO(data))


def test_columns_have_their_types_and_rows_their_order() -> None:
    found = table(KINDS, [["007", 3, 2.5, True], ["", None, None, None], ["=1", 2.0, 4, False]])
    assert [str(column.type) for column in found.schema] == ["string", "int64", "double", "bool"]
    assert found.to_pylist() == [
        {"id": "007", "n": 3, "price": 2.5, "is_new": True},
        {"id": "", "n": None, "price": None, "is_new": None},
        {"id": "=1", "n": 2, "price": 4.0, "is_new": False},
    ]


@pytest.mark.parametrize("value", [2**63, -(2**63) - 1, 2.5, "3", True, [1]])
def test_what_is_no_whole_number_of_64_bits_is_null(value: Any) -> None:
    assert table({"n": "whole"}, [[value]]).to_pylist() == [{"n": None}]


@pytest.mark.parametrize("value", [10**400, "3", False])
def test_what_is_no_number_is_null(value: Any) -> None:
    assert table({"n": "number"}, [[value]]).to_pylist() == [{"n": None}]


def test_a_file_without_rows_has_its_columns() -> None:
    assert table(KINDS, []).column_names == list(KINDS)


def test_rows_are_written_in_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ours, "ROWS_AT_ONCE", 3)
    file = ParquetLines({"id": "text"})
    pieces = [file.start(), *(file.line([str(n)]) for n in range(7)), file.end()]
    found = parquet.ParquetFile(io.BytesIO(b"".join(pieces)))
    assert [found.metadata.row_group(n).num_rows for n in range(found.num_row_groups)] == [3, 3, 1]
    assert pieces[3]  # a group is handed on as soon as it is full


@given(st.lists(st.text(), max_size=5))
def test_any_text_comes_back(texts: list[str]) -> None:
    expected = [text.encode("utf-8", "replace").decode() for text in texts]
    assert table({"a": "text"}, [[text] for text in texts])["a"].to_pylist() == expected

"""Parquet."""

import datetime
import io
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from tests.corpus.case import Case, Table

TWO = ("id", "text")


AB = (("1", "a"), ("2", "b"))


def parquet(columns: dict[str, Any], **how: Any) -> bytes:
    """A Parquet file of these columns."""
    out = io.BytesIO()
    pq.write_table(pa.table(columns), out, **how)
    return out.getvalue()


def read_by_pyarrow(data: bytes) -> Table:
    """The texts of a file that has only texts."""
    table = pq.read_table(io.BytesIO(data))
    return [table.column_names, *(list(row.values()) for row in table.to_pylist())]


def _parquet() -> list[Case]:
    texts = parquet({"编号": ["00123", "2"], "文本": ["质量很好 𠮷😀", "第一行\n第二行"]})
    rows = (("00123", "质量很好 𠮷😀"), ("2", "第一行\n第二行"))
    day, zone = datetime.datetime(2026, 1, 5, 12, 30), datetime.UTC
    kinds = {
        "int": pa.array([1, None], pa.int64()),
        "big": pa.array([2**63, 0], pa.uint64()),
        "float": pa.array([0.1, 2.0]),
        "money": pa.array([Decimal("1234567890123456.7890"), Decimal("-0.5000")], pa.decimal128(30, 4)),
        "day": pa.array([day.date(), None]),
        "yes": pa.array([True, False]),
    }
    shown = (
        ("1", "9223372036854775808", "0.1", "1234567890123456.7890", "2026-01-05", "TRUE"),
        ("", "0", "2", "-0.5000", "", "FALSE"),
    )
    nested = {"id": ["1"], "tags": [["a", "好"]], "at": [{"x": 1, "y": None}]}
    moments = {
        "id": ["1"],
        "local": pa.array([day], pa.timestamp("ms")),
        "utc": pa.array([day.replace(tzinfo=zone)], pa.timestamp("us", "UTC")),
    }
    return [
        Case(
            "parquet/texts.parquet", texts, ("编号", "文本"), rows, found={"format": "parquet"}, oracle=read_by_pyarrow
        ),
        Case("parquet/called-csv.csv", texts, ("编号", "文本"), rows, found={"format": "parquet"}),
        *(
            Case(
                f"parquet/{codec}.parquet",
                parquet({"id": ["1", "2"], "text": ["a", "b"]}, compression=codec),
                TWO,
                AB,
                oracle=read_by_pyarrow,
            )
            for codec in ("none", "gzip", "zstd", "brotli", "lz4")
        ),
        Case("parquet/values-of-each-kind.parquet", parquet(kinds), tuple(kinds), shown),
        Case("parquet/nested.parquet", parquet(nested), tuple(nested), (("1", '["a","好"]', '{"x":1,"y":null}'),)),
        Case(
            "parquet/moments.parquet",
            parquet(moments),
            tuple(moments),
            (("1", "2026-01-05 12:30:00", "2026-01-05 12:30:00+00:00"),),
        ),
        Case(
            "parquet/categories.parquet",
            parquet({"id": ["1", "2"], "text": pa.array(["a", "b"]).dictionary_encode()}),
            TWO,
            AB,
            oracle=read_by_pyarrow,
        ),
        Case(
            "parquet/all-empty-row.parquet",
            parquet({"id": ["1", None, "2"], "text": ["a", "", "b"]}),
            TWO,
            AB,
            {2: "empty_row"},
        ),
        Case("parquet/no-rows.parquet", parquet({"id": pa.array([], pa.string())}), refusal="no_rows"),
        Case(
            "parquet/bytes.parquet",
            parquet({"id": ["1"], "text": pa.array([b"\xff\x00"])}),
            refusal="binary_column",
            told={"column": "text"},
        ),
        Case("parquet/cut.parquet", texts[:-20], refusal="broken_table"),
        Case("parquet/footer-of-lies.parquet", texts[:-8] + b"\xff\xff\xff\x7fPAR1", refusal="broken_table"),
        Case(
            "parquet/10000-columns.parquet",
            lambda: parquet({f"c{n}": ["1"] for n in range(10_000)}),
            refusal="too_many_columns",
        ),
        Case(
            "parquet/long-cell.parquet",
            lambda: parquet({"id": ["1", "2", "3"], "text": ["a", "x" * 50_000_000, "c"]}),
            TWO,
            (("1", "a"), ("3", "c")),
            {2: "malformed_row"},
            is_large=True,
        ),
    ]


CASES = [*_parquet()]

"""Parquet manifests, and what becomes of a child that reads them when a file is hostile."""

import io
import os
import signal
from datetime import date, datetime, time
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from portal.packages.manifest import BadRow, Row, UnableToRead, foreign, rows
from portal.packages.manifest.foreign import table_of
from tests.manifests import read, reading_of


def _parquet(columns: dict[str, pa.Array], **options: object) -> bytes:
    out = io.BytesIO()
    pq.write_table(pa.table(columns), out, **options)
    return out.getvalue()


_VALUES = [
    (12345678901234567, pa.int64(), "12345678901234567"),
    (2**64 - 1, pa.uint64(), "18446744073709551615"),
    (7.0, pa.float64(), "7"),
    (0.1, pa.float32(), "0.1"),
    (1e21, pa.float64(), "1000000000000000000000"),
    (float("nan"), pa.float64(), ""),
    (Decimal("12345678901234567890.10"), pa.decimal128(22, 2), "12345678901234567890.10"),
    (True, pa.bool_(), "TRUE"),
    (date(2026, 3, 1), pa.date32(), "2026-03-01"),
    (datetime(2026, 3, 1, 8, 30), pa.timestamp("ns"), "2026-03-01 08:30:00"),
    (datetime(2026, 3, 1, 8, 30), pa.timestamp("ms", "Asia/Shanghai"), "2026-03-01 16:30:00+08:00"),
    (1, pa.timestamp("ns", "UTC"), "1970-01-01 00:00:00.000000001+00:00"),
    (-1, pa.timestamp("ms"), "1969-12-31 23:59:59.999000"),
    (0, pa.timestamp("s", "Mars/Phobos"), "1970-01-01 00:00:00+00:00"),
    (0, pa.timestamp("s", "-03:30"), "1969-12-31 20:30:00-03:30"),
    (time(8, 30), pa.time64("us"), "08:30:00"),
    (61_000_000_001, pa.time64("ns"), "00:01:01.000000001"),
    (90_000_000_001, pa.duration("ns"), "0:01:30.000000001"),
    ([0.1, 7.0, float("nan"), float("inf"), None], pa.list_(pa.float32()), "[0.1,7,null,null,null]"),
    ([float("nan"), 0.1, 1e21], pa.list_(pa.float64()), "[null,0.1,1000000000000000000000]"),
    ([("a", 0.5), ("b", None)], pa.map_(pa.string(), pa.float32()), '[["a",0.5],["b",null]]'),
    ([{"a": [True, None]}, None], pa.list_(pa.struct({"a": pa.list_(pa.bool_())})), '[{"a":[true,null]},null]'),
    ([b"\xff", b"x"], pa.list_(pa.binary()), '["ff","x"]'),
    ([1, 2], pa.list_(pa.timestamp("ns"), 2),
     '["1970-01-01 00:00:00.000000001","1970-01-01 00:00:00.000000002"]'),
    ([1, None], pa.list_(pa.int8()), "[1,null]"),
    ({"a": date(2026, 3, 1), "b": "好"}, pa.struct({"a": pa.date32(), "b": pa.string()}),
     '{"a":"2026-03-01","b":"好"}'),
    ("00042", pa.string(), "00042"),
    ("很好 𠮷 😀\n", pa.large_string(), "很好 𠮷 😀\n"),
    ("很好".encode(), pa.binary(), "很好"),
    (None, pa.int64(), ""),
]  # fmt: skip


def test_values_become_text() -> None:
    data = _parquet({str(at): pa.array([value], kind) for at, (value, kind, _text) in enumerate(_VALUES)})
    assert read(data, "a.parquet") == [Row(1, {str(at): text for at, (_value, _kind, text) in enumerate(_VALUES)})]


def test_texts_of_a_dictionary_and_the_columns_of_pandas_are_understood() -> None:
    columns = {"kind": pa.array(["a", "b", "a"]).dictionary_encode(), "__index_level_0__": pa.array([0, 1, 2])}
    assert [row.values for row in read(_parquet(columns), "a.parquet")] == [{"kind": "a"}, {"kind": "b"}, {"kind": "a"}]


def test_bytes_that_are_no_text_set_their_row_aside_and_name_the_column() -> None:
    data = _parquet({"id": pa.array(["x", "y"]), "raw": pa.array([b"\xff\xd8", b"fine"])})
    bad, good = read(data, "a.parquet")
    detail = {"problem": "binary_value", "line": 1, "column": "raw"}
    assert bad == BadRow(1, "malformed_row", detail, {"id": "x", "raw": ""})
    assert good == Row(2, {"id": "y", "raw": "fine"})


def test_a_nul_character_sets_its_row_aside() -> None:
    bad, good = read(_parquet({"id": pa.array(["x", "y"]), "t": pa.array(["a\0", "b"])}), "a.parquet")
    assert isinstance(bad, BadRow)
    assert (bad.detail["problem"], bad.detail["column"], good.number) == ("nul_character", "t", 2)


def _nulls(rows: int, columns: int) -> bytes:
    return _parquet({f"c{number}": pa.nulls(rows, pa.string()) for number in range(columns)})


@pytest.mark.parametrize(("rows", "columns"), [(25_000_000, 1), (1_000_000, 30)])
def test_a_file_that_claims_rows_beyond_its_size_is_refused_before_they_are_read(rows: int, columns: int) -> None:
    with pytest.raises(UnableToRead, match="too_many_rows") as error:
        reading_of(_nulls(rows, columns), "a.parquet")
    assert error.value.details == {"problem": "claimed_rows", "rows": rows}


_UNSHOWABLE = {
    "timestamp": pa.array([2**62, 0], pa.int64()).view(pa.timestamp("us")),
    "near the last year, in a zone": pa.array([253402300799, 0], pa.int64()).view(pa.timestamp("s", "Asia/Shanghai")),
    "date32": pa.array([2**30, 0], pa.int32()).view(pa.date32()),
    "date64": pa.array([2**62, 0], pa.int64()).view(pa.date64()),
    "duration": pa.array([2**62, 0], pa.int64()).view(pa.duration("s")),
    "time": pa.array([-1, 0], pa.int64()).view(pa.time64("ns")),
    "within a list": pa.array([[2**62], [0]], pa.list_(pa.int64())).cast(pa.list_(pa.timestamp("us"))),
}


@pytest.mark.parametrize("values", _UNSHOWABLE.values(), ids=_UNSHOWABLE)
def test_a_value_out_of_range_sets_its_row_aside_and_names_the_column(values: pa.Array) -> None:
    bad, good = read(_parquet({"id": pa.array(["x", "y"]), "when": values}), "a.parquet")
    assert isinstance(bad, BadRow)
    assert (bad.code, bad.detail) == ("malformed_row", {"problem": "value_not_shown", "line": 1, "column": "when"})
    assert bad.values["id"] == "x"
    assert isinstance(good, Row)


def _not_utf8() -> pa.Array:
    return pa.array([b"a\xff", "好".encode(), None]).view(pa.string())


def test_a_text_that_is_not_utf_8_sets_its_row_aside_with_what_of_it_can_be_read() -> None:
    bad, *good = read(_parquet({"id": pa.array(["x", "y", "z"]), "text": _not_utf8()}), "a.parquet")
    assert bad == BadRow(1, "undecodable", {"line": 1, "column": "text"}, {"id": "x", "text": "a\ufffd"})
    assert good == [Row(2, {"id": "y", "text": "好"}), Row(3, {"id": "z", "text": ""})]


def test_a_nul_character_sets_its_row_aside_and_no_column_is_named_with_one() -> None:
    data = _parquet({"id": pa.array(["a", "b"]), "x\0y": pa.array(["c\0", "d"]), "\0raw": pa.array(["e", "f"])})
    bad, good = read(data, "a.parquet")
    assert isinstance(bad, BadRow)
    assert (bad.code, bad.detail["problem"], bad.detail["column"]) == ("malformed_row", "nul_character", "x␀y")
    assert good == Row(2, {"id": "b", "x␀y": "d", "␀raw": "f"})


def test_a_column_of_bytes_alone_is_named_before_anything_is_read() -> None:
    with pytest.raises(UnableToRead) as error:
        reading_of(_parquet({"id": pa.array(["x"]), "image": pa.array([b"\xff\xd8"])}), "a.parquet")
    assert (error.value.code, error.value.details) == ("binary_column", {"column": "image"})


def test_rows_without_values_count_between_others_and_not_at_the_end() -> None:
    found = read(_parquet({"a": pa.array(["x", None, "", "y", None])}), "a.parquet")
    assert found == [Row(1, {"a": "x"}), *(BadRow(n, "empty_row", {"line": n}, {}) for n in (2, 3)), Row(4, {"a": "y"})]


def test_many_row_groups_and_long_texts_come_in_order() -> None:
    texts = [f"{number} {'好' * (number % 3 * 400_000)}" for number in range(40)]
    found = read(_parquet({"t": pa.array(texts)}, row_group_size=7), "a.parquet")
    assert [row.values["t"] for row in found] == texts


def test_a_giant_value_sets_its_row_aside() -> None:
    found = read(_parquet({"t": pa.array(["a", "x" * 30_000_000, "b"])}), "a.parquet")
    assert [getattr(row, "code", "") for row in found] == ["", "malformed_row", ""]


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (_parquet({"a": pa.array([], pa.string())}), "no_rows"),
        (_parquet({"a": pa.array(["x"])})[:-20], "broken_table"),
        (_parquet({"a": pa.array(["x"])})[:8], "broken_table"),
        (_parquet({f"c{n}": pa.array(["x"]) for n in range(501)}), "too_many_columns"),
        (b"PARE\x15\x00", "locked_file"),
    ],
)
def test_a_file_that_cannot_be_read_says_why(data: bytes, code: str) -> None:
    with pytest.raises(UnableToRead, match=code):
        read(data, "a.parquet")


def test_a_file_that_asks_for_too_much_memory_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    data = _parquet({"t": pa.array(["x" * 60_000_000])}, compression="zstd")
    reading = reading_of(data, "a.parquet")
    monkeypatch.setattr(foreign, "MEMORY_BYTES", 110 * 1024**2)
    with pytest.raises(UnableToRead, match="table_too_large"):
        list(rows(io.BytesIO(data), reading))


@pytest.mark.parametrize(
    ("script", "code"),
    [
        ("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)", "broken_table"),
        ("import os, signal; os.kill(os.getpid(), signal.SIGABRT)", "table_too_large"),
        ("raise SystemExit(0)", "broken_table"),
        ("print('nonsense')", "broken_table"),
        ("print('{\"columns\": []}')", "broken_table"),
        ("while True: pass", "table_too_large"),
    ],
)
def test_whatever_becomes_of_the_child_the_file_is_refused(
    script: str, code: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "child.py"
    path.write_text(script)
    monkeypatch.setattr(foreign, "SCRIPT", path)
    monkeypatch.setattr(foreign, "SILENCE_S", 1)
    with pytest.raises(UnableToRead, match=code), table_of(io.BytesIO(b"x"), "parquet") as (_about, said):
        list(said)


def test_the_child_ends_when_nobody_listens_any_more(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "child.py"
    path.write_text("import os, time\nprint('{\"pid\": %d}' % os.getpid(), flush=True)\ntime.sleep(600)")
    monkeypatch.setattr(foreign, "SCRIPT", path)
    with table_of(io.BytesIO(b"x"), "parquet") as (about, _said):
        os.kill(about["pid"], 0)
    with pytest.raises(ProcessLookupError):
        os.kill(about["pid"], signal.SIGTERM)

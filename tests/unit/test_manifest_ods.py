"""OpenDocument manifests (.ods)."""

import io
import tracemalloc
import zipfile
from typing import Any

import pytest

from portal.packages.manifest import BadRow, Row, UnableToRead, ods_rows, rows
from portal.packages.manifest.reading import Wish
from tests.manifests import read, reading_of

_SPACES = " ".join(
    f'xmlns:{name}="urn:oasis:names:tc:opendocument:xmlns:{name}:1.0"' for name in ("office", "table", "text", "style")
)
_CALC = 'xmlns:calcext="urn:org:documentfoundation:names:experimental:calc:xmlns:calcext:1.0"'


def _ods(*tables: str, styles: str = "", listed: str = "", kind: str = "spreadsheet") -> bytes:
    content = (
        f'<?xml version="1.0" encoding="UTF-8"?><office:document-content {_SPACES} {_CALC}>'
        f"<office:automatic-styles>{styles}</office:automatic-styles>"
        f"<office:body><office:spreadsheet>{''.join(tables)}</office:spreadsheet></office:body></office:document-content>"
    )
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("mimetype", f"application/vnd.oasis.opendocument.{kind}", zipfile.ZIP_STORED)
        archive.writestr("content.xml", content)
        archive.writestr("META-INF/manifest.xml", f"<manifest>{listed}</manifest>")
    return out.getvalue()


def _table(*lines: str, name: str = "S", style: str = "ta1") -> str:
    return f'<table:table table:name="{name}" table:style-name="{style}">{"".join(lines)}</table:table>'


def _row(*cells: str, times: int = 1) -> str:
    return f'<table:table-row table:number-rows-repeated="{times}">{"".join(cells)}</table:table-row>'


def _cell(shown: str = "", kind: str = "string", value: str = "", more: str = "") -> str:
    name = {"date": "date-value", "time": "time-value", "boolean": "boolean-value"}.get(kind, "value")
    valued = f'office:{name}="{value}"' if value else ""
    text = "".join(f"<text:p>{line}</text:p>" for line in shown.split("\n"))
    return f'<table:table-cell office:value-type="{kind}" {valued} {more}>{text}</table:table-cell>'


def _blank(times: int = 1) -> str:
    return f'<table:table-cell table:number-columns-repeated="{times}"/>'


_HEADING = _row(_cell("id"), _cell("text"))


@pytest.mark.parametrize(
    ("cell", "text"),
    [
        (_cell("7", "float", "7"), "7"),
        (_cell("00007", "float", "7"), "00007"),
        (_cell("SKU00042", "float", "42"), "SKU00042"),
        (_cell("01234-5678", "float", "12345678"), "01234-5678"),
        (_cell("1,234.50", "float", "1234.5"), "1,234.50"),
        (_cell("1.234,50", "float", "1234.5"), "1,234.50"),
        (_cell("-0.005", "float", "-0.005"), "-0.005"),
        (_cell("0.3", "float", "0.30000000000000004"), "0.3"),
        (_cell("1.2E+19", "float", "1.2345678901234567E19"), "12345678901234600000"),
        (_cell("12.5%", "percentage", "0.125"), "12.5%"),
        (_cell("¥ 3.50", "currency", "3.5"), "¥ 3.50"),
        (_cell("$3.50", "currency", "3.5"), "$3.50"),
        (_cell("1,234,567", "float", "1234567"), "1,234,567"),
        (_cell("1,234", "float", "1.2341"), "1.234"),
        (_cell("(12.50)", "float", "-12.5"), "(12.50)"),
        (_cell("¥12.50", "currency", "-12.5"), "-¥12.50"),
        (_cell("0.00", "float", "-0.001"), "0.00"),
        (_cell("3 km2", "float", "3.4"), "3.4"),
        (_cell("2024-01-01", "date", "2024-01-01T09:30:00"), "2024-01-01"),
        (_cell("2024年1月1日 9时30分", "date", "2024-01-01T09:30:00"), "2024-01-01 09:30:00"),
        (_cell("01.03.26", "date", "2026-03-01"), "2026-03-01"),
        (_cell("x", "date", "2026-03-01T08:30:00.5"), "2026-03-01 08:30:00"),
        (_cell("30:05", "time", "PT30H05M00S"), "30:05:00"),
        (_cell("WAHR", "boolean", "true"), "TRUE"),
        (_cell("one\ntwo"), "one\ntwo"),
        (_cell('a<text:s text:c="3"/>b<text:tab/>c<text:line-break/>d'), "a   b\tc\nd"),
        (_cell("a \n\t b".replace("\n", "&#10;")), "a b"),
        (_cell("<text:span>很</text:span>好 𠮷 😀"), "很好 𠮷 😀"),
        (_cell("x<office:annotation><text:p>a remark</text:p></office:annotation>"), "x"),
        (_cell("0012345678901234567890"), "0012345678901234567890"),
    ],
)
def test_cells_become_the_text_that_is_shown(cell: str, text: str) -> None:
    assert read(_ods(_table(_HEADING, _row(_cell("a"), cell))), "a.ods") == [Row(1, {"id": "a", "text": text})]


@pytest.mark.parametrize(
    "cell",
    [
        _cell("#DIV/0!", more='table:formula="of:=1/0" office:string-value="" calcext:value-type="error"'),
        _cell("#N/A", "float", "0", more='table:formula="of:=NA()"'),
        _cell("Err:502", more='table:formula="of:=SQRT(-1)"'),
    ],
)
def test_an_error_of_a_formula_sets_its_row_aside_and_names_the_cell(cell: str) -> None:
    bad, good = read(_ods(_table(_HEADING, _row(_cell("a"), cell), _row(_cell("b"), _cell("#N/A")))), "a.ods")
    assert isinstance(bad, BadRow)
    assert (bad.detail["problem"], bad.detail["cell"]) == ("formula_error", "B2")
    assert good == Row(2, {"id": "b", "text": "#N/A"})


@pytest.mark.parametrize("cell", [_cell("x", "float", "1e999"), _cell("x", "date", "soon"), _cell("x", "float", "0x1")])
def test_a_cell_that_cannot_be_shown_sets_its_row_aside(cell: str) -> None:
    bad, good = read(_ods(_table(_HEADING, _row(_cell("a"), cell), _row(_cell("b"), _cell("c")))), "a.ods")
    assert (getattr(bad, "code", ""), good.number) == ("malformed_row", 2)


def test_repeated_rows_and_cells_are_rows_and_cells_and_blank_ones_at_the_end_are_nothing() -> None:
    lines = [_HEADING, _row(_cell("a", more='table:number-columns-repeated="2"'), times=2), _row(_blank(2), times=2),
             _row(_cell("b")), _row(_blank(1024), times=1_048_000)]  # fmt: skip
    found = read(_ods(_table(*lines)), "a.ods")
    assert found == [
        Row(1, {"id": "a", "text": "a"}), Row(2, {"id": "a", "text": "a"}),
        BadRow(3, "empty_row", {"line": 4}, {}), BadRow(4, "empty_row", {"line": 5}, {}),
        Row(5, {"id": "b", "text": ""}),
    ]  # fmt: skip


def test_merged_cells_are_as_in_excel_files() -> None:
    tall = 'table:number-rows-spanned="2" table:number-columns-spanned="1"'
    wide = 'table:number-rows-spanned="1" table:number-columns-spanned="2"'
    covered = "<table:covered-table-cell/>"
    lines = [_row(_cell("Reviews of 2026", more=wide), covered), _HEADING,
             _row(_cell("A", more=tall), _cell("a")), _row(covered, _cell("b")),
             _row(_blank(), _cell("c"))]  # fmt: skip
    found = read(_ods(_table(*lines)), "a.ods")
    assert [row.values for row in found] == [
        {"id": "A", "text": "a"},
        {"id": "A", "text": "b"},
        {"id": "", "text": "c"},
    ]


def test_a_sheet_can_be_chosen_and_hidden_ones_come_last() -> None:
    hide = '<style:style style:name="ta2"><style:table-properties table:display="false"/></style:style>'
    data = _ods(
        _table(name="说明"),
        _table(_row(_cell("a")), _row(_cell("x")), name="旧", style="ta2"),
        _table(_row(_cell("b")), _row(_cell("y")), name="数据"),
        styles=hide,
    )
    reading = reading_of(data, "a.ods")
    assert (reading.format, reading.sheet, reading.sheets) == ("ods", "数据", ("说明", "数据", "旧"))
    chosen = reading_of(data, "a.ods", wish=Wish(sheet="旧"))
    assert list(rows(io.BytesIO(data), chosen)) == [Row(1, {"a": "x"})]
    with pytest.raises(UnableToRead, match="unknown_sheet"):
        reading_of(data, "a.ods", wish=Wish(sheet="x"))


def test_a_cover_of_one_line_is_passed_by() -> None:
    cover, table = _row(_cell("说明")), [_HEADING, _row(_cell("a"), _cell("b"))]
    assert reading_of(_ods(_table(cover, name="说明"), _table(*table, name="数据")), "a.ods").sheet == "数据"
    with pytest.raises(UnableToRead, match="no_rows") as error:
        reading_of(_ods(_table(cover, name="说明"), _table(_HEADING, name="数据")), "a.ods")
    assert error.value.details["sheet"] == "说明"


_MANY = _row(_cell("x", more='table:number-columns-repeated="16000"'), times=100_000)


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (_ods(_table(_HEADING, _row(_cell("x"))), listed="<x:encryption-data/>"), "locked_file"),
        (_ods(_table(_HEADING)), "no_rows"),
        (_ods(_table()), "no_sheet"),
        (_ods("<table:table"), "broken_table"),
        (_ods(_table(_HEADING, _row(_cell("x"), times=0))), "broken_table"),
        (_ods(_table(_HEADING, _row(_cell("x"), times=1_048_576))), "beyond_excel"),
        (_ods(_table(_HEADING, _row(_cell("x", more='table:number-columns-repeated="999999999"')))), "beyond_excel"),
        (_ods(_table(_HEADING, _MANY)), "workbook_too_large"),
        (_ods(*[_table(name=f"S{n}") for n in range(1_002)]), "workbook_too_large"),
    ],
)
def test_a_file_that_cannot_be_read_says_why(data: bytes, code: str) -> None:
    with pytest.raises(UnableToRead, match=code):
        read(data, "a.ods")


def test_a_row_that_stands_for_a_million_is_read_in_flat_memory() -> None:
    data = _ods(_table(_HEADING, _row(_cell("x"), _cell("y" * 1_000), times=1_000_000)))
    reading = reading_of(data, "a.ods")
    tracemalloc.start()
    found: Any = rows(io.BytesIO(data), reading)
    count = sum(1 for _row in zip(found, range(20_000), strict=False))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert (count, peak < 8 << 20) == (20_000, True)


def test_cells_alike_beside_each_other_are_read_in_flat_memory() -> None:
    wide = _row(_cell("x", more='table:number-columns-repeated="16384"'))
    data = _ods(_table(_HEADING, *[wide] * 500), styles="<!-- -spanned -->")
    reading = reading_of(data, "a.ods")
    tracemalloc.start()
    try:
        (first, *others) = rows(io.BytesIO(data), reading)
        assert tracemalloc.get_traced_memory()[1] < 20 << 20
    finally:
        tracemalloc.stop()
    assert len(others) == 499
    assert isinstance(first, BadRow)
    assert (first.code, first.detail["fields"]) == ("ragged_row", 16_384)


def test_cells_alike_beside_each_other_count_as_those_below() -> None:
    wide = _row(_cell("x", more='table:number-columns-repeated="16384"'), times=1_000)
    with pytest.raises(UnableToRead, match="workbook_too_large"):
        read(_ods(_table(_HEADING, *[wide] * 60)), "a.ods")


def test_cells_alike_within_the_columns_are_each_read() -> None:
    line = _row(_cell("x", more='table:number-columns-repeated="2"'), _cell("y"))
    data = _ods(_table(_row(_cell("a"), _cell("b"), _cell("c")), line))
    assert read(data, "a.ods") == [Row(1, {"a": "x", "b": "x", "c": "y"})]


@pytest.mark.parametrize("has_ranges", [False, True])
def test_a_document_is_not_looked_through_without_end(has_ranges: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    data = _ods(_table(_HEADING, *[_row(_cell("x"))] * 2_000), styles="<!-- -spanned -->" if has_ranges else "")
    assert len(read(data, "a.ods")) == 2_000
    monkeypatch.setattr(ods_rows, "MOST_LOOKED_THROUGH", 10_000)
    with pytest.raises(UnableToRead, match="workbook_too_large"):
        read(data, "a.ods")


@pytest.mark.parametrize(("value", "shown"), [("9007199254740993", "9.01E+15"), ("9.007199254740993E+15", "9E+15")])
def test_of_ids_with_many_digits_all_are_kept(value: str, shown: str) -> None:
    data = _ods(_table(_HEADING, _row(_cell(shown, "float", value))))
    assert read(data, "a.ods")[0].values["id"] == "9007199254740993"


def test_other_open_documents_are_named() -> None:
    with pytest.raises(UnableToRead, match="wrong_format"):
        read(_ods(_table(_HEADING), kind="presentation"), "a.odp")

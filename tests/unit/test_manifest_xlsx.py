"""Excel manifests: cells as Excel shows them."""

import io
import tracemalloc
import zipfile
from datetime import date, datetime, time, timedelta
from pathlib import Path
from typing import Any

import pytest

from portal.packages.manifest import BadRow, Reading, Row, UnableToRead, rows, shared_texts, xlsx_rows
from portal.packages.manifest.shown import shown, value_of
from tests.manifests import read, workbook


def _zip(files: dict[str, str]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return out.getvalue()


def test_cells_become_the_text_that_excel_shows() -> None:
    data = workbook(
        [["id", "price", "share", "on", "at", "ok"], [7, 3.5, 0.125, date(2026, 3, 1), datetime(2026, 3, 1, 8), True]],
        {"A2": "00000", "B2": "#,##0.00", "C2": "0.0%", "D2": "yyyy-mm-dd"},
    )
    assert read(data, "a.xlsx") == [
        Row(
            1,
            {
                "id": "00007", "price": "3.50", "share": "12.5%", "on": "2026-03-01", "at": "2026-03-01 08:00:00",
                "ok": "TRUE",
            },
        )
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("value", "number_format", "text"),
    [
        (3, "General", "3"),
        (3.0, "General", "3"),
        (0.1 + 0.2, "General", "0.3"),
        (1e21, "General", "1000000000000000000000"),
        (-1.005, "0.00", "-1.01"),
        (2.5, "0", "3"),
        (0.5, "0%", "50%"),
        (12, '0.00" kg"', "12.00 kg"),
        (12.5, '"¥"#,##0.00', "¥12.50"),
        (-1234.5, '"¥"#,##0.00', "-¥1,234.50"),
        (12.5, "[$¥-804]#,##0.00", "¥12.50"),
        (12.5, "¥#,##0.00;¥-#,##0.00", "¥12.50"),
        (-12.5, "¥#,##0.00;¥-#,##0.00", "¥-12.50"),
        (-12.5, '"¥"#,##0.00;[Red]"¥"#,##0.00', "-¥12.50"),
        (1234567, "#,##0", "1,234,567"),
        (7, "0,000", "0,007"),
        (0, "#,##0", "0"),
        (-1234, "#,##0_);(#,##0)", "(1,234)"),
        (-5, "0;[Red]-0;0", "-5"),
        (-5, '0" up";0" down"', "5 down"),
        (0, '0;-0;"none"', "none"),
        (0, "0;-0;;@", ""),
        (1234.5, '_ "¥"* #,##0.00_ ;_ "¥"* \\-#,##0.00_ ;_ "¥"* "-"??_ ;_ @_ ', "¥1,234.50"),
        (0, '_ "¥"* #,##0.00_ ;_ "¥"* \\-#,##0.00_ ;_ "¥"* "-"??_ ;_ @_ ', "¥-"),
        (3, '"第"0"名"', "第3名"),
        (3, "\\N00", "N03"),
        (12.5, "0.0#", "12.5"),
        (1234567, '0.0,,"M"', "1.2M"),
        (0.125, '"up "0.0%', "up 12.5%"),
        (5, 'General" kg"', "5 kg"),
        (-0.001, "0.00", "0.00"),
        (1234.5, "0.00E+00", "1234.5"),
        (0.5, "# ?/?", "0.5"),
        (5, "[>3]0.0;0", "5"),
        (5, ";;;", "5"),
        (13800138000, "000-0000-0000", "138-0013-8000"),
        (2012345678, "000\\-0000\\-0000", "020-1234-5678"),
        (12345678, "00000-0000", "01234-5678"),
        (5551234, "(###) ###-####", "() 555-1234"),
        (1234567890123, "00000-0000", "123456789-0123"),
        (7, '"SKU"00000', "SKU00007"),
        (42, "00000_)", "00042"),
        (1.005, "[Red]0.00", "1.01"),
        (-7, "00-00", "-00-07"),
        (datetime(2024, 1, 1, 9, 30), "yyyy-mm-dd", "2024-01-01"),
        (datetime(2024, 1, 1, 9, 30), 'yyyy"年h"m"月"d"日"', "2024-01-01"),
        (datetime(2024, 1, 1, 9, 30), "yyyy/m/d h:mm", "2024-01-01 09:30:00"),
        (datetime(2024, 1, 1), "yyyy/m/d h:mm", "2024-01-01 00:00:00"),
        (datetime(2024, 1, 1, 9, 30), "General", "2024-01-01 09:30:00"),
        (time(8, 30), "h:mm", "08:30:00"),
        (1e30, "0.00", f"1{'0' * 30}.00"),
        (timedelta(hours=30), "[h]:mm:ss", "30:00:00"),
        (timedelta(hours=30, minutes=5), "[h]:mm", "30:05"),
        (timedelta(minutes=90, seconds=7), "[mm]:ss", "90:07"),
        (timedelta(minutes=2), "[ss]", "120"),
        (timedelta(hours=-1), "[h]:mm", "-1:00"),
        ("007", "@", "007"),
    ],
)
def test_number_formats(value: object, number_format: str, text: str) -> None:
    assert shown(value, number_format) == text


@pytest.mark.parametrize("sign", ["[", '"', "_", "0", ";"])
def test_a_giant_format_costs_nothing_and_is_no_format(sign: str) -> None:
    code = sign * 1_000_000
    assert value_of("n", "5", code, is_mac=False) == "5"


def test_blank_rows_count_between_rows_however_many_and_not_at_the_end() -> None:
    lines: list[list[Any]] = [["id", "text"], [1, "a"], *[[None]] * 1_497, [2, "b"], [None, None], [" "], [None]]
    first, *blank, last, between, spaces = read(workbook(lines), "a.xlsx")
    assert first == Row(1, {"id": "1", "text": "a"})
    assert blank == [BadRow(number, "empty_row", {"line": number + 1}, {}) for number in range(2, 1_499)]
    assert last == Row(1_499, {"id": "2", "text": "b"})
    assert (between, spaces.number) == (BadRow(1_500, "empty_row", {"line": 1_501}, {}), 1_501)


def test_a_cell_beyond_the_heading_sets_its_row_aside_and_a_missing_one_is_empty() -> None:
    short, long = read(workbook([["id", "text"], [1], [2, "b", "c"]]), "a.xlsx")
    assert short == Row(1, {"id": "1", "text": ""})
    assert isinstance(long, BadRow)
    assert (long.code, long.detail) == ("ragged_row", {"fields": 3, "expected": 2, "line": 3})


@pytest.mark.parametrize(
    ("lines", "code"),
    [([["id", "text"]], "no_rows"), ([], "no_sheet")],
)
def test_a_workbook_that_cannot_be_used_says_why(lines: list[list[object]], code: str) -> None:
    with pytest.raises(UnableToRead, match=code):
        read(workbook(lines), "a.xlsx")


@pytest.mark.parametrize(
    ("files", "code", "found"),
    [
        ({"word/document.xml": ""}, "wrong_format", "Word"),
        ({"a.txt": "", "b.txt": ""}, "several_files", None),
        ({"xl/workbook.bin": ""}, "wrong_format", "Excel (.xlsb)"),
        ({"xl/workbook.xml": "<nonsense"}, "broken_workbook", None),
    ],
)
def test_other_archives_are_named(files: dict[str, str], code: str, found: str | None) -> None:
    with pytest.raises(UnableToRead) as error:
        read(_zip(files), "a.xlsx")
    assert (error.value.code, error.value.details.get("found")) == (code, found)


def test_a_truncated_workbook_is_damaged() -> None:
    data = workbook([["id"], ["x"]])
    with pytest.raises(UnableToRead, match="broken_archive"):
        read(data[: len(data) // 2], "a.xlsx")


_MAIN = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'
_HEADING = '<row r="1"><c t="inlineStr"><is><t>id</t></is></c><c t="inlineStr"><is><t>text</t></is></c></row>'


def _parts(rows: str, *, styles: str = "", before: str = "") -> dict[str, str]:
    office = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    relations = "http://schemas.openxmlformats.org/package/2006/relationships"
    book = f'<workbook {_MAIN} xmlns:r="{office}"><sheets><sheet name="S" sheetId="1" r:id="rId1"/></sheets></workbook>'
    return {
        "xl/workbook.xml": book,
        "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{relations}">'
        f'<Relationship Id="rId1" Type="{office}/worksheet" Target="worksheets/s.xml"/>'
        f'<Relationship Id="rId2" Type="{office}/styles" Target="/xl/styles.xml"/>'
        f'<Relationship Id="rId3" Type="{office}/sharedStrings" Target="texts.xml"/></Relationships>',
        "xl/styles.xml": styles or f"<styleSheet {_MAIN}/>",
        "xl/texts.xml": f"<sst {_MAIN}><si><t>zero</t></si>"
        "<si><r><rPr/><t>o</t></r><r><t>ne</t></r><rPh><t>!</t></rPh></si><si><t>a_x000D_b_x005F_c</t></si>"
        "<si><t>_x0001__x005F_x0041__xd83d__xDE00_</t></si><si><t>a_x0000_b</t></si><si><t>a_xD83D_b</t></si></sst>",
        "xl/worksheets/s.xml": f"<worksheet {_MAIN}>{before}<sheetData>{rows}</sheetData></worksheet>",
    }


def _read_rows(rows: str, **parts: str) -> list[Row | BadRow]:
    return read(_zip(_parts(_HEADING + rows, **parts)), "a.xlsx")


def test_texts_of_the_table_are_read_with_their_runs_and_without_their_pronunciation() -> None:
    cells = "".join(f'<row><c t="s"><v>{number}</v></c><c><v>1</v></c></row>' for number in range(4))
    assert [row.values["id"] for row in _read_rows(cells)] == ["zero", "one", "a\rb_c", "\x01_x0041_😀"]


@pytest.mark.parametrize(
    "cells",
    [
        '<row><c t="s"><v>4</v></c></row><row><c t="s"><v>5</v></c></row>',
        '<row><c t="inlineStr"><is><t>a_x0000_b</t></is></c></row><row><c t="str"><v>a_xD83D_b</v></c></row>',
    ],
)
def test_an_escape_that_is_no_text_sets_its_row_aside_and_names_the_column(cells: str) -> None:
    nul, half = _read_rows(cells)
    where = {"line": 2, "position": 1, "cell": "A2", "column": "id"}
    assert nul == BadRow(1, "malformed_row", {"problem": "nul_character", **where}, {"id": "a\u2400b", "text": ""})
    assert isinstance(half, BadRow)
    assert (half.detail["problem"], half.detail["line"], half.values["id"]) == ("half_character", 3, "a\ufffdb")


def test_a_row_that_is_too_long_is_set_aside_whole() -> None:
    cells = "".join(f"<c t='inlineStr'><is><t>{'x' * 900_000}</t></is></c>" for _cell in range(2))
    heading = "".join(f"<c t='inlineStr'><is><t>c{n}</t></is></c>" for n in range(6))
    data = _zip(_parts(f"<row>{heading}</row><row>{cells * 3}</row>"))
    (row,) = read(data, "a.xlsx")
    assert isinstance(row, BadRow)
    assert row.detail["problem"] == "field_too_long"


def test_elements_may_have_any_prefix() -> None:
    data = _parts(_HEADING + '<row r="2"><c r="B2"><v>1</v></c></row>')
    name = "xl/worksheets/s.xml"
    for element in ("worksheet", "sheetData", "row", "c", "is", "t", "v"):
        data[name] = data[name].replace(f"<{element}", f"<x:{element}").replace(f"</{element}>", f"</x:{element}>")
    data[name] = data[name].replace("xmlns=", "xmlns:x=").replace("<x:c ", "<x:c  ").replace("<x:tx:", "<x:t")
    assert read(_zip(data), "a.xlsx") == [Row(1, {"id": "", "text": "1"})]


@pytest.mark.parametrize(
    ("rows", "code"),
    [
        ('<row r="1000000000000"><c><v>1</v></c></row>', "beyond_excel"),
        ('<row r="2"><c r="XFE2"><v>1</v></c></row>', "beyond_excel"),
        ('<row r="3"><c><v>1</v></c></row><row r="2"><c><v>2</v></c></row>', "unordered_sheet"),
        ('<row r="2"><c><v>1</v></c></row><row r="2"><c><v>2</v></c></row>', "unordered_sheet"),
        ('<row r="2"><c r="B2"><v>1</v></c><c r="A2"><v>2</v></c></row>', "unordered_sheet"),
        ('<row r="2"><c r="A2"><v>1</v></c><c r="A2"><v>2</v></c></row>', "unordered_sheet"),
        ('<row r="2"><c r="A3"><v>1</v></c></row>', "unordered_sheet"),
        ('<row r="x"/>', "broken_workbook"),
        ("<row>" + "<c><v>1</v></c>" * 16_385 + "</row>", "beyond_excel"),
        ("<row/>" * 1_048_576, "beyond_excel"),
        ("<row>" + "<x>" * 1_000_001, "workbook_too_large"),
        ("".join(f"<n{number}/>" for number in range(70_000)), "workbook_too_large"),
        (f"<row {'x' * 3_000_000}='1'/>", "workbook_too_large"),
        ("</row>", "broken_workbook"),
    ],
)
def test_a_sheet_out_of_bounds_or_out_of_order_is_refused(rows: str, code: str) -> None:
    with pytest.raises(UnableToRead, match=code):
        _read_rows(rows)


def test_no_row_may_be_a_heading_far_away() -> None:
    with pytest.raises(UnableToRead, match="beyond_excel"):
        read(_zip(_parts('<row r="1000000000000"><c><v>1</v></c></row>')), "a.xlsx")


@pytest.mark.parametrize(
    ("part", "text", "code"),
    [
        ("xl/styles.xml", "<x>" + " " * (20 << 20) + "</x>", "workbook_too_large"),
        ("xl/texts.xml", "<x>" + " " * (20 << 20) + "</x>", "workbook_too_large"),
        ("xl/styles.xml", "<x>" * 1_000 + "</x>" * 1_000, "broken_workbook"),
        ("xl/styles.xml", "<s><cellXfs>" + "<xf/>" * 100_001 + "</cellXfs></s>", "workbook_too_large"),
        ("xl/styles.xml", "<broken", "broken_workbook"),
        ("xl/texts.xml", "<sst><si><si/></si></sst>", "workbook_too_large"),
    ],
)
def test_a_part_out_of_bounds_is_refused(part: str, text: str, code: str) -> None:
    with pytest.raises(UnableToRead, match=code):
        read(_zip({**_parts(_HEADING + '<row><c><v>1</v></c><c t="s"><v>0</v></c></row>'), part: text}), "a.xlsx")


def _sheets_of_empty_rows(parts: int, rows: int) -> bytes:
    """A workbook with a thousand names for these sheets in turn, and a last one with rows."""
    data = _parts(_HEADING + "<row><c><v>1</v></c><c><v>2</v></c></row>")
    names = "".join(f'<sheet name="S{at}" r:id="e{at % parts}"/>' for at in range(999))
    data["xl/workbook.xml"] = data["xl/workbook.xml"].replace("<sheets>", "<sheets>" + names)
    relations = "xl/_rels/workbook.xml.rels"
    listed = "".join(
        f'<Relationship Id="e{at}" Type="x/worksheet" Target="worksheets/e{at}.xml"/>' for at in range(parts)
    )
    data[relations] = data[relations].replace("<Relationship ", listed + "<Relationship ", 1)
    empty = "<worksheet><sheetData>" + "<row/>" * rows + "</sheetData></worksheet>"
    return _zip({**data, **{f"xl/worksheets/e{at}.xml": empty for at in range(parts)}})


def test_a_sheet_with_many_names_is_looked_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(xlsx_rows, "MOST_LOOKED_AT", 15_000)
    assert read(_sheets_of_empty_rows(1, 10_000), "a.xlsx") == [Row(1, {"id": "1", "text": "2"})]


def test_many_sheets_without_content_are_not_all_gone_through(monkeypatch: pytest.MonkeyPatch) -> None:
    data = _sheets_of_empty_rows(20, 1_000)
    assert read(data, "a.xlsx") == [Row(1, {"id": "1", "text": "2"})]
    monkeypatch.setattr(xlsx_rows, "MOST_LOOKED_AT", 15_000)
    with pytest.raises(UnableToRead, match="workbook_too_large"):
        read(data, "a.xlsx")


def test_a_sheet_is_not_parsed_without_end_for_its_merges(monkeypatch: pytest.MonkeyPatch) -> None:
    data = _zip(_parts(_HEADING + "<row><c><v>1</v></c></row>" * 2_000 + "<!-- mergeCell -->"))
    assert len(read(data, "a.xlsx")) == 2_000
    monkeypatch.setattr(xlsx_rows, "MOST_LOOKED_THROUGH", 10_000)
    with pytest.raises(UnableToRead, match="workbook_too_large"):
        read(data, "a.xlsx")


def test_texts_of_the_table_are_read_as_far_as_rows_name_them() -> None:
    rows = _HEADING + '<row><c t="s"><v>1</v></c><c t="s"><v>0</v></c></row>'
    beginning = "<sst><si><t>a</t></si><si><t>b</t></si>" + " " * 200_000
    data = {**_parts(rows), "xl/texts.xml": f"{beginning}<broken"}
    assert read(_zip(data), "a.xlsx") == [Row(1, {"id": "b", "text": "a"})]


def test_a_table_of_more_texts_than_its_packed_size_can_hold_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = _HEADING + '<row><c t="s"><v>4999</v></c></row>'
    data = _zip({**_parts(rows), "xl/texts.xml": "<sst>" + "<si><t>a</t></si>" * 5_000 + "</sst>"})
    assert read(data, "a.xlsx") == [Row(1, {"id": "a", "text": ""})]
    monkeypatch.setattr(shared_texts, "TEXTS_UNSUSPECTED", 1_000)
    with pytest.raises(UnableToRead, match="workbook_too_large"):
        read(data, "a.xlsx")


@pytest.mark.parametrize("code", ["General", "0", "@", "000"])
def test_of_ids_with_many_digits_all_are_kept(code: str) -> None:
    (row,) = read(workbook([["id"], [9007199254740992]], {"A2": code}), "a.xlsx")
    assert row.values == {"id": "9007199254740992"}


def test_a_giant_text_sets_its_row_aside_and_is_not_held(tmp_path: Path) -> None:
    path = tmp_path / "a.xlsx"
    parts = _parts("")
    before, after = parts.pop("xl/worksheets/s.xml").split("<sheetData>")
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:
        for name, text in parts.items():
            archive.writestr(name, text)
        with archive.open("xl/worksheets/s.xml", "w") as sheet:
            sheet.write(f'{before}<sheetData>{_HEADING}<row><c t="inlineStr"><is><t>'.encode())
            for _ in range(40):
                sheet.write(b"x" * (1 << 20))
            sheet.write(f"</t></is></c></row><row><c><v>2</v></c></row>{after}".encode())
    with path.open("rb") as stream:
        reading = Reading("xlsx", columns=("id", "text"))
        tracemalloc.start()
        found = [(row.number, type(row)) for row in rows(stream, reading)]
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert found == [(1, BadRow), (2, Row)]
    assert peak < 16 << 20


def test_a_cell_that_cannot_be_shown_sets_its_row_aside_alone() -> None:
    styles = (
        f'<styleSheet {_MAIN}><numFmts><numFmt numFmtId="170" formatCode="0.00"/></numFmts>'
        '<cellXfs><xf/><xf numFmtId="170"/><xf numFmtId="14"/></cellXfs></styleSheet>'
    )
    cells = ['s="1"><v>1e30</v>', 's="1"><v>1e999</v>', 's="2"><v>-5</v>', 's="2"><v>9e99</v>', 't="s"><v>77</v>',
             "><v>1_0</v>", "><v>x</v>"]  # fmt: skip
    found = _read_rows("".join(f"<row><c><v>1</v></c><c {cell}</c></row>" for cell in cells), styles=styles)
    assert found[0] == Row(1, {"id": "1", "text": f"1{'0' * 30}.00"})
    assert [row.code for row in found[1:] if isinstance(row, BadRow)] == ["malformed_row"] * 6
    assert isinstance(found[1], BadRow)
    assert found[1].detail == {"problem": "cell_not_shown", "line": 3, "position": 2, "cell": "B3"}


def _patched(data: bytes, *, flags: int = 0, method: int | None = None) -> bytes:
    """The archive with these flags and this compression method claimed of every part."""
    out = bytearray(data)
    for magic, at in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        start = 0
        while (start := data.find(magic, start)) >= 0:
            out[start + at] |= flags
            if method is not None:
                out[start + at + 2] = method
            start += 4
    return bytes(out)


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (_patched(workbook([["id"], ["x"]]), flags=1), "locked_file"),
        (_patched(workbook([["id"], ["x"]]), method=9), "broken_workbook"),
        (_patched(workbook([["id"], ["x"]]), method=12), "broken_workbook"),
        (_patched(workbook([["id"], ["x"]]), method=14), "broken_workbook"),
        (_zip({"[Content_Types].xml": "<Types/>"}), "broken_workbook"),
    ],
)
def test_an_archive_that_is_locked_or_packed_otherwise_is_refused(data: bytes, code: str) -> None:
    with pytest.raises(UnableToRead, match=code):
        read(data, "a.xlsx")


def test_an_archive_with_a_giant_directory_is_refused_before_it_is_read() -> None:
    data = bytearray(workbook([["id"], ["x"]]))
    end = data.rfind(b"PK\x05\x06")
    data[end + 12 : end + 16] = (5 << 20).to_bytes(4, "little")
    with pytest.raises(UnableToRead, match="archive_too_large"):
        read(bytes(data), "a.xlsx")


def test_entities_in_a_workbook_are_never_expanded() -> None:
    source = zipfile.ZipFile(io.BytesIO(workbook([["id"], ["x"]])))
    files = {name: source.read(name).decode() for name in source.namelist()}
    bomb = '<!DOCTYPE x [<!ENTITY a "aaaa">]>'
    files["xl/worksheets/sheet1.xml"] = bomb + files["xl/worksheets/sheet1.xml"]
    with pytest.raises(UnableToRead, match="broken_workbook"):
        read(_zip(files), "a.xlsx")

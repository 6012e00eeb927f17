"""The demo takes anybody's file: any of the formats, any encoding, the first rows, the column with the most text."""

import csv
from pathlib import Path

import pytest
from openpyxl import Workbook

from deploy.embedded.client import UnableToGoOn
from deploy.embedded.manifest import manifest


def test_chinese_in_gb18030_becomes_utf8_and_keeps_its_first_rows(tmp_path: Path) -> None:
    source = tmp_path / "评论.csv"
    source.write_bytes('编号,评论\n1,"很好,\n推荐"\n2,一般\n3,差\n'.encode("gb18030"))
    cut = manifest(source, limit=2, column=None, folder=tmp_path)
    assert cut.column == "评论"
    with cut.path.open(encoding="utf-8", newline="") as stream:
        assert [row["评论"] for row in csv.DictReader(stream)] == ["很好,\n推荐", "一般"]


def test_json_lines_stay_json_lines(tmp_path: Path) -> None:
    source = tmp_path / "a.jsonl"
    source.write_text('{"n": 1, "text": "long enough"}\n{"n": 2, "text": "two"}\n')
    cut = manifest(source, limit=1, column=None, folder=tmp_path)
    assert cut.path.read_text() == '{"n": 1, "text": "long enough"}\n'
    assert cut.column == "text"


def test_a_sheet_is_read_and_without_a_limit_sent_as_it_is(tmp_path: Path) -> None:
    book = Workbook()
    book.active.append(["id", "note"])
    book.active.append([1, "a longer note"])
    book.save(tmp_path / "notes.xlsx")
    chosen = manifest(tmp_path / "notes.xlsx", limit=None, column=None, folder=tmp_path)
    assert (chosen.path, chosen.column) == (tmp_path / "notes.xlsx", "note")


@pytest.mark.parametrize(("content", "column"), [(None, None), ("id,text\n", None), ("id,text\n1,a\n", "txt")])
def test_what_cannot_be_used_is_told(content: str | None, column: str | None, tmp_path: Path) -> None:
    source = tmp_path / "a.csv"
    if content is not None:
        source.write_text(content)
    with pytest.raises(UnableToGoOn):
        manifest(source, limit=5, column=column, folder=tmp_path)

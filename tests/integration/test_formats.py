"""Whatever file a department has: it becomes the same draft, and the same shards."""

import csv
import gzip
import io
import zipfile

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import xlwt
import zstandard

from portal.packages.store import objects
from scheduler.domain.lifecycle import PackageState
from tests.manifests import draft, ingested, read_now, workbook
from tests.world import World

LINES = [["id", "text"], ["007", "很好 𠮷"], ["008", ""], ["009", "@all"], ["010", "two\nlines"]]


def _csv() -> bytes:
    out = io.StringIO(newline="")
    csv.writer(out).writerows(LINES)
    return out.getvalue().encode()


def _zip() -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("资料/评论.csv", _csv())
    return out.getvalue()


def _xls() -> bytes:
    book = xlwt.Workbook()
    sheet = book.add_sheet("S")
    for row, line in enumerate(LINES):
        for column, text in enumerate(line):
            sheet.write(row, column, text)
    out = io.BytesIO()
    book.save(out)
    return out.getvalue()


def _parquet() -> bytes:
    out = io.BytesIO()
    pq.write_table(pa.table({name: [line[at] for line in LINES[1:]] for at, name in enumerate(LINES[0])}), out)
    return out.getvalue()


def _files() -> dict[str, bytes]:
    return {
        "a.csv": _csv(),
        "a.csv.gz": gzip.compress(_csv()),
        "a.csv.zst": zstandard.compress(_csv()),
        "a.zip": _zip(),
        "a.xlsx": workbook(LINES),
        "a.xls": _xls(),
        "a.parquet": _parquet(),
        "wrong.csv": workbook(LINES),
        "wrong.xlsx": _csv(),
        "nothing": _csv(),
        "a.xlsx.gz": gzip.compress(workbook(LINES)),
    }


@pytest.mark.parametrize("filename", _files())
def test_every_format_gives_the_same_shards(world: World, filename: str) -> None:
    expected, package = ingested(world, _csv(), "reference.csv"), ingested(world, _files()[filename], filename)
    assert package.refusal is None
    assert (package.rows_read, package.rows_good, package.rows_set_aside) == (4, 3, 1)
    assert [objects().get(shard.key) for shard in package.shards.order_by("no")] == [
        objects().get(shard.key) for shard in expected.shards.order_by("no")
    ]


@pytest.mark.parametrize("filename", ["a.csv.gz", "a.xls", "a.parquet"])
def test_a_file_that_is_cut_after_it_was_taken_is_told_and_can_be_replaced(world: World, filename: str) -> None:
    package = draft(world, _files()[filename], filename)
    whole = objects().get(package.manifest_key)
    objects().put(package.manifest_key, whole[: len(whole) - 30])
    read_now(package)
    assert (package.state, package.rows_good) == (PackageState.INVALID, 0)
    assert package.refusal is not None
    assert package.refusal["code"] in {"broken_archive", "broken_table"}

"""The same results in every form, at any time; a quarantine that a spreadsheet can correct."""

import csv
import io
import json
from collections.abc import Callable
from typing import Any, cast, get_args

import openpyxl
import pytest
from django.http import HttpResponse
from django.test import Client, RequestFactory
from django.utils import timezone
from pyarrow import parquet

from portal.departments.refusals import UnableToFind
from portal.departments.services import create_api_key
from portal.packages.delivering import downloads, excel, making
from portal.packages.delivering.tables import UnableToFitIntoExcel
from portal.packages.models import Package, Shard
from portal.packages.store import objects
from scheduler.domain.lifecycle import PackageState, ShardState
from scheduler.records import ItemResult
from tests.architecture.test_addresses import closed
from tests.integration.test_finalise import end, finished, good, invalid, promised, rows_of, settle_all
from tests.manifests import draft, ingested
from tests.world import World

FORMS = ("jsonl", "csv", "xlsx", "parquet")
Line = dict[str, Any]


def by_json(data: bytes) -> list[Line]:
    return [json.loads(line) for line in data.decode().splitlines()]


def by_csv(data: bytes) -> list[Line]:
    return list(csv.DictReader(io.StringIO(data.decode("utf-8-sig"), newline="")))


def by_openpyxl(data: bytes) -> list[Line]:
    heading, *lines = openpyxl.load_workbook(io.BytesIO(data)).worksheets[0].iter_rows(values_only=True)
    return [dict(zip(map(str, heading), line, strict=True)) for line in lines]


def by_pyarrow(data: bytes) -> list[Line]:
    found: list[Line] = parquet.read_table(io.BytesIO(data)).to_pylist()
    return found


READERS: dict[str, Callable[[bytes], list[Line]]] = {
    "jsonl": by_json,
    "csv": by_csv,
    "xlsx": by_openpyxl,
    "parquet": by_pyarrow,
}


def downloaded(package: Package, what: str) -> bytes:
    return b"".join(downloads.answer(RequestFactory().get("/"), package, what))


def lines(package: Package, form: str) -> list[Line]:
    return READERS[form](downloaded(package, f"results.{form}"))


def told(found: Line) -> tuple[str, ...]:
    """A line as every form tells it: no form but CSV guards texts, and nothing is empty or null."""
    return tuple("" if value is None else str(value).removeprefix("'") for value in found.values())


@pytest.mark.parametrize("is_over", [True, False])
def test_every_form_says_the_same(world: World, settings: Any, is_over: bool) -> None:
    package = promised(world, settings)
    first, *others = package.shards.order_by("no")
    end(first, [*good(rows_of(first)[1:]), invalid(rows_of(first)[0])])
    if is_over:
        for shard in others:
            end(shard, good(rows_of(shard)))
        finished(package)
    said = {form: [told(line) for line in lines(package, form)] for form in FORMS}
    assert len(said["csv"]) == (200 if is_over else 50 + 4)  # a shard, and what was set aside
    assert said["jsonl"] == said["csv"] == said["xlsx"] == said["parquet"]


def test_ids_with_leading_zeros_and_long_ones_are_texts(world: World, settings: Any) -> None:
    settings.SHARD_TARGET_S = 3600
    package = ingested(world, "id,text\n007,fine\n12345678901234567890,=1+1\n", id_column="id")
    end_now(world, package)
    assert [line["id"] for line in lines(package, "xlsx")] == ["007", "12345678901234567890"]
    assert [line["id"] for line in lines(package, "parquet")] == ["007", "12345678901234567890"]
    assert [line["text"] for line in lines(package, "xlsx")] == ["fine", "=1+1"]  # a text cell, not a formula


def end_now(world: World, package: Package, output: Any = "good") -> None:
    Package.objects.for_department(world.retail).filter(pk=package.pk).update(
        state=PackageState.RUNNING, pool=world.pool, price_list=world.prices
    )
    package.refresh_from_db()
    for shard in package.shards.all():
        results = [ItemResult(row=row, status="succeeded", output=output, charged=True) for row in rows_of(shard)]
        end(shard, results)
    assert not Shard.objects.for_department(world.retail).exclude(state=ShardState.SETTLED).exists()


def test_what_is_extracted_has_the_types_of_its_schema(world: World, settings: Any) -> None:
    properties = {
        "brand": {"type": "string"}, "price": {"type": ["number", "null"]}, "n": {"type": "integer"},
        "is_new": {"type": "boolean"}, "tags": {"type": "array"},
    }  # fmt: skip
    schema = {"type": "object", "properties": properties}
    package = ingested(world, "id,text\n1,fine\n", kind="extraction", json_schema=schema, labels=[])
    output = {"brand": "=潮", "price": 2.5, "n": 3, "is_new": True, "tags": ["a"]}
    end_now(world, package, output)
    (row,) = lines(package, "parquet")
    assert {name: row[name] for name in properties} == {**output, "tags": '["a"]'}
    assert json.loads(row["slackwater_output"]) == output
    (row,) = lines(package, "xlsx")
    assert {name: row[name] for name in properties} == {**output, "is_new": "true", "tags": '["a"]'}


def test_repeats_are_told_in_every_form(world: World, settings: Any) -> None:
    package = ingested(world, "id,text\n1,fine\n2,bad\n3,fine\n")
    assert package.rows_repeated == 1
    end_now(world, package)
    for form in FORMS:
        assert [line["slackwater_repeat_of"] or None for line in lines(package, form)] in (
            [None, None, 1], [None, None, "1"],
        )  # fmt: skip


def test_a_written_file_is_handed_out_as_it_is(world: World, settings: Any) -> None:
    package = promised(world, settings)
    settle_all(package)
    finished(package)
    objects().put(f"{package.out}/results.xlsx", b"written")
    assert downloaded(package, "results.xlsx") == b"written"


def test_more_rows_than_excel_opens_are_refused_with_what_to_take(
    world: World, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = promised(world, settings)
    Package.objects.for_department(world.retail).filter(pk=package.pk).update(
        rows_total=excel.MOST_ROWS + 1, rows_good=excel.MOST_ROWS + 1, rows_set_aside=0
    )
    package.refresh_from_db()
    with pytest.raises(UnableToFitIntoExcel, match="CSV"):
        downloads.answer(RequestFactory().get("/"), package, "results.xlsx")


def test_the_quarantine_as_a_workbook_says_what_the_csv_says(world: World, settings: Any) -> None:
    package = promised(world, settings)
    settle_all(package)
    finished(package)
    as_csv, as_xlsx = (by(downloaded(package, f"quarantine.{form}")) for form, by in QUARANTINES)
    assert [line["slackwater_row"] for line in as_xlsx] == [50, 100, 150, 200]
    assert [[str(value or "") for value in line.values()] for line in as_xlsx] == [
        list(line.values()) for line in as_csv
    ]


QUARANTINES = (("csv", by_csv), ("xlsx", by_openpyxl))


def test_asking_only_for_the_headers_makes_nothing(world: World, settings: Any) -> None:
    package = promised(world, settings)
    for _time in range(making.AT_ONCE + 1):
        answer = downloads.answer(RequestFactory().head("/"), package, "results.xlsx")
        assert "results-so-far.xlsx" in answer.headers["Content-Disposition"]
        assert b"".join(answer) == b""


def test_a_third_workbook_at_once_is_refused_until_somebody_leaves(world: World, settings: Any, client: Client) -> None:
    package = promised(world, settings)
    answers = [downloads.answer(RequestFactory().get("/"), package, "results.xlsx") for _one in range(making.AT_ONCE)]
    client.force_login(world.alice)
    address = f"/packages/{package.pk}/download/results.parquet"
    refused = client.get(address)
    assert refused.status_code == 429
    assert "CSV" in refused.content.decode()
    for answer in answers:
        closed(cast(HttpResponse, answer))
    assert b"".join(client.get(address)).startswith(b"PAR1")


@pytest.mark.parametrize("what", ["results.exe", "results.", "quarantine.parquet", "quarantine.jsonl", "report.csv"])
def test_other_names_are_no_files(world: World, settings: Any, what: str) -> None:
    with pytest.raises(UnableToFind):
        downloads.answer(RequestFactory().get("/"), promised(world, settings), what)


@pytest.mark.parametrize("is_over", [True, False])
def test_the_page_of_a_package_offers_every_form(world: World, settings: Any, client: Client, is_over: bool) -> None:
    package = promised(world, settings)
    settle_all(package)
    finished(package)
    if not is_over:
        Package.objects.for_department(world.retail).update(state=PackageState.RUNNING)
    client.force_login(world.alice)
    page = client.get(f"/packages/{package.pk}").content.decode()
    offered = {what for what in get_args(downloads.What) if f"/packages/{package.pk}/download/{what}" in page}
    results = {f"results.{form}" for form in FORMS}
    assert offered == (results | {"quarantine.csv", "quarantine.xlsx", "report.json"} if is_over else results)


def test_the_api_gives_every_form(world: World, settings: Any, client: Client) -> None:
    package = promised(world, settings)
    settle_all(package)
    finished(package)
    _key, secret = create_api_key(person=world.alice, name="nightly", now=timezone.now())
    headers = {"Authorization": f"Bearer {secret}"}
    for form in FORMS:
        answer = client.get(f"/api/v1/packages/{package.pk}/results?format={form}", headers=headers)
        assert answer.headers["Content-Type"] == downloads.CONTENT_TYPES[form]
        assert len(READERS[form](b"".join(answer))) == 200
    for form, by in QUARANTINES:
        answer = client.get(f"/api/v1/packages/{package.pk}/quarantine?format={form}", headers=headers)
        assert len(by(b"".join(answer))) == 4
    assert client.get(f"/api/v1/packages/{package.pk}/results?format=exe", headers=headers).status_code == 422


@pytest.mark.parametrize("form", ["csv", "xlsx"])
def test_the_quarantine_can_be_had_as_soon_as_the_manifest_is_read(world: World, form: str) -> None:
    package = ingested(world, "id,text\n1,fine\n2,\n,x\n", id_column="id")
    found = READERS[form](downloaded(package, f"quarantine.{form}"))
    assert [(str(row["slackwater_row"]), row["slackwater_code"]) for row in found] == [
        ("2", "missing_field"), ("3", "missing_id"),
    ]  # fmt: skip
    assert found[1]["slackwater_reason"].startswith("“id” is empty, and it is the id of the row.")


def test_the_quarantine_of_a_package_of_which_no_row_can_run_can_be_had(world: World) -> None:
    package = ingested(world, "id,text\n2,\n")
    assert package.state == PackageState.INVALID
    assert [row["slackwater_row"] for row in by_csv(downloaded(package, "quarantine.csv"))] == ["1"]


def test_while_a_package_runs_its_quarantine_has_what_was_set_aside_so_far(world: World, settings: Any) -> None:
    package = promised(world, settings)
    first = package.shards.order_by("no")[0]
    before = len(by_csv(downloaded(package, "quarantine.csv")))
    end(first, [*good(rows_of(first)[1:]), invalid(rows_of(first)[0])])
    found = by_csv(downloaded(package, "quarantine.csv"))
    assert len(found) == before + 1
    assert {"1": "output_invalid"}.items() <= {row["slackwater_row"]: row["slackwater_code"] for row in found}.items()


def test_there_is_no_quarantine_before_the_manifest_is_read(world: World) -> None:
    with pytest.raises(downloads.UnableToDownloadYet) as early:
        downloaded(draft(world, "text\nx\n"), "quarantine.csv")
    assert early.value.code == "not_read"


def test_names_of_files_that_are_not_whole_say_so(world: World, settings: Any) -> None:
    def name(package: Package, what: str) -> str:
        return str(downloads.answer(RequestFactory().head("/"), package, what).headers["Content-Disposition"])

    quoted = ingested(world, "id,text\n1,fine\n2,\n")
    assert "-quarantine.csv" in name(quoted, "quarantine.csv")
    running = promised(world, settings)
    assert "-results-so-far.xlsx" in name(running, "results.xlsx")
    assert "-quarantine-so-far.csv" in name(running, "quarantine.csv")
    settle_all(running)
    finished(running)
    assert "-results.xlsx" in name(running, "results.xlsx")

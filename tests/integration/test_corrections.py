"""Quarantined rows handed over again: only those run, and the results of all rounds are one file in manifest order."""

import csv
import io
import json
from decimal import Decimal
from typing import Any

import openpyxl
import pytest
from django.utils import timezone, translation
from pytest_django import DjangoCaptureOnCommitCallbacks

from portal.billing.bills import bill_csv, bill_html, draft_bill
from portal.billing.models import LedgerEntry
from portal.departments.refusals import Refusal, UnableToChangeState
from portal.packages import services
from portal.packages.correcting import corrections, merging, quarantine
from portal.packages.delivering.finalise import finalise
from portal.packages.following.progress import progress_of
from portal.packages.following.titles import title_of
from portal.packages.models import Package, Shard
from portal.packages.reading.ingest import ingest
from portal.packages.receiving.uploads import create_draft
from portal.packages.store import objects
from scheduler.domain.lifecycle import PackageState
from scheduler.records import ShardItem, load
from tests.integration.test_finalise import end, good, invalid, rows_of, table
from tests.manifests import NOW, ingested, workbook
from tests.world import World

DATA = "id,text\n" + "".join(
    f"{'' if row == 4 else 2 if row == 7 else row},{'' if row % 5 == 0 else f'=word {row}'}\n" for row in range(1, 21)
)
"""20 rows: rows 5, 10, 15, 20 have no text, row 4 no id, row 7 the id of row 2."""


def promised(package: Package, world: World) -> Package:
    Package.objects.for_department(world.retail).filter(pk=package.pk).update(
        state=PackageState.FINALISING, pool=world.pool, price_list=world.prices, deadline_at=NOW, admitted_at=NOW
    )
    package.refresh_from_db()
    return package


def ended(package: Package, world: World, *, invalid_rows: tuple[int, ...] = ()) -> Package:
    """The package after every shard has run; ``invalid_rows`` got no valid answer."""
    promised(package, world)
    for shard in package.shards.all():
        results = [invalid(row) if row in invalid_rows else one for row in rows_of(shard) for one in good([row])]
        end(shard, results)
        Shard.objects.for_department(world.retail).filter(pk=shard.pk).update(repeats_succeeded=shard.repeats)
    finalise(package_id=package.pk, clock=lambda: NOW)
    package.refresh_from_db()
    return package


@pytest.fixture
def root(world: World) -> Package:
    """Completed: 14 rows succeeded, 4 without a text, 1 without an id, 1 with another's id; none invalid."""
    return ended(ingested(world, DATA, id_column="id"), world)


def submitted(root: Package, data: str | bytes, world: World, filename: str = "fixed.csv") -> Package:
    raw = data.encode() if isinstance(data, str) else data
    return corrections.submit(root=root, by=world.alice, filename=filename, chunks=[raw], now=NOW)


def read(correction: Package) -> Package:
    ingest(package_id=correction.pk, epoch=correction.ingest_epoch, clock=lambda: NOW)
    correction.refresh_from_db()
    return correction


def corrected(root: Package, data: str, world: World, **how: Any) -> Package:
    """A whole round: handed over, read, run, merged."""
    correction = ended(read(submitted(root, data, world)), world, **how)
    merging.merge(package_id=root.pk, clock=lambda: NOW)
    root.refresh_from_db()
    return correction


def downloaded(root: Package) -> list[dict[str, str]]:
    return table(b"".join(quarantine.as_table(root, "csv")))


def as_file(rows: list[dict[str, str]]) -> str:
    out = io.StringIO(newline="")
    writer = csv.DictWriter(out, list(rows[0]))
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue()


def results(root: Package) -> list[dict[str, str]]:
    return table(objects().get(f"{root.out}/results.csv"))


def counts(package: Package) -> tuple[int, int, int]:
    found = progress_of(package)
    return found.succeeded, found.quarantined, found.failed


def test_only_the_corrected_rows_run_and_take_their_places(root: Package, world: World) -> None:
    assert counts(root) == (14, 6, 0)
    rows = downloaded(root)
    assert [row["slackwater_row"] for row in rows] == ["4", "5", "7", "10", "15", "20"]
    for row in rows:
        row["text"] = row["text"] or f"=found {row['slackwater_row']}"
        row["id"] = row["slackwater_row"]
    correction = corrected(root, as_file(rows), world)
    asked = [
        item.request[-1]["content"] for no in correction.shards.all() for item in load(objects(), no.key, ShardItem)
    ]
    words = ["=word 4", "=found 5", "=word 7", "=found 10", "=found 15", "=found 20"]
    assert asked == [f"Judge: {word}" for word in words]
    assert counts(root) == (20, 0, 0)
    told = results(root)
    assert [row["id"] for row in told] == [str(row) for row in range(1, 21)]
    assert told[9]["text"] == "'=found 10"
    assert {row["slackwater_status"] for row in told} == {"succeeded"}
    assert list(told[0]) == ["id", "text", "slackwater_status", "slackwater_output", "slackwater_code"]
    assert downloaded(root) == []


def test_each_row_is_charged_once_over_all_rounds(root: Package, world: World) -> None:
    rows = downloaded(root)
    for row in rows:
        row["text"], row["id"] = f"new {row['slackwater_row']}", row["slackwater_row"]
    correction = corrected(root, as_file(rows), world)
    items = {
        package: sum(entry.items for entry in LedgerEntry.objects.across_departments().filter(package_ref=package.pk))
        for package in (root, correction)
    }
    assert items == {root: 14, correction: 6}


def test_rounds_go_on_until_nothing_is_left(root: Package, world: World) -> None:
    first = corrected(root, "slackwater_row,id,text\n5,5,five\n4,,four\n10,10,\n", world)
    assert counts(root) == (15, 5, 0)
    assert first.round == 1
    left = downloaded(root)
    assert [(row["slackwater_row"], row["slackwater_code"], row["text"]) for row in left] == [
        ("4", "missing_id", "four"), ("7", "duplicate_id", "'=word 7"), ("10", "missing_field", ""),
        ("15", "missing_field", ""), ("20", "missing_field", ""),
    ]  # fmt: skip
    second = corrected(
        root, "slackwater_row,id,text\n20,20,t\n15,15,f\n10,10,z\n7,7,s\n4,4,q\n", world, invalid_rows=(2,)
    )
    assert second.round == 2
    assert counts(root) == (19, 1, 0)
    assert [(row["slackwater_row"], row["slackwater_code"]) for row in downloaded(root)] == [("15", "output_invalid")]
    corrected(root, "slackwater_row,id,text\n15,15,better\n", world)
    assert counts(root) == (20, 0, 0)
    assert [(row["id"], row["text"]) for row in results(root)][14] == ("15", "better")
    assert root.merged_round == 3
    with pytest.raises(corrections.UnableToCorrect, match="Nothing of this package is in quarantine"):
        submitted(root, "slackwater_row,id,text\n15,15,better\n", world)


def test_what_is_for_no_row_in_quarantine_is_set_aside_and_changes_nothing(root: Package, world: World) -> None:
    data = "slackwater_row,id,text\n5,5,five\n5,55,again\n6,6,six\n999,9,x\n,8,y\nten,10,z\n10,3,taken\n15,5,twice\n"
    correction = corrected(root, data, world)
    assert correction.set_aside_by_code == {
        "row_repeated": 1, "not_in_quarantine": 2, "no_row_number": 2, "duplicate_id": 2,
    }  # fmt: skip
    assert counts(root) == (15, 5, 0)
    left = {row["slackwater_row"]: row for row in downloaded(root)}
    assert list(left) == ["4", "7", "10", "15", "20"]
    assert left["10"]["slackwater_reason"].startswith("The id “3” is already used by row 3.")
    assert left["15"]["slackwater_reason"].startswith("The id “5” is already used by row 5.")
    assert results(root)[5]["text"] == "'=word 6"


def test_an_id_that_a_correction_took_is_taken(root: Package, world: World) -> None:
    corrected(root, "slackwater_row,id,text\n5,new,five\n", world)
    correction = read(submitted(root, "slackwater_row,id,text\n10,new,ten\n15,5,the old id is free\n", world))
    assert correction.set_aside_by_code == {"duplicate_id": 1}
    assert correction.rows_good == 1


def test_until_the_files_are_written_anew_rows_are_laid_over_one_another(root: Package, world: World) -> None:
    ended(read(submitted(root, "slackwater_row,id,text\n5,5,five\n", world)), world)
    root.refresh_from_db()
    assert merging.is_behind(root)
    assert counts(root) == (15, 5, 0)
    assert [row["slackwater_row"] for row in downloaded(root)] == ["4", "7", "10", "15", "20"]
    now = {ended.row: (row.values["text"], ended.status) for row, ended in merging.current_rows(root)}
    assert now[5] == ("five", "succeeded")
    reasons = {reason.code: reason.rows for reason in quarantine.reasons_of(root, progress_of(root))}
    assert reasons == {"missing_field": 3, "missing_id": 1, "duplicate_id": 1}


def test_files_that_were_not_written_anew_are_by_the_sweep(root: Package, world: World, monkeypatch: Any) -> None:
    ended(read(submitted(root, "slackwater_row,id,text\n5,5,five\n", world)), world)
    asked: list[str] = []
    monkeypatch.setattr("portal.packages.tasks.merge.apply_async", lambda args, **_how: asked.append(args[0]))
    monkeypatch.setattr("django.db.transaction.on_commit", lambda do, **_how: do())
    services.sweep(now=timezone.now())
    assert asked == [str(root.pk)]
    merging.merge(package_id=root.pk)
    services.sweep(now=timezone.now())
    assert asked == [str(root.pk)]


def test_a_merge_that_was_killed_is_done_again_with_the_same_files(root: Package, world: World) -> None:
    ended(read(submitted(root, "slackwater_row,id,text\n5,5,five\n", world)), world)
    merging.merge(package_id=root.pk)
    root.refresh_from_db()
    once = {name: objects().get(f"{root.out}/{name}") for name in ("results.csv", "results.jsonl", "report.json")}
    Package.objects.for_department(world.retail).filter(pk=root.pk).update(merged_round=0)
    merging.merge(package_id=root.pk)
    assert once == {name: objects().get(f"{root.out}/{name}") for name in once}


def test_a_file_without_the_row_numbers_is_refused_and_not_kept(root: Package, world: World) -> None:
    with pytest.raises(Refusal, match="no column “slackwater_row”") as refused:
        submitted(root, "id,text\n5,five\n", world)
    assert (refused.value.code, refused.value.field) == ("no_row_column", "file")
    assert list(Package.objects.for_department(world.retail)) == [root]


def test_a_file_without_a_column_of_the_prompt_is_refused(root: Package, world: World) -> None:
    with pytest.raises(Refusal, match="no column “text”, which the task needs") as refused:
        submitted(root, "slackwater_row,id\n5,5\n", world)
    assert refused.value.code == "missing_column"
    assert list(Package.objects.for_department(world.retail)) == [root]


def test_a_correction_is_corrected_at_its_package(root: Package, world: World) -> None:
    correction = corrected(root, "slackwater_row,id,text\n5,5,\n4,4,four\n", world)
    assert counts(correction) == (1, 1, 0)
    with pytest.raises(corrections.UnableToCorrect) as refused:
        submitted(correction, "slackwater_row,id,text\n5,5,five\n", world)
    assert refused.value.details["package"] == str(root.pk)


def test_a_package_that_runs_cannot_be_corrected_yet(world: World) -> None:
    package = promised(ingested(world, DATA), world)
    with pytest.raises(corrections.UnableToCorrect, match="not finished"):
        submitted(package, "slackwater_row,id,text\n5,5,five\n", world)


def test_a_correction_for_which_nothing_is_promised_gives_way_to_the_next(
    root: Package, world: World, django_capture_on_commit_callbacks: DjangoCaptureOnCommitCallbacks
) -> None:
    first = read(submitted(root, "slackwater_row,id,text\n5,5,five\n", world))
    with django_capture_on_commit_callbacks(execute=True):
        reading = submitted(root, "slackwater_row,id,text\n10,10,ten\n", world)
        third = submitted(root, "slackwater_row,id,text\n15,15,f\n", world)
    assert list(root.corrections.all()) == [third]
    assert third.round == 1
    assert not objects().exists(first.manifest_key)
    assert not objects().exists(reading.manifest_key)


def test_a_file_that_is_refused_leaves_the_open_correction_as_it_is(root: Package, world: World) -> None:
    first = read(submitted(root, "slackwater_row,id,text\n5,5,five\n", world))
    with pytest.raises(Refusal):
        submitted(root, "slackwater_row,id\n5,5\n", world)
    assert list(root.corrections.all()) == [first]
    assert objects().exists(first.manifest_key)


def test_while_a_correction_runs_there_is_no_other(root: Package, world: World) -> None:
    going = promised(read(submitted(root, "slackwater_row,id,text\n5,5,five\n", world)), world)
    with pytest.raises(corrections.UnableToCorrect, match="under way") as refused:
        submitted(root, "slackwater_row,id,text\n10,10,ten\n", world)
    assert refused.value.details["package"] == str(going.pk)


def test_the_task_of_a_correction_is_that_of_its_package_and_stays_so(root: Package, world: World) -> None:
    correction = read(submitted(root, "slackwater_row,id,text\n5,5,five\n", world))
    assert (correction.user_template, correction.labels, correction.id_column) == (
        "Judge: {{text}}",
        ["good", "bad"],
        "id",
    )
    with pytest.raises(UnableToChangeState):
        services.save_task(package=correction, by=world.alice, now=NOW, user_template="{{id}}")


@pytest.mark.parametrize("filename", ["fixed.jsonl", "fixed.xlsx", "fixed.csv"])
def test_any_format_will_do(root: Package, world: World, filename: str) -> None:
    data = {
        "fixed.jsonl": b'{"slackwater_row": 5, "id": "5", "text": "\'=five"}\n',
        "fixed.xlsx": workbook([["slackwater_row", "id", "text"], [5, "5", "''=five"]]),
        "fixed.csv": b"slackwater_row,id,text\n5,5,''=five\n",
    }[filename]
    ended(read(submitted(root, data, world, filename)), world)
    assert {ended.row: row.values["text"] for row, ended in merging.current_rows(root)}[5] == "'=five"


def test_a_package_with_our_column_names_gives_and_takes_others(world: World) -> None:
    data = "slackwater_row,slackwater_reason,text\n7,why,one\n8,because,\n"
    root = ended(ingested(world, data), world)
    rows = downloaded(root)
    assert list(rows[0]) == [
        "slackwater_row_2", "slackwater_code", "slackwater_reason_2", "slackwater_row", "slackwater_reason", "text",
        "slackwater_raw",
    ]  # fmt: skip
    rows[0]["text"] = "two"
    corrected(root, as_file(rows), world)
    assert [(row["slackwater_row"], row["slackwater_reason"], row["text"]) for row in results(root)] == [
        ("7", "why", "one"), ("8", "because", "two"),
    ]  # fmt: skip


def test_repeats_among_corrected_rows_name_rows_of_the_package(world: World) -> None:
    root = ended(ingested(world, "text\n" + "ok\n" + '" "\n' * 3 + "fine\n"), world)
    correction = corrected(root, "slackwater_row,text\n4,same\n2,same\n3,other\n", world)
    assert correction.rows_repeated == 1
    assert {ended.row: ended.repeat_of for _, ended in merging.current_rows(root)} == {
        1: None,
        2: 4,
        3: None,
        4: None,
        5: None,
    }


def test_a_cancelled_correction_keeps_what_had_finished(root: Package, world: World) -> None:
    correction = promised(read(submitted(root, "slackwater_row,id,text\n5,5,five\n10,10,ten\n", world)), world)
    shard = correction.shards.get()
    end(shard, good([1]), PackageState.CANCELLED)  # type: ignore[arg-type]
    Package.objects.for_department(world.retail).filter(pk=correction.pk).update(state=PackageState.CANCELLING)
    finalise(package_id=correction.pk, clock=lambda: NOW)
    root.refresh_from_db()
    assert counts(root) == (15, 5, 0)
    assert [row["slackwater_row"] for row in downloaded(root)] == ["4", "7", "10", "15", "20"]


def test_another_departments_draft_is_never_touched(root: Package, world: World) -> None:
    other = create_draft(by=world.charlie, department=world.legal, filename="a.csv", chunks=[b"a\n1\n"], now=NOW)
    submitted(root, "slackwater_row,id,text\n5,5,five\n", world)
    assert Package.objects.for_department(world.legal).get() == other


def test_requests_that_bring_their_messages_are_corrected_in_a_table(world: World) -> None:
    def request(id_: str, text: str, **asked: Any) -> str:
        messages = [{"role": "system", "content": "Be kind."}, {"role": "user", "content": text}]
        body = {"model": "echo", "messages": messages, **asked}
        return json.dumps({"custom_id": id_, "method": "POST", "url": "/v1/chat/completions", "body": body}) + "\n"

    data = request("a", "one") + request("b", "two", max_tokens=99) + request("c", "three", stream=True) + "{\n"
    root = ended(ingested(world, data, "requests.jsonl", user_template=""), world)
    rows = downloaded(root)
    assert [row["slackwater_row"] for row in rows] == ["2", "3", "4"]
    rows[0] |= {"max_tokens": "", "prompt": "zwei"}
    rows[1] |= {"custom_id": "c", "prompt": "drei", "messages": ""}
    rows[2] |= {"custom_id": "d", "messages": "[{", "prompt": "vier"}
    correction = corrected(root, as_file(rows), world)
    asked = [item.request for no in correction.shards.all() for item in load(objects(), no.key, ShardItem)]
    assert asked == [
        [{"role": "system", "content": "Be kind."}, {"role": "user", "content": "zwei"}],
        [{"role": "user", "content": "drei"}],
    ]
    assert correction.set_aside_by_code == {"unsupported_request": 1}
    assert counts(root) == (3, 1, 0)


LONG = "=" + "長い𠮷" * 20_000
"""Longer than a cell of Excel, and it looks like a formula."""


def in_excel(root: Package) -> list[list[Any]]:
    data = b"".join(quarantine.as_table(root, "xlsx"))
    return [list(line) for line in openpyxl.load_workbook(io.BytesIO(data)).worksheets[0].iter_rows(values_only=True)]


def texts(root: Package) -> dict[int, str]:
    return {ended.row: row.values["text"] for row, ended in merging.current_rows(root)}


def test_what_excel_had_cut_comes_back_whole(world: World) -> None:
    root = ended(ingested(world, f"id,text\n1,ok\n,{LONG}\n,'{LONG}\n", id_column="id"), world)
    heading, *lines = in_excel(root)
    assert [len(line[heading.index("text")]) < 32_768 for line in lines] == [True, True]
    for line, id_ in zip(lines, ("2", "3"), strict=True):
        line[heading.index("id")] = id_
    correction = read(submitted(root, workbook([heading, *reversed(lines)]), world, "fixed.xlsx"))
    ended(correction, world)
    assert texts(root) == {1: "ok", 2: LONG, 3: f"'{LONG}"}
    asked = [
        item.request[-1]["content"] for no in correction.shards.all() for item in load(objects(), no.key, ShardItem)
    ]
    assert asked == [f"Judge: '{LONG}", f"Judge: {LONG}"]


@pytest.mark.parametrize("form", ["xlsx", "csv", "jsonl"])
def test_a_cut_cell_that_was_changed_is_set_aside_and_its_row_stays_as_it_was(world: World, form: str) -> None:
    root = ended(ingested(world, f"id,text\n1,ok\n,{LONG}\n,{LONG}\n", id_column="id"), world)
    heading, *lines = in_excel(root)
    for line, id_ in zip(lines, ("2", "3"), strict=True):
        line[heading.index("id")] = id_
    at = heading.index("text")
    lines[0][at] = lines[0][at].replace("長い", "短い", 1)
    lines[1][at] = "short"
    data = {
        "xlsx": lambda: workbook([heading, *lines]),
        "csv": lambda: as_file([dict(zip(heading, line, strict=True)) for line in lines]).encode(),
        "jsonl": lambda: b"".join(json.dumps(dict(zip(heading, line, strict=True))).encode() + b"\n" for line in lines),
    }[form]()
    correction = ended(read(submitted(root, data, world, f"fixed.{form}")), world)
    assert correction.set_aside_by_code == {"cut_cell": 1}
    (why,) = [row["slackwater_reason"] for row in downloaded(correction)]
    assert why.startswith("Row 2: “text” is longer than Excel can hold")
    assert texts(root) == {1: "ok", 2: LONG, 3: "short"}
    assert [row["slackwater_row"] for row in downloaded(root)] == ["2"]


def test_the_csv_file_corrects_a_cell_that_excel_would_cut(world: World) -> None:
    root = ended(ingested(world, f"id,text\n1,ok\n,{LONG}\n", id_column="id"), world)
    (line,) = downloaded(root)
    corrected(root, as_file([{**line, "id": "2", "text": f"{line['text']} and more"}]), world)
    assert texts(root)[2] == f"{LONG} and more"


def test_a_cut_cell_of_whole_requests_comes_back_whole(world: World) -> None:
    def request(text: str) -> str:
        messages = [{"role": "system", "content": text}, {"role": "user", "content": text}]
        asked = {"custom_id": "a", "method": "POST", "url": "/v1/chat/completions", "body": {"messages": messages}}
        return json.dumps(asked) + "\n"

    package = ingested(world, request("short") + request(LONG), filename="asked.jsonl", user_template="")
    root = ended(package, world)
    heading, line = in_excel(root)
    line[heading.index("custom_id")] = "b"
    correction = read(submitted(root, workbook([heading, line]), world, "fixed.xlsx"))
    assert correction.set_aside_by_code == {}
    (item,) = [item for no in correction.shards.all() for item in load(objects(), no.key, ShardItem)]
    assert [message["content"] for message in item.request] == [LONG, LONG]


def test_a_correction_has_the_name_of_its_package_and_is_told_from_it_in_the_readers_language(
    root: Package, world: World
) -> None:
    with translation.override("zh-hans"):
        correction = read(submitted(root, "slackwater_row,id,text\n5,5,five\n", world))
    assert correction.name == root.name
    with translation.override("en"):
        assert (title_of(root), title_of(correction)) == ("reviews", "reviews, correction 1")


def test_the_bill_says_what_a_correction_corrects(root: Package, world: World) -> None:
    correction = corrected(root, "slackwater_row,id,text\n5,5,five\n", world)
    bill = draft_bill(department=world.retail, month=NOW.date(), now=NOW)
    lines = list(csv.DictReader(io.StringIO(bill_csv(bill).decode("utf-8-sig"), newline="")))
    assert {(line["package_number"], line["package"], line["corrects"], line["round"]) for line in lines} == {
        (root.number, "reviews", "", ""), (correction.number, "reviews", root.number, "1"),
    }  # fmt: skip
    assert f"correction 1 of {root.number}" in bill_html(bill, "en")


def test_the_report_counts_each_correction_and_what_all_cost_together(root: Package, world: World) -> None:
    first = corrected(root, "slackwater_row,id,text\n5,5,five\n4,,four\n", world)
    second = corrected(root, "slackwater_row,id,text\n10,10,ten\n", world)
    report = json.loads(objects().get(f"{root.out}/report.json"))
    assert [(one["package"], one["round"], one["rows"]) for one in report["corrections"]] == [
        (first.number, 1, {"succeeded": 1, "quarantined": 1, "failed": 0, "cancelled": 0}),
        (second.number, 2, {"succeeded": 1, "quarantined": 0, "failed": 0, "cancelled": 0}),
    ]
    exact = {
        ref: sum(entry.amount for entry in LedgerEntry.objects.across_departments().filter(package_ref=ref))
        for ref in (root.pk, first.pk, second.pk)
    }
    assert Decimal(report["price"]["exact"]) == exact[root.pk] > 0
    assert [Decimal(one["exact"]) for one in report["corrections"]] == [exact[first.pk], exact[second.pk]]
    assert Decimal(report["price"]["exact_with_corrections"]) == sum(exact.values())
    own = json.loads(objects().get(f"{first.out}/report.json"))
    assert (own["corrects"], own["round"], own["corrections"]) == (root.number, 1, [])


def asked_for(text: str = "t", **body: Any) -> str:
    messages = [{"role": "user", "content": text}]
    body = {"messages": messages, **body}
    return json.dumps({"custom_id": text, "method": "POST", "url": "/v1/chat/completions", "body": body}) + "\n"


@pytest.mark.parametrize("column", ["max_tokens", "temperature"])
def test_a_cell_of_spaces_asks_for_nothing(world: World, column: str) -> None:
    root = ended(ingested(world, asked_for("a") + asked_for("b", n=2), "requests.jsonl", user_template=""), world)
    (line,) = downloaded(root)
    line |= {"custom_id": "b", "prompt": "b", column: " "}
    assert (corrected(root, as_file([line]), world).rows_good, counts(root)) == (1, (2, 0, 0))


@pytest.mark.parametrize(
    ("column", "text", "parameter"),
    [
        ("max_tokens", "9" * 5_000, "max_tokens"),
        ("max_tokens", "0", "max_tokens"),
        ("max_tokens", "-1", "max_tokens"),
        ("max_tokens", "８", "max_tokens"),
        ("temperature", "9" * 5_000, "temperature"),
        ("temperature", "nan", "temperature"),
        ("temperature", "-0.5", "temperature"),
        ("messages", '[{"role": "user", "content": "\\ud800"}]', "messages"),
        ("messages", '[{"role": "user", "content": "\\u0000"}]', "messages"),
        ("messages", '[{"role": "user", "content": ' + "9" * 5_000 + "}]", "messages"),
        ("messages", "[" * 100_000, "messages"),
    ],
)
def test_a_cell_that_no_request_can_have_is_named_and_costs_its_row_alone(
    world: World, column: str, text: str, parameter: str
) -> None:
    data = asked_for("a") + asked_for("b", n=2) + asked_for("c", n=2)
    root = ended(ingested(world, data, "requests.jsonl", user_template=""), world)
    first, second = downloaded(root)
    first |= {"custom_id": "b", "prompt": "b", column: text}
    second |= {"custom_id": "c", "prompt": "c"}
    correction = corrected(root, as_file([first, second]), world)
    assert (correction.rows_good, correction.set_aside_by_code) == (1, {"unsupported_request": 1})
    (why,) = [row["slackwater_reason"] for row in downloaded(correction)]
    assert f"“{parameter}”" in why

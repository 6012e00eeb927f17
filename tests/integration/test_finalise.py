"""The end of a package: every row once, in manifest order, in files that agree with what was settled."""

import csv
import io
import json
from collections import Counter
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.test import RequestFactory
from django.utils import translation
from pytest_django import DjangoCaptureOnCommitCallbacks

from portal.billing.models import LedgerEntry
from portal.billing.services import charge_shard
from portal.capacity.models import Reservation
from portal.operations.queries import overview
from portal.packages import reasons, services, tasks, timeline
from portal.packages.correcting import quarantine
from portal.packages.correcting.merging import current_rows
from portal.packages.delivering import downloads
from portal.packages.delivering.finalise import finalise
from portal.packages.delivering.results import UnableToAddUp
from portal.packages.delivering.tables import streamed
from portal.packages.following.progress import progress_of
from portal.packages.models import Package, Shard, TimelineEntry
from portal.packages.store import objects
from scheduler.domain.lifecycle import PackageState, ShardState
from scheduler.records import ItemResult, ShardItem, dump, load, part_key
from scheduler.wire import Usage
from tests.manifests import NOW, ingested
from tests.world import World

LATER = NOW + timedelta(hours=2)
USED = Usage(prompt_tokens=10, cached_tokens=4, completion_tokens=2, engine_s=0.5)
DATA = "编号,text,编号2\n" + "".join(
    f"{row},{'' if row % 50 == 0 else f'=word {row}'},-{row}\n" for row in range(1, 201)
)


def promised(world: World, settings: Any, **fields: Any) -> Package:
    """200 rows of which every 50th is set aside, in several shards, promised and reserved."""
    settings.SHARD_TARGET_S = 1e-6
    package = ingested(world, DATA, **fields)
    Package.objects.for_department(world.retail).filter(pk=package.pk).update(
        state=PackageState.FINALISING,
        pool=world.pool,
        price_list=world.prices,
        deadline_at=NOW + timedelta(hours=1),
        admitted_at=NOW,
        started_at=NOW,
    )
    Reservation.objects.create(
        department=world.retail, pool=world.pool, package_ref=package.pk, deadline_at=NOW, promised_s=1, remaining_s=1,
        admitted_at=NOW,
    )  # fmt: skip
    package.refresh_from_db()
    assert package.shards.count() == 4  # 196 good rows, 50 at least in each
    return package


def rows_of(shard: Shard) -> list[int]:
    return [item.row for item in load(objects(), shard.key, ShardItem)]


def end(
    shard: Shard, results: list[ItemResult], state: ShardState = ShardState.SETTLED, *, lost: int | None = None
) -> None:
    """Write the results in two parts and close the shard as the scheduler would; ``lost`` rows count as failed."""
    prefix = f"{shard.package.prefix}/parts/{shard.no}/"
    keys = [part_key(prefix, 1, 0), part_key(prefix, 1, 1)]
    half = len(results) // 2
    objects().put(keys[0], dump(results[:half]))
    objects().put(keys[1], dump(results[half:]))
    counts = Counter(result.status for result in results)
    used = sum((result.usage for result in results), Usage())
    Shard.objects.for_department(shard.department).filter(pk=shard.pk).update(
        state=state, parts=keys, settled_at=NOW, prompt_tokens=used.prompt_tokens, cached_tokens=used.cached_tokens,
        completion_tokens=used.completion_tokens, engine_s=used.engine_s, succeeded=counts["succeeded"],
        quarantined=counts["quarantined"], failed=counts["failed"] if lost is None else lost,
    )  # fmt: skip
    charge_shard(shard=shard, package=shard.package, usage=used, items=len(results), now=NOW)


def good(rows: list[int]) -> list[ItemResult]:
    return [ItemResult(row=row, status="succeeded", output="good", usage=USED, charged=True) for row in rows]


def invalid(row: int) -> ItemResult:
    return ItemResult(row=row, status="quarantined", reason="output_invalid", detail={"why": "label"}, charged=True)


def settle_all(package: Package) -> None:
    for shard in package.shards.all():
        end(shard, good(rows_of(shard)))


def out(package: Package, name: str) -> bytes:
    return objects().get(f"{package.prefix}/out/{name}")


def table(data: bytes) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(data.decode("utf-8-sig"), newline="")))


def lines(data: bytes) -> list[dict[str, Any]]:
    return [json.loads(line) for line in data.decode().splitlines()]


def finished(package: Package) -> Package:
    finalise(package_id=package.pk, clock=lambda: LATER)
    package.refresh_from_db()
    return package


def test_results_are_in_manifest_order_with_their_own_columns(world: World, settings: Any) -> None:
    package = promised(world, settings)
    settle_all(package)
    finished(package)
    results = lines(out(package, "results.jsonl"))
    assert [result["编号"] for result in results] == [str(row) for row in range(1, 201)]
    assert results[0] == {
        "编号": "1",
        "text": "=word 1",
        "编号2": "-1",
        "slackwater_status": "succeeded",
        "slackwater_output": "good",
        "slackwater_code": None,
    }
    assert (results[49]["slackwater_status"], results[49]["slackwater_code"]) == ("quarantined", "missing_field")
    as_csv = table(out(package, "results.csv"))
    assert [row["编号2"] for row in as_csv] == [f"-{row}" for row in range(1, 201)]  # numbers as they are
    assert as_csv[0]["text"] == "'=word 1"
    assert [row["slackwater_status"] for row in as_csv] == [row["slackwater_status"] for row in results]


def test_the_quarantine_says_row_code_sentence_and_columns(world: World, settings: Any) -> None:
    package = promised(world, settings)
    first, *others = package.shards.order_by("no")
    rows = rows_of(first)
    end(first, [*good(sorted(rows)[1:]), invalid(min(rows))])
    for shard in others:
        end(shard, good(rows_of(shard)))
    finished(package)
    found = table(b"".join(quarantine.as_table(package, "csv")))
    assert [row["slackwater_row"] for row in found] == ["1", "50", "100", "150", "200"]
    assert [row["slackwater_code"] for row in found] == ["output_invalid", *["missing_field"] * 4]
    assert found[1]["slackwater_reason"] == "“text” is empty, and the prompt needs it. Fill it in."
    assert (found[0]["编号"], found[0]["text"]) == ("1", "'=word 1")


def test_the_quarantine_is_told_in_the_readers_language(world: World, settings: Any) -> None:
    package = promised(world, settings)
    settle_all(package)
    with translation.override("en"):
        finished(package)
    with translation.override("zh-hans"):
        pieces = quarantine.as_table(package, "csv")
        (group,) = quarantine.groups_of(package, progress_of(package))
        why = reasons.sentence("missing_field", {"column": "text"})
    with translation.override("en"):  # a download is read on outside of its request
        found = table(b"".join(pieces))
    assert why != reasons.sentence("missing_field", {"column": "text"})
    assert {row["slackwater_reason"] for row in found} == {why}
    assert {sample.why for sample in group.samples} == {why}


def test_the_report_adds_up_and_the_price_is_the_ledgers(world: World, settings: Any) -> None:
    package = promised(world, settings)
    settle_all(package)
    finished(package)
    report = json.loads(out(package, "report.json"))
    assert report["rows"] == {
        "total": 200,
        "succeeded": 196,
        "quarantined": 4,
        "failed": 0,
        "cancelled": 0,
        "repeated": 0,
    }
    assert report["quarantined_by_reason"] == {"missing_field": 4}
    assert report["tokens"] == {"prompt": 1960, "cached": 784, "completion": 392, "engine_s": 98.0}
    # 1176 × 0.002 + 784 × 0.0005 + 392 × 0.006, all ÷ 1000
    assert Decimal(report["price"]["exact"]) == Decimal("0.005096")
    assert (report["price"]["amount"], report["price"]["currency"]) == ("0.01", "CNY")
    assert report["timing"]["late_by_s"] == 3600
    assert report["state"] == "completed"


def test_the_package_is_completed_once_and_its_capacity_given_back(world: World, settings: Any) -> None:
    package = promised(world, settings)
    settle_all(package)
    finished(package)
    assert (package.state, package.finished_at) == (PackageState.COMPLETED, LATER)
    assert Reservation.objects.for_department(world.retail).get().released_at == LATER
    before = [out(package, name) for name in ("results.jsonl", "results.csv", "quarantine.jsonl.zst", "report.json")]
    finalise(package_id=package.pk, clock=lambda: LATER + timedelta(hours=1))
    package.refresh_from_db()
    assert package.finished_at == LATER
    assert [
        out(package, name) for name in ("results.jsonl", "results.csv", "quarantine.jsonl.zst", "report.json")
    ] == before
    entries = TimelineEntry.objects.for_department(world.retail).filter(code="completed")
    assert [entry.params["succeeded"] for entry in entries] == [196]


def test_a_cancelled_package_keeps_what_had_finished(world: World, settings: Any) -> None:
    package = promised(world, settings)
    Package.objects.for_department(world.retail).update(state=PackageState.CANCELLING)
    first, second, *untouched = package.shards.order_by("no")
    end(first, good(rows_of(first)))
    end(second, good(rows_of(second)[:7]), ShardState.CANCELLED)
    for shard in untouched:
        end(shard, [], ShardState.CANCELLED)
    finished(package)
    assert package.state == PackageState.CANCELLED
    by_status = Counter(result["slackwater_status"] for result in lines(out(package, "results.jsonl")))
    assert by_status == {"succeeded": first.items + 7, "quarantined": 4, "cancelled": 196 - first.items - 7}


def test_rows_of_a_dead_shard_failed_except_those_that_had_finished(world: World, settings: Any) -> None:
    package = promised(world, settings)
    first, *others = package.shards.order_by("no")
    end(first, good(rows_of(first)[:3]), ShardState.DEAD, lost=first.items - 3)
    for shard in others:
        end(shard, good(rows_of(shard)))
    finished(package)
    report = json.loads(out(package, "report.json"))
    assert report["failed_by_reason"] == {"platform_fault": first.items - 3}
    assert report["rows"]["failed"] == first.items - 3
    assert package.state == PackageState.COMPLETED


def test_of_several_results_for_a_row_the_first_wins(world: World, settings: Any) -> None:
    package = promised(world, settings)
    settle_all(package)
    shard = package.shards.order_by("no")[0]
    later = part_key(f"{package.prefix}/parts/0/", 2, 0)
    objects().put(later, dump([ItemResult(row=1, status="succeeded", output="bad")]))
    Shard.objects.for_department(world.retail).filter(pk=shard.pk).update(parts=[later, *shard.parts])
    finished(package)
    assert lines(out(package, "results.jsonl"))[0]["slackwater_output"] == "good"


@pytest.mark.parametrize("change", [{"succeeded": 49, "quarantined": 1}, {"parts": []}])
def test_results_that_differ_from_what_was_settled_are_not_delivered(
    world: World, settings: Any, change: dict[str, Any]
) -> None:
    package = promised(world, settings)
    settle_all(package)
    first = package.shards.order_by("no")[0]
    Shard.objects.for_department(world.retail).filter(pk=first.pk).update(**change)
    with pytest.raises(UnableToAddUp):
        finalise(package_id=package.pk, clock=lambda: LATER)
    package.refresh_from_db()
    assert package.state == PackageState.FINALISING
    assert not objects().exists(f"{package.prefix}/out/report.json")


def try_in_vain(package: Package, times: int = 3) -> None:
    for _ in range(times):
        with pytest.raises((LookupError, RuntimeError, ValueError)):
            finalise(package_id=package.pk, clock=lambda: LATER)
        package.refresh_from_db()
        assert package.state in {PackageState.FINALISING, PackageState.CANCELLING}


def told(package: Package) -> dict[str, dict[str, Any]]:
    return {entry.code: entry.params for entry in package.timeline.all()}


@pytest.mark.parametrize("how", ["deleted", "damaged"])
def test_rows_whose_results_are_lost_have_failed_and_everybody_is_told(world: World, settings: Any, how: str) -> None:
    package = promised(world, settings)
    settle_all(package)
    before = list(LedgerEntry.objects.across_departments().values())
    first = package.shards.order_by("no")[0]
    if how == "deleted":
        objects().delete(first.parts[0])
    else:
        objects().put(first.parts[0], b"\0" * 20)
    lost = first.items // 2
    try_in_vain(package)
    finished(package)
    assert package.state == PackageState.COMPLETED
    report = json.loads(out(package, "report.json"))
    assert report["rows"] == {
        "total": 200,
        "succeeded": 196 - lost,
        "quarantined": 4,
        "failed": lost,
        "cancelled": 0,
        "repeated": 0,
    }
    assert report["failed_by_reason"] == {"platform_fault": lost}
    assert report["lost"] == {"results": lost, "original_columns": False, "reasons": False, "repeats": False}
    results = lines(out(package, "results.jsonl"))
    assert [result["编号"] for result in results] == [str(row) for row in range(1, 201)]
    assert sum(result["slackwater_code"] == "platform_fault" for result in results) == lost
    assert told(package)["results_lost"] == {"rows": lost}
    first.refresh_from_db()
    assert (first.state, first.succeeded, first.failed) == (ShardState.DEAD, first.items - lost, lost)
    assert list(LedgerEntry.objects.across_departments().values()) == before  # never charged again


def test_without_its_manifest_a_package_ends_with_the_numbers_of_its_rows(world: World, settings: Any) -> None:
    package = promised(world, settings)
    settle_all(package)
    objects().delete(package.manifest_key)
    try_in_vain(package)
    finished(package)
    results = lines(out(package, "results.jsonl"))
    assert [result["slackwater_row"] for result in results] == [str(row) for row in range(1, 201)]
    assert {result["编号"] for result in results} == {""}
    assert [row["slackwater_row"] for row in table(out(package, "results.csv"))][-1] == "200"
    report = json.loads(out(package, "report.json"))
    assert report["rows"]["succeeded"] == 196
    assert report["lost"] == {"results": 0, "original_columns": True, "reasons": False, "repeats": False}
    assert "columns_lost" in told(package)


def test_rows_that_only_a_lost_object_knew_are_what_they_were_counted_as(world: World, settings: Any) -> None:
    package = promised(world, settings)
    Package.objects.for_department(world.retail).update(state=PackageState.CANCELLING)
    first, *others = package.shards.order_by("no")
    end(first, good(rows_of(first)[:5]), ShardState.CANCELLED)
    for shard in others:
        end(shard, good(rows_of(shard)))
    objects().delete(first.key)
    objects().delete(f"{package.prefix}/out/set_aside.jsonl.zst")
    try_in_vain(package)
    finished(package)
    assert package.state == PackageState.CANCELLED
    report = json.loads(out(package, "report.json"))
    assert report["rows"]["cancelled"] == first.items - 5
    assert report["rows"]["quarantined"] == 4
    assert report["rows"]["succeeded"] == 196 - first.items + 5
    assert report["lost"] == {"results": 0, "original_columns": False, "reasons": True, "repeats": False}


def test_a_package_of_which_nothing_can_be_read_is_given_up_late(world: World, settings: Any) -> None:
    package = promised(world, settings)
    settle_all(package)
    objects().delete_prefix(f"{package.prefix}/")
    try_in_vain(package, 30)
    finished(package)
    report = json.loads(out(package, "report.json"))
    assert (package.state, report["rows"]["failed"], report["lost"]["results"]) == (PackageState.COMPLETED, 196, 196)


def test_results_that_no_loss_explains_are_never_delivered(world: World, settings: Any) -> None:
    package = promised(world, settings)
    settle_all(package)
    package.shards.filter(no=0).update(parts=[])
    try_in_vain(package, 5)
    assert package.finalise_attempts == 5


def test_a_damaged_part_hides_nothing_else_from_a_download(world: World, settings: Any) -> None:
    package = promised(world, settings)
    settle_all(package)
    objects().put(package.shards.order_by("no")[0].parts[0], b"\0" * 20)
    assert (
        len(lines(b"".join(streamed(package, "jsonl", current_rows(package)))))
        == 200 - package.shards.order_by("no")[0].items // 2
    )


def test_a_field_of_more_than_a_million_characters_is_shown_in_quarantine(world: World, settings: Any) -> None:
    rows = [{"text": "short"}, {"text": "x " * 500_001}]
    data = "".join(json.dumps(row) + "\n" for row in rows)
    package = ingested(world, data, "reviews.jsonl")
    for state in (PackageState.QUOTED, PackageState.FINALISING):
        Package.objects.for_department(world.retail).update(state=state, pool=world.pool, price_list=world.prices)
        if state == PackageState.FINALISING:
            package.refresh_from_db()
            settle_all(package)
            finished(package)
        (group,) = quarantine.groups_of(package, progress_of(package))
        assert (group.reason.rows, [sample.row for sample in group.samples]) == (1, [2])
        assert len(group.samples[0].text) < 1_000
    assert len(b"".join(downloads._chunks(package, "quarantine.csv"))) > 1_000_000


def test_operators_see_a_package_that_should_have_ended(world: World, settings: Any) -> None:
    package = promised(world, settings)
    timeline.record(package=package, code="finalising", now=NOW)
    for minutes, is_stuck in ((9, False), (11, True)):
        board = overview(now=NOW + timedelta(minutes=minutes))
        assert (package.pk in board.stuck, board.at_risk) == (is_stuck, int(is_stuck))
    Package.objects.for_department(world.retail).update(finalise_attempts=3)
    assert package.pk in overview(now=NOW).stuck


@pytest.mark.parametrize(
    ("name", "saved_as"),
    [
        ("!!!", 'filename="{number}-report.json"'),
        ("🙂", 'filename="{number}-report.json"'),
        ("..", 'filename="{number}-report.json"'),
        ("May reviews", 'filename="{number}-May_reviews-report.json"'),
        ("潮汐", "filename*=utf-8''{number}-%E6%BD%AE%E6%B1%90-report.json"),
        ("x\r\nSet-Cookie: a=b", 'filename="{number}-xSet-Cookie_ab-report.json"'),
    ],
)
def test_a_package_of_any_name_can_be_downloaded(
    world: World, settings: Any, rf: RequestFactory, name: str, saved_as: str
) -> None:
    package = promised(world, settings)
    settle_all(package)
    finished(package).name = name
    response = downloads.answer(rf.get("/"), package, "report.json")
    assert b"".join(response)
    assert response.headers["Content-Disposition"] == f"attachment; {saved_as.format(number=package.number)}"


def test_a_package_with_an_open_shard_waits(world: World, settings: Any) -> None:
    package = promised(world, settings)
    for shard in list(package.shards.all())[1:]:
        end(shard, good(rows_of(shard)))
    assert finished(package).state == PackageState.FINALISING


@pytest.mark.parametrize("form", ["jsonl", "csv"])
def test_what_has_finished_so_far_can_be_downloaded(world: World, settings: Any, form: Any) -> None:
    package = promised(world, settings)
    second = package.shards.order_by("no")[1]
    rows = sorted(rows_of(second))
    end(second, good(rows[:10]), ShardState.RUNNING)
    data = b"".join(streamed(package, form, current_rows(package)))
    found = table(data) if form == "csv" else lines(data)
    expected = sorted([*rows[:10], 50, 100, 150, 200])
    assert [int(row["编号"]) for row in found] == expected


def test_extraction_gives_each_property_a_column(world: World, settings: Any) -> None:
    schema = {"type": "object", "properties": {"brand": {"type": "string"}, "price": {"type": "number"}}}
    package = promised(world, settings, kind="extraction", json_schema=schema)
    for shard in package.shards.all():
        made = {"brand": "=潮", "price": -2.5}
        end(shard, [ItemResult(row=r, status="succeeded", output=made, charged=True) for r in rows_of(shard)])
    finished(package)
    assert lines(out(package, "results.jsonl"))[0]["slackwater_output"] == {"brand": "=潮", "price": -2.5}
    first = table(out(package, "results.csv"))[0]
    assert (first["brand"], first["price"]) == ("'=潮", "-2.5")


@pytest.mark.parametrize("state", [PackageState.FINALISING, PackageState.CANCELLING])
def test_the_sweep_enqueues_a_package_that_is_stuck_at_its_end(
    world: World,
    settings: Any,
    monkeypatch: pytest.MonkeyPatch,
    django_capture_on_commit_callbacks: DjangoCaptureOnCommitCallbacks,
    state: PackageState,
) -> None:
    sent: list[Any] = []
    monkeypatch.setattr(tasks.finalise, "apply_async", lambda args, **_: sent.append(args))
    package = promised(world, settings)
    Package.objects.for_department(world.retail).update(state=state)
    for open_shards in (True, False):
        if not open_shards:
            settle_all(package)
        with django_capture_on_commit_callbacks(execute=True):
            services.sweep(now=NOW + timedelta(seconds=90))
        assert sent == ([] if open_shards else [(str(package.pk),)])

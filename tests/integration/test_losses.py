"""Objects that are lost: every file, the report and the counts then say the same, and nothing that is left is lost."""

import json
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from django.test import RequestFactory

from portal.packages.correcting import merging, quarantine
from portal.packages.delivering import downloads
from portal.packages.delivering.finalise import finalise
from portal.packages.delivering.results import set_aside_key
from portal.packages.delivering.tabulating import tabulate
from portal.packages.following.progress import progress_of
from portal.packages.models import Package, Shard
from portal.packages.store import objects
from scheduler.domain.lifecycle import PackageState, ShardState
from tests.integration import test_corrections as corrections
from tests.integration.test_corrections import DATA, as_file, counts, ended, read, results, submitted
from tests.integration.test_downloads import FORMS, lines
from tests.integration.test_finalise import end, finished, good, promised, rows_of, settle_all, try_in_vain
from tests.manifests import NOW, ingested
from tests.world import World

STATES = ("succeeded", "quarantined", "failed", "cancelled")


@pytest.fixture
def root(world: World) -> Package:
    """Completed: 14 rows succeeded, rows 4, 5, 7, 10, 15 and 20 are in quarantine."""
    return ended(ingested(world, DATA, id_column="id"), world)


def agreed(package: Package) -> dict[str, int]:
    """How the rows ended, which the files in every form, the report and the counts of the package say alike."""
    package.refresh_from_db()
    said = {form: Counter(line["slackwater_status"] for line in lines(package, form)) for form in FORMS}
    said["report"] = Counter({state: reported(package)["rows"][state] for state in STATES})
    progress = progress_of(package)
    said["page"] = Counter({state: getattr(progress, state) for state in STATES})
    found = {who: {state: count[state] for state in STATES if count[state]} for who, count in said.items()}
    assert list(found.values()) == [found["csv"]] * len(found), found
    assert progress.to_go == 0
    return found["csv"]


def reported(package: Package) -> dict[str, Any]:
    told: dict[str, Any] = json.loads(objects().get(f"{package.out}/report.json"))
    return told


def told(package: Package) -> dict[str, Any]:
    return {entry.code: entry.params for entry in package.timeline.all()}


def downloaded(package: Package, what: str) -> bytes:
    return b"".join(downloads.answer(RequestFactory().get("/"), package, what))


def lose_parts(package: Package) -> None:
    objects().delete_prefix(f"{package.prefix}/parts/")


def lose_manifest(package: Package) -> None:
    objects().delete(package.manifest_key)


def lose_shards(package: Package) -> None:
    objects().delete_prefix(f"{package.prefix}/shards/")


@pytest.mark.parametrize("lose", [lose_parts, lose_manifest, lose_shards])
def test_what_is_lost_after_the_end_changes_nothing(
    root: Package, world: World, lose: Callable[[Package], None]
) -> None:
    before = {form: lines(root, form) for form in FORMS}
    correction = ended(read(submitted(root, "slackwater_row,id,text\n5,5,five\n", world)), world)
    lose(root)
    lose(correction)
    objects().delete(set_aside_key(root))
    root.refresh_from_db()
    on_the_way = {form: lines(root, form) for form in FORMS}
    merging.merge(package_id=root.pk)
    tabulate(package_id=root.pk)
    assert agreed(root) == {"succeeded": 15, "quarantined": 5}
    for form in FORMS:
        assert lines(root, form) == on_the_way[form]
        assert [line["id"] for line in on_the_way[form]] == [line["id"] for line in before[form]]
    assert results(root)[4]["text"] == "five"
    assert not any(reported(root)["lost"].values())


@pytest.mark.parametrize("lose", [lose_parts, lose_manifest, lose_shards])
def test_files_that_are_lost_after_the_end_are_written_anew_of_what_there_is(
    root: Package, world: World, lose: Callable[[Package], None]
) -> None:
    names = ("results.jsonl", "results.csv", "quarantine.jsonl.zst", "report.json")
    before = {name: objects().get(f"{root.out}/{name}") for name in names}
    for name in names:
        objects().delete(f"{root.out}/{name}")
        merging.merge(package_id=root.pk)
    assert {name: objects().get(f"{root.out}/{name}") for name in names} == before
    for name in names:
        objects().delete(f"{root.out}/{name}")
    lose(root)
    merging.merge(package_id=root.pk)
    tabulate(package_id=root.pk)
    everything_failed = {"failed": 14, "quarantined": 6}
    assert agreed(root) == (everything_failed if lose is lose_parts else {"succeeded": 14, "quarantined": 6})
    assert reported(root)["lost"]["results"] == (14 if lose is lose_parts else 0)
    assert reported(root)["lost"]["original_columns"] is (lose is lose_manifest)


def test_a_correction_whose_file_is_lost_while_it_runs_is_laid_over_its_rows(root: Package, world: World) -> None:
    earlier = {name: results(root)[14][name] for name in root.reading["columns"]}
    assert any(earlier.values())
    correction = read(submitted(root, "slackwater_row,id,text\n15,15,f\n5,5,five\n", world))
    lose_manifest(correction)
    in_spite_of(correction, world)
    root.refresh_from_db()
    assert counts(root) == (16, 4, 0)
    merging.merge(package_id=root.pk)
    assert agreed(root) == {"succeeded": 16, "quarantined": 4}
    corrected = results(root)[14]
    assert corrected["slackwater_status"] == "succeeded"
    assert {name: corrected[name] for name in root.reading["columns"]} == earlier
    assert told(root)["corrected_lost"] == {"round": 1}
    rows = corrections.downloaded(root)
    assert [row["slackwater_row"] for row in rows] == ["4", "7", "10", "20"]


def test_a_correction_of_which_nobody_knows_its_rows_counts_nothing_and_they_can_be_corrected_again(
    root: Package, world: World
) -> None:
    correction = read(submitted(root, "slackwater_row,id,text\n15,15,f\n5,5,five\n", world))
    lose_manifest(correction)
    objects().delete(f"{correction.prefix}/shards/aims.jsonl.zst")
    in_spite_of(correction, world)
    merging.merge(package_id=root.pk)
    assert agreed(root) == {"succeeded": 14, "quarantined": 6}
    assert told(root)["aims_lost"] == {"round": 1, "rows": 2}
    corrections.corrected(root, "slackwater_row,id,text\n15,15,f\n5,5,five\n", world)
    assert agreed(root) == {"succeeded": 16, "quarantined": 4}


def in_spite_of(package: Package, world: World) -> None:
    """End a package some of whose objects are lost."""
    corrections.promised(package, world)
    for shard in package.shards.all():
        end(shard, good(rows_of(shard)))
    try_in_vain(package)
    finalise(package_id=package.pk, clock=lambda: NOW)
    package.refresh_from_db()


def test_a_correction_that_is_lost_before_it_is_merged_gives_its_rows_back(root: Package, world: World) -> None:
    correction = ended(read(submitted(root, "slackwater_row,id,text\n5,5,five\n", world)), world)
    objects().delete_prefix(f"{correction.prefix}/")
    merging.merge(package_id=root.pk)
    assert agreed(root) == {"succeeded": 14, "quarantined": 6}
    assert told(root)["aims_lost"] == {"round": 1, "rows": 1}


def test_rows_of_cancelled_shards_that_never_ran_are_cancelled_though_their_shard_is_lost(
    world: World, settings: Any
) -> None:
    package = promised(world, settings)
    Package.objects.for_department(world.retail).update(state=PackageState.CANCELLING)
    first, second, *untouched = package.shards.order_by("no")
    end(first, good(rows_of(first)))
    end(second, good(rows_of(second)[:7]), ShardState.CANCELLED)
    for shard in untouched:
        end(shard, [], ShardState.CANCELLED)
    rows = rows_of(second)
    for shard in (second, *untouched):
        objects().delete(shard.key)
    try_in_vain(package)
    finished(package)
    tabulate(package_id=package.pk)
    left = 196 - first.items - 7
    assert agreed(package) == {"succeeded": first.items + 7, "quarantined": 4, "cancelled": left}
    assert not any(reported(package)["lost"].values())
    cancelled = [i for i, line in enumerate(lines(package, "csv"), 1) if line["slackwater_status"] == "cancelled"]
    assert [row for row in cancelled if row <= max(rows)] == rows[7:]


def test_a_cancelled_shard_of_which_a_part_is_lost_has_failed_as_a_whole(world: World, settings: Any) -> None:
    package = promised(world, settings)
    Package.objects.for_department(world.retail).update(state=PackageState.CANCELLING)
    first, *others = package.shards.order_by("no")
    end(first, good(rows_of(first)[:10]), ShardState.CANCELLED)
    first.refresh_from_db()
    objects().delete(first.parts[0])
    for shard in others:
        end(shard, [], ShardState.CANCELLED)
    try_in_vain(package)
    finished(package)
    cancelled = 196 - first.items
    expected = {"succeeded": 5, "quarantined": 4, "failed": first.items - 5, "cancelled": cancelled}
    assert agreed(package) == expected
    assert reported(package)["lost"]["results"] == 5


def test_rows_stay_in_quarantine_when_nobody_knows_any_more_why(world: World) -> None:
    package = corrections.promised(ingested(world, DATA, id_column="id"), world)
    objects().delete(set_aside_key(package))
    in_spite_of(package, world)
    assert agreed(package) == {"succeeded": 14, "quarantined": 6}
    assert "reasons_lost" in told(package)
    rows = corrections.downloaded(package)
    assert [row["slackwater_row"] for row in rows] == ["4", "5", "7", "10", "15", "20"]
    assert {row["slackwater_code"] for row in rows} == {"reason_lost"}
    assert rows[0]["text"] == "'=word 4"
    (reason,) = quarantine.reasons_of(package, progress_of(package))
    assert (reason.code, reason.rows) == ("reason_lost", 6)
    for row in rows:
        row["text"], row["id"] = "better", row["slackwater_row"]
    corrections.corrected(package, as_file(rows), world)
    assert agreed(package) == {"succeeded": 20}


@pytest.mark.parametrize("state", [ShardState.SETTLED, ShardState.CANCELLED])
def test_repeats_of_which_nobody_knows_the_first_have_failed(world: World, settings: Any, state: ShardState) -> None:
    settings.SHARD_TARGET_S = 1e-6
    data = "text\n" + "".join(f"word {row % 120}\n" for row in range(240))
    package = corrections.promised(ingested(world, data), world)
    assert (package.rows_repeated, package.shards.count()) == (120, 3)
    if state == ShardState.CANCELLED:
        Package.objects.for_department(world.retail).update(state=PackageState.CANCELLING)
    first, *others = package.shards.order_by("no")
    end(first, good(rows_of(first)))
    Shard.objects.for_department(world.retail).filter(pk=first.pk).update(repeats_succeeded=first.repeats)
    for shard in others:
        end(shard, good(rows_of(shard)) if state == ShardState.SETTLED else [], state)
        if state == ShardState.SETTLED:
            Shard.objects.for_department(world.retail).filter(pk=shard.pk).update(repeats_succeeded=shard.repeats)
    objects().delete(f"{package.prefix}/shards/repeats.jsonl.zst")
    try_in_vain(package)
    finished(package)
    succeeded = 120 if state == ShardState.SETTLED else first.items
    rest = {"cancelled": 120 - succeeded} if succeeded < 120 else {}
    assert agreed(package) == {"succeeded": succeeded, "failed": 120} | rest
    assert reported(package)["lost"]["repeats"] is True


@pytest.mark.parametrize("form", ["csv", "xlsx"])
def test_a_quarantine_that_is_lost_is_made_once_more(
    root: Package, world: World, form: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = corrections.downloaded(root)
    groups = quarantine.groups_of(root, progress_of(root))
    objects().delete(f"{root.out}/quarantine.jsonl.zst")
    assert downloaded(root, f"quarantine.{form}")
    assert corrections.downloaded(root) == before
    assert quarantine.groups_of(root, progress_of(root)) == groups
    correction = read(submitted(root, "slackwater_row,id,text\n5,5,five\n", world))
    assert (correction.rows_good, correction.rows_set_aside) == (1, 0)


def test_a_report_that_is_lost_is_written_anew_and_meanwhile_told_of(
    root: Package, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Package] = []
    monkeypatch.setattr(downloads, "enqueue", asked.append)
    before, reported_before = objects().get(f"{root.out}/report.json"), reported(root)
    objects().delete(f"{root.out}/report.json")
    with pytest.raises(downloads.UnableToDownloadYet, match="tell an operator") as refused:
        downloaded(root, "report.json")
    assert (refused.value.code, asked) == ("file_lost", [root])
    reasons = {reason.code: reason.rows for reason in quarantine.reasons_of(root, progress_of(root))}
    assert reasons == reported_before["quarantined_by_reason"]
    merging.merge(package_id=root.pk)
    assert downloaded(root, "report.json") == before


@pytest.mark.parametrize("form", FORMS)
def test_a_download_that_cannot_be_made_to_its_end_breaks_off(world: World, settings: Any, form: str) -> None:
    package = promised(world, settings)
    settle_all(package)
    objects().delete(package.manifest_key)
    with pytest.raises(Exception, match="file_lost"):
        downloaded(package, f"results.{form}")


def test_only_corrections_that_have_ended_bring_a_column_for_repeats(world: World) -> None:
    root = ended(ingested(world, "text\nok\n" + '" "\n' * 4 + "fine\n"), world)
    corrections.corrected(root, "slackwater_row,text\n2,other\n", world)
    read(submitted(root, "slackwater_row,text\n3,same\n4,same\n", world))
    root.refresh_from_db()
    tabulate(package_id=root.pk)
    assert {tuple(lines(root, form)[0]) for form in FORMS} == {tuple(results(root)[0])}
    assert "slackwater_repeat_of" not in results(root)[0]


def test_a_merge_that_another_overtakes_changes_nothing(
    root: Package, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    lost = ended(read(submitted(root, "slackwater_row,id,text\n5,5,five\n", world)), world)
    objects().delete_prefix(f"{lost.prefix}/")
    write, overtaking = merging._written, iter([True])

    def written(*args: Any) -> Any:
        if next(overtaking, False):
            merging.merge(package_id=root.pk)
        return write(*args)

    monkeypatch.setattr(merging, "_written", written)
    merging.merge(package_id=root.pk)
    assert agreed(root) == {"succeeded": 14, "quarantined": 6}
    assert root.timeline.filter(code="aims_lost").count() == 1


def test_files_cut_short_on_the_disk_are_filled_up(root: Package) -> None:
    whole = {form: lines(root, form) for form in FORMS}
    written = objects().get(f"{root.out}/results.jsonl")
    for cut in (0, len(written) // 2, written.index(b"\n") + 1):
        objects().put(f"{root.out}/results.jsonl", written[:cut])
        assert lines(root, "xlsx") == whole["xlsx"]
        assert lines(root, "parquet") == whole["parquet"]

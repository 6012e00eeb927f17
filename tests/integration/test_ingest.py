"""From manifest to shards: every row is accounted for, the same each time, and only one run counts."""

import io
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from pkgutil import resolve_name
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from portal.packages import services
from portal.packages.delivering.results import set_aside_key
from portal.packages.manifest import BadRow, Row
from portal.packages.manifest.reading import MAX_COLUMNS
from portal.packages.models import Package, TimelineEntry
from portal.packages.reading.ingest import MOST_ATTEMPTS, ingest
from portal.packages.receiving.uploads import discard_draft
from portal.packages.source import manifest_rows
from portal.packages.store import objects
from scheduler.domain.lifecycle import PackageState
from scheduler.records import SetAsideRow, ShardItem, load
from tests.manifests import NOW, draft, ingested, read_now, workbook
from tests.world import World

ROWS = "id,text\n1,a b c\n2,\n1,again\n4\n5,{long}\n,x\n6,d\n".replace("{long}", "w " * 600)


def distinct(rows: int) -> str:
    return "".join(f"a b c d e f g {row}\n" for row in range(rows))


def items(package: Package) -> list[ShardItem]:
    return [item for shard in package.shards.order_by("no") for item in load(objects(), shard.key, ShardItem)]


def aside(package: Package) -> list[SetAsideRow]:
    return list(load(objects(), set_aside_key(package), SetAsideRow))


def files(package: Package) -> dict[str, bytes]:
    return {found.key: objects().get(found.key) for found in objects().list(f"{package.prefix}/shards/")}


def test_every_row_is_an_item_or_set_aside_with_its_reason(world: World) -> None:
    package = ingested(world, ROWS, id_column="id", system_template="Be brief.")
    assert package.state == PackageState.QUOTED
    assert (package.rows_total, package.rows_good, package.rows_set_aside) == (7, 2, 5)
    assert package.set_aside_by_code == {
        "duplicate_id": 1, "missing_field": 1, "missing_id": 1, "ragged_row": 1, "too_long": 1,
    }  # fmt: skip
    assert [(row.row, row.code) for row in aside(package)] == [
        (2, "missing_field"),
        (3, "duplicate_id"),
        (4, "ragged_row"),
        (5, "too_long"),
        (6, "missing_id"),
    ]
    found = {row.row: row for row in aside(package)}
    assert found[2].detail == {"column": "text"}
    assert found[3].detail == {"id": "1", "first_row": 1}
    assert found[3].columns == {"id": "1", "text": "again"}
    # "Judge:" and 600 words, and "Be brief.", and one for each of the two messages
    assert found[5].detail == {"tokens": 605, "limit": 512 - 8}


def test_items_carry_the_rendered_request_and_its_tokens(world: World) -> None:
    package = ingested(world, ROWS, id_column="id", system_template="Be brief.")
    first, last = items(package)
    assert first == ShardItem(
        row=1,
        id="1",
        request=[{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Judge: a b c"}],
        tokens=8,
    )
    assert (last.row, last.id, last.tokens) == (7, "6", 6)
    assert (package.input_tokens, package.fixed_prompt_tokens) == (14, 5)
    (shard,) = package.shards.all()
    # prefill 1000/s, decode 1000/s, 1 ms an item; the longest label is one word and its end
    assert shard.work_s == pytest.approx(14 / 1000 + 2 * 2 / 1000 + 2 * 0.001)
    assert (shard.items, shard.input_tokens, shard.key) == (2, 14, f"{package.prefix}/shards/0.jsonl.zst")


def test_without_an_id_column_the_row_number_is_the_id(world: World) -> None:
    assert [item.id for item in items(ingested(world, "text\na\nb\n"))] == ["1", "2"]


def test_shards_hold_rows_in_order_and_are_the_same_each_time(world: World, settings: Any) -> None:
    settings.SHARD_TARGET_S = 1
    data = "text\n" + "".join(f"{'word ' * (row % 7 + 1)}{row}\n" for row in range(1, 1001))
    package = ingested(world, data)
    sizes = [shard.items for shard in package.shards.order_by("no")]
    assert sum(sizes) == 1000
    assert len(sizes) > 1
    rows_of = [{i.row for i in load(objects(), s.key, ShardItem)} for s in package.shards.order_by("no")]
    assert [row for rows in rows_of for row in sorted(rows)] == list(range(1, 1001))
    before = files(package)
    services.save_task(package=package, by=world.alice, now=NOW)
    read_now(package)
    assert files(package) == before


def test_fewer_shards_the_second_time_leave_none_of_the_first(world: World, settings: Any) -> None:
    settings.SHARD_TARGET_S = 1
    package = ingested(world, "text\n" + distinct(500))
    assert package.shards.count() > 1
    settings.SHARD_TARGET_S = 1000
    services.save_task(package=package, by=world.alice, now=NOW, user_template="{{text}}")
    read_now(package)
    assert package.shards.count() == len(files(package)) == 1


def test_formats_agree(world: World) -> None:
    lines = [["id", "text"], ["1", "潮 水"], ["2", ""], ["3", "c"]]
    as_csv = "\n".join(",".join(line) for line in lines) + "\n"
    as_json = '{"id":"1","text":"潮 水"}\n{"id":2,"text":null}\n{"id":"3","text":"c"}\n'
    packages = [
        ingested(world, as_csv),
        ingested(world, as_csv.encode("gb18030")),
        ingested(world, as_json, "reviews.jsonl"),
        ingested(world, workbook([["id", "text"], [1, "潮 水"], [2, None], [3, "c"]]), "reviews.xlsx"),
    ]
    requests = [[item.request[0]["content"] for item in items(package)] for package in packages]
    assert requests == [["Judge: 潮 水", "Judge: c"]] * 4
    assert [package.set_aside_by_code for package in packages] == [{"missing_field": 1}] * 4


def test_no_good_row_makes_the_package_invalid_with_its_settings_kept(world: World) -> None:
    package = ingested(world, "id,text\n1,\n2,\n")
    assert package.state == PackageState.INVALID
    assert package.refusal == {"code": "no_good_row", "params": {"rows": 2}}
    assert (package.rows_total, package.rows_set_aside, package.labels) == (2, 2, ["good", "bad"])
    entry = TimelineEntry.objects.for_department(world.retail).filter(package=package).first()
    assert entry is not None
    assert (entry.code, entry.params) == ("invalid", {"reason": "no_good_row", "rows": 2})
    services.save_task(package=package, by=world.alice, now=NOW, user_template="{{id}}")
    read_now(package)
    assert (package.state, package.rows_good, package.refusal) == (PackageState.QUOTED, 2, None)


def test_an_unclosed_quote_costs_its_own_row_and_names_the_line(world: World) -> None:
    package = ingested(world, "id,text\n1,a\n" + "2,b\n" * 30 + '3,"c\n4,d\n')
    assert (package.state, package.rows_total, package.rows_good) == (PackageState.QUOTED, 33, 32)
    (row,) = aside(package)
    assert (row.row, row.code, row.detail) == (32, "malformed_row", {"problem": "stray_quote", "line": 33})


def test_a_cell_that_cannot_be_shown_costs_its_own_row(world: World) -> None:
    lines: list[list[Any]] = [["id", "text"], *([number, "a"] for number in range(500)), [500, -1], [501, "a"]]
    package = ingested(world, workbook(lines, {"B502": "yyyy-mm-dd"}), "a.xlsx")
    assert (package.state, package.rows_good) == (PackageState.QUOTED, 501)
    (row,) = aside(package)
    assert (row.row, row.detail) == (501, {"problem": "cell_not_shown", "line": 502, "position": 2, "cell": "B502"})


def test_a_lost_file_makes_the_package_invalid(world: World) -> None:
    package = draft(world, "text\na\n")
    objects().delete(package.manifest_key)
    read_now(package)
    assert package.refusal == {"code": "file_lost", "params": {}}


def test_keys_that_later_rows_bring_become_columns(world: World) -> None:
    first = '{"text":"a"}\n' * 120
    package = ingested(world, first + '{"text":"b","late":"x"}\n', "a.jsonl")
    assert package.reading["columns"] == ["text", "late"]


def test_later_keys_stay_columns_whatever_other_rows_lack_and_keep_their_names(world: World) -> None:
    later = '{"text":"a","x":"1"}\n{"text":"b"," note ":"2","{b}":"3"}\n{"text":"","z":"4"}\n'
    package = ingested(world, '{"text":"a"}\n' * 120 + later, "a.jsonl")
    assert package.reading["columns"] == ["text", "x", " note ", "{b}", "z"]
    found = [row.values for row in first_rows_all(package)][-3:]
    assert [row[" note "] for row in found] == ["", "2", ""]
    assert [row["z"] for row in found] == ["", "", "4"]


def test_columns_are_no_more_than_a_file_may_have(world: World) -> None:
    later = "".join(f'{{"text":"a","k{number}":1}}\n' for number in range(MAX_COLUMNS + 10))
    package = ingested(world, '{"text":"a"}\n' * 120 + later, "a.jsonl")
    assert len(package.reading["columns"]) == MAX_COLUMNS


def first_rows_all(package: Package) -> list[Row | BadRow]:
    with manifest_rows(package) as manifest:
        return list(manifest)


def test_a_message_that_comes_twice_is_read_once(world: World) -> None:
    package = draft(world, "text\na\n")
    services.start_reading(package=package, by=world.alice, now=NOW)
    epoch = package.ingest_epoch
    ingest(package_id=package.pk, epoch=epoch, clock=lambda: NOW)
    key = package.shards.get().pk
    ingest(package_id=package.pk, epoch=epoch, clock=lambda: NOW)
    assert package.shards.get().pk == key


class Interrupted:
    """Stands for a step of reading and does something else before its nth call."""

    def __init__(self, step: Callable[..., Any], at: int, act: Callable[[], None]) -> None:
        self._step, self._left, self._act = step, at, act

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        self._left -= 1
        if self._left == 0:
            self._act()
        return self._step(*args, **kwargs)


STEPS = [("tokenizer_of", 1), ("longest_label", 1), ("dump", 1), ("dump", 2), ("dump", 6), ("fixed_messages", 1)]


def read_interrupted(
    monkeypatch: pytest.MonkeyPatch, package: Package, step: str, at: int, act: Callable[[], None]
) -> None:
    """Read the manifest, doing ``act`` in the middle as another process would."""
    services.start_reading(package=package, by=package.created_by, now=NOW)
    with monkeypatch.context() as patched:
        room = "shard_writer" if step == "dump" else "ingest"
        original = resolve_name(f"portal.packages.reading.{room}:{step}")
        patched.setattr(f"portal.packages.reading.{room}.{step}", Interrupted(original, at, act))
        ingest(package_id=package.pk, epoch=package.ingest_epoch, clock=lambda: NOW)


@pytest.mark.parametrize(("step", "at"), STEPS)
@pytest.mark.parametrize("is_changed", [False, True])
def test_a_second_run_stops_the_first_wherever_it_is(
    world: World, settings: Any, monkeypatch: pytest.MonkeyPatch, step: str, at: int, is_changed: bool
) -> None:
    settings.SHARD_TARGET_S = 1e-6
    package = draft(world, "text\n" + distinct(300) + "\nx\n")

    def again() -> None:
        package.refresh_from_db()
        if is_changed:
            services.stop_reading(package=package, by=world.alice, now=NOW)
            services.save_task(package=package, by=world.alice, now=NOW, user_template="New: {{text}}")
            services.start_reading(package=package, by=world.alice, now=NOW)
        ingest(package_id=package.pk, epoch=package.ingest_epoch, clock=lambda: NOW)

    read_interrupted(monkeypatch, package, step, at, again)
    package.refresh_from_db()
    assert (package.state, package.rows_good, package.rows_read) == (PackageState.QUOTED, 301, 302)
    assert sum(shard.items for shard in package.shards.all()) == 301
    assert [item.row for item in sorted(items(package), key=lambda i: i.row)] == [*range(1, 301), 302]
    assert {item.request[0]["content"][:3] for item in items(package)} == {"New" if is_changed else "Jud"}
    assert [row.row for row in aside(package)] == [301]


@pytest.mark.parametrize(("step", "at"), STEPS)
def test_stopping_and_discarding_in_the_middle_leaves_nothing(
    world: World, monkeypatch: pytest.MonkeyPatch, settings: Any, step: str, at: int
) -> None:
    settings.SHARD_TARGET_S = 1e-6
    package = draft(world, "text\n" + distinct(300))

    def discard() -> None:
        services.stop_reading(package=package, by=world.alice, now=NOW)
        discard_draft(package=package, by=world.alice, now=NOW)

    read_interrupted(monkeypatch, package, step, at, discard)
    assert list(objects().list(f"{package.prefix}/")) == []


def test_progress_is_told_while_reading(world: World) -> None:
    package = draft(world, "text\n" + distinct(5000))
    services.start_reading(package=package, by=world.alice, now=NOW)
    seen: list[int] = []

    def ticking() -> Iterator[datetime]:
        now = NOW
        while True:
            now += timedelta(seconds=1)
            seen.append(Package.objects.for_department(world.retail).values_list("rows_read", flat=True).get())
            yield now

    ticks = ticking()
    ingest(package_id=package.pk, epoch=package.ingest_epoch, clock=lambda: next(ticks))
    assert sorted(seen) == seen
    assert len(set(seen)) > 10


def test_long_rows_do_not_keep_progress_from_being_told(world: World) -> None:
    package = draft(world, "text\n" + ("x" * 100_000 + "\n") * 40)
    services.start_reading(package=package, by=package.created_by, now=NOW)
    seen: list[int] = []

    def ticking() -> Iterator[datetime]:
        now = NOW
        while True:
            now += timedelta(seconds=1)
            seen.append(Package.objects.for_department(world.retail).values_list("rows_read", flat=True).get())
            yield now

    ticks = ticking()
    ingest(package_id=package.pk, epoch=package.ingest_epoch, clock=lambda: next(ticks))
    assert len(set(seen)) > 10


@pytest.mark.parametrize("filename", ["reviews.xlsx", "reviews.parquet"])
def test_a_small_file_with_rows_without_end_is_refused(world: World, settings: Any, filename: str) -> None:
    text = "x" * 10_000
    package = draft(world, table_of([text] * 200, filename), filename)
    settings.EXPANDED_LIMIT_BYTES = 200 * 10_000
    read_now(package)
    assert (package.state, package.rows_total) == (PackageState.QUOTED, 200)
    settings.EXPANDED_LIMIT_BYTES -= 1
    read_now(package)
    assert package.state == PackageState.INVALID
    assert package.refusal == {"code": "expands_too_far", "params": {"limit": "1.91 MiB"}}


def table_of(texts: list[str], filename: str) -> bytes:
    """A file in which a text that comes again stands once."""
    if filename.endswith(".xlsx"):
        return workbook([["text"], *([text] for text in texts)])
    out = io.BytesIO()
    pq.write_table(pa.table({"text": pa.array(texts).dictionary_encode()}), out)
    return out.getvalue()


def test_a_manifest_that_keeps_killing_its_reader_is_given_up(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    def dies(*_args: object) -> None:
        raise MemoryError

    package = draft(world, "text\na\n")
    services.start_reading(package=package, by=world.alice, now=NOW)
    with monkeypatch.context() as broken:
        broken.setattr("portal.packages.reading.ingest.tokenizer_of", dies)
        for _ in range(MOST_ATTEMPTS):
            package.refresh_from_db()
            with pytest.raises(MemoryError):
                ingest(package_id=package.pk, epoch=package.ingest_epoch, clock=lambda: NOW)
    package.refresh_from_db()
    ingest(package_id=package.pk, epoch=package.ingest_epoch, clock=lambda: NOW)
    package.refresh_from_db()
    assert (package.state, package.refusal) == (PackageState.INVALID, {"code": "reading_failed", "params": {}})
    read_now(package)
    assert package.state == PackageState.QUOTED

"""Rows that ask the same are asked once: found, told, settled and charged right, whatever becomes of the first."""

import csv
import io
import itertools
import random
from collections import Counter
from typing import Any

import pytest

from portal.packages import services
from portal.packages.models import Package
from portal.packages.reading.ingest import ingest
from portal.packages.reading.repeats import repeated_rows, repeats_by_item
from portal.packages.store import objects
from scheduler.domain.lifecycle import PackageState
from scheduler.objects.file import FileStore
from scheduler.records import ShardItem, load
from tests.manifests import NOW, ingested, read_now
from tests.world import World


def items(package: Package) -> list[ShardItem]:
    return [item for shard in package.shards.order_by("no") for item in load(objects(), shard.key, ShardItem)]


def pairs(package: Package) -> list[tuple[int, int]]:
    return [(repeat.row, repeat.of) for repeat in repeated_rows(package, objects())]


def shop(rows: int, texts: int, seed: int = 5) -> tuple[str, list[tuple[int, int]]]:
    """A manifest whose texts repeat as those of a shop do, and each repeat with its first row, by a plain dict."""
    choose = random.Random(seed)
    cells = [f"好评 {min(choose.randrange(texts), choose.randrange(texts))}，很好" for _ in range(rows)]
    out = io.StringIO(newline="")
    csv.writer(out).writerows([["id", "text"], *([f"R{row}", cell] for row, cell in enumerate(cells, 1))])
    first: dict[str, int] = {}
    numbered = [(row, first.setdefault(cell, row)) for row, cell in enumerate(cells, 1)]
    return out.getvalue(), [(row, of) for row, of in numbered if of != row]


def test_rows_that_ask_the_same_become_one_item(world: World, settings: Any) -> None:
    settings.SHARD_TARGET_S = 1
    data, expected = shop(30_000, 20_000)
    package = ingested(world, data, id_column="id")
    assert len(expected) > 10_000
    assert pairs(package) == expected
    assert package.state == PackageState.QUOTED
    assert (package.rows_total, package.rows_good, package.rows_set_aside) == (30_000, 30_000, 0)
    assert (package.rows_repeated, package.requests) == (len(expected), 30_000 - len(expected))
    assert sorted(item.row for item in items(package)) == sorted({*range(1, 30_001)} - {row for row, _ in expected})
    assert package.input_tokens == sum(item.tokens for item in items(package))


def test_every_shard_knows_how_many_rows_repeat_its_items(world: World, settings: Any) -> None:
    settings.SHARD_TARGET_S = 1e-6
    data, expected = shop(2_000, 900)
    package = ingested(world, data)
    times = Counter(of for _, of in expected)
    for shard in package.shards.order_by("no"):
        rows = {item.row for item in load(objects(), shard.key, ShardItem)}
        assert repeats_by_item(shard, objects()) == {row: times[row] for row in rows if times[row]}
        assert shard.repeats == sum(times[row] for row in rows)
    assert sum(shard.repeats for shard in package.shards.all()) == len(expected)


def test_the_rendered_request_decides_not_the_columns(world: World) -> None:
    data = "a,b,text\nx,yz,1\nxy,z,2\nx,yz,3\n"
    package = ingested(world, data, user_template="{{a}}{{b}}")
    assert pairs(package) == [(2, 1), (3, 1)]
    package = ingested(world, data, system_template="{{a}}", user_template="{{b}}")
    assert pairs(package) == [(3, 1)]


def test_rows_set_aside_are_repeated_by_none(world: World) -> None:
    long = "w " * 600
    package = ingested(world, f"id,text\n1,a\n1,a\n2,a\n3,{long}\n4,{long}\n5,\n6,\n", id_column="id")
    assert package.set_aside_by_code == {"duplicate_id": 1, "missing_field": 2, "too_long": 2}
    assert pairs(package) == [(3, 1)]
    assert (package.rows_total, package.rows_good, package.rows_repeated) == (7, 2, 1)


@pytest.mark.parametrize("fields", [{"run_repeats_once": False}, {"temperature": 0.1}])
def test_every_row_runs_where_that_is_wanted_or_answers_differ(world: World, fields: dict[str, Any]) -> None:
    package = ingested(world, "text\na\na\na\n", **fields)
    assert (package.rows_good, package.rows_repeated, package.requests) == (3, 0, 3)
    assert [item.row for item in items(package)] == [1, 2, 3]
    assert pairs(package) == []


def test_reading_again_forgets_the_repeats_of_before(world: World) -> None:
    package = ingested(world, "text\na\na\n")
    assert package.rows_repeated == 1
    services.save_task(package=package, by=world.alice, now=NOW, run_repeats_once=False)
    assert package.rows_repeated == 0
    read_now(package)
    assert (package.rows_repeated, package.requests) == (0, 2)
    assert len(list(objects().list(f"{package.prefix}/shards/"))) == 1


def written(package: Package) -> dict[str, bytes]:
    return {found.key: objects().get(found.key) for found in objects().list(f"{package.prefix}/shards/")}


class Killed(Exception):
    pass


@pytest.mark.parametrize("at", [1, 4, 9, 14])
def test_a_reading_that_was_killed_writes_the_same_when_it_is_repeated(
    world: World, settings: Any, monkeypatch: pytest.MonkeyPatch, at: int
) -> None:
    settings.SHARD_TARGET_S = 1e-6
    data, expected = shop(1_500, 700)
    package = ingested(world, data)
    whole, counts = written(package), list(package.shards.order_by("no").values_list("items", "repeats"))
    assert len([key for key in whole if ".repeats." in key]) > 5
    services.save_task(package=package, by=world.alice, now=NOW)
    services.start_reading(package=package, by=world.alice, now=NOW)
    puts = itertools.count(1)

    def put(self: FileStore, key: str, content: bytes) -> None:
        if next(puts) >= at:
            raise Killed
        original(self, key, content)

    original = FileStore.put
    with monkeypatch.context() as patched:
        patched.setattr(FileStore, "put", put)
        with pytest.raises(Killed):
            ingest(package_id=package.pk, epoch=package.ingest_epoch, clock=lambda: NOW)
    package.refresh_from_db()
    assert package.state == PackageState.VALIDATING
    ingest(package_id=package.pk, epoch=package.ingest_epoch, clock=lambda: NOW)
    package.refresh_from_db()
    assert written(package) == whole
    assert list(package.shards.order_by("no").values_list("items", "repeats")) == counts
    assert pairs(package) == expected

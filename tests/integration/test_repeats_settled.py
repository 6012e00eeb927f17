"""Repeats end as the row they repeat, whatever happens to its shard: each row once, all counts at every moment, one
charge for one answer. What must come out is worked out row by row in plain Python beside it."""

import json
import random
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import pytest

from portal.billing.models import LedgerEntry
from portal.capacity.models import Reservation
from portal.packages.delivering.finalise import TRIES_BEFORE_LOSS, finalise
from portal.packages.delivering.results import UnableToAddUp, outcomes
from portal.packages.following.progress import cells_of, progress_of
from portal.packages.models import Package, Shard
from portal.packages.reading.repeats import repeats_key, shard_repeats_key
from portal.packages.running import closing, dispatch
from portal.packages.store import objects
from scheduler.domain.lifecycle import Cause, PackageState, ShardState
from scheduler.records import ItemResult, ShardItem, dump, load, part_key
from scheduler.wire import Assignment, Counts, Faulted, Parked, Settled, Usage
from tests.manifests import NOW, ingested
from tests.world import World

USED = Usage(prompt_tokens=2, cached_tokens=1, completion_tokens=2, engine_s=0.5)
ENDS = ("succeeded", "succeeded", "succeeded", "quarantined", "failed")


def text_of(row: int, seed: int) -> str:
    """One of 260 texts, or nothing: that row is set aside."""
    number = random.Random(seed * 10_000 + row).randrange(270)
    return f"text {number}" if number < 260 else ""


@dataclass
class Story:
    """A package of 600 rows whose shards are brought to their ends one by one; ``expected`` is how each row ended."""

    package: Package
    texts: list[str]
    ends: dict[str, str]
    expected: dict[int, str] = field(default_factory=dict)
    answered: set[str] = field(default_factory=set)

    def rows_with(self, text: str) -> list[int]:
        return [row for row, other in enumerate(self.texts, 1) if other == text]

    def end(self, text: str, status: str) -> None:
        self.expected |= dict.fromkeys(self.rows_with(text), status)

    def items(self, shard: int) -> list[ShardItem]:
        found = load(objects(), f"{self.package.prefix}/shards/{shard}.jsonl.zst", ShardItem)
        return sorted(found, key=lambda item: item.row)

    def result(self, row: int) -> ItemResult:
        end = self.ends[self.texts[row - 1]]
        self.answered.add(self.texts[row - 1])
        return ItemResult(row, end, output=f"of {row}", reason=None, usage=USED, charged=end != "failed")

    def check(self) -> None:
        """All counts are those of the rows that have ended so far."""
        self.package.refresh_from_db()
        done = progress_of(self.package)
        counts = Counter(self.expected.values())
        assert (done.succeeded, done.quarantined, done.failed, done.cancelled) == (
            counts["succeeded"], counts["quarantined"], counts["failed"], counts["cancelled"],
        )  # fmt: skip
        assert done.to_go == 600 - len(self.expected)
        assert done.succeeded + done.quarantined + done.failed + done.cancelled + done.to_go == done.total == 600
        cells = cells_of(self.package)
        assert sum(cell.items for cell in cells) == self.package.rows_good
        entries = LedgerEntry.objects.across_departments().filter(package_ref=self.package.pk)
        charged = [text for text in self.answered if self.ends[text] != "failed"]
        assert sum(entry.items for entry in entries) == len(charged)
        assert sum(entry.repeats for entry in entries) == sum(len(self.rows_with(text)) - 1 for text in charged)
        assert sum(entry.output_tokens for entry in entries) == 2 * len(charged)


@pytest.fixture
def story(world: World, settings: Any, request: pytest.FixtureRequest) -> Story:
    seed = getattr(request, "param", 1)
    settings.SHARD_TARGET_S = 1e-6
    texts = [text_of(row, seed) for row in range(1, 601)]
    package = ingested(world, "id,text\n" + "".join(f"{n},{text}\n" for n, text in enumerate(texts)), id_column="id")
    Package.objects.for_department(world.retail).filter(pk=package.pk).update(
        state=PackageState.RUNNING, pool=world.pool, price_list=world.prices, deadline_at=NOW + timedelta(hours=1),
        admitted_at=NOW, started_at=NOW,
    )  # fmt: skip
    Reservation.objects.create(
        department=world.retail, pool=world.pool, package_ref=package.pk, deadline_at=NOW, promised_s=1, remaining_s=1,
        admitted_at=NOW,
    )  # fmt: skip
    package.refresh_from_db()
    choose = random.Random(seed)
    found = Story(package, texts, {text: choose.choice(ENDS) for text in sorted({*texts})})
    found.end("", "quarantined")
    assert package.rows_repeated == 600 - texts.count("") - len({*texts} - {""})
    return found


def given(story: Story) -> Assignment:
    (one,) = dispatch.assign(shares=[(story.package.pk, 1)], now=NOW)
    return one


def said(assigned: Assignment) -> dict[str, Any]:
    return {
        "package": assigned.package, "shard": assigned.shard, "epoch": assigned.epoch, "worker": "w", "at": NOW,
    }  # fmt: skip


def ran(story: Story, assigned: Assignment, share: float = 1.0) -> dict[str, Any]:
    """Run that share of the shard's items, and what the worker can say of it."""
    items = story.items(assigned.shard)
    results = [story.result(item.row) for item in items[: round(len(items) * share)]]
    key = part_key(assigned.parts_prefix, assigned.epoch, 0)
    objects().put(key, dump(results))
    by_status = Counter(result.status for result in results)
    charged = sum(result.charged for result in results)
    return {
        "counts": Counts(by_status["succeeded"], by_status["quarantined"], by_status["failed"]),
        "usage": sum((USED for _ in results), Usage()),
        "charged": sum((USED for _ in range(charged)), Usage()),
        "charged_items": charged,
        "parts": (key,),
    }


def settle(story: Story) -> None:
    assigned = given(story)
    event = Settled(**said(assigned), **ran(story, assigned))
    assert dispatch.apply(event, store=objects(), now=NOW)
    assert not dispatch.apply(event, store=objects(), now=NOW)  # twice is once
    for item in story.items(assigned.shard):
        story.end(story.texts[item.row - 1], story.ends[story.texts[item.row - 1]])


def die(story: Story) -> None:
    """The shard fails three times; what a worker had finished of it is kept."""
    assigned = given(story)
    ran(story, assigned, share=0.4)
    Shard.objects.across_departments().filter(package=story.package, no=assigned.shard).update(attempts=2)
    assert dispatch.apply(Faulted(**said(assigned), reason="engine died"), store=objects(), now=NOW)
    end_unfinished(story, assigned.shard, "failed")


def end_unfinished(story: Story, shard: int, status: str) -> None:
    for item in story.items(shard):
        text = story.texts[item.row - 1]
        story.end(text, story.ends[text] if text in story.answered else status)


def park(story: Story) -> None:
    """A worker hands the shard back half done, and another runs the rest: it ends as if nothing had happened."""
    assigned = given(story)
    items = story.items(assigned.shard)
    parked = ran(story, assigned, share=0.5)
    was_answered = set(story.answered)
    assert dispatch.apply(Parked(**said(assigned), cause=Cause.PREEMPTION, **parked), store=objects(), now=NOW)
    again = given(story)
    assert (again.shard, again.epoch) == (assigned.shard, assigned.epoch + 1)
    rest = [story.result(item.row) for item in items if story.texts[item.row - 1] not in was_answered]
    key = part_key(again.parts_prefix, again.epoch, 0)
    objects().put(key, dump(rest))
    by_status = Counter(story.ends[story.texts[item.row - 1]] for item in items)
    charged = len(items) - by_status["failed"]
    event = Settled(
        **said(again), counts=Counts(by_status["succeeded"], by_status["quarantined"], by_status["failed"]),
        usage=sum((USED for _ in items), Usage()), charged=sum((USED for _ in range(charged)), Usage()),
        charged_items=charged, parts=(*parked["parts"], key),
    )  # fmt: skip
    assert dispatch.apply(event, store=objects(), now=NOW)
    end_unfinished(story, assigned.shard, "never")


MOVES: list[Callable[[Story], None]] = [settle, settle, die, park]


def lines(package: Package) -> Iterator[dict[str, Any]]:
    content = objects().get(f"{package.prefix}/out/results.jsonl").decode()
    return map(json.loads, content.splitlines())


def finish(story: Story) -> None:
    """The package ends, and its results are those of every row, each once, in manifest order."""
    closing.finish_ready(now=NOW)
    finalise(package_id=story.package.pk, clock=lambda: NOW)
    story.check()
    told = list(lines(story.package))
    assert [line["id"] for line in told] == [str(n) for n in range(600)]
    assert [line["slackwater_status"] for line in told] == [story.expected[row] for row in range(1, 601)]
    for row, line in enumerate(told, 1):
        first = story.rows_with(story.texts[row - 1])[0]
        is_answered = story.texts[row - 1] in story.answered
        assert line["slackwater_output"] == (f"of {first}" if is_answered else None)
    report = json.loads(objects().get(f"{story.package.prefix}/out/report.json"))
    assert report["rows"] == {"total": 600, "repeated": story.package.rows_repeated} | {
        status: Counter(story.expected.values())[status]
        for status in ("succeeded", "quarantined", "failed", "cancelled")
    }


@pytest.mark.parametrize("story", range(6), indirect=True)
def test_every_row_ends_once_as_the_first_that_asked_the_same(story: Story) -> None:
    choose = random.Random(len(story.ends))
    story.check()
    while story.package.shards.exclude(state__in=[ShardState.SETTLED, ShardState.DEAD]).exists():
        choose.choice(MOVES)(story)
        story.check()
        told = list(outcomes(story.package, store=objects(), is_final=False))
        rows = [outcome.row for outcome in told]
        assert rows == sorted(set(rows))
        assert {o.row: o.status for o in told}.items() <= story.expected.items()
    finish(story)
    assert story.package.state == PackageState.COMPLETED
    assert len(story.expected) == 600


@pytest.mark.parametrize("story", [7, 8], indirect=True)
def test_repeats_of_what_a_cancelled_package_has_not_run_are_cancelled(story: Story) -> None:
    settle(story)
    assigned = given(story)
    parked = ran(story, assigned, share=0.3)
    Package.objects.across_departments().filter(pk=story.package.pk).update(state=PackageState.CANCELLING)
    assert dispatch.apply(Parked(**said(assigned), cause=Cause.USER_CANCEL, **parked), store=objects(), now=NOW)
    end_unfinished(story, assigned.shard, "cancelled")
    story.check()
    dispatch.withdraw(store=objects(), now=NOW)
    for shard in story.package.shards.all():
        end_unfinished(story, shard.no, "cancelled")
    finish(story)
    assert story.package.state == PackageState.CANCELLED


def test_a_repeat_says_which_row_it_repeats(story: Story) -> None:
    settle(story)
    for outcome in outcomes(story.package, store=objects(), is_final=False):
        text = story.texts[outcome.row - 1]
        first = story.rows_with(text)[0]
        assert outcome.repeat_of == (first if text and outcome.row != first else None)


def test_a_shard_whose_repeats_are_lost_is_settled_by_what_the_package_knows(story: Story) -> None:
    for shard in story.package.shards.all():
        objects().delete(shard_repeats_key(story.package, shard.no))
        settle(story)
    finish(story)


def test_repeats_that_nobody_knows_any_more_have_failed_and_nothing_else(story: Story) -> None:
    while story.package.shards.exclude(state=ShardState.SETTLED).exists():
        settle(story)
    objects().delete(repeats_key(story.package))
    closing.finish_ready(now=NOW)
    for _ in range(TRIES_BEFORE_LOSS):
        with pytest.raises(Exception, match="repeats"):
            finalise(package_id=story.package.pk, clock=lambda: NOW)
    finalise(package_id=story.package.pk, clock=lambda: NOW)
    for row, text in enumerate(story.texts, 1):
        if text and row != story.rows_with(text)[0]:
            story.expected[row] = "failed"
    assert [line["slackwater_status"] for line in lines(story.package)] == [story.expected[n] for n in range(1, 601)]
    story.package.refresh_from_db()
    done = progress_of(story.package)
    assert (done.failed, done.to_go) == (Counter(story.expected.values())["failed"], 0)


def test_settled_repeats_that_the_results_do_not_bear_out_are_never_delivered(story: Story) -> None:
    while story.package.shards.exclude(state=ShardState.SETTLED).exists():
        settle(story)
    shard = story.package.shards.filter(repeats_succeeded__gt=0)[0]
    Shard.objects.across_departments().filter(pk=shard.pk).update(
        repeats_succeeded=shard.repeats_succeeded - 1, repeats_failed=shard.repeats_failed + 1
    )
    closing.finish_ready(now=NOW)
    with pytest.raises(UnableToAddUp, match="repeats"):
        finalise(package_id=story.package.pk, clock=lambda: NOW)

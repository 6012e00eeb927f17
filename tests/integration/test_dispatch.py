"""A shard's moves: each happens once, only for the epoch that holds it, and charges what is durable."""

from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

import msgspec
import pytest
from django.conf import settings

from portal.audit.models import AuditRecord
from portal.billing.models import LedgerEntry
from portal.capacity.models import Reservation
from portal.packages.models import Package, Shard
from portal.packages.running import closing, dispatch, tallies
from scheduler import wire
from scheduler.domain.lifecycle import PackageState
from scheduler.objects import ObjectInfo, ObjectStore, open_store
from scheduler.objects.memory import MemoryStore
from scheduler.records import ItemResult, dump, part_key
from scheduler.wire import Assignment, Counts
from tests import shards
from tests.shards import ITEMS, NOW, PER_ITEM, promised, results, shard_of, state_of
from tests.world import World

# 10 prompt tokens of which 2 cached, 5 completion tokens: (8 × 0.002 + 2 × 0.0005 + 5 × 0.006) ÷ 1,000
PRICE_OF_ONE = Decimal("0.000047")


def s(seconds: float) -> datetime:
    return NOW + timedelta(seconds=seconds)


@pytest.fixture
def store() -> ObjectStore:
    return open_store("memory:")


@pytest.fixture
def apply(store: ObjectStore) -> Callable[..., bool]:
    """Let an event happen, now unless said otherwise."""
    return lambda event, now=NOW: dispatch.apply(shards.durable(store, event), store=store, now=now)


def assign(package: Package, n: int = 1, now: datetime = NOW) -> list[Assignment]:
    return dispatch.assign(shares=[(package.pk, n)], now=now)


def charged(package: Package) -> list[tuple[int, int, Decimal]]:
    entries = LedgerEntry.objects.across_departments().filter(package_ref=package.pk).order_by("shard_no")
    return [(entry.shard_no, entry.items, entry.amount) for entry in entries]


def reserved_s(package: Package) -> float:
    return Reservation.objects.across_departments().get(package_ref=package.pk).remaining_s


def told(package: Package) -> list[str]:
    return [entry.code for entry in package.timeline.order_by("id")]


def first_part(given: Assignment) -> str:
    return part_key(given.parts_prefix, given.epoch, 0)


def put_part(store: ObjectStore, given: Assignment, n: int) -> str:
    key = first_part(given)
    store.put(key, dump(results(range(1, n + 1))))
    return key


# --- out and through --------------------------------------------------------------------------------------
def test_an_assignment_says_everything_that_a_worker_needs(world: World) -> None:
    package = promised(world, tier="express", json_schema={"type": "object"}, temperature=0.5)
    (given,) = assign(package)
    assert given == Assignment(
        package=str(package.pk),
        shard=0,
        epoch=1,
        attempt=1,
        lane="express",
        shard_key=f"{package.prefix}/shards/0.jsonl.zst",
        parts_prefix=f"{package.prefix}/parts/0/",
        model="echo",
        settings=wire.RequestSettings(
            kind="tagging",
            max_output_tokens=64,
            temperature=0.5,
            labels=("good", "bad"),
            json_schema='{"type": "object"}',
        ),
        lease_s=settings.LEASE_S,
        not_after=NOW + timedelta(minutes=10),
    )


def test_shards_go_out_in_order_and_each_once(world: World) -> None:
    package = promised(world, shards=3)
    assert [a.shard for a in assign(package, 2)] == [0, 1]
    assert [a.shard for a in assign(package, 9)] == [2]
    assert assign(package, 9) == []


def test_a_shard_goes_from_waiting_to_settled(world: World, apply: Callable[..., bool]) -> None:
    package = promised(world)
    (given,) = assign(package)
    assert (shard_of(package).state, state_of(package)) == ("assigned", "admitted")
    assert apply(shards.claimed(given), s(1))
    assert (shard_of(package).state, shard_of(package).worker) == ("running", "w1")
    assert shard_of(package).lease_until == s(1 + settings.LEASE_S)
    assert (state_of(package), package.started_at) == ("running", s(1))
    assert apply(shards.progressed(given, done=2), s(5))
    assert (shard_of(package).succeeded, shard_of(package).lease_until) == (2, s(5 + settings.LEASE_S))
    assert apply(shards.settled(given), s(9))
    done = shard_of(package)
    assert (done.state, done.succeeded, done.parts, done.settled_at) == ("settled", ITEMS, [first_part(given)], s(9))
    assert (done.prompt_tokens, done.cached_tokens, done.completion_tokens, done.engine_s) == (40, 8, 20, 2.0)
    assert told(package) == ["started"]


def test_settling_charges_the_items_and_gives_back_the_capacity(world: World, apply: Callable[..., bool]) -> None:
    package = promised(world)
    (given,) = assign(package)
    assert apply(shards.settled(given, counts=Counts(2, 1, 1), charged_items=3))
    assert charged(package) == [(0, 3, 3 * PRICE_OF_ONE)]
    assert reserved_s(package) == pytest.approx(10.0)


def test_settling_twice_charges_once(world: World, apply: Callable[..., bool]) -> None:
    package = promised(world)
    (given,) = assign(package)
    outcomes = [apply(shards.settled(given)) for _ in range(3)]
    assert outcomes == [True, False, False]
    assert len(charged(package)) == 1
    assert reserved_s(package) == pytest.approx(10.0)


@pytest.mark.parametrize("say", [shards.claimed, lambda given: shards.progressed(given, done=1)])
def test_whatever_a_worker_says_first_counts_as_its_claim(
    world: World, apply: Callable[..., bool], say: Callable[[Assignment], wire.Event]
) -> None:
    package = promised(world)
    (given,) = assign(package)
    assert apply(say(given))
    assert shard_of(package).state == "running"


EVENTS: list[Callable[..., wire.Event]] = [
    shards.claimed,
    lambda given, epoch=None: shards.progressed(given, done=1, epoch=epoch),
    lambda given, epoch=None: shards.parked(given, cause="shutdown", done=1, epoch=epoch),
    shards.settled,
    shards.faulted,
]


@pytest.mark.parametrize("say", EVENTS)
@pytest.mark.parametrize("epoch", [0, 1, 3])
def test_another_epoch_changes_nothing(
    world: World, apply: Callable[..., bool], say: Callable[..., wire.Event], epoch: int
) -> None:
    package = promised(world, shards=1)
    assign(package)
    dispatch.take_back_unclaimed(pool=world.pool.pk, ignored_since=NOW, seen=(), now=s(15))
    (given,) = assign(package, now=s(16))
    assert given.epoch == 2
    before = vars(shard_of(package)) | {"_state": None}
    assert not apply(say(given, epoch=epoch), s(17))
    assert vars(shard_of(package)) | {"_state": None} == before
    assert charged(package) == []


@pytest.mark.parametrize("say", EVENTS)
def test_nothing_is_heard_of_a_shard_that_waits_or_has_ended(
    world: World, apply: Callable[..., bool], say: Callable[..., wire.Event]
) -> None:
    package = promised(world)
    waits, ends = assign(package, 2)
    assert apply(shards.parked(waits, cause="shutdown", done=1))
    assert apply(shards.settled(ends))
    assert not apply(say(waits))
    assert not apply(say(ends))
    assert [shard_of(package, no).state for no in (0, 1)] == ["waiting", "settled"]


# --- what is believed -------------------------------------------------------------------------------------
def forged(event: wire.Event, **changes: object) -> wire.Event:
    return msgspec.structs.replace(event, **changes)


def lies(given: Assignment) -> dict[str, wire.Event]:
    """What no shard of four items, 40 input tokens and 64 output tokens an item can come to."""
    honest = shards.settled(given)
    elsewhere = given.parts_prefix.replace("/parts/0/", "/parts/1/")
    return {
        "fewer items": shards.settled(given, counts=Counts(ITEMS - 1), charged_items=ITEMS - 1),
        "more items": shards.settled(given, counts=Counts(ITEMS + 1), charged_items=ITEMS),
        "no parts": forged(honest, parts=(), charged=wire.Usage(2**62, 0, 1)),
        "no part": forged(honest, parts=("garbage",)),
        "another shard's part": forged(honest, parts=(part_key(elsewhere, 1, 0),)),
        "a later epoch's part": forged(honest, parts=(part_key(given.parts_prefix, 2, 0),)),
        "a part that is not there": forged(honest, parts=(part_key(given.parts_prefix, 1, 7),)),
        "a part twice": forged(honest, parts=(part_key(given.parts_prefix, 1, 0),) * 2),
        "more charged": forged(honest, charged=wire.Usage(41, 8, 20, 2.0)),
        "more charged items": forged(honest, charged_items=ITEMS - 1),
        "impossible usage": forged(honest, usage=wire.Usage(2**62, 0, 1)),
        "negative counts": forged(honest, counts=Counts(ITEMS + 1, -1)),
        "impossible progress": forged(shards.progressed(given, done=1), usage=wire.Usage(2**62, 0, 1)),
        "progress of nothing": shards.progressed(given, done=1, parts=("garbage",)),
        "parked with more": forged(shards.parked(given, cause="user_cancel", done=1), charged_items=2),
        "parked for no cause": shards.parked(given, cause="boredom", done=0),
    }


@pytest.mark.parametrize(
    "lie", lies(Assignment("", 0, 1, 1, "standard", "", "/parts/0/", "", wire.RequestSettings("", 1), 1, NOW))
)
def test_what_the_store_does_not_bear_out_changes_nothing(world: World, store: ObjectStore, lie: str) -> None:
    package = promised(world)
    (given,) = assign(package)
    put_part(store, given, ITEMS)
    before = vars(shard_of(package)) | {"_state": None}
    with pytest.raises(tallies.UnableToBelieve):
        dispatch.apply(shards.durable(store, lies(given)[lie]), store=store, now=s(1))
    assert vars(shard_of(package)) | {"_state": None} == before
    assert charged(package) == []


def test_a_part_with_more_tokens_than_the_shard_can_use_is_not_charged(
    world: World, store: ObjectStore, apply: Callable[..., bool]
) -> None:
    package = promised(world, shards=1)
    (given,) = assign(package)
    apply(shards.claimed(given))
    used = wire.Usage(2**62, 0, 5, 0.5)
    store.put(first_part(given), dump([ItemResult(1, "succeeded", "good", usage=used, charged=True)]))
    with pytest.raises(ValueError, match="more tokens"):
        apply(
            forged(shards.parked(given, cause="shutdown", done=1), parts=(first_part(given),), charged=used, usage=used)
        )
    Package.objects.across_departments().filter(pk=package.pk).update(state=PackageState.CANCELLING)
    dispatch.expire_leases(store=store, now=s(settings.LEASE_S))
    assert (shard_of(package).state, shard_of(package).succeeded, charged(package)) == ("cancelled", 1, [])


# --- what cannot be read ----------------------------------------------------------------------------------
def damage(store: ObjectStore, key: str) -> None:
    store.put(key, b"\0" * 20)


def set_state(package: Package, state: PackageState) -> None:
    Package.objects.across_departments().filter(pk=package.pk).update(state=state)


@pytest.mark.parametrize("names_the_part", [True, False])
def test_a_damaged_part_stops_no_cancel_and_the_rest_is_kept(
    world: World, store: ObjectStore, apply: Callable[..., bool], names_the_part: bool
) -> None:
    poisoned, other = promised(world, shards=2), promised(world, shards=1)
    for package in (poisoned, other):
        for given in assign(package, 2):
            apply(shards.parked(given, cause="shutdown", done=2))
        set_state(package, PackageState.CANCELLING)
    prefix = f"{poisoned.prefix}/parts/0/"
    damage(store, part_key(prefix, 1, 0 if names_the_part else 1))
    store.put(f"{prefix}notes.txt", b"not a part")
    dispatch.withdraw(store=store, now=s(1))
    assert [shard_of(poisoned, no).state for no in (0, 1)] == ["cancelled", "cancelled"]
    assert shard_of(other).state == "cancelled"
    kept = 0 if names_the_part else 2
    assert [shard_of(poisoned, no).succeeded for no in (0, 1)] == [kept, 2]
    assert shard_of(poisoned).parts == ([] if names_the_part else [part_key(prefix, 1, 0)])
    audited = AuditRecord.objects.filter(action="shard.parts_lost")
    assert [record.detail["shard"] for record in audited] == [0]


def test_garbage_among_a_shards_parts_stops_no_lease_from_running_out(
    world: World, store: ObjectStore, apply: Callable[..., bool]
) -> None:
    packages = [promised(world, shards=1) for _ in range(2)]
    for package in packages:
        apply(shards.claimed(assign(package)[0]))
    packages[0].shards.update(parts=["garbage"])
    assert dispatch.expire_leases(store=store, now=s(settings.LEASE_S)) == 2
    assert [shard_of(package).state for package in packages] == ["waiting", "waiting"]


class AwayStore(MemoryStore):
    """Whatever lies under ``away`` cannot be reached."""

    away = "nothing"

    def list(self, prefix: str) -> Iterator[ObjectInfo]:
        if self.away in prefix:
            raise OSError("input/output error")
        return super().list(prefix)


def test_a_shard_whose_store_is_away_waits_for_it_and_holds_up_no_other(world: World) -> None:
    store = AwayStore()
    one, other = promised(world, shards=1), promised(world, shards=1)
    for package in (one, other):
        (given,) = assign(package)
        dispatch.apply(shards.durable(store, shards.parked(given, cause="shutdown", done=2)), store=store, now=NOW)
        set_state(package, PackageState.CANCELLING)
    store.away = one.prefix
    dispatch.withdraw(store=store, now=s(3600))
    assert [shard_of(package).state for package in (one, other)] == ["waiting", "cancelled"]
    store.away = "nothing"
    dispatch.withdraw(store=store, now=s(3601))
    assert (shard_of(one).state, shard_of(one).succeeded) == ("cancelled", 2)


def test_a_store_that_stays_away_ends_the_shard_with_what_can_be_read(world: World) -> None:
    store = AwayStore()
    package = promised(world, shards=1)
    (given,) = assign(package)
    dispatch.apply(shards.claimed(given), store=store, now=NOW)
    set_state(package, PackageState.CANCELLING)
    store.away = package.prefix
    dispatch.expire_leases(store=store, now=s(3600))
    dispatch.expire_leases(store=store, now=s(3600 + 599))
    assert shard_of(package).state == "running"
    dispatch.expire_leases(store=store, now=s(3600 + 600))
    assert (shard_of(package).state, charged(package)) == ("cancelled", [])


def test_a_shard_that_nothing_can_be_done_with_ends_as_a_dead_letter(
    world: World, store: ObjectStore, apply: Callable[..., bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    packages = [promised(world, shards=1, state=PackageState.CANCELLING) for _ in range(2)]
    Shard.objects.across_departments().update(epoch=1)
    honest = tallies.salvage

    def broken(shard: Shard, **given: Any) -> tallies.Tally:
        if shard.package_id == packages[0].pk:
            raise RuntimeError("a fault of ours")
        return honest(shard, **given)

    monkeypatch.setattr(tallies, "salvage", broken)
    for seconds in (1, 600):
        dispatch.withdraw(store=store, now=s(seconds))
        assert [shard_of(package).state for package in packages] == ["waiting", "cancelled"]
    dispatch.withdraw(store=store, now=s(601))
    assert (shard_of(packages[0]).state, shard_of(packages[0]).failed) == ("dead", ITEMS)


# --- back -------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("cause", ["shutdown", "preemption", "operator_pause"])
def test_an_orderly_return_spends_no_attempt_and_keeps_what_is_finished(
    world: World, apply: Callable[..., bool], cause: str
) -> None:
    package = promised(world, shards=1)
    (given,) = assign(package)
    assert apply(shards.parked(given, cause=cause, done=3))
    back = shard_of(package)
    assert (back.state, back.attempts, back.cause, back.succeeded, back.parts) == (
        "waiting",
        0,
        cause,
        3,
        [first_part(given)],
    )
    assert charged(package) == []
    (again,) = assign(package)
    assert (again.epoch, again.attempt) == (2, 1)


def test_a_silent_worker_loses_its_lease_and_the_shard_goes_to_another(world: World, store: ObjectStore) -> None:
    package = promised(world, shards=1)
    (given,) = assign(package)
    dispatch.apply(shards.claimed(given), store=store, now=NOW)
    assert dispatch.expire_leases(store=store, now=s(settings.LEASE_S - 1)) == 0
    assert dispatch.expire_leases(store=store, now=s(settings.LEASE_S)) == 1
    back = shard_of(package)
    assert (back.state, back.attempts, back.cause, back.lease_until) == ("waiting", 1, "lease_lost", None)
    assert assign(package, now=s(settings.LEASE_S + 4)) == []  # it waits a little
    (again,) = assign(package, now=s(settings.LEASE_S + 5))
    assert (again.epoch, again.attempt) == (2, 2)


def fail(package: Package, apply: Callable[..., bool], now: datetime) -> Assignment:
    (given,) = assign(package, now=now)
    assert apply(shards.faulted(given), now)
    return given


def test_a_shard_that_fails_three_times_dies_and_its_unfinished_items_fail(
    world: World, store: ObjectStore, apply: Callable[..., bool]
) -> None:
    package = promised(world, shards=1)
    first = fail(package, apply, NOW)
    key = put_part(store, first, 1)  # one item got through, though nobody could say so any more
    fail(package, apply, s(100))
    fail(package, apply, s(200))
    dead = shard_of(package)
    assert (dead.state, dead.attempts, dead.succeeded, dead.failed, dead.parts) == ("dead", 3, 1, ITEMS - 1, [key])
    assert charged(package) == [(0, 1, PRICE_OF_ONE)]
    assert reserved_s(package) == 0
    assert told(package)[-1] == "shard_dead"


def test_a_dead_shard_without_results_is_charged_nothing(world: World, apply: Callable[..., bool]) -> None:
    package = promised(world, shards=1)
    for seconds in (0, 100, 200):
        fail(package, apply, s(seconds))
    assert (shard_of(package).state, shard_of(package).failed, charged(package)) == ("dead", ITEMS, [])


def test_a_shard_that_gets_on_between_failures_is_never_given_up(world: World, apply: Callable[..., bool]) -> None:
    package = promised(world, shards=1)
    for n in range(5):
        (given,) = assign(package, now=s(100 * n))
        part = part_key(given.parts_prefix, given.epoch, 0)
        assert apply(shards.progressed(given, done=1, parts=(part,)), s(100 * n))
        assert apply(shards.faulted(given), s(100 * n))
    assert (shard_of(package).state, shard_of(package).attempts) == ("waiting", 1)


def test_an_unread_assignment_comes_back_without_spending_an_attempt(world: World) -> None:
    package = promised(world, shards=2)
    lost, held = assign(package, 2)
    seen = [wire.shard_name(held.package, held.shard, held.epoch)]
    assert dispatch.take_back_unclaimed(pool=world.pool.pk, ignored_since=NOW, seen=seen, now=s(14)) == 0
    assert dispatch.take_back_unclaimed(pool=world.pool.pk, ignored_since=NOW, seen=seen, now=s(15)) == 1
    back = shard_of(package, lost.shard)
    assert (back.state, back.attempts, back.cause) == ("waiting", 0, "unclaimed")
    assert shard_of(package, held.shard).state == "assigned"


# --- what people ask for ----------------------------------------------------------------------------------
def test_a_paused_package_gives_nothing_out_and_its_assigned_shards_wait(world: World, store: ObjectStore) -> None:
    package = promised(world, shards=3)
    assign(package)
    Package.objects.across_departments().filter(pk=package.pk).update(state=PackageState.PAUSED)
    dispatch.withdraw(store=store, now=s(1))
    assert (shard_of(package).state, shard_of(package).cause) == ("waiting", "operator_pause")
    assert assign(package, 9) == []


def test_a_paused_shard_that_never_parks_comes_back_by_its_lease_and_spends_no_attempt(
    world: World, store: ObjectStore, apply: Callable[..., bool]
) -> None:
    package = promised(world, shards=1)
    (given,) = assign(package)
    apply(shards.claimed(given))
    Package.objects.across_departments().filter(pk=package.pk).update(state=PackageState.PAUSED)
    apply(shards.progressed(given, done=1), s(10))  # renews nothing any more
    assert dispatch.expire_leases(store=store, now=s(settings.LEASE_S)) == 1
    back = shard_of(package)
    assert (back.state, back.cause, back.attempts) == ("waiting", "operator_pause", 0)


def test_cancelling_stops_what_waits_and_keeps_and_charges_what_is_finished(
    world: World, store: ObjectStore, apply: Callable[..., bool]
) -> None:
    package = promised(world, shards=5)
    runs, returned, assigned = assign(package, 3)
    apply(shards.claimed(runs))
    put_part(store, returned, 2)
    apply(shards.parked(returned, cause="shutdown", done=2))
    assert assigned.shard == 2
    Package.objects.across_departments().filter(pk=package.pk).update(state=PackageState.CANCELLING)
    for _ in range(2):  # reconciled every tick
        dispatch.withdraw(store=store, now=s(1))
    assert [shard_of(package, no).state for no in range(5)] == ["running", *["cancelled"] * 4]
    assert shard_of(package, 1).succeeded == 2
    assert apply(shards.parked(runs, cause="user_cancel", done=3), s(2))
    assert (shard_of(package).state, shard_of(package).succeeded) == ("cancelled", 3)
    assert charged(package) == [(0, 3, 3 * PRICE_OF_ONE), (1, 2, 2 * PRICE_OF_ONE)]
    assert reserved_s(package) == 0


def test_a_shard_that_ends_while_its_package_is_cancelled_is_settled(world: World, apply: Callable[..., bool]) -> None:
    package = promised(world, shards=1)
    (given,) = assign(package)
    apply(shards.claimed(given))
    Package.objects.across_departments().filter(pk=package.pk).update(state=PackageState.CANCELLING)
    assert apply(shards.settled(given))
    assert (shard_of(package).state, len(charged(package))) == ("settled", 1)


@pytest.mark.parametrize("end", ["lease", "fault"])
def test_a_cancelled_shard_whose_worker_is_gone_keeps_what_is_durable(
    world: World, store: ObjectStore, apply: Callable[..., bool], end: str
) -> None:
    package = promised(world, shards=1)
    (given,) = assign(package)
    apply(shards.claimed(given))
    put_part(store, given, 3)
    Package.objects.across_departments().filter(pk=package.pk).update(state=PackageState.CANCELLING)
    if end == "lease":
        dispatch.expire_leases(store=store, now=s(settings.LEASE_S))
    else:
        apply(shards.faulted(given))
    assert (shard_of(package).state, shard_of(package).succeeded) == ("cancelled", 3)
    assert charged(package) == [(0, 3, 3 * PRICE_OF_ONE)]


# --- the end of a package ---------------------------------------------------------------------------------
@pytest.fixture
def enqueued(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Packages that were sent to be finalised."""
    from portal.packages.tasks import finalise

    sent: list[str] = []
    monkeypatch.setattr(finalise, "apply_async", lambda args, **_: sent.extend(args))
    return sent


def test_a_package_is_finalised_once_all_its_shards_have_ended(
    world: World,
    apply: Callable[..., bool],
    enqueued: list[str],
    django_capture_on_commit_callbacks: Callable[..., object],
) -> None:
    package, other = promised(world, shards=2), promised(world, shards=1)
    one, two = assign(package, 2)
    apply(shards.settled(one))
    assert closing.finish_ready(now=s(1)) == []
    apply(shards.settled(two))
    with django_capture_on_commit_callbacks(execute=True):  # type: ignore[attr-defined]
        assert closing.finish_ready(now=s(2)) == [package.pk]
        assert closing.finish_ready(now=s(3)) == []
    assert enqueued == [str(package.pk)]
    assert (state_of(package), state_of(other)) == ("finalising", "admitted")


def test_a_cancelled_package_is_finalised_when_it_has_come_to_rest_and_stays_cancelling(
    world: World,
    store: ObjectStore,
    enqueued: list[str],
    django_capture_on_commit_callbacks: Callable[..., object],
) -> None:
    package = promised(world, state=PackageState.CANCELLING)
    with django_capture_on_commit_callbacks(execute=True):  # type: ignore[attr-defined]
        assert closing.finish_ready(now=s(1)) == []
        dispatch.withdraw(store=store, now=s(1))
        assert closing.finish_ready(now=s(1)) == [package.pk]
        assert closing.finish_ready(now=s(2)) == []
    assert (enqueued, state_of(package)) == ([str(package.pk)], "cancelling")


def test_what_is_salvaged_is_the_sum_of_the_winning_results(world: World, store: ObjectStore) -> None:
    package = promised(world, shards=1)
    (given,) = assign(package)
    store.put(part_key(given.parts_prefix, 1, 0), dump(results(range(1, 3))))
    store.put(part_key(given.parts_prefix, 2, 0), dump(results(range(2, 4), status="quarantined")))
    tally = tallies.salvage(shard_of(package), store=store, now=NOW)
    assert (tally.counts, tally.charged_items) == (Counts(2, 1, 0), 3)
    assert tally.usage == tally.charged == PER_ITEM + PER_ITEM + PER_ITEM

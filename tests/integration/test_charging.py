"""One ledger entry a shard, exact, once, never changed."""

from datetime import UTC, datetime
from decimal import Decimal

import pytest

from portal.billing.models import LedgerEntry
from portal.billing.services import charge_shard
from portal.packages.models import Package, Shard
from scheduler.wire import Usage
from tests.world import World

NOW = datetime(2026, 3, 2, 10, 0, tzinfo=UTC)


def shard_of(world: World, **fields: object) -> Shard:
    package = Package.objects.create(
        department=world.retail, name="Reviews", created_by=world.alice, created_at=NOW, touched_at=NOW,
        filename="a.csv", manifest_key="k", manifest_bytes=1, manifest_sha256="0" * 64, model=world.echo,
        price_list=world.prices, tier="express", tier_factor=Decimal(2), **fields,
    )  # fmt: skip
    return Shard.objects.create(
        department=world.retail, package=package, no=3, key="s", items=50, input_tokens=1, work_s=1, touched_at=NOW
    )


def charge(shard: Shard, **usage: int) -> LedgerEntry:
    return charge_shard(shard=shard, package=shard.package, usage=Usage(**usage), items=49, now=NOW)


def test_cached_input_is_part_of_the_prompt_and_priced_apart(world: World) -> None:
    entry = charge(shard_of(world), prompt_tokens=1000, cached_tokens=400, completion_tokens=77)
    assert (entry.input_tokens, entry.cached_tokens, entry.output_tokens, entry.items) == (600, 400, 77, 49)
    # (600 × 0.002 + 400 × 0.0005 + 77 × 0.006) ÷ 1,000 × 2 = 0.003724
    entry.refresh_from_db()
    assert entry.amount == Decimal("0.003724")
    assert (entry.person_name, entry.model_name, entry.price_list_name) == ("Alice", "echo", "2026-01")


def test_a_shard_is_charged_once(world: World) -> None:
    shard = shard_of(world)
    first = charge(shard, prompt_tokens=10)
    again = charge(shard, prompt_tokens=9999)
    assert again == first
    assert LedgerEntry.objects.for_department(world.retail).count() == 1
    assert again.input_tokens == 10


def test_an_entry_is_never_changed_or_deleted(world: World) -> None:
    entry = charge(shard_of(world), prompt_tokens=10)
    with pytest.raises(TypeError):
        entry.save()
    with pytest.raises(TypeError):
        entry.delete()


def test_a_package_that_was_never_admitted_cannot_be_charged(world: World) -> None:
    shard = shard_of(world)
    shard.package.price_list = None
    with pytest.raises(ValueError, match="never admitted"):
        charge(shard, prompt_tokens=10)

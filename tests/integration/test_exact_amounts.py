"""Amounts of the ledger keep every digit in the database, also where numbers have only 15 of them."""

import importlib
import uuid
from datetime import UTC, datetime
from decimal import Decimal
from types import SimpleNamespace
from typing import Any

import pytest
from django.db import IntegrityError, connection, transaction
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from portal.billing.bills import draft_bill
from portal.billing.domain import exact_sum
from portal.billing.fields import ExactSum
from portal.billing.models import LedgerEntry
from portal.packages.queries import spending
from tests.world import World

NOW = datetime(2026, 12, 1, 9, 0, tzinfo=UTC)
AMOUNTS = st.decimals(min_value=0, max_value=Decimal("99999999999999.9999999999"), places=10)


def entry_of(world: World, amount: Decimal, **fields: Any) -> LedgerEntry:
    values: dict[str, Any] = {
        "department": world.retail, "package_ref": uuid.uuid4(), "package_name": "reviews", "shard_no": 0,
        "model_name": "echo", "tier": "standard", "factor": Decimal(1), "price_list_name": "2026-01", "currency": "CNY",
        "input_per_1k": Decimal(0), "cached_per_1k": Decimal(0), "output_per_1k": Decimal(0), "items": 1,
        "input_tokens": 0, "cached_tokens": 0, "output_tokens": 0, "amount": amount, "settled_at": NOW,
    }  # fmt: skip
    return LedgerEntry.objects.create(**values | fields)


@given(amount=AMOUNTS)
@hypothesis_settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_an_amount_of_24_digits_comes_back_as_it_was(world: World, amount: Decimal) -> None:
    kept = entry_of(world, amount)
    kept.refresh_from_db()
    assert kept.amount == amount


@given(amounts=st.lists(AMOUNTS, min_size=1, max_size=5))
@hypothesis_settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_the_databases_sum_is_the_exact_sum(world: World, amounts: list[Decimal]) -> None:
    with transaction.atomic():
        entries = LedgerEntry.objects.for_department(world.retail)
        before = entries.aggregate(total=ExactSum("amount"))["total"] or Decimal(0)
        for amount in amounts:
            entry_of(world, amount)
        assert entries.aggregate(total=ExactSum("amount"))["total"] == exact_sum([before, *amounts])


def test_a_sum_in_floating_point_is_refused(world: World) -> None:
    if connection.vendor != "sqlite":
        pytest.skip("only SQLite sums in floating point")
    from django.db.models import Sum

    entry_of(world, Decimal("0.1"))
    with pytest.raises(TypeError, match="ExactSum"):
        LedgerEntry.objects.for_department(world.retail).aggregate(total=Sum("amount"))


def test_an_amount_below_nothing_is_refused_by_the_database(world: World) -> None:
    entry_of(world, Decimal(0))
    with pytest.raises(IntegrityError), transaction.atomic():
        entry_of(world, Decimal("-0.0000000001"))


def test_a_large_month_has_a_bill(world: World) -> None:
    """Two shards of 123,456,789,123 tokens at 123.123457: each costs an amount of 20 digits."""
    amount = Decimal("15200426666.9437582110")
    used = {"input_per_1k": Decimal("123.123457"), "input_tokens": 123_456_789_123}
    entry_of(world, amount, **used)
    entry_of(world, amount, shard_no=1, **used)
    assert draft_bill(department=world.retail, month=NOW.date().replace(day=1), now=NOW).statement.total == Decimal(
        "30400853333.89"
    )
    assert spending(world.retail, now=NOW).used == Decimal("30400853333.89")


def test_the_migration_restores_the_digits_that_floating_point_lost(world: World) -> None:
    used = {"input_per_1k": Decimal("123.123457"), "input_tokens": 123_456_789_123}
    exact = entry_of(world, Decimal(0), **used)
    price = Decimal("123.123457") * 123_456_789_123 / 1000
    with connection.cursor() as cursor:
        cursor.execute("update billing_ledgerentry set amount = %s", [str(float(price))])
    migration = importlib.import_module("portal.billing.migrations.0002_exact_amounts")
    migration.restore(SimpleNamespace(get_model=lambda *_: LedgerEntry), None)
    exact.refresh_from_db()
    assert exact.amount == Decimal("15200426666.9437582110")  # 123,456,789,123 × 123.123457 ÷ 1,000

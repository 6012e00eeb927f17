"""Usage and bills over the API: the same numbers everywhere, text and not floats, each department its own."""

import csv
import hashlib
import io
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from portal.billing.models import LedgerEntry
from portal.billing.services import charge_shard
from portal.departments import services as departments
from portal.departments.models import Person
from portal.packages.models import Package, Shard
from scheduler.wire import Usage
from tests.world import World

NOW = datetime(2026, 3, 2, 10, 0, tzinfo=UTC)
API = "/api/v1"


def client_of(person: Person) -> Client:
    _key, secret = departments.create_api_key(person=person, name="script", now=timezone.now())
    return Client(headers={"Authorization": f"Bearer {secret}"})


@pytest.fixture
def charged(world: World) -> World:
    """Two shards of one standard package of Retail: 3,000 and 1,000 input tokens, 500 and 250 output tokens.

    Input at 0.002 and output at 0.006 per 1,000: 0.009 and 0.0035, together 0.0125, rounded 0.01.
    """
    package = Package.objects.create(
        department=world.retail, name="Reviews", created_by=world.alice, created_at=NOW, touched_at=NOW,
        filename="a.csv", manifest_key="k", manifest_bytes=1, manifest_sha256="0" * 64, model=world.echo,
        price_list=world.prices,
    )  # fmt: skip
    for no, prompt, completion in ((0, 3000, 500), (1, 1000, 250)):
        shard = Shard.objects.create(
            department=world.retail, package=package, no=no, key="s", items=50, input_tokens=1, work_s=1,
            touched_at=NOW,
        )  # fmt: skip
        usage = Usage(prompt_tokens=prompt, completion_tokens=completion)
        charge_shard(shard=shard, package=package, usage=usage, items=50, now=NOW)
    return world


def read(client: Client, path: str) -> Any:
    answer = client.get(f"{API}{path}")
    assert answer.status_code == 200, answer.content
    return answer


def test_usage_bill_and_ledger_say_the_same(charged: World) -> None:
    fiona = client_of(charged.fiona)
    usage = read(fiona, "/usage?month=2026-03").json()
    bill = read(fiona, "/bills/2026-03").json()
    ledger = read(fiona, "/bills/2026-03.csv").content
    entries = list(csv.DictReader(io.StringIO(ledger.decode("utf-8-sig"), newline="")))
    assert sum(Decimal(entry["amount"]) for entry in entries) == Decimal("0.0125") == Decimal(usage["exact"])
    assert usage["total"] == bill["total"] == "0.01"
    assert [line["amount"] for line in bill["lines"]] == ["0.01", "0.00"]  # 0.008 and 0.0045
    assert bill["rounding"] == "0.00"
    assert bill["ledger_sha256"] == hashlib.sha256(ledger).hexdigest()
    assert [(line["meter"], line["tokens"]) for line in bill["lines"]] == [("input", 4000), ("output", 750)]


def test_what_a_package_costs_so_far_is_money_and_exact_beside_it(charged: World) -> None:
    package = Package.objects.for_department(charged.retail).get()
    told = read(client_of(charged.alice), f"/packages/{package.pk}").json()["charged"]
    assert told == {"amount": "0.01", "exact": "0.0125", "currency": "CNY"}
    LedgerEntry.objects.across_departments().all().delete()
    assert read(client_of(charged.alice), f"/packages/{package.pk}").json()["charged"]["amount"] == "0.00"


@pytest.mark.parametrize("table", ["by_day", "by_model", "by_tier", "by_person"])
def test_every_table_of_the_usage_adds_up(table: str, charged: World) -> None:
    usage = read(client_of(charged.alice), "/usage?month=2026-03").json()
    assert sum(Decimal(line["exact"]) for line in usage[table]) == Decimal(usage["exact"])
    assert sum(line["items"] for line in usage[table]) == usage["items"] == 100


def test_the_bill_is_a_pdf(charged: World) -> None:
    answer = read(client_of(charged.fiona), "/bills/2026-03.pdf")
    assert answer.headers["Content-Type"] == "application/pdf"
    assert answer.content.startswith(b"%PDF-")


def test_another_department_sees_only_its_own_empty_month(charged: World) -> None:
    charlie = client_of(charged.charlie)
    assert read(charlie, "/usage?month=2026-03").json()["exact"] == "0"
    assert read(charlie, "/bills/2026-03").json()["lines"] == []


@pytest.mark.parametrize("month", ["2026-13", "26-3", "March", "2026-3"])
def test_a_month_that_is_none_is_told(month: str, charged: World) -> None:
    client = client_of(charged.fiona)
    for path in (f"/usage?month={month}", f"/bills/{month}", f"/bills/{month}.pdf", f"/bills/{month}.csv"):
        answer = client.get(f"{API}{path}")
        assert (answer.status_code, answer.json()["error"]["code"]) == (422, "invalid_month")

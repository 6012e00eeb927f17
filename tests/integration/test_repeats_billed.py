"""Repeats are on the bill as rows that cost nothing, and change no amount."""

import csv
import io
from datetime import timedelta
from decimal import Decimal

from django.utils import translation

from portal.billing.bills import bill_csv, bill_html, draft_bill
from portal.billing.models import LedgerEntry
from portal.billing.services import charge_shard
from portal.packages.models import Package
from portal.packages.promising.alternatives import alternatives
from portal.packages.promising.quoting import quote_package
from scheduler.wire import Usage
from tests.manifests import NOW, ingested
from tests.world import World


def charged(world: World, repeats: int) -> Package:
    package = ingested(world, "text\na\na\na\nb\n")
    package.price_list = world.prices
    package.save()
    charge_shard(
        shard=package.shards.get(), package=package, usage=Usage(2000, 0, 1000), items=2, repeats=repeats, now=NOW
    )
    return package


def test_the_bill_tells_charged_items_and_free_repeats(world: World) -> None:
    charged(world, repeats=2)
    bill = draft_bill(department=world.retail, month=NOW.date(), now=NOW)
    assert (bill.statement.items, bill.statement.repeats) == (2, 2)
    (package,) = bill.statement.packages()
    assert (package.sums.items, package.sums.repeats) == (2, 2)
    assert bill.total == Decimal("0.01")  # 2,000 tokens in at 0.002 and 1,000 out at 0.006 per thousand
    (line,) = csv.DictReader(io.StringIO(bill_csv(bill).decode("utf-8-sig"), newline=""))
    assert (line["items"], line["repeats"], line["amount"]) == ("2", "2", "0.0100000000")
    with translation.override("en"):
        page = bill_html(bill, "en")
    assert "2 repeated rows, free of charge" in page
    assert "+ 2 free" in page


def test_a_bill_without_repeats_does_not_speak_of_them(world: World) -> None:
    charged(world, repeats=0)
    bill = draft_bill(department=world.retail, month=NOW.date(), now=NOW)
    assert "repeated row" not in bill_html(bill, "en")


def test_repeats_take_no_work_and_no_money_in_the_offer(world: World) -> None:
    once = ingested(world, "text\na\nb\n")
    repeated = ingested(world, "text\na\na\nb\na\n")
    every = ingested(world, "text\na\na\nb\na\n", run_repeats_once=False)
    offers = [
        quote_package(package=package, tier="standard", deadline_at=None, by=world.alice, now=NOW)
        for package in (once, repeated, every)
    ]
    assert [package.rows_good for package in (once, repeated, every)] == [2, 4, 4]
    assert offers[0].work_at_most_s == offers[1].work_at_most_s == offers[2].work_at_most_s / 2
    assert [offer.rows_that_fit for offer in offers] == [2, 4, 4]
    # a label of four letters and its end are five tokens at most
    assert [offer.output_tokens_high for offer in offers] == [10, 10, 20]


def test_items_and_repeats_are_all_good_rows(world: World) -> None:
    package = charged(world, repeats=2)
    entries = LedgerEntry.objects.for_department(world.retail).filter(package_ref=package.pk)
    assert sum(entry.items + entry.repeats for entry in entries) == package.rows_good == 4


def test_of_an_offer_that_does_not_fit_as_many_rows_fit_as_requests_at_least(world: World) -> None:
    package = ingested(world, "text\n" + "".join(f"a {row % 500}\n" for row in range(1_000)))
    assert (package.rows_good, package.requests) == (1_000, 500)
    offer = quote_package(
        package=package, tier="standard", deadline_at=NOW + timedelta(minutes=30, seconds=2), by=world.alice, now=NOW
    )
    assert not offer.is_feasible
    assert 0 <= offer.rows_that_fit < 500
    for one in alternatives(package=package, quote=offer, now=NOW):
        if one.code == "first_rows":
            assert one.price_at_most <= offer.price_at_most
        else:
            assert one.rows == 1_000

"""Usage and bills pages: the same numbers for the department's people, nobody else's for anybody."""

import uuid
from datetime import UTC, datetime
from decimal import Decimal

import pytest
from django.test import Client
from django.utils import timezone

from portal.billing.models import LedgerEntry
from portal.billing.periods import Month
from portal.billing.queries import bills_of, usage_of
from portal.departments.models import Department, Person
from tests.world import World


@pytest.fixture
def month(world: World) -> Month:
    """The present month, with 2.67 for Retail over two entries and 8.88 for Legal."""
    settle(world.retail, "Alice", Decimal("1.3350001"))
    settle(world.retail, "Bob", Decimal("1.3349999"))
    settle(world.legal, "Charlie", Decimal("8.88"))
    return Month.of(timezone.now(), world.retail.zone)


def settle(department: Department, person: str, amount: Decimal) -> None:
    """1,000 output tokens at ``amount``."""
    LedgerEntry.objects.create(
        department=department, package_ref=uuid.uuid4(), package_name=f"of {person}", shard_no=0, person_name=person,
        model_name="echo", tier="standard", factor=1, price_list_name="2026-01", currency="CNY", input_per_1k=0,
        cached_per_1k=0, output_per_1k=amount * 1000, items=10, input_tokens=0, cached_tokens=0, output_tokens=1,
        amount=amount, settled_at=timezone.now(),
    )  # fmt: skip


def signed_in(person: Person) -> Client:
    client = Client()
    client.force_login(person)
    return client


def test_usage_shows_the_department_only_and_adds_up_in_every_table(world: World) -> None:
    settle(world.retail, "Alice", Decimal("0.335"))
    settle(world.retail, "Bob", Decimal("0.335"))
    settle(world.legal, "Charlie", Decimal(9))
    found = usage_of(world.retail, Month.of(timezone.now(), world.retail.zone))
    assert found.statement.total == Decimal("0.67")
    for table in (found.by_day, found.by_model, found.by_tier, found.by_person):
        assert sum(sums.exact for _, sums in table) == Decimal("0.67")
    assert [(name, sums.amount) for name, sums in found.by_person] == [
        ("Alice", Decimal("0.34")),
        ("Bob", Decimal("0.34")),
    ]
    page = signed_in(world.fiona).get("/usage").content.decode()
    assert "¥ −0.01" in page
    assert "Rounding" in page


def test_the_list_of_bills_has_every_month_with_something_and_the_present_one(world: World) -> None:
    settle(world.retail, "Alice", Decimal(1))
    now = timezone.now()
    later = Month.of(now, world.retail.zone).next().next()
    rows = bills_of(world.retail, now=later.start_at(world.retail.zone))
    assert [(row.month, row.is_current, row.usage.statement.total) for row in rows] == [
        (later, True, Decimal(0)),
        (Month.of(now, world.retail.zone), False, Decimal(1)),
    ]


@pytest.mark.parametrize("who", ["alice", "fiona"])
def test_staff_and_finance_read_their_departments_figures(world: World, month: Month, who: str) -> None:
    client = signed_in(getattr(world, who))
    for address in ("/usage", "/bills", f"/usage?month={month}", "/bills?department=legal"):
        page = client.get(address).content.decode()
        assert "¥ 2.67" in page
        assert "8.88" not in page
        assert "Charlie" not in page


def test_documents_are_downloads_of_the_department(world: World, month: Month) -> None:
    client = signed_in(world.fiona)
    detail = client.get(f"/bills/{month}.csv")
    assert detail["Content-Disposition"] == f'attachment; filename="slackwater-retail-{month}-draft.csv"'
    assert detail.content.decode("utf-8-sig").count("\r\n") == 3
    document = client.get(f"/bills/{month}.pdf?language=en")
    assert document["Content-Type"] == "application/pdf"
    assert document.content.startswith(b"%PDF")


@pytest.mark.parametrize("address", ["/bills/{}.pdf", "/bills/{}.csv", "/usage?month={}"])
@pytest.mark.parametrize("month", ["2026-13", "abc", "9999-01", "1999-01"])
def test_what_is_no_month_is_not_there(world: World, address: str, month: str) -> None:
    assert signed_in(world.fiona).get(address.format(month)).status_code == 404


def test_an_unknown_language_is_not_there(world: World, month: Month) -> None:
    assert signed_in(world.fiona).get(f"/bills/{month}.pdf?language=fr").status_code == 404


def test_an_administrator_chooses_the_department(world: World, month: Month) -> None:
    client = signed_in(world.ada)
    assert "Retail" in client.get("/bills").content.decode()
    page = client.get("/bills?department=legal").content.decode()
    assert "¥ 8.88" in page
    assert f"/bills/{month}.csv?department=legal" in page
    assert "Charlie" in client.get("/usage?department=legal").content.decode()
    assert client.get(f"/bills/{month}.csv?department=legal").status_code == 200
    assert client.get(f"/bills/{month}.csv").status_code == 404
    assert client.get("/bills?department=nobody").status_code == 404


def test_an_administrator_reads_the_departments_clock(world: World, month: Month) -> None:
    page = signed_in(world.ada).get("/usage?department=retail")
    assert page.context["now"].astimezone(world.retail.zone).strftime("As of %Y-%m-%d %H:%M") in page.content.decode()


def test_operators_and_strangers_see_no_figures(world: World, month: Month) -> None:
    for address in ("/usage", "/bills", f"/bills/{month}.csv", f"/bills/{month}.pdf"):
        assert signed_in(world.otto).get(address).status_code == 403
        assert Client().get(address).status_code == 302


def test_a_month_without_anything_says_when_something_comes(world: World) -> None:
    page = signed_in(world.alice).get("/usage").content.decode()
    assert "Nothing was charged this month" in page


def test_a_ledger_that_contradicts_itself_is_told_and_not_billed(world: World, month: Month) -> None:
    LedgerEntry.objects.across_departments().filter(person_name="Bob").update(amount=Decimal(7))
    client = signed_in(world.fiona)
    for address in (f"/bills/{month}.csv", f"/bills/{month}.pdf", "/bills", "/usage"):
        assert client.get(address).status_code == 503


def test_settlement_time_decides_the_month_not_the_browser(world: World) -> None:
    zone = world.retail.zone
    assert Month.of(datetime(2026, 3, 31, 16, 0, tzinfo=UTC), zone) == Month(2026, 4)
    assert Month.of(datetime(2026, 3, 31, 15, 59, tzinfo=UTC), zone) == Month(2026, 3)

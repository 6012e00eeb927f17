"""Reading prices and the ledger."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, datetime

from django.conf import settings
from django.db.models import Exists, OuterRef, Q
from django.utils.translation import gettext as _

from portal.billing.domain import Rates
from portal.billing.models import LedgerEntry, Price, PriceList
from portal.billing.periods import Month
from portal.billing.statement import Statement, Sums, statement_of
from portal.capacity.models import LanguageModel, Quote
from portal.departments.models import Department
from portal.departments.refusals import Refusal


class UnableToPrice(Refusal):
    """No price list that holds now has a price for the model."""

    code = "no_price"
    status = 409


def price_list_at(*, now: datetime, model: LanguageModel) -> PriceList:
    """The list that new quotes for ``model`` use: of those that hold now, the one that began last."""
    valid = Q(valid_until=None) | Q(valid_until__gt=now)
    found = (
        PriceList.objects.filter(valid, valid_from__lte=now, currency=settings.CURRENCY, prices__model=model)
        .order_by("-valid_from", "-pk")
        .first()
    )
    if found is None:
        raise UnableToPrice(
            _("There is no price for %(model)s at present. Ask an administrator to publish one.")
            % {"model": model.title}
        )
    return found


def models_without_price(*, now: datetime) -> list[LanguageModel]:
    """Models that are offered though no list that holds now has their price: nobody can ask for them."""
    in_force = Price.objects.filter(
        Q(price_list__valid_until=None) | Q(price_list__valid_until__gt=now),
        model=OuterRef("pk"),
        price_list__valid_from__lte=now,
        price_list__currency=settings.CURRENCY,
    )
    return list(LanguageModel.objects.filter(~Exists(in_force), is_enabled=True))


def rates_of(price_list: PriceList, model: LanguageModel) -> Rates:
    """What ``model`` costs in ``price_list``; :class:`UnableToPrice` if it is not in it."""
    price = Price.objects.filter(price_list=price_list, model=model).first()
    if price is None:
        raise UnableToPrice(
            _("The price list %(list)s has no price for %(model)s. Ask an administrator to add it.")
            % {"list": price_list.name, "model": model.title}
        )
    return Rates(price.input_per_1k, price.cached_per_1k, price.output_per_1k)


def is_quoted(price_list: PriceList) -> bool:
    """Whether an offer names this list, so that its prices must not change any more."""
    return Quote.objects.across_departments().filter(price_list_ref=price_list.pk).exists()


@dataclass(frozen=True)
class Usage:
    """A month by day, model, tier and person. Every table's exact sums add up to the month's."""

    statement: Statement
    by_day: list[tuple[date, Sums]]
    by_model: list[tuple[str, Sums]]
    by_tier: list[tuple[str, Sums]]
    by_person: list[tuple[str, Sums]]

    @property
    def package_count(self) -> int:
        return len({entry.package_ref for entry in self.statement.entries})

    @property
    def currency(self) -> str:
        entries = self.statement.entries
        return entries[0].currency if entries else str(settings.CURRENCY)


@dataclass(frozen=True)
class BillRow:
    """A month in the list of bills."""

    month: Month
    usage: Usage
    is_current: bool


def usage_of(department: Department, month: Month) -> Usage:
    """What the department used in ``month``: the same entries, and so the same numbers, as its bill."""
    statement = statement_of(entries_of(department, month))
    zone = department.zone
    return Usage(
        statement,
        by_day=statement.by(lambda entry: entry.settled_at.astimezone(zone).date()),
        by_model=_dearest_first(statement.by(lambda entry: entry.model_name)),
        by_tier=_dearest_first(statement.by(lambda entry: entry.tier)),
        by_person=_dearest_first(statement.by(lambda entry: entry.person_name)),
    )


def _dearest_first(rows: list[tuple[str, Sums]]) -> list[tuple[str, Sums]]:
    return sorted(rows, key=lambda row: (-row[1].exact, row[0]))


def bills_of(department: Department, *, now: datetime) -> list[BillRow]:
    """The department's months, newest first; the present one is always there."""
    present = Month.of(now, department.zone)
    return [BillRow(one, usage_of(department, one), one == present) for one in months_of(department, now=now)]


def entries_of(department: Department, month: Month) -> Iterator[LedgerEntry]:
    """What was settled for the department in this month of its own calendar, in order of settlement."""
    zone = department.zone
    settled = LedgerEntry.objects.for_department(department).filter(
        settled_at__gte=month.start_at(zone), settled_at__lt=month.end_at(zone)
    )
    return settled.order_by("settled_at", "id").iterator(chunk_size=2000)


def months_of(department: Department, *, now: datetime) -> list[Month]:
    """The months with something on them and the present one, newest first."""
    zone = department.zone
    rows = LedgerEntry.objects.for_department(department)
    found = rows.datetimes("settled_at", "month", order="DESC", tzinfo=zone)
    return sorted({Month.of(at, zone) for at in found} | {Month.of(now, zone)}, reverse=True)

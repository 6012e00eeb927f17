"""Reading prices and the ledger."""

from collections.abc import Iterator
from datetime import datetime

from django.conf import settings
from django.db.models import Q
from django.utils.translation import gettext as _

from portal.billing.domain import Rates
from portal.billing.models import LedgerEntry, Price, PriceList
from portal.billing.periods import Month
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

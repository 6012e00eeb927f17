"""Publishing price lists. Prices are never edited: a new version takes over at an instant that lies ahead.

Packages keep the list that their accepted quote names, so a list that has begun must stay as it is.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal

from django.db import transaction
from django.db.models import Q
from django.utils.translation import gettext as _

from portal.audit import services as audit
from portal.billing.models import Price, PriceList
from portal.capacity.models import LanguageModel
from portal.departments.models import Person
from portal.departments.refusals import Refusal


class UnableToPublish(Refusal):
    """The new list would change prices that hold already, or has none."""

    code = "price_list_refused"


@dataclass(frozen=True)
class ModelPrice:
    """What 1,000 tokens of one model cost."""

    model: LanguageModel
    input_per_1k: Decimal
    cached_per_1k: Decimal
    output_per_1k: Decimal


def publish(*, price_list: PriceList, prices: Sequence[ModelPrice], by: Person, now: datetime) -> PriceList:
    """Save a new list with its prices; the list that is open until then ends when this one begins."""
    if price_list.valid_from < now:
        raise UnableToPublish(_("Prices cannot change in the past. Choose a time that lies ahead."), field="valid_from")
    if not prices:
        raise UnableToPublish(_("Give the price of at least one model."))
    with transaction.atomic():
        _close_open_lists(price_list)
        price_list.save()
        Price.objects.bulk_create(
            Price(
                price_list=price_list, model=price.model, input_per_1k=price.input_per_1k,
                cached_per_1k=price.cached_per_1k, output_per_1k=price.output_per_1k,
            )
            for price in prices
        )  # fmt: skip
        audit.record(action="price_list.published", subject=price_list.pk, now=now, by=by, name=price_list.name)
    return price_list


def _close_open_lists(fresh: PriceList) -> None:
    """Lists that would still hold when ``fresh`` begins end there."""
    still_open = Q(valid_until=None) | Q(valid_until__gt=fresh.valid_from)
    older = PriceList.objects.filter(still_open, currency=fresh.currency, valid_from__lt=fresh.valid_from)
    older.update(valid_until=fresh.valid_from)
    if PriceList.objects.filter(still_open, currency=fresh.currency).exists():
        raise UnableToPublish(_("Another list begins at this time or later. Choose a later time."), field="valid_from")

"""What could be offered instead of a quote. Each alternative can be quoted as it stands."""

from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Literal

from portal.billing.domain import round_money
from portal.billing.models import PriceList
from portal.billing.queries import rates_of
from portal.capacity.models import Quote, Tier
from portal.packages.models import Package
from portal.packages.promising.estimate import output_tokens, price_for
from portal.packages.promising.fitting import UnableToQuote, best_fit
from portal.packages.promising.quoting import TIER_SPAN, default_deadline, factor_of


@dataclass(frozen=True)
class Alternative:
    """Another offer for the package.

    ``earliest``: the whole package by the earliest deadline that can be promised; ``other_tier``: the whole package
    at the other tier's own deadline, or for express, which costs more, as soon as can be promised; ``first_rows``: only
    ``rows`` rows, by the deadline that was asked for (to be had by handing over a smaller manifest); more may fit where
    rows repeat others.
    """

    code: Literal["earliest", "other_tier", "first_rows"]
    tier: Tier
    deadline_at: datetime
    rows: int
    price_at_most: Decimal


def alternatives(*, package: Package, quote: Quote, now: datetime) -> list[Alternative]:
    """What is possible beside ``quote``, the most useful first; may be empty."""
    found = [_earliest(package, quote, now), _first_rows(package, quote), _other_tier(package, quote, now)]
    return [one for one in found if one is not None]


def _earliest(package: Package, quote: Quote, now: datetime) -> Alternative | None:
    earliest = quote.earliest_deadline_at
    if earliest is None or (quote.is_feasible and earliest >= quote.deadline_at):
        return None
    is_soon = earliest <= now + TIER_SPAN[Tier.EXPRESS]
    tier = Tier.EXPRESS if quote.tier == Tier.EXPRESS and is_soon else Tier.STANDARD
    return Alternative("earliest", tier, earliest, package.rows_good, _price(package, quote, tier))


def _first_rows(package: Package, quote: Quote) -> Alternative | None:
    rows = quote.rows_that_fit
    if quote.is_feasible or not 0 < rows < package.requests:
        return None
    price = round_money(quote.price_at_most * rows / package.requests)
    return Alternative("first_rows", Tier(quote.tier), quote.deadline_at, rows, price)


def _other_tier(package: Package, quote: Quote, now: datetime) -> Alternative | None:
    tier = Tier.STANDARD if quote.tier == Tier.EXPRESS else Tier.EXPRESS
    deadline_at = default_deadline(tier, now=now)
    if tier == Tier.EXPRESS:
        deadline_at = min(deadline_at, quote.earliest_deadline_at or deadline_at)
        if quote.is_feasible and deadline_at >= quote.deadline_at:  # dearer, and no sooner
            return None
    try:
        fit = best_fit(package, output_tokens(package), deadline_at=deadline_at, now=now)
    except UnableToQuote:  # the model or its pools are not offered any more
        return None
    if not fit.assessment.is_feasible:
        return None
    return Alternative("other_tier", tier, deadline_at, package.rows_good, _price(package, quote, tier))


def _price(package: Package, quote: Quote, tier: Tier) -> Decimal:
    """At most, at another tier of the price list that the quote names."""
    if tier == quote.tier:
        return quote.price_at_most
    assert package.model is not None
    prices = PriceList.objects.get(pk=quote.price_list_ref)
    rates = rates_of(prices, package.model)
    return price_for(package, output_tokens(package), rates, factor_of(tier, prices)).at_most

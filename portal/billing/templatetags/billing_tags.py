"""``{% load billing_tags %}``: amounts, rates and meters as a bill writes them."""

from collections.abc import Sequence
from decimal import Decimal

from django import template
from django.utils import timezone
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from portal.billing.queries import models_without_price
from portal.billing.statement import Statement, Sums
from portal.capacity.models import LanguageModel, Tier

register = template.Library()

SYMBOLS = {"CNY": "¥", "USD": "$", "EUR": "€", "GBP": "£", "HKD": "HK$"}
_METERS = {
    "input": _("Input tokens"),
    "cached": _("Input tokens, cached"),
    "output": _("Output tokens"),
}
_RATE_PLACES = Decimal("0.0001")


@register.simple_tag
def unpriced_models() -> list[LanguageModel]:
    """Offered models that have no price now, for the pages of administrators."""
    return models_without_price(now=timezone.now())


@register.filter
def symbol(currency: str) -> str:
    """``¥`` for CNY; the code itself for a currency without a sign of its own here."""
    return SYMBOLS.get(currency, currency)


@register.filter
def money(amount: Decimal, currency: str = "") -> str:
    """``¥ 1,962.40``, or ``1,962.40`` without a currency. Formats only: amounts arrive rounded."""
    return f"{symbol(currency)} {amount:,.2f}".strip().replace("-", "−")


@register.filter
def rounding(statement: Statement, rows: Sequence[tuple[object, Sums]]) -> Decimal:
    """What the rounded amounts of a table of ``statement`` lack to its total."""
    return statement.rounding(sums for _name, sums in rows)


@register.filter
def units(amount: int | Decimal) -> str:
    """``18,402,117``; a fraction only where there is one."""
    whole = amount == int(amount)
    return f"{int(amount):,}" if whole else f"{amount.normalize():,f}"  # type: ignore[union-attr]


@register.filter
def rate(per_1k: Decimal) -> str:
    """``0.0020``: at least four places, more where they count."""
    short = per_1k.quantize(_RATE_PLACES)
    return f"{short:f}" if short == per_1k else f"{per_1k.normalize():f}"


@register.filter
def factor(value: Decimal) -> str:
    """``×2``, ``×1.5``."""
    return f"×{value.normalize():f}"


@register.filter
def tier(name: str) -> str | Promise:
    return Tier(name).label


@register.filter
def meter(name: str) -> str | Promise:
    return _METERS[name]

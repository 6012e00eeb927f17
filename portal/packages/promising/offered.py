"""Models that can be asked for: enabled, on an open pool, with a price in force. One rule for every page."""

from datetime import datetime

from django.conf import settings
from django.db.models import Case, Exists, IntegerField, OuterRef, Q, QuerySet, Value, When

from portal.billing.models import Price
from portal.billing.queries import UnableToPrice, price_list_at
from portal.capacity.models import Engine, LanguageModel, Pool
from portal.capacity.queries import open_pools
from portal.departments.refusals import Refusal
from portal.packages.promising.fitting import UnableToQuote, no_pool


def models_on_offer(*, now: datetime) -> QuerySet[LanguageModel]:
    """Models that an offer can be made for, those that answer for real before the echo."""
    in_force = Q(price_list__valid_until=None) | Q(price_list__valid_until__gt=now)
    prices = Price.objects.filter(
        in_force, model=OuterRef("pk"), price_list__valid_from__lte=now, price_list__currency=settings.CURRENCY
    )
    found = LanguageModel.objects.filter(Exists(prices), Exists(_pools()), is_enabled=True)
    is_echo = Case(When(engine=Engine.ECHO, then=Value(1)), default=Value(0), output_field=IntegerField())
    return found.order_by(is_echo, "title", "pk")


def pools_on_offer(*, now: datetime) -> QuerySet[Pool]:
    """Open pools whose model can be asked for."""
    return Pool.objects.filter(is_open=True, model__in=models_on_offer(now=now)).prefetch_related("windows")


def why_not_offered(model: LanguageModel, *, now: datetime) -> Refusal | None:
    """Why nothing could be promised for this enabled model, to be said beside its field; ``None`` if it could."""
    try:
        price_list_at(now=now, model=model)
        if not open_pools(model):
            raise no_pool()
    except (UnableToPrice, UnableToQuote) as refusal:
        return Refusal(refusal.message, code=refusal.code, field="model")
    return None


def _pools() -> QuerySet[Pool]:
    return Pool.objects.filter(is_open=True, model=OuterRef("pk"))

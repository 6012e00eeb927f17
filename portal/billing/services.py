"""Charging: the only writer of the ledger."""

import uuid
from datetime import datetime
from decimal import Decimal
from typing import Protocol

from django.db import transaction

from portal.billing.domain import Tokens, price_of
from portal.billing.models import LedgerEntry, PriceList
from portal.billing.queries import rates_of
from portal.capacity.models import LanguageModel
from portal.departments.models import Person
from scheduler.wire import Usage


class ChargedShard(Protocol):
    """What charging needs to know of a shard."""

    @property
    def no(self) -> int: ...


class ChargedPackage(Protocol):
    """What charging needs to know of an admitted package."""

    @property
    def id(self) -> uuid.UUID: ...
    @property
    def name(self) -> str: ...
    @property
    def corrects_id(self) -> uuid.UUID | None: ...
    @property
    def round(self) -> int: ...
    @property
    def department_id(self) -> uuid.UUID: ...
    @property
    def created_by(self) -> Person: ...
    @property
    def model(self) -> LanguageModel | None: ...
    @property
    def price_list(self) -> PriceList | None: ...
    @property
    def tier(self) -> str: ...
    @property
    def tier_factor(self) -> Decimal: ...


def charge_shard(
    *, shard: ChargedShard, package: ChargedPackage, usage: Usage, items: int, now: datetime, repeats: int = 0
) -> LedgerEntry:
    """Write the one ledger entry of a shard: ``items`` charged items that used ``usage``, at the accepted price.

    ``repeats`` further rows got one of their results and cost nothing.

    Call it in the transaction that settles the shard. The amount is exact. Charging a shard again changes nothing and
    returns what was charged.
    """
    if package.model is None or package.price_list is None:
        raise ValueError(f"package {package.id} was never admitted and cannot be charged")
    rates = rates_of(package.price_list, package.model)
    tokens = Tokens(usage.prompt_tokens - usage.cached_tokens, usage.cached_tokens, usage.completion_tokens)
    with transaction.atomic():
        entry, _ = LedgerEntry.objects.across_departments().get_or_create(
            package_ref=package.id,
            shard_no=shard.no,
            defaults={
                "department_id": package.department_id,
                "package_name": package.name,
                "corrects_ref": package.corrects_id,
                "round": package.round,
                "person_ref": package.created_by.pk,
                "person_name": package.created_by.name,
                "model_name": package.model.name,
                "tier": package.tier,
                "factor": package.tier_factor,
                "price_list_name": package.price_list.name,
                "currency": package.price_list.currency,
                "input_per_1k": rates.input_per_1k,
                "cached_per_1k": rates.cached_per_1k,
                "output_per_1k": rates.output_per_1k,
                "items": items,
                "repeats": repeats,
                "input_tokens": tokens.input,
                "cached_tokens": tokens.cached,
                "output_tokens": tokens.output,
                "amount": price_of(tokens, rates, package.tier_factor),
                "settled_at": now,
            },
        )
    return entry

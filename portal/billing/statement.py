"""Summing ledger entries into what people read: lines, packages, days. Pure: entries in, plain data out.

Two sums are made of every entry, one of its amount and one of its tokens at its rates, and must agree to the last
digit. Every amount that is printed is its own exact sum, rounded on its own: it can be checked by hand and does not
change when something else is used. What a table's amounts then differ from the total is told as its rounding.
"""

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Literal, TypeVar
from uuid import UUID

from portal.billing.domain import Rates, Tokens, exact_sum, meter_price, price_of, round_money, rounding_of
from portal.billing.models import LedgerEntry

Meter = Literal["input", "cached", "output"]
METERS: tuple[Meter, ...] = ("input", "cached", "output")
_TIER_ORDER = {"standard": 0, "express": 1}

Key = TypeVar("Key", bound=Hashable)


class UnableToReconcile(RuntimeError):
    """The amounts in the ledger are not what its tokens cost: no document may be made of it."""


@dataclass(frozen=True)
class Line:
    """One meter of a model at one tier and price. ``rated`` is ``tokens`` times ``factor``; ``exact`` is unrounded."""

    tier: str
    model: str
    meter: Meter
    price_list: str
    tokens: int
    factor: Decimal
    rated: Decimal
    per_1k: Decimal
    exact: Decimal

    @property
    def amount(self) -> Decimal:
        """``exact``, rounded on its own."""
        return round_money(self.exact)


@dataclass(frozen=True)
class Sums:
    """What a group of entries adds up to. ``exact`` is unrounded; the ``repeats`` are rows beside the items, free."""

    items: int
    repeats: int
    tokens: Tokens
    exact: Decimal

    @property
    def amount(self) -> Decimal:
        """``exact``, rounded on its own."""
        return round_money(self.exact)

    @property
    def input_tokens(self) -> int:
        """The whole input, cached or not."""
        return self.tokens.input + self.tokens.cached


@dataclass(frozen=True)
class PackageSums:
    """One package within the month. Of a correction, ``corrects`` is the number of the package that it corrects."""

    number: str
    name: str
    corrects: str
    round: int
    person: str
    tier: str
    model: str
    last_settled_at: datetime
    sums: Sums


@dataclass(frozen=True)
class Statement:
    """A stretch of the ledger, summed. ``exact`` is the unrounded sum of the entries, ``total`` the rounded one."""

    entries: tuple[LedgerEntry, ...]
    exact: Decimal
    total: Decimal

    @property
    def items(self) -> int:
        return sum(entry.items for entry in self.entries)

    @property
    def repeats(self) -> int:
        """Rows that got an item's result because they ask the same; they cost nothing."""
        return sum(entry.repeats for entry in self.entries)

    @property
    def tokens(self) -> Tokens:
        return _sum(self.entries)

    @property
    def input_tokens(self) -> int:
        """The whole input, cached or not."""
        return self.tokens.input + self.tokens.cached

    @property
    def price_lists(self) -> list[str]:
        """The versions of the prices that were applied."""
        return sorted({entry.price_list_name for entry in self.entries})

    def lines(self) -> list[Line]:
        """By tier, model, price and meter. Meters without use are left out."""
        used: dict[tuple[str, str, str, Decimal, Rates], Tokens] = {}
        for entry in self.entries:
            key = (entry.tier, entry.model_name, entry.price_list_name, entry.factor, _rates(entry))
            used[key] = _add(used.get(key, Tokens(0, 0, 0)), entry)
        return [
            _line(key, meter, getattr(tokens, meter))
            for key, tokens in sorted(used.items(), key=lambda one: _order(one[0]))
            for meter in METERS
            if getattr(tokens, meter)
        ]

    def rounding(self, rows: Iterable[Line | Sums]) -> Decimal:
        """What the amounts of ``rows``, a whole table of this statement, lack to ``total``."""
        return rounding_of(self.total, [row.amount for row in rows])

    def packages(self) -> list[PackageSums]:
        """By package, the first settled first."""
        last = {entry.package_ref: entry for entry in self.entries}
        return [
            PackageSums(
                number=number_of(ref),
                name=last[ref].package_name,
                corrects=number_of(last[ref].corrects_ref),
                round=last[ref].round,
                person=last[ref].person_name,
                tier=last[ref].tier,
                model=last[ref].model_name,
                last_settled_at=last[ref].settled_at,
                sums=sums,
            )
            for ref, sums in self.by(lambda entry: entry.package_ref)
        ]

    def by(self, key: Callable[[LedgerEntry], Key]) -> list[tuple[Key, Sums]]:
        """Sums of the entries with the same ``key``, in the order in which keys first appear."""
        groups: dict[Key, list[LedgerEntry]] = defaultdict(list)
        for entry in self.entries:
            groups[key(entry)].append(entry)
        return [(name, _sums(group)) for name, group in groups.items()]


def number_of(ref: UUID | None) -> str:
    """The number by which people know a package; ``""`` for none."""
    return f"PK-{ref.hex[:8].upper()}" if ref else ""


def statement_of(entries: Iterable[LedgerEntry]) -> Statement:
    """Sum ``entries``, in order of settlement. :class:`UnableToReconcile` when the ledger contradicts itself."""
    found = tuple(entries)
    exact = exact_sum([entry.amount for entry in found])
    metered = exact_sum([price_of(_sum([entry]), _rates(entry), entry.factor) for entry in found])
    if exact != metered:
        raise UnableToReconcile(f"the ledger's amounts sum up to {exact}, its tokens to {metered}")
    if len({entry.currency for entry in found}) > 1:
        raise UnableToReconcile("the ledger mixes currencies")
    return Statement(found, exact, round_money(exact))


def _sums(entries: Sequence[LedgerEntry]) -> Sums:
    return Sums(
        sum(entry.items for entry in entries),
        sum(entry.repeats for entry in entries),
        _sum(entries),
        exact_sum([entry.amount for entry in entries]),
    )


def _rates(entry: LedgerEntry) -> Rates:
    return Rates(entry.input_per_1k, entry.cached_per_1k, entry.output_per_1k)


def _order(key: tuple[str, str, str, Decimal, Rates]) -> tuple[int, str, str, Decimal]:
    tier, model, prices, factor, _ = key
    return _TIER_ORDER.get(tier, len(_TIER_ORDER)), model, prices, factor


def _line(key: tuple[str, str, str, Decimal, Rates], meter: Meter, tokens: int) -> Line:
    tier, model, prices, factor, rates = key
    per_1k: Decimal = getattr(rates, f"{meter}_per_1k")
    exact = meter_price(tokens, per_1k, factor)
    return Line(tier, model, meter, prices, tokens, factor, tokens * factor, per_1k, exact)


def _add(tokens: Tokens, entry: LedgerEntry) -> Tokens:
    return Tokens(
        tokens.input + entry.input_tokens, tokens.cached + entry.cached_tokens, tokens.output + entry.output_tokens
    )


def _sum(entries: Sequence[LedgerEntry]) -> Tokens:
    total = Tokens(0, 0, 0)
    for entry in entries:
        total = _add(total, entry)
    return total

"""Usage and bills as the API gives them. Money is text."""

from collections.abc import Callable
from datetime import date
from typing import Self
from zoneinfo import ZoneInfo

from ninja import Schema

from portal.billing.bills import Bill
from portal.billing.domain import exact_text
from portal.billing.models import LedgerEntry
from portal.billing.statement import Statement


class UsageLineOut(Schema):
    key: str
    items: int
    repeats: int
    input_tokens: int
    cached_tokens: int
    output_tokens: int
    exact: str
    amount: str


class UsageOut(Schema):
    """``exact`` is the ledger's unrounded sum; ``total`` is it, rounded once.

    In every table the ``exact`` of its rows add up to that sum; each ``amount`` is its row's, rounded on its own.
    ``items`` were charged; ``repeats`` are the rows that got the result of one of them for nothing.
    """

    month: str
    items: int
    repeats: int
    exact: str
    total: str
    by_day: list[UsageLineOut]
    by_model: list[UsageLineOut]
    by_tier: list[UsageLineOut]
    by_person: list[UsageLineOut]

    @classmethod
    def of(cls, statement: Statement, month: str, zone: ZoneInfo) -> Self:
        """``statement`` as four tables of the same sum; days are ``zone``'s."""
        return cls(
            month=month,
            items=statement.items,
            repeats=statement.repeats,
            exact=exact_text(statement.exact),
            total=str(statement.total),
            by_day=_lines(statement, lambda entry: f"{entry.settled_at.astimezone(zone):%Y-%m-%d}"),
            by_model=_lines(statement, lambda entry: entry.model_name),
            by_tier=_lines(statement, lambda entry: entry.tier),
            by_person=_lines(statement, lambda entry: entry.person_name),
        )


def _lines(statement: Statement, key: Callable[[LedgerEntry], str]) -> list[UsageLineOut]:
    return [
        UsageLineOut(
            key=name,
            items=sums.items,
            repeats=sums.repeats,
            input_tokens=sums.input_tokens,
            cached_tokens=sums.tokens.cached,
            output_tokens=sums.tokens.output,
            exact=exact_text(sums.exact),
            amount=str(sums.amount),
        )
        for name, sums in statement.by(key)
    ]


class BillLineOut(Schema):
    tier: str
    model: str
    meter: str
    price_list: str
    tokens: int
    factor: str
    per_1k: str
    exact: str
    amount: str


class BillOut(Schema):
    """``status`` is ``draft``: it may change until the month is over. ``first_day`` and ``last_day`` are included.

    Each line's ``amount`` is rounded on its own, ``total`` is the ledger's sum rounded once, and ``rounding`` is
    what the lines lack to it: Σ ``amount`` + ``rounding`` = ``total``. ``items`` were charged; ``repeats`` are the
    rows that got the result of one of them for nothing.
    """

    status: str
    month: str
    first_day: date
    last_day: date
    zone: str
    currency: str
    items: int
    repeats: int
    lines: list[BillLineOut]
    rounding: str
    total: str
    ledger_sha256: str

    @classmethod
    def of(cls, bill: Bill) -> Self:
        """``bill`` as the API gives it; ``ledger_sha256`` is the hash of the month's CSV."""
        first_day, last_day = bill.period
        lines = bill.statement.lines()
        return cls(
            status="draft",
            month=str(bill.month),
            first_day=first_day,
            last_day=last_day,
            zone=bill.zone,
            currency=bill.currency,
            items=bill.statement.items,
            repeats=bill.statement.repeats,
            lines=[
                BillLineOut(
                    tier=line.tier,
                    model=line.model,
                    meter=line.meter,
                    price_list=line.price_list,
                    tokens=line.tokens,
                    factor=str(line.factor),
                    per_1k=f"{line.per_1k:f}",
                    exact=exact_text(line.exact),
                    amount=str(line.amount),
                )
                for line in lines
            ],
            rounding=str(bill.statement.rounding(lines)),
            total=str(bill.total),
            ledger_sha256=bill.csv_sha256,
        )

"""Quotes: an offer for a package, what could be offered instead, and accepting one.

An offer stands for ``QUOTE_VALID_S`` seconds and is made so that it can still be kept at its last second, if nobody
else takes the capacity meanwhile; acceptance checks it again under the pool's lock. A wish must leave as much time
again (``HELD_FOR``), as every deadline that is named does: so the earliest that is named is the earliest that is
possible. What an offer has named keeps being possible while that offer stands.
"""

import math
from datetime import datetime, timedelta
from decimal import Decimal

from django.conf import settings
from django.db import transaction
from django.utils.translation import gettext as _

from portal.audit import services as audit
from portal.billing.models import PriceList
from portal.billing.queries import price_list_at, rates_of
from portal.capacity.models import Quote, Tier
from portal.capacity.queries import OFFER_VALID_FOR
from portal.capacity.services import reserve
from portal.departments.models import Person
from portal.departments.refusals import Refusal, UnableToChangeState
from portal.packages.models import Package, TimelineEntry
from portal.packages.promising.estimate import OutputTokens, output_tokens, price_for, work_on
from portal.packages.promising.fitting import Fit, UnableToQuote, best_fit, model_of
from scheduler.domain.calendar import HORIZON_DAYS
from scheduler.domain.lifecycle import PackageState

OFFERABLE = (PackageState.QUOTED, PackageState.REFUSED)
TIER_SPAN = {
    Tier.STANDARD: timedelta(hours=settings.STANDARD_TIER_HOURS),
    Tier.EXPRESS: timedelta(hours=settings.EXPRESS_TIER_HOURS),
}
_TYPING = timedelta(minutes=1)  # a deadline is typed in whole minutes


class UnableToAccept(Refusal):
    """The offer no longer stands; the sentence says what to do."""

    code = "unable_to_accept"
    status = 409


def default_deadline(tier: Tier, *, now: datetime) -> datetime:
    """The tier's promise, in whole minutes: 24 hours from now, or 4 for express."""
    return (now + TIER_SPAN[tier]).replace(second=0, microsecond=0)


def factor_of(tier: Tier, prices: PriceList) -> Decimal:
    """By what the price list is multiplied."""
    return Decimal(prices.express_factor) if tier == Tier.EXPRESS else Decimal(1)


def quote_package(
    *, package: Package, tier: Tier | str, deadline_at: datetime | None, by: Person | None, now: datetime
) -> Quote:
    """Make an offer, or a refusal that says what is possible (``is_feasible`` is false), and record it.

    ``deadline_at`` ``None`` means the tier's own. Raises :class:`UnableToQuote` for what no pool could answer.
    """
    level = _tier(tier)
    wish = deadline_at or default_deadline(level, now=now)
    check_deadline(wish, level, now=now)
    prices = price_list_at(now=now, model=model_of(package))
    output = output_tokens(package)
    fit = best_fit(package, output, deadline_at=wish, now=now)
    with transaction.atomic():
        _move(package, PackageState.QUOTED if fit.assessment.is_feasible else PackageState.REFUSED, now=now)
        quote = _offer(package, level, fit, output, prices, now=now)
        audit.record(
            action="package.quoted",
            subject=package.pk,
            by=by,
            department=package.department,
            now=now,
            quote=str(quote.pk),
            feasible=quote.is_feasible,
        )
    return quote


def check_deadline(deadline_at: datetime, tier: Tier, *, now: datetime) -> None:
    """Raise :class:`UnableToQuote` for a deadline that no offer could name."""
    if deadline_at <= now:
        raise UnableToQuote(
            _("This deadline has passed. Choose one in the future."), code="deadline_past", field="deadline"
        )
    if deadline_at > now + timedelta(days=HORIZON_DAYS):
        raise UnableToQuote(
            _("Deadlines can be promised up to %(days)d days ahead. Choose an earlier one.") % {"days": HORIZON_DAYS},
            code="beyond_horizon",
            field="deadline",
        )
    if tier == Tier.EXPRESS and deadline_at > now + TIER_SPAN[Tier.EXPRESS] + _TYPING:
        raise UnableToQuote(
            _("Express is for the next %(hours)d hours. For a later deadline choose standard, which costs less.")
            % {"hours": settings.EXPRESS_TIER_HOURS},
            code="deadline_not_express",
            field="deadline",
        )


def accept_quote(*, package: Package, quote: Quote, by: Person | None, now: datetime) -> Package:
    """Accept an offer: the capacity is reserved, the price fixed, the package admitted. Accepting twice is once.

    Raises :class:`UnableToAccept` for an offer that no longer stands, ``UnableToAdmit`` (with what is possible now)
    when the capacity has gone to somebody else, ``UnableToChangeState`` when the package has moved on.
    """
    if package.accepted_quote_id == quote.pk:
        return package
    try:
        _check_offer(package, quote, now=now)
        with transaction.atomic():
            _admit(package, quote, now=now)
            reserve(quote=quote, now=now)
            _tell(package, quote, by=by, now=now)
    except (UnableToAccept, UnableToChangeState):
        if not _was_accepted(package, quote):
            raise
    package.refresh_from_db()
    return package


def _was_accepted(package: Package, quote: Quote) -> bool:
    """Whether the same offer was accepted meanwhile, by another click or request: then there is nothing to refuse."""
    same = Package.objects.for_department(package.department).filter(pk=package.pk, accepted_quote=quote)
    return same.exists()


def _tier(tier: Tier | str) -> Tier:
    try:
        return Tier(tier)
    except ValueError:
        raise UnableToQuote(
            _("There are two tiers: standard and express."), code="unknown_tier", field="tier"
        ) from None


def _offer(package: Package, tier: Tier, fit: Fit, output: OutputTokens, prices: PriceList, *, now: datetime) -> Quote:
    price = price_for(package, output, rates_of(prices, model_of(package)), factor_of(tier, prices))
    return Quote.objects.create(
        department_id=package.department_id,
        package_ref=package.pk,
        ingest_epoch=package.ingest_epoch,
        pool=fit.pool,
        tier=tier,
        deadline_at=fit.assessment.deadline_at,
        is_feasible=fit.assessment.is_feasible,
        expected_start_at=fit.assessment.expected_start_at,
        expected_finish_at=fit.assessment.expected_finish_at,
        earliest_deadline_at=fit.assessment.earliest_deadline_at,
        rows_that_fit=_rows_that_fit(package, fit),
        work_expected_s=fit.work.expected_s,
        work_at_most_s=fit.work.at_most_s,
        output_tokens_low=output.low,
        output_tokens_expected=output.expected,
        output_tokens_high=output.high,
        price_expected=price.expected,
        price_at_most=price.at_most,
        currency=prices.currency,
        price_list_ref=prices.pk,
        price_list_name=prices.name,
        created_at=now,
        expires_at=now + OFFER_VALID_FOR,
    )


def _rows_that_fit(package: Package, fit: Fit) -> int:
    """All good rows, or at least so many of the first: they ask no more than as many requests."""
    requests = fit.assessment.items_that_fit(package.requests)
    return package.rows_good if requests == package.requests else requests


def _move(package: Package, state: PackageState, *, now: datetime) -> None:
    """``quoted`` or ``refused``, whichever the last offer was; the package must still be open to offers."""
    moved = Package.objects.across_departments().filter(
        pk=package.pk, state__in=OFFERABLE, ingest_epoch=package.ingest_epoch
    )
    if moved.update(state=state, touched_at=now) != 1:
        raise UnableToChangeState(_("This package is not open to offers now. Reload the page to see where it stands."))
    package.state, package.touched_at = state, now


def _check_offer(package: Package, quote: Quote, *, now: datetime) -> None:
    if quote.package_ref != package.pk or quote.department_id != package.department_id:
        raise UnableToAccept(_("This offer is for another package. Ask for a new one."), code="foreign_quote")
    if not quote.is_feasible:
        raise UnableToAccept(
            _("This deadline cannot be promised. Choose one of the alternatives."), code="deadline_infeasible"
        )
    if now >= quote.expires_at:
        raise UnableToAccept(
            _("This offer has expired. Ask for a new one; nothing was accepted."), code="quote_expired"
        )
    work = work_on(quote.pool, package, output_tokens(package))
    is_same = quote.ingest_epoch == package.ingest_epoch and model_of(package).pk == quote.pool.model_id
    if not (is_same and math.isclose(work.at_most_s, quote.work_at_most_s)):
        raise _outdated()


def _outdated() -> UnableToAccept:
    return UnableToAccept(
        _("The package has changed since this offer. Ask for a new one; nothing was accepted."),
        code="quote_outdated",
    )


def _admit(package: Package, quote: Quote, *, now: datetime) -> None:
    prices = PriceList.objects.get(pk=quote.price_list_ref)
    admitted = (
        Package.objects.across_departments()
        .filter(pk=package.pk, state__in=OFFERABLE, ingest_epoch=quote.ingest_epoch)
        .update(
            state=PackageState.ADMITTED,
            accepted_quote=quote,
            price_list=prices,
            pool=quote.pool,
            tier=quote.tier,
            tier_factor=factor_of(Tier(quote.tier), prices),
            deadline_at=quote.deadline_at,
            admitted_at=now,
            touched_at=now,
        )
    )
    if admitted != 1:
        raise UnableToChangeState(_("This package is not open to offers now. Reload the page to see where it stands."))


def _tell(package: Package, quote: Quote, *, by: Person | None, now: datetime) -> None:
    params = {
        "tier": quote.tier,
        "deadline_at": quote.deadline_at.isoformat(),
        "price_at_most": str(quote.price_at_most),
        "currency": quote.currency,
    }
    TimelineEntry.objects.create(
        department_id=package.department_id, package=package, at=now, code="admitted", params=params
    )
    audit.record(
        action="package.admitted",
        subject=package.pk,
        by=by,
        department=package.department,
        now=now,
        quote=str(quote.pk),
        **params,
    )

"""Which pool could take a package by a deadline: the question behind every offer and every alternative."""

import math
from dataclasses import dataclass
from datetime import datetime

from django.utils.translation import gettext as _

from portal.capacity.models import LanguageModel, Pool, Quote
from portal.capacity.queries import HELD_FOR, OFFER_VALID_FOR, assess_on, open_pools
from portal.departments.refusals import Refusal
from portal.packages.models import Package
from portal.packages.promising.estimate import OutputTokens, Work, work_on
from scheduler.domain.admission import Assessment


class UnableToQuote(Refusal):
    """The package, the tier or the deadline does not allow an offer; the sentence says what to change."""

    code = "unable_to_quote"


@dataclass(frozen=True)
class Fit:
    """A package on one pool: what it takes there and what the pool says to it."""

    pool: Pool
    work: Work
    assessment: Assessment


def best_fit(package: Package, output: OutputTokens, *, deadline_at: datetime, now: datetime) -> Fit:
    """The pool that can promise the package, of several the one that is done first."""
    fits = [_fit(pool, package, output, deadline_at, now) for pool in open_pools(model_of(package))]
    if not fits:
        raise no_pool()
    return min(fits, key=_preference)


def no_pool() -> UnableToQuote:
    """The refusal where a model has no open pool."""
    return UnableToQuote(
        _("No pool takes packages for this model at present. Choose another model or ask an administrator."),
        code="no_pool",
    )


def model_of(package: Package) -> LanguageModel:
    """The model of ``package``, which must still be offered."""
    if package.model is None or not package.model.is_enabled:
        raise UnableToQuote(
            _("This model is not offered any more. Go back to the task and choose another one."),
            code="model_disabled",
            field="model",
        )
    return package.model


def _is_named(pool: Pool, package: Package, work: Work, deadline_at: datetime, now: datetime) -> bool:
    """Whether an offer that still stands named this deadline, or a sooner one, for the same work on this pool."""
    standing = Quote.objects.for_department(package.department).filter(
        package_ref=package.pk, pool=pool, expires_at__gt=now, earliest_deadline_at__lte=deadline_at
    )
    return any(math.isclose(work.at_most_s, quote.work_at_most_s) for quote in standing)


def _fit(pool: Pool, package: Package, output: OutputTokens, deadline_at: datetime, now: datetime) -> Fit:
    work = work_on(pool, package, output)
    is_named = _is_named(pool, package, work, deadline_at, now)
    found = assess_on(
        pool,
        work_s=work.at_most_s,
        expected_s=work.expected_s,
        deadline_at=deadline_at,
        now=now,
        without=package.pk,
        held_for=OFFER_VALID_FOR if is_named else HELD_FOR,
    )
    return Fit(pool, work, found)


def _preference(fit: Fit) -> tuple[bool, float, float, int]:
    finish, earliest = fit.assessment.expected_finish_at, fit.assessment.earliest_deadline_at
    return (
        not fit.assessment.is_feasible,
        earliest.timestamp() if earliest and not fit.assessment.is_feasible else 0.0,
        finish.timestamp() if finish else math.inf,
        fit.pool.pk,
    )

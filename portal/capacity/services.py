"""Reserving capacity: the check under one lock that makes a promise stand, and giving it back."""

import uuid
from datetime import datetime

from django.db import transaction
from django.db.models import F, FloatField, Value
from django.db.models.functions import Greatest
from django.utils.translation import gettext as _

from portal.capacity.models import Pool, Quote, Reservation
from portal.capacity.queries import assess_on
from portal.departments.refusals import Refusal
from scheduler.domain.admission import Assessment


class UnableToAdmit(Refusal):
    """The capacity that a quote counted on is no longer there; ``assessment`` holds what is possible now."""

    code = "no_longer_feasible"
    status = 409

    def __init__(self, assessment: Assessment) -> None:
        self.assessment = assessment
        earliest = assessment.earliest_deadline_at
        super().__init__(
            _("Somebody else took this capacity meanwhile. Nothing was accepted; choose one of the new offers."),
            earliest_deadline=earliest.isoformat() if earliest else None,
        )


def reserve(*, quote: Quote, now: datetime) -> Reservation:
    """Reserve the quote's at-most work by its deadline, or raise :class:`UnableToAdmit`.

    The pool's row is locked until the caller's transaction ends, so that no two acceptances count on the same
    capacity. Call it last in the transaction.
    """
    with transaction.atomic():
        pool = Pool.objects.select_for_update().get(pk=quote.pool_id)
        check_that_it_fits(pool, quote=quote, now=now)
        return Reservation.objects.create(
            department_id=quote.department_id,
            pool=pool,
            package_ref=quote.package_ref,
            tier=quote.tier,
            deadline_at=quote.deadline_at,
            promised_s=quote.work_at_most_s,
            remaining_s=quote.work_at_most_s,
            admitted_at=now,
        )


def check_that_it_fits(pool: Pool, *, quote: Quote, now: datetime) -> None:
    """Raise :class:`UnableToAdmit` unless the quote's work still fits beside everything promised since."""
    found = assess_on(pool, work_s=quote.work_at_most_s, deadline_at=quote.deadline_at, now=now)
    if not (pool.is_open and found.is_feasible):
        raise UnableToAdmit(found)


def shrink_reservation(*, package_ref: uuid.UUID, by_s: float, now: datetime) -> None:  # noqa: ARG001
    """Owe ``by_s`` GPU-seconds less for a package, because that much of it is done. Never goes below 0."""
    left = Greatest(F("remaining_s") - by_s, Value(0.0), output_field=FloatField())
    Reservation.objects.across_departments().filter(package_ref=package_ref, released_at=None).update(remaining_s=left)


def release_reservation(*, package_ref: uuid.UUID, now: datetime) -> None:
    """Owe nothing more for a package, because it is over. Releasing twice changes nothing."""
    Reservation.objects.across_departments().filter(package_ref=package_ref, released_at=None).update(
        released_at=now, remaining_s=0
    )

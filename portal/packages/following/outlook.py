"""When a promised package will probably be finished, as a range, and how that compares with its promise."""

import uuid
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from portal.capacity.models import Pool, Quote, Reservation
from portal.capacity.queries import share_of, slack_of
from portal.packages.following.live import Pace
from portal.packages.following.progress import Progress
from portal.packages.models import Package
from scheduler.domain.lifecycle import PROMISED, PackageState

FASTER, SLOWER = 0.9, 1.15
"""How far the pace of the last minute is trusted, either way."""
CLOSE = timedelta(hours=1)


@dataclass(frozen=True)
class Outlook:
    """From ``low_at`` to ``high_at`` if nothing more urgent arrives; ``None`` when it cannot be said."""

    low_at: datetime | None
    high_at: datetime | None


@dataclass(frozen=True)
class Margin:
    """Time between the finish, expected or real, and the deadline. ``spare`` is negative when late."""

    spare: timedelta
    is_final: bool

    @property
    def is_late(self) -> bool:
        return self.spare < timedelta(0)

    @property
    def tone(self) -> str:
        if self.is_late:
            return "bad"
        if self.is_final:
            return ""
        return "warn" if self.spare < CLOSE else "good"


def margin_of(package: Package, *, expected_at: datetime | None, now: datetime) -> Margin | None:
    """How much time a package has to spare; ``None`` without a promise or without an expectation."""
    if package.deadline_at is None:
        return None
    if package.state == PackageState.COMPLETED and package.finished_at:
        return Margin(package.deadline_at - package.finished_at, is_final=True)
    if package.state not in PROMISED | {PackageState.FINALISING} or expected_at is None:
        return None
    return Margin(package.deadline_at - max(expected_at, now), is_final=False)


def outlook_of(package: Package, *, progress: Progress, pace: Pace | None, now: datetime) -> Outlook:
    """The expected finish of one promised package: from its own pace when it has one, else from its quote."""
    held = Reservation.objects.for_department(package.department).filter(package_ref=package.pk, released_at=None)
    reservation = held.select_related("pool").first()
    if reservation is None:
        return Outlook(None, None)
    slack = slack_of(reservation.pool, now=now, without=package.pk)
    low_s, high_s = _work_left(package, reservation, progress, pace, gpus=_gpus_now(reservation.pool, now))
    deadline_at = reservation.deadline_at
    return Outlook(slack.expected_finish(low_s, deadline_at), slack.expected_finish(high_s, deadline_at))


def outlook_of_offer(quote: Quote, *, now: datetime) -> Outlook:
    """When a package would be done if it were accepted now: with the work that is expected, and with the most."""
    slack = slack_of(quote.pool, now=now, without=quote.package_ref)
    works = (quote.work_expected_s, quote.work_at_most_s)
    return Outlook(*(slack.expected_finish(work_s, quote.deadline_at) for work_s in works))


def expected_finishes(packages: Iterable[Package], *, now: datetime) -> dict[uuid.UUID, datetime]:
    """When each promised package is expected to be done, earliest deadline first; one calculation per pool."""
    by_pool: dict[int, list[Package]] = {}
    for package in packages:
        if package.state in PROMISED and package.pool_id and package.deadline_at:
            by_pool.setdefault(package.pool_id, []).append(package)
    found: dict[uuid.UUID, datetime] = {}
    for pool in Pool.objects.filter(pk__in=by_pool).prefetch_related("windows"):
        slack = slack_of(pool, now=now)
        for package in by_pool[pool.pk]:
            finish_at = slack.expected_finish(0, package.deadline_at) if package.deadline_at else None
            if finish_at:
                found[package.pk] = finish_at
    return found


def _work_left(
    package: Package, reservation: Reservation, progress: Progress, pace: Pace | None, *, gpus: float
) -> tuple[float, float]:
    """GPU-seconds left, at least and at most."""
    if pace and pace.is_fresh and pace.per_s > 0 and gpus > 0 and package.state == PackageState.RUNNING:
        left_s = progress.requests_to_go / pace.per_s * gpus
        return left_s * FASTER, left_s * SLOWER
    quote = package.accepted_quote
    ratio = quote.work_expected_s / quote.work_at_most_s if quote and quote.work_at_most_s else 1.0
    return reservation.remaining_s * ratio, reservation.remaining_s


def _gpus_now(pool: Pool, now: datetime) -> float:
    """GPUs that offline work may use at this instant."""
    return share_of(pool, now=now) * pool.replicas

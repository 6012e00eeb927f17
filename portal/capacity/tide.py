"""The tide: what the tide chart shows, as plain data. One function for every page that has the chart."""

import uuid
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import numpy as np

from portal.capacity.models import Pool, Reservation
from portal.capacity.queries import earliest_promise, slack_of, windows_of, zone_of
from scheduler.domain.calendar import BUCKET_S, Floats, occurrences
from scheduler.domain.slack import Slack

STEP = timedelta(seconds=BUCKET_S)


@dataclass(frozen=True)
class TideWindow:
    """A window within the chart, cut to it."""

    start_at: datetime
    end_at: datetime
    name: str
    share: float


@dataclass(frozen=True)
class Tide:
    """GPUs for offline work over the coming hours, one value per ``step`` from ``start_at``.

    ``promised`` and ``yours`` are how earliest deadline first would use ``capacity`` if nothing more arrived;
    together they never exceed it. ``start_at`` is now, rounded down to a step. ``work_s`` is what ``yours`` sums up to
    (as far as it lies within the chart). Instants are UTC; ``zone`` is the one to write them in.
    """

    zone: ZoneInfo
    start_at: datetime
    now: datetime
    step: timedelta
    replicas: int
    capacity: list[float]
    promised: list[float]
    yours: list[float]
    work_s: float
    windows: list[TideWindow] = field(default_factory=list)
    earliest_deadline_at: datetime | None = None
    expected_start_at: datetime | None = None
    expected_finish_at: datetime | None = None
    deadline_at: datetime | None = None

    @property
    def end_at(self) -> datetime:
        return self.start_at + self.step * len(self.capacity)


def tide(
    *,
    pool: Pool,
    now: datetime,
    hours: int = 72,
    package_ref: uuid.UUID | None = None,
    work_s: float = 0,
    deadline_at: datetime | None = None,
    zone: ZoneInfo | None = None,
) -> Tide:
    """The tide of ``pool``. A package that already has a reservation is shown with what is left of it;
    another one with ``work_s`` GPU-seconds by ``deadline_at``."""
    held = _reservation(package_ref) if package_ref else None
    if held is not None:
        work_s, deadline_at = held.remaining_s, held.deadline_at
    slack = slack_of(pool, now=now, without=package_ref)
    shown = int(timedelta(hours=hours) / STEP)
    ahead_s = slack.work_ahead(deadline_at) if deadline_at else slack.work_ahead(slack.path.horizon_at)
    start_at = datetime.fromtimestamp(now.timestamp() // BUCKET_S * BUCKET_S, tz=UTC)
    return Tide(
        zone=zone or zone_of(pool),
        start_at=start_at,
        now=now,
        step=STEP,
        replicas=pool.replicas,
        capacity=_rates(slack, 0, float(slack.path.cumulative[-1]))[:shown],
        promised=_sum(_rates(slack, 0, ahead_s), _rates(slack, ahead_s + work_s, _owed(slack) + work_s))[:shown],
        yours=_rates(slack, ahead_s, ahead_s + work_s)[:shown],
        work_s=work_s,
        windows=_windows(pool, start_at, start_at + STEP * shown),
        earliest_deadline_at=_earliest(slack, work_s, is_offer=held is None) if work_s else None,
        expected_start_at=slack.expected_start(deadline_at) if deadline_at else None,
        expected_finish_at=slack.expected_finish(work_s, deadline_at) if deadline_at else None,
        deadline_at=deadline_at,
    )


def _reservation(package_ref: uuid.UUID) -> Reservation | None:
    return Reservation.objects.across_departments().filter(package_ref=package_ref, released_at=None).first()


def _earliest(slack: Slack, work_s: float, *, is_offer: bool) -> datetime | None:
    """The earliest deadline; one that is only named must still hold once it has been quoted and thought over."""
    return earliest_promise(slack, work_s=work_s) if is_offer else slack.earliest_deadline(work_s)


def _owed(slack: Slack) -> float:
    return sum(promise.work_s for promise in slack.promises)


def _rates(slack: Slack, from_s: float, until_s: float) -> list[float]:
    """GPUs in each bucket that serve the stretch [``from_s``, ``until_s``) of the pool's cumulative work."""
    served: Floats = np.clip(slack.path.cumulative, from_s, max(from_s, until_s))
    return [float(rate) for rate in np.diff(served) / np.diff(slack.path.edges)]


def _sum(one: Sequence[float], other: Sequence[float]) -> list[float]:
    return [a + b for a, b in zip(one, other, strict=True)]


def _windows(pool: Pool, start_at: datetime, end_at: datetime) -> list[TideWindow]:
    found = occurrences(windows_of(pool), zone_of(pool), start_at, end_at)
    return [TideWindow(max(one.start_at, start_at), min(one.end_at, end_at), one.name, one.share) for one in found]

"""Reading pools: their calendar, their speeds, what is promised on them."""

import uuid
from collections.abc import Sequence
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

from django.conf import settings

from portal.capacity.models import LanguageModel, Pool, Reservation
from scheduler.domain.admission import Assessment, Hold, assess
from scheduler.domain.calendar import CapacityPath, WeeklyWindow, capacity_path, share_at
from scheduler.domain.slack import Promise, Slack
from scheduler.domain.work import WorkModel

OFFER_VALID_FOR = timedelta(seconds=settings.QUOTE_VALID_S)
HELD_FOR = 2 * OFFER_VALID_FOR
"""What is named now can be asked for while its offer stands, and accepted while the next one stands."""


def windows_of(pool: Pool) -> list[WeeklyWindow]:
    """The pool's windows as the domain sees them."""
    return [
        WeeklyWindow(one.days, one.starts_at, one.ends_at, float(one.share), one.name) for one in pool.windows.all()
    ]


def zone_of(pool: Pool) -> ZoneInfo:
    """The zone in which the pool's windows are written."""
    return ZoneInfo(pool.time_zone)


def share_of(pool: Pool, *, now: datetime) -> float:
    """The part of the pool, 0 to 1, that offline work may use at this instant."""
    return share_at(windows_of(pool), float(pool.base_share), zone_of(pool), now)


def path_of(pool: Pool, *, now: datetime) -> CapacityPath:
    """The pool's offline capacity from now to the horizon."""
    return capacity_path(windows_of(pool), float(pool.base_share), zone_of(pool), pool.replicas, now)


def work_model_of(pool: Pool) -> WorkModel:
    """How fast one replica of the pool works (its prior, until measured)."""
    return WorkModel(pool.prefill_tokens_per_s, pool.decode_tokens_per_s, pool.item_overhead_s)


def open_pools(model: LanguageModel) -> Sequence[Pool]:
    """The pools that take packages for ``model``."""
    return list(model.pools.filter(is_open=True).prefetch_related("windows"))


def open_promises(pool: Pool, *, without: uuid.UUID | None = None) -> list[Promise]:
    """What the pool owes, whoever it owes it to; ``without`` leaves one package out."""
    owed = Reservation.objects.across_departments().filter(pool=pool, released_at=None)
    if without is not None:
        owed = owed.exclude(package_ref=without)
    return [Promise(*row) for row in owed.order_by("deadline_at", "id").values_list("deadline_at", "remaining_s")]


def slack_of(pool: Pool, *, now: datetime, without: uuid.UUID | None = None) -> Slack:
    """The pool's capacity against its promises."""
    return Slack(path_of(pool, now=now), open_promises(pool, without=without))


def assess_on(
    pool: Pool,
    *,
    work_s: float,
    deadline_at: datetime,
    now: datetime,
    expected_s: float | None = None,
    without: uuid.UUID | None = None,
    held_for: timedelta = timedelta(0),
) -> Assessment:
    """What the pool can say to ``work_s`` GPU-seconds by ``deadline_at``, if it need not begin for ``held_for``."""
    slack = slack_of(pool, now=now, without=without)
    hold = Hold(slack.path.until(now + held_for), slack.path.until(now + HELD_FOR))
    expected = work_s if expected_s is None else expected_s
    return assess(slack, work_s=work_s, expected_s=expected, deadline_at=deadline_at, hold=hold)


def earliest_promise(slack: Slack, *, work_s: float) -> datetime | None:
    """The earliest deadline that may be named for work nobody has asked an offer for yet; the rule of every page."""
    return slack.earliest_deadline(work_s + slack.path.until(slack.path.now + HELD_FOR))


def least_margin(slack: Slack) -> float | None:
    """GPU-seconds to spare at the tightest deadline, negative when it will be missed; ``None`` without promises."""
    owed, margins = 0.0, []
    for promise in sorted(slack.promises, key=lambda one: one.deadline_at):
        owed += promise.work_s
        margins.append(slack.path.until(promise.deadline_at) - owed)
    return min(margins, default=None)

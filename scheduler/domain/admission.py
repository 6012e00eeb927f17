"""Whether a package can be promised, and what could be promised instead. Decisions as plain data."""

from dataclasses import dataclass
from datetime import datetime

from scheduler.domain.slack import Slack


@dataclass(frozen=True)
class Assessment:
    """What a pool can say to ``work_s`` GPU-seconds by ``deadline_at``.

    ``free_s`` is what could be promised by that deadline at most. ``earliest_deadline_at`` is ``None`` when the work
    does not fit within the horizon. Start and finish are expectations ("if nothing more urgent arrives"), not promises.
    """

    is_feasible: bool
    work_s: float
    deadline_at: datetime
    free_s: float
    earliest_deadline_at: datetime | None
    expected_start_at: datetime | None
    expected_finish_at: datetime | None

    def items_that_fit(self, items: int) -> int:
        """How many of ``items`` equal shares of the work fit by the deadline."""
        if self.free_s >= self.work_s:
            return items
        return min(items, int(items * self.free_s / self.work_s))


@dataclass(frozen=True)
class Hold:
    """GPU-seconds that may pass unused before an answer becomes binding.

    ``wish_s`` is what the pool gives until a wished deadline must have been accepted; ``named_s`` what it gives until
    a deadline that is named now must have been asked for and accepted. Where both are the same, the earliest
    deadline that is named is the earliest that is possible.
    """

    wish_s: float = 0.0
    named_s: float = 0.0


def assess(
    slack: Slack, *, work_s: float, expected_s: float, deadline_at: datetime, hold: Hold | None = None
) -> Assessment:
    """Answer for ``work_s`` (what is promised; ``expected_s`` is what it will probably take) by ``deadline_at``."""
    hold = hold or Hold()
    is_feasible = slack.can_promise(work_s + hold.wish_s, deadline_at)
    earliest = slack.earliest_deadline(work_s + hold.named_s)
    if is_feasible:  # what can be had is never later than what is named
        earliest = min(earliest or deadline_at, deadline_at)
    return Assessment(
        is_feasible=is_feasible,
        work_s=work_s,
        deadline_at=deadline_at,
        free_s=max(0.0, slack.free_by(deadline_at) - hold.wish_s),
        earliest_deadline_at=earliest,
        expected_start_at=slack.expected_start(deadline_at),
        expected_finish_at=slack.expected_finish(expected_s, deadline_at),
    )

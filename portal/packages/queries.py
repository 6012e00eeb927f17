"""What the package pages read: the home page's rows and headline, and one package in full."""

import uuid
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from decimal import Decimal

from django.conf import settings
from django.db.models import QuerySet
from django.utils import timezone

from portal.billing.domain import round_money
from portal.billing.fields import ExactSum
from portal.billing.models import LedgerEntry
from portal.capacity.models import Pool, Quote
from portal.capacity.queries import earliest_promise, slack_of
from portal.capacity.tide import Tide, tide
from portal.departments.models import Department
from portal.packages.following.outlook import Margin, expected_finishes, margin_of
from portal.packages.following.progress import Progress, progress_of_all
from portal.packages.models import Package
from portal.packages.promising.offered import pools_on_offer
from scheduler.domain.lifecycle import PROMISED, PackageState

GOING = frozenset({PackageState.VALIDATING, PackageState.FINALISING, PackageState.CANCELLING}) | PROMISED
NEEDS_SOMEBODY = frozenset({PackageState.DRAFT, PackageState.INVALID, PackageState.QUOTED, PackageState.REFUSED})
FILTERS = {"all": None, "going": GOING, "waiting": NEEDS_SOMEBODY}
TONES = {
    PackageState.RUNNING: "good",
    PackageState.COMPLETED: "good",
    PackageState.ADMITTED: "tide",
    PackageState.FINALISING: "tide",
    PackageState.VALIDATING: "tide",
    PackageState.PAUSED: "warn",
    PackageState.CANCELLING: "warn",
    PackageState.INVALID: "warn",
    PackageState.REFUSED: "warn",
}
_HOURS_AHEAD = 48


@dataclass(frozen=True)
class Line:
    """A package in the list."""

    package: Package
    progress: Progress
    margin: Margin | None
    cost: Decimal | None
    is_final_cost: bool
    tone: str
    step: str


@dataclass(frozen=True)
class Opening:
    """When capacity is next to be had, and how much: ``gpu_hours`` free from ``start_at`` until ``end_at``."""

    start_at: datetime
    end_at: datetime
    gpu_hours: float
    is_now: bool


@dataclass(frozen=True)
class Example:
    """A package like the last one: how early it could be promised if it were handed over now."""

    name: str
    rows: int
    earliest_at: datetime


@dataclass(frozen=True)
class Spending:
    """This month: ``used`` is on the ledger, ``open_at_most`` what promised packages may still cost."""

    used: Decimal
    open_at_most: Decimal
    currency: str

    @property
    def used_percent(self) -> float:
        total = self.used + self.open_at_most
        return round(float(self.used / total * 100), 2) if total else 0.0

    @property
    def open_percent(self) -> float:
        return round(100 - self.used_percent, 2) if self.open_at_most else 0.0


def packages_of(department: Department, show: str = "all") -> QuerySet[Package]:
    """A department's packages, the newest first; ``show`` is a key of ``FILTERS``."""
    found = Package.objects.for_department(department).select_related("created_by", "accepted_quote", "department")
    states = FILTERS.get(show)
    return found if states is None else found.filter(state__in=states)


def counts_of(department: Department) -> dict[str, int]:
    """How many packages are going, and how many wait for somebody."""
    found = Package.objects.for_department(department)
    return {key: found.filter(state__in=states).count() for key, states in FILTERS.items() if states is not None}


def lines_of(packages: Sequence[Package], *, now: datetime) -> list[Line]:
    """The list's rows; a handful of queries however many packages."""
    progress = progress_of_all(packages)
    finishes = expected_finishes(packages, now=now)
    charged = charged_for([package.pk for package in packages])
    return [_line(package, progress[package.pk], finishes, charged, now=now) for package in packages]


def charged_for(refs: Sequence[uuid.UUID]) -> dict[uuid.UUID, Decimal]:
    """What the ledger holds for each package, to the cent. The ids must come from a scoped query."""
    rows = LedgerEntry.objects.across_departments().filter(package_ref__in=refs).order_by()
    sums = rows.values_list("package_ref").annotate(total=ExactSum("amount"))
    return {ref: round_money(total) for ref, total in sums}


def charged_together(refs: Sequence[uuid.UUID]) -> Decimal:
    """What the ledger holds for all of these packages, to the cent: the exact sum, rounded once."""
    rows = LedgerEntry.objects.across_departments().filter(package_ref__in=refs).order_by()
    return round_money(rows.aggregate(total=ExactSum("amount"))["total"] or Decimal(0))


def opening(*, now: datetime) -> Opening | None:
    """The next stretch with room in it on a pool whose model can be asked for; ``None`` when none is near."""
    found = [one for pool in pools_on_offer(now=now) if (one := _opening_of(pool, now=now))]
    return min(found, key=lambda one: (one.start_at, -one.gpu_hours)) if found else None


def example(department: Department, *, now: datetime) -> Example | None:
    """The department's latest accepted package, as if it were handed over again now."""
    last = packages_of(department).filter(accepted_quote__isnull=False).first()
    if last is None or last.accepted_quote is None:
        return None
    quote = last.accepted_quote
    pool = pools_on_offer(now=now).filter(pk=quote.pool_id).first()
    earliest = earliest_promise(slack_of(pool, now=now), work_s=quote.work_at_most_s) if pool else None
    return Example(last.name, last.rows_total, earliest) if earliest else None


def spending(department: Department, *, now: datetime) -> Spending:
    """What the department has used this month (in its own zone) and what is still open."""
    month = timezone.localtime(now, department.zone).replace(day=1, hour=0, minute=0, second=0, microsecond=0)
    entries = LedgerEntry.objects.for_department(department)
    used = entries.filter(settled_at__gte=month).aggregate(total=ExactSum("amount"))["total"] or Decimal(0)
    promised = list(packages_of(department).filter(state__in=PROMISED, accepted_quote__isnull=False))
    charged = charged_for([package.pk for package in promised])
    open_at_most = sum((_still_open(package, charged) for package in promised), Decimal(0))
    return Spending(round_money(used), open_at_most, settings.CURRENCY)


def latest_quote(package: Package) -> Quote | None:
    """The last offer made for the package as it is now."""
    quotes = Quote.objects.for_department(package.department).filter(package_ref=package.pk)
    return quotes.filter(created_at__gte=package.touched_at).select_related("pool").first()


def tide_of_offer(package: Package, *, quote: Quote, now: datetime) -> Tide:
    """The tide beside an offer: what the offer named as earliest is where it begins to be possible."""
    seen = tide_for(package, quote=quote, now=now)
    return replace(seen, earliest_deadline_at=quote.earliest_deadline_at or seen.end_at)


def tide_for(package: Package, *, quote: Quote, now: datetime) -> Tide:
    """The tide of the quote's pool, long enough to show the deadline; with the package in it, if it can be promised."""
    reach = quote.deadline_at - now + timedelta(hours=6)
    hours = max(72, min(14 * 24, int(reach / timedelta(hours=1)) + 1))
    return tide(
        pool=quote.pool,
        now=now,
        hours=hours,
        package_ref=package.pk,
        work_s=quote.work_at_most_s if quote.is_feasible else 0,
        deadline_at=quote.deadline_at,
        zone=package.department.zone,
    )


def step_of(package: Package) -> str:
    """The name of the page on which this package goes on.

    A correction has a task already; what it may need is another file.
    """
    if package.corrects_id is not None and package.state in {PackageState.DRAFT, PackageState.INVALID}:
        return "packages:quarantine"
    return {
        PackageState.DRAFT: "packages:task",
        PackageState.INVALID: "packages:task",
        PackageState.VALIDATING: "packages:reading",
        PackageState.QUOTED: "packages:promise",
        PackageState.REFUSED: "packages:promise",
    }.get(PackageState(package.state), "packages:detail")


def _line(
    package: Package,
    progress: Progress,
    finishes: dict[uuid.UUID, datetime],
    charged: dict[uuid.UUID, Decimal],
    *,
    now: datetime,
) -> Line:
    is_over = package.state in {PackageState.COMPLETED, PackageState.CANCELLED}
    quote = package.accepted_quote
    return Line(
        package=package,
        progress=progress,
        margin=margin_of(package, expected_at=finishes.get(package.pk), now=now),
        cost=charged.get(package.pk, Decimal(0)) if is_over else (quote.price_at_most if quote else None),
        is_final_cost=is_over,
        tone="warn" if package.late_by else TONES.get(PackageState(package.state), ""),
        step=step_of(package),
    )


def _still_open(package: Package, charged: dict[uuid.UUID, Decimal]) -> Decimal:
    assert package.accepted_quote is not None
    return max(Decimal(0), package.accepted_quote.price_at_most - charged.get(package.pk, Decimal(0)))


def _opening_of(pool: Pool, *, now: datetime) -> Opening | None:
    seen = tide(pool=pool, now=now, hours=_HOURS_AHEAD)
    for window in seen.windows:
        first = int((window.start_at - seen.start_at) / seen.step)
        last = -int((seen.start_at - window.end_at) / seen.step)
        free = sum(seen.capacity[i] - seen.promised[i] for i in range(first, min(last, len(seen.capacity))))
        hours = free * (seen.step / timedelta(hours=1))
        if hours > 0.05:
            return Opening(window.start_at, window.end_at, hours, is_now=window.start_at <= now)
    return None

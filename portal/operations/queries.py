"""What operators see across departments: pools, workers, packages under way, dead letters, the audit trail."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from django.db.models import Count, Exists, OuterRef, Q, QuerySet, Sum

from portal.audit.models import AuditRecord
from portal.capacity.models import Pool
from portal.capacity.queries import least_margin, share_of, slack_of
from portal.capacity.workers import living_workers
from portal.operations.acts import codes_like
from portal.packages.models import Package, Shard, TimelineEntry
from portal.packages.queries import Line, lines_of
from scheduler.domain.lifecycle import PackageState, ShardState
from scheduler.wire import Heartbeat

UNDER_WAY = (
    PackageState.ADMITTED,
    PackageState.RUNNING,
    PackageState.PAUSED,
    PackageState.FINALISING,
    PackageState.CANCELLING,
)
MOST_PACKAGES = 100
ENDS_WITHIN = timedelta(minutes=10)
FAILURES_SHOWN = 3


@dataclass(frozen=True)
class PoolLine:
    """A pool now. ``backlog_h`` and ``slack_h`` are GPU-hours.

    ``slack_h`` is what the tightest promise has to spare: negative, it will be broken; ``None``, there is none.
    """

    pool: Pool
    workers: int
    in_flight: int
    tokens_per_s: float
    share: float
    waiting: int
    running: int
    backlog_h: float
    slack_h: float | None


@dataclass(frozen=True)
class Overview:
    """The live board. ``workers`` is ``None`` when Redis does not answer: then nobody knows."""

    workers: list[Heartbeat] | None
    pools: list[PoolLine]
    packages: list[Line]
    dead: int
    stuck: frozenset[UUID]
    """Packages that should have ended and do not: their results cannot be written, or a shard never comes back."""

    @property
    def at_risk(self) -> int:
        """Packages that are expected to be late, or are stuck."""
        return sum(
            1 for line in self.packages if line.package.pk in self.stuck or (line.margin and line.margin.is_late)
        )

    @property
    def backlog_h(self) -> float:
        return sum(line.backlog_h for line in self.pools)

    @property
    def tokens_per_s(self) -> float:
        return sum(line.tokens_per_s for line in self.pools)


def overview(*, now: datetime) -> Overview:
    """Everything on the board at this instant."""
    workers = living_workers()
    going = Package.objects.across_departments().filter(state__in=UNDER_WAY)
    packages = going.select_related("department", "created_by", "accepted_quote").order_by("deadline_at")
    return Overview(
        workers=workers,
        pools=[_pool_line(pool, workers or [], now) for pool in Pool.objects.select_related("model")],
        packages=lines_of(list(packages[:MOST_PACKAGES]), now=now),
        dead=dead_shards().count(),
        stuck=frozenset(_stuck(now).values_list("pk", flat=True)),
    )


def _stuck(now: datetime) -> QuerySet[Package]:
    """Packages that were asked to end, or had nothing left to run, longer than ``ENDS_WITHIN`` ago."""
    ending = [PackageState.FINALISING, PackageState.CANCELLING]
    asked = TimelineEntry.objects.across_departments().filter(
        package=OuterRef("pk"), code__in=ending, at__lt=now - ENDS_WITHIN
    )
    stopping = Package.objects.across_departments().filter(state__in=ending)
    return stopping.filter(Q(finalise_attempts__gte=FAILURES_SHOWN) | Exists(asked))


def _pool_line(pool: Pool, workers: Sequence[Heartbeat], now: datetime) -> PoolLine:
    mine = [worker for worker in workers if worker.pool == pool.name]
    shards = Shard.objects.across_departments().filter(package__pool=pool, package__state__in=UNDER_WAY)
    sums = shards.aggregate(
        waiting=Count("id", filter=Q(state=ShardState.WAITING)),
        running=Count("id", filter=Q(state__in=[ShardState.ASSIGNED, ShardState.RUNNING])),
        work=Sum("work_s", filter=Q(state__in=[ShardState.WAITING, ShardState.ASSIGNED, ShardState.RUNNING])),
    )
    margin = least_margin(slack_of(pool, now=now))
    return PoolLine(
        pool=pool,
        workers=len(mine),
        in_flight=sum(worker.in_flight for worker in mine),
        tokens_per_s=sum(worker.tokens_per_s for worker in mine),
        share=share_of(pool, now=now),
        waiting=sums["waiting"],
        running=sums["running"],
        backlog_h=(sums["work"] or 0) / 3600,
        slack_h=None if margin is None else margin / 3600,
    )


def dead_shards() -> QuerySet[Shard]:
    """Shards that spent their attempts for our reasons, the latest first."""
    dead = Shard.objects.across_departments().filter(state=ShardState.DEAD)
    return dead.select_related("package__department", "package__model").order_by("-touched_at", "package", "no")


def audit_records(*, action: str = "", who: str = "", department: str = "") -> QuerySet[AuditRecord]:
    """The trail, the latest first; ``department`` is a code, the others match parts.

    ``action`` is looked for in the acts' names as the reader sees them, in their codes, subjects and package numbers.
    """
    found = AuditRecord.objects.select_related("person", "department")
    if action:
        by_number = Q(subject__istartswith=action[3:]) if action.upper().startswith("PK-") else Q()
        here = Q(action__icontains=action) | Q(subject__icontains=action) | Q(detail__name__icontains=action)
        found = found.filter(here | Q(action__in=codes_like(action)) | by_number)
    if who:
        found = found.filter(Q(person__name__icontains=who) | Q(person__email__icontains=who))
    return found.filter(department__code=department) if department else found

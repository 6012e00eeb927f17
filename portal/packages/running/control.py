"""What people ask of a package that has been promised: pause, resume, cancel."""

from collections.abc import Collection
from datetime import datetime

from django.db import transaction
from django.utils.translation import gettext as _

from portal.audit.services import record as audit
from portal.departments.models import Person
from portal.departments.refusals import UnableToChangeState
from portal.packages import timeline
from portal.packages.models import Package
from scheduler.domain.lifecycle import PROMISED, PackageState


def pause(*, package: Package, by: Person | None, now: datetime) -> None:
    """Run nothing more of the package until it is resumed. What runs is parked within seconds; no result is lost."""
    running = {PackageState.ADMITTED, PackageState.RUNNING}
    if not _change(package, running, PackageState.PAUSED, code="paused", by=by, now=now):
        _insist(package, {PackageState.PAUSED}, _("This package is not running, so it cannot be paused."))


def resume(*, package: Package, by: Person | None, now: datetime) -> None:
    """Go on where the package stood. The promise was not moved by the pause."""
    to = PackageState.RUNNING if package.started_at else PackageState.ADMITTED
    if not _change(package, {PackageState.PAUSED}, to, code="resumed", by=by, now=now):
        going = {PackageState.ADMITTED, PackageState.RUNNING}
        _insist(package, going, _("This package is not paused, so it cannot be resumed."))


def cancel(*, package: Package, by: Person | None, now: datetime) -> None:
    """Stop the package for good. Finished items are kept and charged; the others never run.

    May be asked again at any time: a package that is being cancelled, or has been, stays so.
    """
    if not _change(package, PROMISED, PackageState.CANCELLING, code="cancelling", by=by, now=now):
        stopped = {PackageState.CANCELLING, PackageState.CANCELLED}
        _insist(package, stopped, _("Only a package that waits or runs can be cancelled."))


def _change(
    package: Package,
    expected: Collection[PackageState],
    to: PackageState,
    *,
    code: str,
    by: Person | None,
    now: datetime,
) -> bool:
    with transaction.atomic():
        found = Package.objects.across_departments().filter(pk=package.pk, state__in=expected)
        if found.update(state=to, touched_at=now) != 1:
            return False
        package.state, package.touched_at = to, now
        timeline.record(package=package, code=code, now=now, by=by.name if by else "")
        audit(action=f"package.{code}", subject=package.pk, now=now, by=by, department=package.department)
    return True


def _insist(package: Package, wished: Collection[PackageState], refusal: str) -> None:
    """Asking twice is no mistake: only a package that is not as wished either is refused."""
    package.refresh_from_db(fields=["state"])
    if package.state not in wished:
        raise UnableToChangeState(refusal)

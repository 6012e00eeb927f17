"""What the API reads."""

from uuid import UUID

from django.db.models import Q

from portal.api.schemas import ChargeOut, PackageListOut, PackageOut
from portal.billing.domain import exact_sum, exact_text, round_money
from portal.billing.models import LedgerEntry
from portal.departments.access import owned
from portal.departments.models import Department
from portal.packages.following.progress import progress_of, progress_of_all
from portal.packages.models import Package


def shown(package: Package) -> PackageOut:
    """One package with its progress and what the ledger says it is charged so far."""
    return PackageOut.of(package, progress_of(package), charged(package))


def charged(package: Package) -> ChargeOut | None:
    """The sum of the package's ledger entries; ``None`` before its price is agreed."""
    if package.price_list is None:
        return None
    entries = LedgerEntry.objects.for_department(package.department).filter(package_ref=package.pk)
    exact = exact_sum(entries.values_list("amount", flat=True))
    return ChargeOut(amount=str(round_money(exact)), exact=exact_text(exact), currency=package.price_list.currency)


def page(department: Department, *, after: UUID | None, limit: int) -> PackageListOut:
    """``limit`` packages of ``department`` that were made before ``after``, newest first."""
    found = Package.objects.for_department(department).select_related("model").order_by("-created_at", "-pk")
    if after is not None:
        last = owned(Package, after, department=department)
        older = Q(created_at__lt=last.created_at) | Q(created_at=last.created_at, pk__lt=last.pk)
        found = found.filter(older)
    packages = list(found[: limit + 1])
    progress = progress_of_all(packages[:limit])
    data = [PackageOut.of(package, progress[package.pk]) for package in packages[:limit]]
    return PackageListOut(data=data, has_more=len(packages) > limit)

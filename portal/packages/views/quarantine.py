"""The quarantine of a package: why rows were set aside, with a few of them."""

import uuid

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from portal.departments.access import department_of, owned
from portal.departments.permissions import DEPARTMENT_ROLES, open_to, signed_in
from portal.packages.models import Package
from portal.packages.progress import is_over, progress_of
from portal.packages.quarantine import groups_of
from portal.packages.queries import step_of


@require_safe
@open_to(*DEPARTMENT_ROLES)
def quarantine(request: HttpRequest, ref: uuid.UUID) -> HttpResponse:
    """Grouped by reason; the whole file is to be had once the package is over."""
    package = owned(Package, ref, department=department_of(signed_in(request)))
    progress = progress_of(package)
    context = {
        "nav": "packages",
        "package": package,
        "progress": progress,
        "groups": groups_of(package, progress),
        "is_over": is_over(package),
        "step": step_of(package),
    }
    return render(request, "packages/quarantine.html", context)

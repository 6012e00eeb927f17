"""The quarantine of a package: why rows were set aside, all of them by reason, and the way to correct them."""

import uuid
from typing import Any

from django.core.files.uploadedfile import UploadedFile
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from portal.departments.access import department_of, owned
from portal.departments.models import Person, Role
from portal.departments.permissions import DEPARTMENT_ROLES, open_to, signed_in
from portal.departments.refusals import Refusal
from portal.packages import reasons
from portal.packages.correcting import corrections
from portal.packages.correcting.quarantine import groups_of, is_readable, listing_of, rows_aside
from portal.packages.following.progress import is_over, progress_of
from portal.packages.models import Package
from portal.packages.queries import lines_of, step_of


@require_safe
@open_to(*DEPARTMENT_ROLES)
def quarantine(request: HttpRequest, ref: uuid.UUID) -> HttpResponse:
    """Grouped by reason, or all rows of one (``?reason=``); what is left can be corrected once the package is over."""
    person = signed_in(request)
    package = owned(Package, ref, department=department_of(person))
    return _page(request, package, person)


@require_POST
@open_to(Role.STAFF)
def correct(request: HttpRequest, ref: uuid.UUID) -> HttpResponse:
    """Hand over the corrected file: it is read at once. A script gets JSON, so that it can show the bytes going up."""
    person = signed_in(request)
    package = owned(Package, ref, department=department_of(person))
    wants_json = request.headers.get("Accept") == "application/json"
    try:
        correction = _submitted(request, package, person)
    except Refusal as refusal:
        if wants_json:
            raise
        return _page(request, package, person, refusal)
    address = reverse("packages:reading", args=[correction.pk])
    return JsonResponse({"address": address}, status=201) if wants_json else redirect(address)


def _submitted(request: HttpRequest, package: Package, person: Person) -> Package:
    upload = request.FILES.get("file")
    if not isinstance(upload, UploadedFile):
        raise Refusal(_("Choose a file first."), code="no_file", field="file")
    return corrections.submit(
        root=package, by=person, filename=upload.name or "manifest", chunks=upload.chunks(), now=timezone.now()
    )


def _page(request: HttpRequest, package: Package, person: Person, refusal: Refusal | None = None) -> HttpResponse:
    progress = progress_of(package)
    code = request.GET.get("reason", "")
    listing = listing_of(package, progress, code, _number(request)) if code else None
    context: dict[str, Any] = {
        "nav": "packages",
        "package": package,
        "aside": rows_aside(package, progress),
        "listing": listing,
        "groups": [] if listing else groups_of(package, progress),
        "is_over": is_over(package),
        "may_download": is_readable(package) and package.corrects_id is None,
        "step": step_of(package),
        "may_act": person.role == Role.STAFF,
        "may_correct": _may_correct(package, person),
        "open_correction": corrections.open_correction(package),
        "was_replaced": "replaced" in request.GET,
        "invalid": reasons.refusal_sentence(package.refusal),
        "rounds": lines_of(corrections.rounds_of(package), now=timezone.now()),
        "refusal": refusal,
    }
    return render(request, "packages/quarantine.html", context, status=refusal.status if refusal else 200)


def _may_correct(package: Package, person: Person) -> bool:
    if person.role != Role.STAFF:
        return False
    try:
        corrections.check(package)
    except Refusal:
        return False
    return True


def _number(request: HttpRequest) -> int:
    page = request.GET.get("page", "")
    return int(page) if page.isdecimal() and len(page) < 10 else 1

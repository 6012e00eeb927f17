"""The promise: pick a deadline on the tide chart, then confirm."""

import uuid
from datetime import datetime
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from portal.capacity.models import Quote, Tier
from portal.capacity.queries import HELD_FOR
from portal.capacity.tide import Tide
from portal.departments.access import department_of, owned
from portal.departments.models import Person, Role
from portal.departments.permissions import DEPARTMENT_ROLES, open_to, require_role, signed_in
from portal.departments.refusals import Refusal, UnableToFind
from portal.packages import queries
from portal.packages.following import chart
from portal.packages.following.outlook import outlook_of_offer
from portal.packages.following.scale import NARROW, WIDE, Frame
from portal.packages.forms import WishForm
from portal.packages.models import Package
from portal.packages.promising.alternatives import alternatives
from portal.packages.promising.estimate import savings
from portal.packages.promising.quoting import OFFERABLE, TIER_SPAN, accept_quote, quote_package
from portal.packages.reading.found import set_aside_of


@require_http_methods(["GET", "HEAD", "POST"])
@open_to(*DEPARTMENT_ROLES)
def promise(request: HttpRequest, ref: uuid.UUID) -> HttpResponse:
    """Step 3: an offer on the tide chart; posting a tier and a deadline asks for another."""
    person, now = signed_in(request), timezone.now()
    package = owned(Package, ref, department=department_of(person))
    if package.state not in OFFERABLE:
        return redirect(queries.step_of(package), package.pk)
    if request.method == "POST":
        return _ask(request, package, now)
    try:
        quote = _chosen(request, package) or _first_offer(package, by=person, now=now)
    except UnableToFind:
        raise
    except Refusal as refusal:  # no price or no pool any more: said on the page, which leads back to the task
        return _page(request, package, None, WishForm(), now=now, status=refusal.status, refusal=refusal)
    form = WishForm.of(quote.tier, quote.deadline_at) if quote else WishForm()
    return _page(request, package, quote, form, now=now)


@require_http_methods(["GET", "HEAD", "POST"])
@open_to(Role.STAFF)
def confirm(request: HttpRequest, ref: uuid.UUID) -> HttpResponse:
    """Step 4: what will be done, by when, at what price; accepting it makes the promise stand."""
    person, now = signed_in(request), timezone.now()
    package = owned(Package, ref, department=department_of(person))
    if package.state not in OFFERABLE:
        return redirect(queries.step_of(package), package.pk)
    quote = _chosen(request, package) or queries.latest_quote(package)
    if quote is None or not quote.is_feasible:
        return redirect("packages:promise", package.pk)
    refusal = None
    if request.method == "POST":
        try:
            accept_quote(package=package, quote=quote, by=person, now=now)
            return redirect("packages:detail", package.pk)
        except Refusal as error:
            refusal = error
    context = {
        "nav": "packages",
        "package": package,
        "quote": quote,
        "refusal": refusal,
        "is_expired": now >= quote.expires_at,
        "valid_for": quote.expires_at - now,
        "outlook": outlook_of_offer(quote, now=now),
    }
    return render(request, "packages/confirm.html", context, status=refusal.status if refusal else 200)


def _ask(request: HttpRequest, package: Package, now: datetime) -> HttpResponse:
    person = require_role(signed_in(request), Role.STAFF)
    form = WishForm(request.POST)
    if form.is_valid():
        try:
            deadline_at = _deadline(form.cleaned_data["deadline"], form.cleaned_data["tier"], now=now)
            quote = quote_package(
                package=package, tier=form.cleaned_data["tier"], deadline_at=deadline_at, by=person, now=now
            )
            return redirect(f"{reverse('packages:promise', args=[package.pk])}?quote={quote.pk}")
        except Refusal as refusal:
            form.blame(refusal)
    return _page(request, package, queries.latest_quote(package), form, now=now, status=422)


def _deadline(typed: datetime | None, tier: str, *, now: datetime) -> datetime | None:
    """``None``, the tier's own deadline, when standard was switched to express without a sooner one."""
    if typed is not None and tier == Tier.EXPRESS and typed > now + TIER_SPAN[Tier.STANDARD] - TIER_SPAN[Tier.EXPRESS]:
        return None
    return typed


def _chosen(request: HttpRequest, package: Package) -> Quote | None:
    """The offer that the address names, if it is one for this package."""
    named = request.GET.get("quote") or request.POST.get("quote")
    if not named:
        return None
    quote = owned(Quote, named, department=package.department)
    if quote.package_ref != package.pk:
        raise UnableToFind(_("There is nothing under this address. Check it, or start from the list."))
    return quote


def _first_offer(package: Package, *, by: Person, now: datetime) -> Quote | None:
    """The last offer, or the standard one for whoever may ask for offers."""
    found = queries.latest_quote(package)
    if found is not None or by.role != Role.STAFF:
        return found
    return quote_package(package=package, tier=Tier.STANDARD, deadline_at=None, by=by, now=now)


def _page(
    request: HttpRequest,
    package: Package,
    quote: Quote | None,
    form: WishForm,
    *,
    now: datetime,
    status: int = 200,
    refusal: Refusal | None = None,
) -> HttpResponse:
    context: dict[str, Any] = {"nav": "packages", "package": package, "quote": quote, "form": form, "refusal": refusal}
    context["set_aside"] = set_aside_of(package)
    if quote is not None:
        outlook = outlook_of_offer(quote, now=now)
        context |= drawings(queries.tide_of_offer(package, quote=quote, now=now)) | {
            "alternatives": alternatives(package=package, quote=quote, now=now),
            "savings": savings(package),
            "is_expired": now >= quote.expires_at,
            "valid_for": quote.expires_at - now,
            "outlook": outlook,
            "spare": quote.deadline_at - outlook.high_at if outlook.high_at else None,
            "held_for": HELD_FOR,
        }
    return render(request, "packages/promise.html", context, status=status)


def drawings(seen: Tide, frame: Frame = WIDE) -> dict[str, Any]:
    """The tide chart's template variables, in the active zone."""
    zone = timezone.get_current_timezone()
    return {
        "tide": seen,
        "wide": chart.draw(seen, frame, zone=zone),
        "narrow": chart.draw(seen, NARROW, zone=zone),
        "stretches": chart.stretches(seen),
    }

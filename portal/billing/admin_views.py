"""Administrators' pages about prices."""

from django.conf import settings
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_safe

from portal.billing import price_lists
from portal.billing.models import Price, PriceList
from portal.billing.price_forms import PriceForm, PriceListForm
from portal.capacity.models import LanguageModel
from portal.departments.forms import add_refusal
from portal.departments.models import Role
from portal.departments.permissions import open_to, signed_in
from portal.departments.refusals import Refusal


@open_to(Role.ADMIN)
@require_safe
def prices(request: HttpRequest) -> HttpResponse:
    """Every price list, the newest first, with its prices."""
    found = PriceList.objects.prefetch_related("prices__model")
    context = {"nav": "prices", "lists": found, "now": timezone.now()}
    return render(request, "billing/prices.html", context)


@open_to(Role.ADMIN)
@require_http_methods(["GET", "POST"])
def new_prices(request: HttpRequest) -> HttpResponse:
    """A new price list, filled in with the prices of the one that is copied."""
    copied = _copied(request)
    form = PriceListForm(request.POST or None, instance=PriceList(currency=settings.CURRENCY))
    rows = _rows(request, copied)
    rows_good = [row.is_valid() for row in rows]  # all of them, so that every mistake is shown at once
    if form.is_valid() and all(rows_good):
        given = [price for row in rows if (price := row.price()) is not None]
        try:
            fresh = price_lists.publish(
                price_list=form.save(commit=False), prices=given, by=signed_in(request), now=timezone.now()
            )
        except Refusal as refusal:
            add_refusal(form, refusal)
        else:
            messages.success(request, _("%(name)s is published.") % {"name": fresh.name})
            return redirect("prices:list")
    context = {"nav": "prices", "form": form, "rows": rows, "copied": copied, "currency": settings.CURRENCY}
    return render(request, "billing/new_prices.html", context, status=422 if form.is_bound else 200)


def _copied(request: HttpRequest) -> PriceList | None:
    """The list that ``?copy=`` names, or the newest."""
    ref = request.GET.get("copy", "")
    if ref.isdecimal():
        return get_object_or_404(PriceList, pk=int(ref))
    return PriceList.objects.first()


def _rows(request: HttpRequest, copied: PriceList | None) -> list[PriceForm]:
    known = {price.model_id: price for price in Price.objects.filter(price_list=copied)} if copied else {}
    return [_row(request, model, known.get(model.pk)) for model in LanguageModel.objects.all()]


def _row(request: HttpRequest, model: LanguageModel, known: Price | None) -> PriceForm:
    initial = {}
    if known is not None:
        names = ("input_per_1k", "cached_per_1k", "output_per_1k")
        initial = {name: format(getattr(known, name).normalize(), "f") for name in names}
    return PriceForm(model, request.POST or None, initial=initial)

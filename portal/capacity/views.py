"""Administrators' pages: models, pools and the calendar of windows."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from portal.capacity import catalogue, queries
from portal.capacity.forms import ModelForm, PoolForm, WindowForm
from portal.capacity.models import LanguageModel, Pool, Window
from portal.capacity.week import HEIGHT, HOURS, HOURS_Y, WIDTH, DayRow, week
from portal.capacity.workers import living_workers, serving
from portal.departments.models import Role
from portal.departments.permissions import open_to, signed_in
from scheduler.domain.slack import Slack
from scheduler.wire import Heartbeat


@dataclass(frozen=True)
class PoolCard:
    """A pool as the list shows it; ``owed_h`` and ``spare_h`` (``None``: nothing is promised) are GPU-hours.

    ``workers`` that serve it now; ``None`` when nobody knows.
    """

    pool: Pool
    rows: list[DayRow]
    share_now: float
    owed_h: float
    spare_h: float | None
    workers: int | None

    @property
    def is_stranded(self) -> bool:
        """Nothing that is promised on it moves, because nobody works."""
        return self.workers == 0 and (self.pool.is_open or self.owed_h > 0)


def _card(pool: Pool, now: datetime, workers: list[Heartbeat] | None) -> PoolCard:
    slack = queries.slack_of(pool, now=now)
    owed = sum(promise.work_s for promise in slack.promises)
    share = queries.share_of(pool, now=now) * 100
    margin = queries.least_margin(slack)
    spare_h = None if margin is None else margin / 3600
    return PoolCard(pool, _week_of(pool), share, owed / 3600, spare_h, serving(pool, workers))


def _week_of(pool: Pool) -> list[DayRow]:
    return week(queries.windows_of(pool), float(pool.base_share))


def _status(form: ModelForm | PoolForm | WindowForm) -> int:
    return 422 if form.is_bound else 200


@open_to(Role.ADMIN)
@require_safe
def models(request: HttpRequest) -> HttpResponse:
    """Every model."""
    found = LanguageModel.objects.prefetch_related("pools")
    return render(request, "capacity/models.html", {"nav": "models", "models": found})


@open_to(Role.ADMIN)
@require_http_methods(["GET", "POST"])
def model(request: HttpRequest, name: str = "") -> HttpResponse:
    """A new model, or one that exists."""
    existing = get_object_or_404(LanguageModel, name=name) if name else None
    title = existing.title if existing else ""
    form = ModelForm(request.POST or None, instance=existing)
    if form.is_valid():
        changed = form.save(commit=False)
        catalogue.save(thing=changed, by=signed_in(request), now=timezone.now())
        messages.success(request, _("%(name)s is saved.") % {"name": changed.title})
        return redirect("capacity:models")
    context = {"nav": "models", "form": form, "existing": existing, "title": title}
    return render(request, "capacity/model.html", context, status=_status(form))


@open_to(Role.ADMIN)
@require_safe
def pools(request: HttpRequest) -> HttpResponse:
    """Every pool with its week and what it owes."""
    now = timezone.now()
    found = Pool.objects.select_related("model").prefetch_related("windows")
    workers = living_workers()
    context = {"nav": "pools", "cards": [_card(pool, now, workers) for pool in found], **_drawing()}
    return render(request, "capacity/pools.html", context)


@open_to(Role.ADMIN)
@require_http_methods(["GET", "POST"])
def new_pool(request: HttpRequest) -> HttpResponse:
    """A new pool; its windows are added on its own page."""
    form = PoolForm(request.POST or None)
    if form.is_valid():
        pool = form.save(commit=False)
        catalogue.save(thing=pool, by=signed_in(request), now=timezone.now())
        messages.success(request, _("%(name)s is saved.") % {"name": pool.name})
        return redirect("capacity:pool", pool.name)
    return render(request, "capacity/new_pool.html", {"nav": "pools", "form": form}, status=_status(form))


@open_to(Role.ADMIN)
@require_http_methods(["GET", "POST"])
def pool(request: HttpRequest, name: str) -> HttpResponse:
    """A pool: its week, its windows, its figures."""
    existing = get_object_or_404(Pool, name=name)
    form = PoolForm(request.POST or None, instance=existing)
    if form.is_valid():
        catalogue.save(thing=form.save(commit=False), by=signed_in(request), now=timezone.now())
        _say_saved(request, existing)
        return redirect("capacity:pool", name)
    return _pool_page(request, Pool.objects.get(pk=existing.pk), form=form, window_form=WindowForm())


@open_to(Role.ADMIN)
@require_POST
def add_window(request: HttpRequest, name: str) -> HttpResponse:
    """One more window in the pool's week."""
    existing = get_object_or_404(Pool, name=name)
    form = WindowForm(request.POST, instance=Window(pool=existing))
    if not form.is_valid():
        return _pool_page(request, existing, form=PoolForm(instance=existing), window_form=form)
    catalogue.save(thing=form.save(commit=False), by=signed_in(request), now=timezone.now())
    _say_saved(request, existing)
    return redirect("capacity:pool", name)


@open_to(Role.ADMIN)
@require_http_methods(["GET", "POST"])
def window(request: HttpRequest, name: str, pk: int) -> HttpResponse:
    """Change a window."""
    existing = get_object_or_404(Window, pk=pk, pool__name=name)
    form = WindowForm(request.POST or None, instance=existing)
    if form.is_valid():
        catalogue.save(thing=form.save(commit=False), by=signed_in(request), now=timezone.now())
        _say_saved(request, existing.pool)
        return redirect("capacity:pool", name)
    context = {"nav": "pools", "form": form, "pool": existing.pool, "window": existing}
    return render(request, "capacity/window.html", context, status=_status(form))


@open_to(Role.ADMIN)
@require_POST
def remove_window(request: HttpRequest, name: str, pk: int) -> HttpResponse:
    """Take a window away."""
    existing = get_object_or_404(Window, pk=pk, pool__name=name)
    catalogue.remove_window(window=existing, by=signed_in(request), now=timezone.now())
    _say_saved(request, existing.pool)
    return redirect("capacity:pool", name)


def _pool_page(request: HttpRequest, existing: Pool, *, form: PoolForm, window_form: WindowForm) -> HttpResponse:
    refused = form.is_bound or window_form.is_bound
    context = {
        "nav": "pools",
        "card": _card(existing, timezone.now(), living_workers()),
        "form": form,
        "window_form": window_form,
        **_drawing(),
    }
    return render(request, "capacity/pool.html", context, status=422 if refused else 200)


def _say_saved(request: HttpRequest, changed: Pool) -> None:
    """Saved; and a warning when what was promised does not fit into the pool as it is now."""
    short_s = -(queries.least_margin(_fresh_slack(changed)) or 0)
    if short_s > 1:
        told = _("Saved, but what is already promised on this pool no longer fits: %(hours).1f GPU-hours are missing.")
        messages.warning(request, told % {"hours": short_s / 3600})
    else:
        messages.success(request, _("Saved. Everything that is promised on this pool still fits."))


def _fresh_slack(changed: Pool) -> Slack:
    return queries.slack_of(Pool.objects.get(pk=changed.pk), now=timezone.now())


def _drawing() -> dict[str, Any]:
    """The measures of the week strip."""
    return {"week_width": WIDTH, "week_height": HEIGHT, "week_hours": HOURS, "week_hours_y": HOURS_Y}

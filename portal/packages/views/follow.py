"""Following a package: its page, the live fragment of it, and what people may ask of it while it runs."""

import uuid
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import datetime
from typing import Any

from asgiref.sync import sync_to_async
from django.db import connection
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.middleware.csrf import get_token
from django.shortcuts import redirect, render
from django.template.loader import render_to_string
from django.utils import timezone, translation
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from portal.departments.access import department_of, owned
from portal.departments.models import Person, Role
from portal.departments.permissions import DEPARTMENT_ROLES, open_to, signed_in
from portal.packages import queries
from portal.packages.correcting.corrections import rounds_of
from portal.packages.correcting.quarantine import reasons_of
from portal.packages.delivering.excel import MOST_ROWS
from portal.packages.following.live import Fragment, events, one_event, pace_of, streams
from portal.packages.following.outlook import margin_of, outlook_of
from portal.packages.following.progress import cells_of, is_over, progress_of
from portal.packages.following.scale import BROAD
from portal.packages.following.story import story_of
from portal.packages.models import Package
from portal.packages.running import control
from portal.packages.views.promise import drawings
from scheduler.domain.lifecycle import PROMISED, PackageState

FINAL_POLL = 286
POLL_S = 10.0
_STATE = "packages/fragments/state.html"


@require_safe
@open_to(*DEPARTMENT_ROLES)
def detail(request: HttpRequest, ref: uuid.UUID) -> HttpResponse:
    """A promised package: where it stands, what happened, what can be had of it. Earlier ones go to their step."""
    person, now = signed_in(request), timezone.now()
    package = owned(Package, ref, department=department_of(person))
    step = queries.step_of(package)
    if step != "packages:detail":
        return redirect(step, package.pk)
    context = state_of(package, person=person, now=now) | {"nav": "packages"}
    quote = package.accepted_quote
    if quote is not None and package.state in PROMISED:
        seen = queries.tide_for(package, quote=quote, now=now)
        # The deadline stands: what could have been promised instead is no question any more.
        context |= drawings(replace(seen, earliest_deadline_at=None), BROAD)
    return render(request, "packages/detail.html", context)


@require_safe
@open_to(*DEPARTMENT_ROLES)
async def live(request: HttpRequest, ref: uuid.UUID) -> HttpResponse | StreamingHttpResponse:
    """The state of a package as a stream of fragments, or as one fragment for those who poll."""
    person = signed_in(request)
    token = get_token(request)
    fragment = await sync_to_async(_fragment)(person, ref, token)
    if "text/event-stream" not in request.headers.get("Accept", ""):
        return HttpResponse(fragment.html, status=FINAL_POLL if fragment.is_last else 200)
    response = StreamingHttpResponse(_stream(person, ref, token), content_type="text/event-stream")
    response.headers["Cache-Control"] = "no-store"
    response.headers["X-Accel-Buffering"] = "no"
    return response


def _stream(person: Person, ref: uuid.UUID, token: str) -> AsyncIterator[bytes]:
    """Events as they come; for somebody with very many tabs each further one is told only now and then."""

    def look() -> Fragment:
        return _fragment(person, ref, token)

    if streams.is_full(person.pk):
        return one_event(look, again_s=POLL_S)
    return streams.counted(person.pk, events(look))


@require_POST
@open_to(Role.STAFF)
def pause(request: HttpRequest, ref: uuid.UUID) -> HttpResponse:
    """Run nothing more of the package for now."""
    person = signed_in(request)
    package = owned(Package, ref, department=department_of(person))
    control.pause(package=package, by=person, now=timezone.now())
    return redirect("packages:detail", package.pk)


@require_POST
@open_to(Role.STAFF)
def resume(request: HttpRequest, ref: uuid.UUID) -> HttpResponse:
    """Go on with a paused package."""
    person = signed_in(request)
    package = owned(Package, ref, department=department_of(person))
    control.resume(package=package, by=person, now=timezone.now())
    return redirect("packages:detail", package.pk)


@require_http_methods(["GET", "HEAD", "POST"])
@open_to(Role.STAFF)
def cancel(request: HttpRequest, ref: uuid.UUID) -> HttpResponse:
    """Say what cancelling keeps, loses and costs; posting cancels."""
    person, now = signed_in(request), timezone.now()
    package = owned(Package, ref, department=department_of(person))
    if request.method == "POST":
        control.cancel(package=package, by=person, now=now)
        return redirect("packages:detail", package.pk)
    if package.state not in PROMISED:
        return redirect(queries.step_of(package), package.pk)
    charged = queries.charged_for([package.pk]).get(package.pk)
    context = {"nav": "packages", "package": package, "progress": progress_of(package), "charged": charged}
    return render(request, "packages/cancel.html", context)


def state_of(package: Package, *, person: Person, now: datetime) -> dict[str, Any]:
    """Everything that the live fragment shows."""
    progress = progress_of(package)
    pace = pace_of(package, now=now) if package.state == PackageState.RUNNING else None
    outlook = outlook_of(package, progress=progress, pace=pace, now=now)
    rounds = rounds_of(package) if is_over(package) else []
    return {
        "package": package,
        "progress": progress,
        "pace": pace,
        "outlook": outlook,
        "margin": margin_of(package, expected_at=outlook.high_at, now=now),
        "cells": cells_of(package),
        "story": story_of(package),
        "reasons": reasons_of(package, progress),
        "rounds": queries.lines_of(rounds, now=now),
        "tone": "warn" if package.late_by else queries.TONES.get(PackageState(package.state), ""),
        "charged": queries.charged_for([package.pk]).get(package.pk),
        "charged_for_corrections": queries.charged_together([one.pk for one in rounds]),
        "charged_in_all": queries.charged_together([package.pk, *(one.pk for one in rounds)]),
        "is_over": is_over(package),
        "fits_excel": package.rows_total <= MOST_ROWS,
        "may_act": person.role == Role.STAFF,
        "can_pause": package.state in {PackageState.ADMITTED, PackageState.RUNNING},
        "can_resume": package.state == PackageState.PAUSED,
        "can_cancel": package.state in PROMISED,
    }


def _fragment(person: Person, ref: uuid.UUID, token: str) -> Fragment:
    """The fragment as this person reads it. Outside of the request's middleware: language and zone are set here."""
    try:
        department = department_of(person)
        with translation.override(person.language), timezone.override(department.zone):
            package = owned(Package, ref, department=department)
            context = state_of(package, person=person, now=timezone.now())
            return Fragment(render_to_string(_STATE, context | {"csrf_token": token}), context["is_over"])
    finally:
        if not connection.in_atomic_block:
            connection.close()  # a viewer holds no connection between two looks

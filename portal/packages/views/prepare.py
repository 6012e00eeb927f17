"""The first steps of a package: its file, its task, and the reading of the manifest."""

import uuid

from django.core.files.uploadedfile import UploadedFile
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from portal.departments.access import department_of, owned
from portal.departments.models import Role
from portal.departments.permissions import DEPARTMENT_ROLES, open_to, signed_in
from portal.departments.refusals import Refusal
from portal.packages import services
from portal.packages.forms import TaskForm
from portal.packages.models import Package
from portal.packages.queries import step_of
from portal.packages.reading.reading_pace import reading_pace
from portal.packages.receiving.uploads import create_draft, discard_draft
from portal.packages.views.task_page import columns_of, preview_of, task_page
from scheduler.domain.lifecycle import EDITABLE, PackageState

HTMX_STOP_POLLING = 286


@require_http_methods(["GET", "HEAD", "POST"])
@open_to(Role.STAFF)
def new(request: HttpRequest) -> HttpResponse:
    """Step 1: hand over a file. A script gets JSON, so that it can show the bytes going up."""
    if request.method != "POST":
        return render(request, "packages/new.html", {"nav": "packages"})
    wants_json = request.headers.get("Accept") == "application/json"
    try:
        package = _draft(request)
    except Refusal as refusal:
        if wants_json:
            raise
        context = {"nav": "packages", "refusal": refusal}
        return render(request, "packages/new.html", context, status=refusal.status)
    address = reverse("packages:task", args=[package.pk])
    return JsonResponse({"address": address}, status=201) if wants_json else redirect(address)


@require_http_methods(["GET", "HEAD", "POST"])
@open_to(Role.STAFF)
def task(request: HttpRequest, ref: uuid.UUID) -> HttpResponse:
    """Step 2: the columns and what is asked of the model. Continuing saves the task and starts the reading."""
    package = owned(Package, ref, department=department_of(signed_in(request)))
    if package.state not in EDITABLE or package.corrects_id is not None:
        return redirect(step_of(package), package.pk)
    if request.method != "POST":
        return task_page(request, package, TaskForm(package=package))
    form = TaskForm(request.POST, package=package)
    services.keep_typed(package=package, typed=form.typed())
    if form.is_valid() and _goes_on(request, package, form):
        return redirect("packages:reading", package.pk)
    return task_page(request, package, form, status=200 if "look" in request.POST and form.is_valid() else 422)


@require_POST
@open_to(Role.STAFF)
def preview(request: HttpRequest, ref: uuid.UUID) -> HttpResponse:
    """What the first rows would become, for the task as typed so far; what is typed is kept with the draft."""
    package = owned(Package, ref, department=department_of(signed_in(request)))
    form = TaskForm(request.POST, package=package)
    services.keep_typed(package=package, typed=form.typed())
    form.is_valid()
    context = {
        "preview": preview_of(package, form),
        "columns": columns_of(package, form),
        "brings_messages": form.brings_messages,
    }
    return render(request, "packages/fragments/preview_and_columns.html", context)


@require_safe
@open_to(*DEPARTMENT_ROLES)
def reading(request: HttpRequest, ref: uuid.UUID) -> HttpResponse:
    """How far the manifest has been read; goes on by itself to the promise, or back to the task."""
    package = owned(Package, ref, department=department_of(signed_in(request)))
    is_done = package.state != PackageState.VALIDATING
    if is_done and request.headers.get("HX-Request"):
        return HttpResponse(status=HTMX_STOP_POLLING, headers={"HX-Redirect": reverse(step_of(package), args=[ref])})
    if is_done:
        return redirect(step_of(package), package.pk)
    fragment = request.headers.get("HX-Request")
    template = "packages/fragments/reading.html" if fragment else "packages/reading.html"
    return render(request, template, {"nav": "packages", "package": package, "pace": reading_pace(package)})


@require_POST
@open_to(Role.STAFF)
def stop(request: HttpRequest, ref: uuid.UUID) -> HttpResponse:
    """Stop reading and go back to the task."""
    person = signed_in(request)
    package = owned(Package, ref, department=department_of(person))
    services.stop_reading(package=package, by=person, now=timezone.now())
    return redirect("packages:task", package.pk)


@require_POST
@open_to(Role.STAFF)
def discard(request: HttpRequest, ref: uuid.UUID) -> HttpResponse:
    """Delete a package for which nothing was promised."""
    person = signed_in(request)
    package = owned(Package, ref, department=department_of(person))
    discard_draft(package=package, by=person, now=timezone.now())
    return redirect("packages:quarantine", package.corrects_id) if package.corrects_id else redirect("packages:home")


def _draft(request: HttpRequest) -> Package:
    person = signed_in(request)
    upload = request.FILES.get("file")
    if not isinstance(upload, UploadedFile):
        raise Refusal(_("Choose a file first."), code="no_file", field="file")
    return create_draft(
        by=person,
        department=department_of(person),
        filename=upload.name or "manifest",
        chunks=upload.chunks(),
        name=request.POST.get("name") or None,
        now=timezone.now(),
    )


def _goes_on(request: HttpRequest, package: Package, form: TaskForm) -> bool:
    """Save the task and start reading, unless only a look was asked for; refusals go beside their fields."""
    if "look" in request.POST:
        return False
    person, now = signed_in(request), timezone.now()
    try:
        services.save_task(package=package, by=person, now=now, **form.task())
        services.start_reading(package=package, by=person, now=now)
    except Refusal as refusal:
        form.blame(refusal)
        return False
    return True

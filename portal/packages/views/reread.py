"""Reading the file of a draft another way, from the page of its task."""

import uuid

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.http import require_POST

from portal.departments.access import department_of, owned
from portal.departments.models import Person, Role
from portal.departments.permissions import open_to, signed_in
from portal.packages import services
from portal.packages.forms import TaskForm
from portal.packages.manifest import Reading
from portal.packages.manifest.reading import AS_FOUND
from portal.packages.models import Package
from portal.packages.reading_form import ReadingForm
from portal.packages.receiving import rereading
from portal.packages.views.task_page import file_context, is_begun, preview_of, task_page


@require_POST
@open_to(Role.STAFF)
def reread(request: HttpRequest, ref: uuid.UUID) -> HttpResponse:
    """Read the file as chosen. A script gets the card with the file and what depends on it, everybody else the page.

    A script sends the task's form along, so that nothing that is typed is lost.
    """
    person = signed_in(request)
    package = owned(Package, ref, department=department_of(person))
    is_live = bool(request.headers.get("HX-Request"))
    if is_live and "name" in request.POST:
        services.keep_typed(package=package, typed=TaskForm(request.POST, package=package).typed())
    choice = ReadingForm(request.POST, reading=Reading.from_json(package.reading))
    is_read = choice.is_valid() and _is_reread(request, package, choice, person)
    if is_live:
        return _card(request, package, None if is_read else choice.in_force())
    if is_read:
        return redirect("packages:task", package.pk)
    return task_page(request, package, TaskForm(package=package), choice=choice.in_force(), status=422)


def _is_reread(request: HttpRequest, package: Package, choice: ReadingForm, person: Person) -> bool:
    wish = AS_FOUND if "as-found" in request.POST else choice.wish()
    try:
        rereading.reread(package=package, wish=wish, by=person, now=timezone.now())
    except rereading.UnableToReread as refusal:
        choice.blame(refusal)
    return choice.is_valid()


def _card(request: HttpRequest, package: Package, refused: ReadingForm | None) -> HttpResponse:
    form = TaskForm.as_left(package)
    form.is_valid()
    context = {
        "form": form,
        "preview": preview_of(package, form) if is_begun(package) else None,
        "is_open": True,
        **file_context(package, form, refused),
    }
    return render(request, "packages/fragments/file_and_more.html", context)

"""Administrators' pages: departments and people."""

from uuid import UUID

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from portal.departments import queries, services
from portal.departments.forms import DepartmentForm, PersonForm, add_refusal
from portal.departments.models import Department, Person, Role
from portal.departments.permissions import open_to, signed_in
from portal.departments.refusals import Refusal


@open_to(Role.ADMIN)
@require_safe
def departments(request: HttpRequest) -> HttpResponse:
    """Every department."""
    found = queries.departments_with_people()
    return render(request, "departments/departments.html", {"nav": "departments", "departments": found})


@open_to(Role.ADMIN)
@require_http_methods(["GET", "POST"])
def department(request: HttpRequest, ref: UUID | None = None) -> HttpResponse:
    """A new department, or one that exists with its people."""
    existing = get_object_or_404(Department, pk=ref) if ref else None
    name = existing.name if existing else ""
    form = DepartmentForm(request.POST or None, instance=existing)
    if form.is_valid():
        now = timezone.now()
        changed = form.save(commit=False)
        changed.closed_at = (changed.closed_at or now) if form.cleaned_data.get("is_closed") else None
        services.save_department(department=changed, by=signed_in(request), now=now)
        messages.success(request, _("%(name)s is saved.") % {"name": changed.name})
        return redirect("departments:admin")
    people = queries.people(department=existing.code) if existing else []
    context = {"nav": "departments", "form": form, "existing": existing, "name": name, "people": people}
    return render(request, "departments/department.html", context, status=422 if form.is_bound else 200)


@open_to(Role.ADMIN)
@require_safe
def people(request: HttpRequest) -> HttpResponse:
    """Everybody, or those of one department or role."""
    chosen = {"department": request.GET.get("department", ""), "role": request.GET.get("role", "")}
    context = {
        "nav": "people",
        "people": queries.people(**chosen),
        "chosen": chosen,
        "departments": Department.objects.all(),
        "roles": Role.choices,
    }
    return render(request, "departments/people.html", context)


@never_cache
@open_to(Role.ADMIN)
@require_http_methods(["GET", "POST"])
def new_person(request: HttpRequest) -> HttpResponse:
    """Somebody new; their one-time password is shown once, in the answer that creates them."""
    start = Department.objects.filter(code=request.GET.get("department", "")).first()
    form = PersonForm(request.POST or None, initial={"department": start})
    if form.is_valid():
        person = form.save(commit=False)
        secret = services.add_person(person=person, by=signed_in(request), now=timezone.now())
        return render(request, "departments/one_time_password.html", _handed_out(person, secret))
    context = {"nav": "people", "form": form}
    return render(request, "departments/person.html", context, status=422 if form.is_bound else 200)


@open_to(Role.ADMIN)
@require_http_methods(["GET", "POST"])
def person(request: HttpRequest, ref: UUID) -> HttpResponse:
    """Somebody who exists: name, role, department, whether they may sign in."""
    existing = get_object_or_404(Person, pk=ref)
    name = existing.name
    form = PersonForm(request.POST or None, instance=existing)
    if form.is_valid():
        try:
            services.change_person(person=form.save(commit=False), by=signed_in(request), now=timezone.now())
        except Refusal as refusal:
            add_refusal(form, refusal)
        else:
            messages.success(request, _("%(name)s is saved.") % {"name": existing.name})
            return redirect("departments:people")
    context = {"nav": "people", "form": form, "existing": existing, "name": name}
    return render(request, "departments/person.html", context, status=422 if form.is_bound else 200)


@never_cache
@open_to(Role.ADMIN)
@require_POST
def reset_password(request: HttpRequest, ref: UUID) -> HttpResponse:
    """A new one-time password for somebody who forgot theirs."""
    someone = get_object_or_404(Person, pk=ref)
    secret = services.reset_password(person=someone, by=signed_in(request), now=timezone.now())
    return render(request, "departments/one_time_password.html", _handed_out(someone, secret))


def _handed_out(someone: Person, secret: str) -> dict[str, object]:
    return {"nav": "people", "someone": someone, "secret": secret}

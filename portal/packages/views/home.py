"""The home page of a department: what is going on, and a place to drop the next file."""

from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.http import require_safe

from portal.departments.access import department_of
from portal.departments.permissions import DEPARTMENT_ROLES, home_of, open_to, signed_in
from portal.packages import queries
from portal.packages.following.progress import is_over

PER_PAGE = 25


@require_safe
@open_to()
def home(request: HttpRequest) -> HttpResponse:
    """A department's packages; people without a department go to the page where they start."""
    person = signed_in(request)
    if person.role not in DEPARTMENT_ROLES:
        return redirect(home_of(person))
    department, now = department_of(person), timezone.now()
    show = request.GET.get("show", "all")
    page = Paginator(queries.packages_of(department, show), PER_PAGE).get_page(request.GET.get("page"))
    lines = queries.lines_of(list(page.object_list), now=now)
    context = {
        "nav": "packages",
        "show": show if show in queries.FILTERS else "all",
        "counts": queries.counts_of(department),
        "page": page,
        "lines": lines,
        "opening": queries.opening(now=now),
        "example": queries.example(department, now=now),
        "spending": queries.spending(department, now=now),
        "set_aside": _latest_to_be_corrected(lines),
    }
    return render(request, "packages/home.html", context)


def _latest_to_be_corrected(lines: list[queries.Line]) -> queries.Line | None:
    """The latest package that is over and has rows in quarantine; what a correction left is told at its package."""
    done = (line for line in lines if is_over(line.package) and line.package.corrects_id is None)
    return next((line for line in done if line.progress.quarantined), None)

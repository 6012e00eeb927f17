"""Operators' pages: the board, dead letters, and the audit trail (which administrators read too)."""

from urllib.parse import urlencode

from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from portal.departments.models import Department, Role
from portal.departments.permissions import open_to
from portal.operations import queries
from portal.operations.acts import told

PER_PAGE = 50
ACTS_PER_PAGE = 25


@never_cache
@open_to(Role.OPERATOR)
@require_safe
def board(request: HttpRequest) -> HttpResponse:
    """What runs, what waits, who is at risk. htmx asks for the same address and gets the part that changes."""
    now = timezone.now()
    context = {"nav": "board", "overview": queries.overview(now=now), "now": now}
    template = "operations/board_now.html" if request.headers.get("HX-Request") else "operations/board.html"
    response = render(request, template, context)
    response.headers["Vary"] = "HX-Request, Cookie"
    return response


@open_to(Role.OPERATOR)
@require_safe
def dead_letters(request: HttpRequest) -> HttpResponse:
    """Shards that we could not run."""
    page = Paginator(queries.dead_shards(), PER_PAGE).get_page(request.GET.get("page"))
    return render(request, "operations/dead_letters.html", {"nav": "dead", "page": page})


@open_to(Role.OPERATOR, Role.ADMIN)
@require_safe
def audit(request: HttpRequest) -> HttpResponse:
    """Who did what, when."""
    chosen = {name: request.GET.get(name, "").strip() for name in ("action", "who", "department")}
    page = Paginator(queries.audit_records(**chosen), ACTS_PER_PAGE).get_page(request.GET.get("page"))
    query = "".join(f"&{urlencode({name: value})}" for name, value in chosen.items() if value)
    context = {
        "nav": "audit",
        "page": page,
        "acts": told(page.object_list),
        "chosen": chosen,
        "query": query,
        "departments": Department.objects.all(),
    }
    return render(request, "operations/audit.html", context)

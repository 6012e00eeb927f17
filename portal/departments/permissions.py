"""Who may open what. Every view of the portal says it with :func:`open_to`."""

from collections.abc import Awaitable, Callable
from functools import wraps
from inspect import iscoroutinefunction
from typing import Any, cast

from django.conf import settings
from django.contrib.auth.views import redirect_to_login
from django.http import HttpRequest, HttpResponse
from django.shortcuts import resolve_url
from django.utils.translation import gettext as _

from portal.departments.models import Person, Role
from portal.departments.refusals import UnableToPermit

DEPARTMENT_ROLES = (Role.STAFF, Role.FINANCE)
"""The roles that act for one department; the others act for the installation and have no packages."""

_HOMES = {Role.ADMIN: "departments:admin", Role.OPERATOR: "operations:board"}


def home_of(person: Person) -> str:
    """The name of the page on which ``person`` starts."""
    return _HOMES.get(Role(person.role), "packages:home")


def require_role(person: Person, *roles: Role) -> Person:
    """``person``, whose role is one of ``roles``; :class:`UnableToPermit` otherwise."""
    if person.role not in roles:
        raise UnableToPermit(_("Your role does not open this page. Ask an administrator if you need it."))
    return person


def signed_in(request: HttpRequest) -> Person:
    """The person of a request to a view that :func:`open_to` guards."""
    return cast(Person, request.user)


def open_to(*roles: Role) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Guard a view, ordinary or async: strangers go to the sign-in page, other roles are refused.

    No roles means everybody who is signed in.
    """
    allowed = roles or tuple(Role)

    def guard(view: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(view)
        def ordinary(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
            if not request.user.is_authenticated:
                return _to_sign_in(request)
            require_role(signed_in(request), *allowed)
            return cast(HttpResponse, view(request, *args, **kwargs))

        @wraps(view)
        async def waiting(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
            person = await request.auser()
            if not person.is_authenticated:
                return _to_sign_in(request)
            require_role(person, *allowed)
            return await cast(Awaitable[HttpResponse], view(request, *args, **kwargs))

        return waiting if iscoroutinefunction(view) else ordinary

    return guard


def _to_sign_in(request: HttpRequest) -> HttpResponse:
    """A redirect; for htmx one of the whole page, so that the sign-in form never lands inside a fragment."""
    if request.headers.get("HX-Request"):
        return HttpResponse(status=204, headers={"HX-Redirect": resolve_url(settings.LOGIN_URL)})
    return redirect_to_login(request.get_full_path())

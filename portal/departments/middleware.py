"""What holds for every request: the person's language and zone, and refusals turned into answers."""

from collections.abc import Callable

from django.conf import settings
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone, translation

from portal.departments.outages import outage_of
from portal.departments.refusals import Refusal

REFUSED = "slackwater.refused"
"""The key of an ASGI scope under which :mod:`portal.intake` says why it did not take the request's body."""
Next = Callable[[HttpRequest], HttpResponse]


class PreferencesMiddleware:
    """Writes the page in the person's language and times in the department's zone."""

    def __init__(self, get_response: Next) -> None:
        self._next = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if not request.user.is_authenticated:
            return self._next(request)
        zone = request.user.department.zone if request.user.department else None
        language = request.user.language  # asked before: signing out replaces the user
        with translation.override(language), timezone.override(zone):
            response = self._next(request)
        response.headers.setdefault("Content-Language", language)
        return response


class FreshPasswordMiddleware:
    """Whoever signed in with a one-time password goes nowhere before choosing their own."""

    _OPEN = ("departments:password", "departments:sign-out", "departments:language")

    def __init__(self, get_response: Next) -> None:
        self._next = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if not getattr(request.user, "must_change_password", False) or self._is_open(request.path):
            return self._next(request)
        target = reverse("departments:password")
        if request.headers.get("HX-Request"):
            return HttpResponse(status=204, headers={"HX-Redirect": target})
        return redirect(target)

    def _is_open(self, path: str) -> bool:
        return path.startswith(settings.STATIC_URL) or path in {reverse(name) for name in self._OPEN}


class RefusalMiddleware:
    """The one place where a :class:`Refusal` that no view answered becomes a page, a fragment or JSON.

    So does a full disk, wherever it was met.
    """

    def __init__(self, get_response: Next) -> None:
        self._next = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        refused = getattr(request, "scope", {}).get(REFUSED)
        return self._answer(request, refused) if refused else self._next(request)

    def process_exception(self, request: HttpRequest, error: Exception) -> HttpResponse | None:
        refusal = error if isinstance(error, Refusal) else outage_of(error)
        return self._answer(request, refusal) if refusal else None

    def _answer(self, request: HttpRequest, refusal: Refusal) -> HttpResponse:
        if request.path.startswith("/api/") or request.headers.get("Accept") == "application/json":
            return JsonResponse(refusal.as_json(), status=refusal.status)
        template = "fragments/refusal.html" if request.headers.get("HX-Request") else "refusal.html"
        return render(request, template, {"refusal": refusal}, status=refusal.status)

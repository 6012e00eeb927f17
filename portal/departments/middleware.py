"""What holds for every request: the person's language and zone, and refusals turned into answers."""

from collections.abc import Callable

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.utils import timezone, translation

from portal.departments.refusals import Refusal

Next = Callable[[HttpRequest], HttpResponse]


class PreferencesMiddleware:
    """Writes the page in the person's language and times in the department's zone."""

    def __init__(self, get_response: Next) -> None:
        self._next = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if not request.user.is_authenticated:
            return self._next(request)
        zone = request.user.department.zone if request.user.department else None
        with translation.override(request.user.language), timezone.override(zone):
            response = self._next(request)
        response.headers.setdefault("Content-Language", request.user.language)
        return response


class RefusalMiddleware:
    """The one place where a :class:`Refusal` that no view answered becomes a page or a fragment."""

    def __init__(self, get_response: Next) -> None:
        self._next = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        return self._next(request)

    def process_exception(self, request: HttpRequest, error: Exception) -> HttpResponse | None:
        if not isinstance(error, Refusal):
            return None
        if request.headers.get("Accept") == "application/json":
            return JsonResponse(error.as_json(), status=error.status)
        template = "fragments/refusal.html" if request.headers.get("HX-Request") else "refusal.html"
        return render(request, template, {"refusal": error}, status=error.status)

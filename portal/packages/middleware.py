"""What holds for every request for a package."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse

from portal.departments.middleware import Next
from portal.departments.models import Person
from portal.departments.refusals import UnableToFind
from portal.packages.correcting.corrections import root_of_replaced

_PAGES = frozenset(f"packages:{page}" for page in ("task", "reading", "promise", "confirm", "quarantine", "detail"))


class ReplacedCorrectionMiddleware:
    """The old pages of a correction that another file took the place of lead to the package that it corrected."""

    def __init__(self, get_response: Next) -> None:
        self._next = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        return self._next(request)

    def process_exception(self, request: HttpRequest, error: Exception) -> HttpResponse | None:
        asked = request.resolver_match
        if not isinstance(error, UnableToFind) or asked is None or asked.view_name not in _PAGES:
            return None
        person = request.user
        if request.method not in ("GET", "HEAD") or not isinstance(person, Person) or person.department is None:
            return None
        root = root_of_replaced(asked.kwargs["ref"], department=person.department)
        if root is None:
            return None
        target = f"{reverse('packages:quarantine', args=[root.pk])}?replaced=1"
        if request.headers.get("HX-Request"):
            return HttpResponse(status=204, headers={"HX-Redirect": target})
        return redirect(target)

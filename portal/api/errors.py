"""Every error of the API in one shape: ``{"error": {"code", "message", …}}`` (CONTRACTS §6)."""

from typing import Any

import structlog
from django.http import Http404, HttpRequest, HttpResponse
from django.utils.translation import gettext as _
from ninja import NinjaAPI
from ninja.errors import AuthenticationError, HttpError, ValidationError

from portal.api.misfits import said
from portal.departments.outages import outage_of
from portal.departments.refusals import Refusal, UnableToFind

log = structlog.get_logger()


def answer_errors(api: NinjaAPI) -> None:
    """Teach ``api`` the one shape."""

    def answer(request: HttpRequest, refusal: Any) -> HttpResponse:
        return api.create_response(request, refusal.as_json(), status=refusal.status)

    def unknown_key(request: HttpRequest, _error: Any) -> HttpResponse:
        said = _("Send a valid API key as “Authorization: Bearer sw_…”. Keys are made in the portal, under API keys.")
        return answer(request, Refusal(said, code="unauthorised", status=401))

    def not_found(request: HttpRequest, _error: Any) -> HttpResponse:
        return answer(
            request, UnableToFind(_("There is nothing under this address. Check it, or start from the list."))
        )

    def invalid(request: HttpRequest, error: Any) -> HttpResponse:
        return answer(request, _as_refusal(error))

    def refused_by_framework(request: HttpRequest, error: Any) -> HttpResponse:
        log.info("request not read", action="api.unread", route=_route(request), why=str(error))  # in English only
        why = _("The request could not be read. Compare it with the description of the API.")
        return answer(request, Refusal(why, code="invalid_request", status=error.status_code))

    def unforeseen(request: HttpRequest, error: Any) -> HttpResponse:
        if outage := outage_of(error):
            return answer(request, outage)
        log.error("request failed", action="api.fault", method=request.method, route=_route(request), exc_info=error)
        said = _("Something went wrong on our side. Try again in a minute; if it stays, tell an operator the time.")
        return answer(request, Refusal(said, code="internal", status=500))

    api.add_exception_handler(Refusal, answer)
    api.add_exception_handler(AuthenticationError, unknown_key)
    api.add_exception_handler(Http404, not_found)
    api.add_exception_handler(ValidationError, invalid)
    api.add_exception_handler(HttpError, refused_by_framework)
    api.add_exception_handler(Exception, unforeseen)


def _as_refusal(error: ValidationError) -> Refusal:
    """The request does not fit the description; ``errors`` names each place, ``param`` the first."""
    places = [{"param": _place(found["loc"]), "message": said(found)} for found in error.errors]
    first = places[0]
    sentence = _("The request does not fit the description of the API: %(param)s: %(message)s.") % first
    return Refusal(sentence, code="invalid_request", status=422, field=first["param"], errors=places)


def _route(request: HttpRequest) -> str:
    """The address as a pattern, without what a person wrote into it."""
    return request.resolver_match.route if request.resolver_match else ""


def _place(location: tuple[Any, ...]) -> str:
    """``("body", "task", "labels", 0)`` as a person reads it: ``task.labels.0``."""
    return ".".join(str(step) for step in location[1:]) or str(location[0])

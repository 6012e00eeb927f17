"""Who calls: the person whose API key the request carries."""

from contextlib import suppress
from typing import Any, cast

from django.http import HttpRequest
from django.utils import timezone, translation
from django.utils.translation.trans_real import get_supported_language_variant, parse_accept_lang_header
from ninja.security import HttpBearer

from portal.departments.access import department_of
from portal.departments.models import Department, Person, Role
from portal.departments.permissions import require_role
from portal.departments.services import person_for_key


class ApiKeyBearer(HttpBearer):
    """``Authorization: Bearer sw_…``. What is said is in the language that the request asks for, else the owner's."""

    def authenticate(self, request: HttpRequest, token: str) -> Any | None:
        person = person_for_key(secret=token, now=timezone.now())
        if person is not None:
            translation.activate(_asked_language(request) or person.language)
        return person


def _asked_language(request: HttpRequest) -> str | None:
    """The first language of ``Accept-Language`` that is spoken here; ``None`` where any will do."""
    for code, _weight in parse_accept_lang_header(request.headers.get("Accept-Language", "")):
        if code == "*":
            return None
        with suppress(LookupError):
            return get_supported_language_variant(code)
    return None


def caller(request: HttpRequest) -> Person:
    """The person whose key it is."""
    return cast(Person, request.auth)  # type: ignore[attr-defined]


def caller_department(request: HttpRequest) -> Department:
    """The department for which the caller acts."""
    return department_of(caller(request))


def submitter(request: HttpRequest) -> Person:
    """The caller, who must be allowed to submit packages."""
    return require_role(caller(request), Role.STAFF)

"""Who calls: the person whose API key the request carries."""

from typing import Any, cast

from django.http import HttpRequest
from django.utils import timezone, translation
from ninja.security import HttpBearer

from portal.departments.access import department_of
from portal.departments.models import Department, Person, Role
from portal.departments.permissions import require_role
from portal.departments.services import person_for_key


class ApiKeyBearer(HttpBearer):
    """``Authorization: Bearer sw_…``. Refusals are then written in the key owner's language."""

    def authenticate(self, request: HttpRequest, token: str) -> Any | None:  # noqa: ARG002
        person = person_for_key(secret=token, now=timezone.now())
        if person is not None:
            translation.activate(person.language)
        return person


def caller(request: HttpRequest) -> Person:
    """The person whose key it is."""
    return cast(Person, request.auth)  # type: ignore[attr-defined]


def caller_department(request: HttpRequest) -> Department:
    """The department for which the caller acts."""
    return department_of(caller(request))


def submitter(request: HttpRequest) -> Person:
    """The caller, who must be allowed to submit packages."""
    return require_role(caller(request), Role.STAFF)

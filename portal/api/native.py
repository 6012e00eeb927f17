"""Slackwater's own HTTP API. Keys only, no cookies: so no form token is needed and none is accepted instead."""

from django.db import connection
from django.http import Http404, HttpRequest, HttpResponse
from django.views.decorators.csrf import csrf_exempt
from ninja import NinjaAPI

from portal.api import billing, packages
from portal.api.auth import ApiKeyBearer
from portal.api.errors import answer_errors

api = NinjaAPI(title="Slackwater", version="1", urls_namespace="native", docs_url=None, auth=ApiKeyBearer())
answer_errors(api)
api.add_router("", packages.router)
api.add_router("", billing.router)


@api.get("/health", auth=None, tags=["health"], summary="Whether the portal answers and reaches its database")
def health(request: HttpRequest) -> dict[str, str]:  # noqa: ARG001
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")
    return {"status": "ok"}


@csrf_exempt
def nothing_here(request: HttpRequest) -> HttpResponse:
    """Every address under the API's that is none of its own: the one error shape, for any method."""
    return api.on_exception(request, Http404())

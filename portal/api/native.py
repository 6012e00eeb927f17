"""Slackwater's own HTTP API. Keys only, no cookies: so no form token is needed and none is accepted instead."""

from django.db import connection
from django.http import HttpRequest
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

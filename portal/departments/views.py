"""Pages about oneself: sign in, preferences, password, API keys."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render


def csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponse:  # noqa: ARG001
    """Django's answer to a missing or stale form token, as a page that says what to do."""
    return render(request, "csrf_failure.html", status=403)

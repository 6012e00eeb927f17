"""What every page knows."""

from typing import Any

from django.http import HttpRequest


def navigation(request: HttpRequest) -> dict[str, Any]:
    """``person`` and ``department`` of the request (``None`` before sign-in), for the frame of the page."""
    user = getattr(request, "user", None)
    person = user if user is not None and user.is_authenticated else None
    return {"person": person, "department": getattr(person, "department", None)}

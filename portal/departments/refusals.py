"""Refusals: what a person or program is told when something could not be done (CONTRACTS §6)."""

from typing import Any

from django.utils.functional import Promise


class Refusal(Exception):
    """Something could not be done, and the one who asked can be told why and what to do.

    ``code`` is stable, ``message`` a sentence in the reader's language, ``status`` the HTTP status,
    ``details`` further facts for programs (``row``, ``column``, alternatives …).
    """

    code = "refused"
    status = 422

    def __init__(
        self,
        message: str | Promise,
        *,
        code: str | None = None,
        status: int | None = None,
        field: str | None = None,
        **details: Any,
    ) -> None:
        super().__init__(str(message))
        self.message = message
        self.code = code or self.code
        self.status = status or self.status
        self.field = field
        self.details = details

    def as_json(self) -> dict[str, Any]:
        """``{"error": {"code", "message", …}}``, the body of every refusal of the API."""
        body: dict[str, Any] = {"code": self.code, "message": str(self.message), **self.details}
        if self.field:
            body["param"] = self.field
        return {"error": body}


class UnableToFind(Refusal):
    """There is no such object, or it belongs to somebody else: the two look the same."""

    code = "not_found"
    status = 404


class UnableToPermit(Refusal):
    """The person's role does not allow it."""

    code = "forbidden"
    status = 403


class UnableToChangeState(Refusal):
    """The object is no longer in the state that the change expects."""

    code = "wrong_state"
    status = 409

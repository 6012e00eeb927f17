"""Files that come in pieces: tus 1.0.0 (https://tus.io/protocols/resumable-upload), spoken by static/upload.js.

Core, creation, termination and expiration. What is refused is said in JSON; the answer to the last byte names the
page of the package that the file has become.
"""

import base64
import binascii
import uuid
from collections.abc import Callable, Iterator
from functools import wraps
from typing import Any

from django.conf import settings
from django.db import connection
from django.http import HttpRequest, HttpResponse, JsonResponse, UnreadablePostError
from django.urls import reverse
from django.utils import timezone
from django.utils.http import http_date
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from portal.departments.access import department_of, owned
from portal.departments.models import Role
from portal.departments.outages import outage_of
from portal.departments.permissions import require_role, signed_in
from portal.departments.refusals import Refusal
from portal.packages.models import Package, Upload
from portal.packages.queries import step_of
from portal.packages.receiving import arrivals, pieces

VERSION = "1.0.0"
PIECE = "application/offset+octet-stream"
CHUNK = 256 * 1024
ADDRESS = "Slackwater-Address"
"""The header that names the page to go on with."""
View = Callable[..., HttpResponse]


def _told(view: View) -> View:
    """Every answer is a tus one, refusals in JSON; only staff who are signed in get further."""

    @wraps(view)
    def guarded(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        try:
            _require_staff(request)
            answer = view(request, *args, **kwargs)
        except (Refusal, OSError) as error:
            answer = _refused(error)
        answer.headers["Tus-Resumable"] = VERSION
        answer.headers["Cache-Control"] = "no-store"
        return answer

    return guarded


def _require_staff(request: HttpRequest) -> None:
    if not request.user.is_authenticated:
        said = _("You are not signed in any more. Sign in in another tab, then go on here.")
        raise Refusal(said, code="signed_out", status=401)
    require_role(signed_in(request), Role.STAFF)


def _refused(error: Refusal | OSError) -> HttpResponse:
    if isinstance(error, UnreadablePostError):
        return HttpResponse(status=400)  # nobody is there to read it
    refusal = error if isinstance(error, Refusal) else outage_of(error)
    if refusal is None:
        raise error
    answer = JsonResponse(refusal.as_json(), status=refusal.status)
    if "offset" in refusal.details:
        answer.headers["Upload-Offset"] = str(refusal.details["offset"])
    return answer


@require_http_methods(["OPTIONS", "POST"])
@_told
def begin(request: HttpRequest) -> HttpResponse:
    """Begin an upload; ``Upload-Metadata`` has a ``filename``, and ``corrects`` for corrected rows of a package."""
    if request.method == "OPTIONS":
        return _abilities()
    _require_version(request)
    person = signed_in(request)
    department, metadata = department_of(person), _metadata(request)
    corrects = metadata.get("corrects")
    upload = arrivals.begin(
        by=person,
        department=department,
        filename=metadata.get("filename", ""),
        size=_whole_number(request, "Upload-Length"),
        corrects=owned(Package, corrects, department=department) if corrects else None,
        now=timezone.now(),
    )
    answer = HttpResponse(status=201, headers={"Location": reverse("packages:upload", args=[upload.pk])})
    return _dated(answer, upload)


@require_http_methods(["HEAD", "PATCH", "DELETE"])
@_told
def upload(request: HttpRequest, ref: uuid.UUID) -> HttpResponse:
    """Ask how far an upload is, add to it, or give it up."""
    found = owned(Upload, ref, department=department_of(signed_in(request)))
    _require_version(request)
    if request.method == "HEAD":
        return _standing(found, pieces.offset_of(found), status=200)
    if request.method == "DELETE":
        pieces.drop(upload=found)
        return HttpResponse(status=204)
    return _add(request, found)


def _add(request: HttpRequest, found: Upload) -> HttpResponse:
    if request.content_type != PIECE:
        raise Refusal(_("Pieces of a file are sent as %(type)s.") % {"type": PIECE}, code="wrong_type", status=415)
    at = _whole_number(request, "Upload-Offset")
    offset = pieces.add(upload=found, at=at, chunks=_chunks(request), now=timezone.now())
    if offset == found.size:
        arrivals.complete(upload=found, now=timezone.now())
    return _standing(found, offset, status=204)


def _chunks(request: HttpRequest) -> Iterator[bytes]:
    if not connection.in_atomic_block:
        connection.close()  # a piece may take minutes; it holds no connection meanwhile
    while chunk := request.read(CHUNK):
        yield chunk


def _standing(found: Upload, offset: int, *, status: int) -> HttpResponse:
    answer = HttpResponse(status=status, headers={"Upload-Offset": str(offset), "Upload-Length": str(found.size)})
    if found.package:
        answer.headers[ADDRESS] = reverse(step_of(found.package), args=[found.package.pk])
        return answer
    return _dated(answer, found)


def _dated(answer: HttpResponse, found: Upload) -> HttpResponse:
    answer.headers["Upload-Expires"] = http_date(pieces.expires_at(found).timestamp())
    return answer


def _abilities() -> HttpResponse:
    headers = {"Tus-Version": VERSION, "Tus-Extension": "creation,termination,expiration"}
    return HttpResponse(status=204, headers={**headers, "Tus-Max-Size": str(settings.UPLOAD_LIMIT_BYTES)})


def _require_version(request: HttpRequest) -> None:
    """A client that names no version is taken at its word."""
    if request.headers.get("Tus-Resumable", VERSION) != VERSION:
        said = _("This server speaks version %(version)s of tus.") % {"version": VERSION}
        raise Refusal(said, code="wrong_version", status=412)


def _whole_number(request: HttpRequest, header: str) -> int:
    value = request.headers.get(header, "")
    if not (value.isascii() and value.isdecimal() and len(value) < 16):
        said = _("The header %(header)s must be a whole number of bytes.") % {"header": header}
        raise Refusal(said, code="bad_header", status=400, header=header)
    return int(value)


def _metadata(request: HttpRequest) -> dict[str, str]:
    """``Upload-Metadata``: names, each with its value in Base64 behind a space, separated by commas."""
    pairs = [pair.strip().split(" ") for pair in request.headers.get("Upload-Metadata", "").split(",") if pair.strip()]
    try:
        return {name: base64.b64decode("".join(value), validate=True).decode() for name, *value in pairs}
    except (binascii.Error, UnicodeDecodeError) as error:
        said = _("The header %(header)s cannot be read.") % {"header": "Upload-Metadata"}
        raise Refusal(said, code="bad_header", status=400, header="Upload-Metadata") from error

"""The bodies of requests: how much of one is taken, from whom and for which address, before anything is kept.

Django reads a whole body before it looks at the address or at who sends it. So this stands in front: a body that
is too large, or more than a little from somebody who is not signed in, is refused at once where its length is
declared, and otherwise at the byte that is too many. What is taken is spooled where forgotten files are swept,
but for pieces of a file (tus): those are handed on while they arrive.
"""

import asyncio
import io
import re
import shutil
import tempfile
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from importlib import import_module
from typing import IO, Any, cast

from asgiref.sync import sync_to_async
from django.conf import settings
from django.contrib.auth import get_user
from django.core.exceptions import RequestAborted
from django.core.handlers.asgi import ASGIHandler, ASGIRequest
from django.db import connection
from django.utils import timezone
from django.utils.functional import lazy
from django.utils.translation import gettext_lazy as _

from portal.departments.middleware import REFUSED
from portal.departments.outages import UnableToStore, outage_of
from portal.departments.refusals import Refusal
from portal.departments.services import person_for_key
from portal.packages import wording
from portal.streams import Stream

Message = Mapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]

UPLOADS = re.compile(r"/packages/new|/api/v1/packages|(/api/v1)?/packages/[^/]+/corrections|/uploads/[^/]+")
AROUND_A_FILE = 4 * 1024**2  # the form's other fields, the task, the boundaries
AROUND_FIELDS = 512 * 1024
SPARE_BYTES = 64 * 1024**2  # of the disk: for the database and what runs already
LOOK_EVERY = 16 * 1024**2
LINGER_S = 2.0


class MeasuredPortal(ASGIHandler):
    """Django's handler behind a measured door."""

    async def handle(self, scope: dict[str, Any], receive: Receive, send: Send) -> None:
        """Answer one request; what its body is refused for is told by the portal's own pages and JSON."""
        door = Door(ASGIRequest(scope, io.BytesIO()), receive)
        try:
            await door.look()
            await super().handle(scope, Stream(door.receive) if door.is_piece else door.receive, send)
        except Refusal as refusal:
            parting = Parting(receive, send, is_over=door.is_over)
            await super().handle({**scope, REFUSED: refusal}, parting.receive, parting.send)

    async def read_body(self, receive: Receive) -> IO[bytes]:
        """The whole body, beyond a little in a nameless file beside the uploads; a piece of a file as it comes."""
        if isinstance(receive, Stream):
            return cast("IO[bytes]", receive)
        body = tempfile.SpooledTemporaryFile(  # noqa: SIM115  whoever answers the request closes it
            max_size=settings.FILE_UPLOAD_MAX_MEMORY_SIZE, dir=str(settings.FILE_UPLOAD_TEMP_DIR)
        )
        try:
            await _copy(receive, body)
        except BaseException as error:
            with suppress(OSError):  # closing writes what is left, into a disk that may be full
                body.close()
            if isinstance(error, OSError) and (refusal := outage_of(error)):
                raise refusal from error
            raise
        return body


async def _copy(receive: Receive, body: IO[bytes]) -> None:
    has_more = True
    while has_more:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise RequestAborted
        body.write(message.get("body", b""))
        has_more = message.get("more_body", False)
    body.seek(0)


@dataclass
class Door:
    """One request's body on its way in: counted, and refused as soon as it may not pass."""

    request: ASGIRequest
    source: Receive
    taken: int = 0
    is_over: bool = False
    is_known: bool = False

    @property
    def limit(self) -> int:
        """The most bytes for this address: a manifest where files are handed over, the fields of a form elsewhere."""
        if UPLOADS.fullmatch(self.request.path_info):
            return settings.UPLOAD_LIMIT_BYTES + AROUND_A_FILE
        return settings.DATA_UPLOAD_MAX_MEMORY_SIZE + AROUND_FIELDS

    @property
    def is_piece(self) -> bool:
        """Whether the body is a piece of a file, to be kept however far it comes."""
        return self.request.method == "PATCH" and self.request.path_info.startswith("/uploads/")

    async def look(self) -> None:
        """Raise :class:`Refusal` for what the request's head already shows."""
        declared = self.request.META.get("CONTENT_LENGTH", "")
        if declared.isdecimal():
            await self._admit(int(declared))

    async def receive(self) -> Message:
        """The next message, once it may pass."""
        message = await self.source()
        self.is_over = message["type"] == "http.disconnect" or not message.get("more_body", False)
        before, self.taken = self.taken, self.taken + len(message.get("body", b""))
        if self.taken > before:
            await self._admit(self.taken)
        if self.taken // LOOK_EVERY > before // LOOK_EVERY:
            _require_space(0)
        return message

    async def _admit(self, size: int) -> None:
        if size > self.limit:
            raise self._too_large()
        if size > settings.FILE_UPLOAD_MAX_MEMORY_SIZE and not self.is_known:
            self.is_known = await sync_to_async(_is_somebody)(self.request)
            if not self.is_known:
                raise _stranger(self.request)
            _require_space(size)

    def _too_large(self) -> Refusal:
        if UPLOADS.fullmatch(self.request.path_info):
            said, most = _("The file is larger than %(limit)s. Split it, then try again."), settings.UPLOAD_LIMIT_BYTES
        else:
            said, most = _("The request is larger than the %(limit)s that are taken here. Send less."), self.limit
        limit = wording.size(most)
        in_their_language = lazy(lambda: said % {"limit": limit}, str)()  # which is known later, on the way out
        return Refusal(in_their_language, code="too_large", status=413, limit=limit)


def _is_api(request: ASGIRequest) -> bool:
    return request.path_info.startswith("/api/")


def _is_somebody(request: ASGIRequest) -> bool:
    """Whether the request's key or session stands for a person: looked up, so that no made-up value passes."""
    try:
        if _is_api(request):
            secret = request.headers.get("Authorization", "").partition(" ")[2].strip()
            return person_for_key(secret=secret, now=timezone.now()) is not None
        sessions = import_module(settings.SESSION_ENGINE)
        request.session = sessions.SessionStore(request.COOKIES.get(settings.SESSION_COOKIE_NAME))
        return bool(get_user(request).is_authenticated)
    finally:
        if not connection.in_atomic_block:
            connection.close()  # an upload takes long; it holds no connection meanwhile


def _stranger(request: ASGIRequest) -> Refusal:
    if _is_api(request):
        said = _("Send a valid API key as “Authorization: Bearer sw_…”. Keys are made in the portal, under API keys.")
        return Refusal(said, code="unauthorised", status=401)
    return Refusal(_("You are not signed in any more. Sign in, then send it again."), code="signed_out", status=401)


def _require_space(size: int) -> None:
    if shutil.disk_usage(settings.FILE_UPLOAD_TEMP_DIR).free < size + SPARE_BYTES:
        raise UnableToStore


@dataclass
class Parting:
    """The answer to a body that is not taken: the rest is thrown away for a moment, so that the sender hears it.

    A connection that is closed while bytes still arrive is reset, and the answer may be lost with it.
    """

    source: Receive
    sink: Send
    is_over: bool
    has_begun: bool = False
    has_answered: asyncio.Event = field(default_factory=asyncio.Event)
    has_ended: asyncio.Event = field(default_factory=asyncio.Event)

    async def receive(self) -> Message:
        """An empty body, then nothing until the sender is gone."""
        if not self.has_begun:
            self.has_begun = True
            return {"type": "http.request", "body": b"", "more_body": False}
        await self.has_answered.wait()  # whoever asks first whether to send at all is not encouraged
        while True:
            message = await self.source()
            if message["type"] == "http.disconnect" or not message.get("more_body", False):
                self.has_ended.set()
            if message["type"] == "http.disconnect":
                return message

    async def send(self, message: Message) -> None:
        """Pass an answer on, and end the connection after it."""
        if message["type"] == "http.response.start":
            message = {**message, "headers": [*message["headers"], (b"Connection", b"close")]}
        if message["type"] != "http.response.body" or message.get("more_body", False):
            await self.sink(message)
            return
        await self.sink({**message, "more_body": True})
        self.has_answered.set()
        if not self.is_over:
            with suppress(TimeoutError):
                await asyncio.wait_for(self.has_ended.wait(), LINGER_S)
        await self.sink({"type": "http.response.body", "body": b"", "more_body": False})

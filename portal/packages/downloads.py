"""A package's files as answers: the final ones when they are written, what there is so far before that."""

from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import closing
from typing import BinaryIO, Literal, TypeAlias, cast, get_args

from asgiref.sync import sync_to_async
from django.core.exceptions import SuspiciousFileOperation
from django.core.handlers.asgi import ASGIRequest
from django.http import HttpRequest, StreamingHttpResponse
from django.utils.http import content_disposition_header
from django.utils.text import get_valid_filename
from django.utils.translation import gettext as _

from portal.departments.refusals import UnableToFind
from portal.packages import quarantine
from portal.packages.merging import current_rows, is_behind
from portal.packages.models import Package
from portal.packages.results import Format, partial
from portal.packages.store import objects
from scheduler.objects import ObjectNotFound

What: TypeAlias = Literal["results.jsonl", "results.csv", "quarantine.csv", "report.json"]
CONTENT_TYPES = {"jsonl": "application/x-ndjson", "csv": "text/csv; charset=utf-8", "json": "application/json"}
CHUNK = 1 << 18


class UnableToDownloadYet(UnableToFind):
    """The file will be written when the package is finished."""

    code = "not_finished"
    status = 409


def answer(request: HttpRequest, package: Package, what: str) -> StreamingHttpResponse:
    """``what`` of ``package`` as an attachment, streamed.

    Raises :class:`UnableToFind` for a name that is none of :data:`What`, :class:`UnableToDownloadYet` too early.
    """
    form = what.rpartition(".")[2]
    chunks = _chunks(package, what)
    response = StreamingHttpResponse(
        _handed_over(chunks) if isinstance(request, ASGIRequest) else chunks, content_type=CONTENT_TYPES[form]
    )
    response.headers["Content-Disposition"] = content_disposition_header(True, _filename(package, what))
    response.headers["X-Content-Type-Options"] = "nosniff"
    return response


def _filename(package: Package, what: str) -> str:
    """The number, what a file system takes of the name, if anything, and the file."""
    try:
        named = get_valid_filename(package.name).strip(".-_")
    except SuspiciousFileOperation:  # nothing of it
        named = ""
    return "-".join(filter(None, [package.number, named[:100], what]))


def _chunks(package: Package, what: str) -> Iterable[bytes]:
    if what not in get_args(What):
        raise UnableToFind(_("There is no such file of a package."))
    try:
        if what == "quarantine.csv":
            return quarantine.as_csv(package)
        if what.startswith("results.") and is_behind(package):
            return partial(package, _form(what), current_rows(package))
        return _pieces(objects().open_read(f"{package.out}/{what}"))
    except ObjectNotFound as missing:
        if what.startswith("results."):
            return partial(package, _form(what), current_rows(package))
        raise UnableToDownloadYet(_("This file is written when the package is finished. Come back then.")) from missing


def _form(what: str) -> Format:
    return cast(Format, what.rpartition(".")[2])


def _pieces(stream: BinaryIO) -> Iterator[bytes]:
    with closing(stream):
        while piece := stream.read(CHUNK):
            yield piece


async def _handed_over(chunks: Iterable[bytes]) -> AsyncIterator[bytes]:
    """Django's ASGI side would read an ordinary iterator to its end first; this hands over piece by piece."""
    pieces = iter(chunks)
    take = sync_to_async(lambda: next(pieces, None), thread_sensitive=False)
    while (piece := await take()) is not None:
        yield piece

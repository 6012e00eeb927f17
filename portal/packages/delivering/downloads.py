"""A package's files as answers: the written ones when they are there, made of what there is so far before that."""

from collections.abc import AsyncIterator, Generator, Iterable, Iterator
from contextlib import closing
from typing import Any, BinaryIO, Literal, TypeAlias, cast, get_args

from asgiref.sync import sync_to_async
from django.core.exceptions import SuspiciousFileOperation
from django.core.handlers.asgi import ASGIRequest
from django.http import HttpRequest, StreamingHttpResponse
from django.utils.http import content_disposition_header
from django.utils.text import get_valid_filename
from django.utils.translation import gettext as _

from portal.departments.refusals import UnableToFind
from portal.packages.correcting import quarantine
from portal.packages.correcting.merging import current_rows, enqueue, is_behind
from portal.packages.delivering.making import Making
from portal.packages.delivering.tables import Format, streamed
from portal.packages.following.progress import is_over
from portal.packages.models import Package
from portal.packages.store import objects
from scheduler.domain.lifecycle import EDITABLE
from scheduler.objects import ObjectNotFound

What: TypeAlias = Literal[
    "results.jsonl",
    "results.csv",
    "results.xlsx",
    "results.parquet",
    "quarantine.csv",
    "quarantine.xlsx",
    "report.json",
]
CONTENT_TYPES = {
    "jsonl": "application/x-ndjson",
    "csv": "text/csv; charset=utf-8",
    "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    "parquet": "application/vnd.apache.parquet",
    "json": "application/json",
}
CHUNK = 1 << 18
_MADE = frozenset({"xlsx", "parquet"})
"""Forms that take much work to make, so that few are made at a time."""


class UnableToDownloadYet(UnableToFind):
    """The file will be written when the package is finished."""

    code = "not_finished"
    status = 409


def answer(request: HttpRequest, package: Package, what: str) -> StreamingHttpResponse:
    """``what`` of ``package`` as an attachment, streamed.

    Raises :class:`UnableToFind` for a name that is none of :data:`What`, :class:`UnableToDownloadYet` too early,
    ``UnableToFitIntoExcel`` and ``UnableToMakeNow``.
    """
    chunks = _chunks(package, what)
    if request.method == "HEAD":
        _close(chunks)
        chunks = ()
    response = StreamingHttpResponse(
        _HandedOver(chunks) if isinstance(request, ASGIRequest) else chunks,
        content_type=CONTENT_TYPES[what.rpartition(".")[2]],
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
    name, _dot, form = what.partition(".")
    named_what = what if _is_whole(package, name) else f"{name}-so-far.{form}"
    return "-".join(filter(None, [package.number, named[:100], named_what]))


def _is_whole(package: Package, name: str) -> bool:
    """Whether nothing can be added to the file any more; before a promise nothing is added to the quarantine."""
    return is_over(package) or (name == "quarantine" and package.state in EDITABLE)


def _chunks(package: Package, what: str) -> Iterable[bytes]:
    if what not in get_args(What):
        raise UnableToFind(_("There is no such file of a package."))
    name, _dot, form = what.partition(".")
    try:
        if name == "quarantine":
            return _made(form, quarantine.as_table(package, form))
        if name == "results" and is_behind(package):
            return _results_so_far(package, cast(Format, form))
        return _pieces(objects().open_read(f"{package.out}/{what}"))
    except ObjectNotFound as missing:
        if is_over(package) and form not in _MADE:
            enqueue(package)  # lost: written anew of what there is
        if name == "results":
            return _results_so_far(package, cast(Format, form))
        raise _not_yet(package, name) from missing


def _not_yet(package: Package, name: str) -> UnableToDownloadYet:
    if is_over(package):
        said = _("This file was lost by a fault on our side and is being written anew. Come back in a minute; if it is "
                 "still not there then, tell an operator.")  # fmt: skip
        return UnableToDownloadYet(said, code="file_lost")
    if name == "quarantine":
        return UnableToDownloadYet(_("The manifest has not been read yet. Come back when it has."), code="not_read")
    return UnableToDownloadYet(_("This file is written when the package is finished. Come back then."))


def _results_so_far(package: Package, form: Format) -> Iterable[bytes]:
    return _made(form, streamed(package, form, current_rows(package)))


def _made(form: str, pieces: Generator[bytes]) -> Iterable[bytes]:
    return Making(pieces) if form in _MADE else pieces


def _pieces(stream: BinaryIO) -> Iterator[bytes]:
    with closing(stream):
        while piece := stream.read(CHUNK):
            yield piece


class _HandedOver:
    """Django's ASGI side would read an ordinary iterator to its end first; this hands over piece by piece.

    Django closes it when the person has all of it, and when the person leaves.
    """

    def __init__(self, chunks: Iterable[bytes]) -> None:
        self._chunks = chunks

    async def __aiter__(self) -> AsyncIterator[bytes]:
        pieces = iter(self._chunks)
        take = sync_to_async(lambda: next(pieces, None), thread_sensitive=False)
        while (piece := await take()) is not None:
            yield piece

    def close(self) -> None:
        """Make no further piece."""
        if isinstance(self._chunks, Making):
            self._chunks.close()


def _close(chunks: Any) -> None:
    if hasattr(chunks, "close"):
        chunks.close()

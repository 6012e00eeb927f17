"""What kind of bytes an upload is, found while they stream past: size, hash, container, encoding. Pure."""

import hashlib
from dataclasses import dataclass

from portal.packages.manifest.containers import Container, container_of
from portal.packages.manifest.reading import AS_FOUND, UnableToRead, Wish
from portal.packages.manifest.text_probe import TextProbe

OPENING = 64 * 1024
"""Bytes from which it is told what is tried."""


@dataclass(frozen=True, slots=True)
class Probed:
    """What an upload turned out to be. ``encoding`` and ``certainty`` hold for text (see ``Reading``)."""

    size: int
    sha256: str
    content: Container
    encoding: str = "utf-8"
    certainty: str = "proven"


class Probe:
    """Feed it every chunk, then ask ``finish``. Raises :class:`UnableToRead` as soon as the answer is no.

    With the encoding of ``wish`` nothing is guessed: the text must be in that one.
    """

    def __init__(self, *, limit: int, wish: Wish = AS_FOUND) -> None:
        self._limit, self._wish = limit, wish
        self._size = 0
        self._hash = hashlib.sha256()
        self._opening = b""
        self._content: Container | None = None
        self._text: TextProbe | None = None

    def feed(self, chunk: bytes) -> None:
        """The next bytes of the upload."""
        self._size += len(chunk)
        if self._size > self._limit:
            raise UnableToRead("too_large", limit=self._limit)
        self._hash.update(chunk)
        if self._content is not None:
            self._feed_text(chunk)
            return
        self._opening += chunk
        if len(self._opening) >= OPENING:
            self._open()

    def finish(self) -> Probed:
        """What the whole upload is."""
        if self._size == 0:
            raise UnableToRead("empty_file")
        if self._content is None:
            self._open()
        content = self._content or "text"
        encoding, certainty = self._text.finish() if self._text else ("utf-8", "declared")
        return Probed(self._size, self._hash.hexdigest(), content, encoding, certainty)

    def _open(self) -> None:
        """Settle the container from the first bytes, and what is tried with a text."""
        opening, self._opening = self._opening, b""
        self._content = container_of(opening)
        if self._content == "text":
            self._text = TextProbe(opening, self._wish.encoding)
            self._feed_text(opening)

    def _feed_text(self, chunk: bytes) -> None:
        if self._text is not None:
            self._text.feed(chunk)

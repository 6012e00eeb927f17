"""What kind of bytes an upload is, found while they stream past: size, hash, container, encoding. Pure."""

import codecs
import hashlib
from dataclasses import dataclass

from portal.packages.manifest.containers import HEAD, Container, container_of
from portal.packages.manifest.encoding import Plausibility
from portal.packages.manifest.reading import UnableToRead

_UTF16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_PROOF = 20
"""So many multi-byte characters in a row that are valid UTF-8 do not happen in GB18030 text."""
_HIGH = bytes(range(128, 256))


@dataclass(frozen=True, slots=True)
class Probed:
    """What an upload turned out to be. ``encoding`` and ``certainty`` hold for text (see ``Reading``)."""

    size: int
    sha256: str
    content: Container
    encoding: str = "utf-8"
    certainty: str = "proven"


class _LineEnds:
    """Ends of lines of any kind, however the text is cut into chunks."""

    def __init__(self) -> None:
        self._count = 0
        self._ended_in_return = False

    def after(self, chunk: bytes) -> int:
        """How many there were when ``chunk`` is over."""
        if self._ended_in_return and chunk.startswith(b"\n"):
            self._count -= 1
        self._count += chunk.count(b"\n") + chunk.count(b"\r") - chunk.count(b"\r\n")
        if chunk:
            self._ended_in_return = chunk.endswith(b"\r")
        return self._count


class _Decoding:
    """One candidate encoding, tried strictly chunk by chunk until it fails."""

    def __init__(self, encoding: str) -> None:
        self._decoder = codecs.getincrementaldecoder(encoding)("strict")
        self._lines = _LineEnds()
        self._plausibility = Plausibility() if encoding == "gb18030" else None
        self.failed_line: int | None = None
        self.is_cut = False
        """Did it fail only because the text ends within a character?"""
        self.multibyte = 0

    def feed(self, chunk: bytes, *, final: bool = False) -> None:
        if self.failed_line is not None:
            return
        try:
            text = self._decoder.decode(chunk, final)
        except UnicodeDecodeError as error:
            good = error.object[: error.start]
            self.failed_line = self._lines.after(good) + 1
            self.is_cut = final
            self._count(good.decode(error.encoding, "ignore"), good)
            return
        self._count(text, chunk)
        self._lines.after(chunk)
        if self._plausibility is not None:
            self._plausibility.feed(text)

    def verdict(self) -> str:
        """How much sense the text makes so far."""
        return self._plausibility.verdict() if self._plausibility is not None else "likely"

    def _count(self, text: str, raw: bytes) -> None:
        if self.multibyte < _PROOF:
            self.multibyte += max(0, len(text) - len(raw.translate(None, _HIGH)))


class Probe:
    """Feed it every chunk, then ask ``finish``. Raises :class:`UnableToRead` as soon as the answer is no."""

    def __init__(self, *, limit: int) -> None:
        self._limit = limit
        self._size = 0
        self._hash = hashlib.sha256()
        self._head = b""
        self._content: Container | None = None
        self._utf8 = _Decoding("utf-8")
        self._gb18030 = _Decoding("gb18030")

    def feed(self, chunk: bytes) -> None:
        self._size += len(chunk)
        if self._size > self._limit:
            raise UnableToRead("too_large", limit=self._limit)
        self._hash.update(chunk)
        if self._content is None:
            self._head += chunk
            if len(self._head) < HEAD:
                return
            chunk = self._opened()
        self._feed_text(chunk)

    def _opened(self) -> bytes:
        """Settle the container from the first bytes; returns them, to be read as text."""
        head, self._head = self._head, self._head[:HEAD]
        self._content = container_of(head)
        if head.startswith(_UTF16):
            raise UnableToRead("utf16")
        return head

    def _feed_text(self, chunk: bytes, *, final: bool = False) -> None:
        if self._content != "text":
            return
        if b"\0" in chunk:
            raise UnableToRead("utf16" if _is_utf16(chunk) else "binary_file")
        self._utf8.feed(chunk, final=final)
        if not self._has_bom():
            self._gb18030.feed(chunk, final=final)
        if self._utf8.failed_line is not None:
            self._refuse_undecodable()

    def _has_bom(self) -> bool:
        return self._head.startswith(codecs.BOM_UTF8)

    def _refuse_undecodable(self) -> None:
        """UTF-8 is out: stop at once unless GB18030 still holds and the file has not proven to be UTF-8."""
        if self._has_bom() or self._utf8.is_cut or self._utf8.multibyte >= _PROOF:
            raise UnableToRead("broken_utf8", line=self._utf8.failed_line)
        if self._gb18030.failed_line is not None:
            raise UnableToRead("undecodable", line=self._gb18030.failed_line)

    def finish(self) -> Probed:
        """What the whole upload is."""
        if self._size == 0:
            raise UnableToRead("empty_file")
        if self._content is None:
            self._feed_text(self._opened())
        self._feed_text(b"", final=True)
        content = self._content or "text"
        encoding, certainty = self._encoding() if content == "text" else ("utf-8", "declared")
        return Probed(self._size, self._hash.hexdigest(), content, encoding, certainty)

    def _encoding(self) -> tuple[str, str]:
        if self._has_bom():
            return "utf-8-sig", "declared"
        if self._utf8.failed_line is None:
            return "utf-8", "proven"
        verdict = self._gb18030.verdict()
        if verdict == "nonsense":
            raise UnableToRead("unknown_encoding", line=self._utf8.failed_line)
        return "gb18030", verdict


def _is_utf16(chunk: bytes) -> bool:
    """Is every other byte of a text often 0, and never the one beside? So it is without a byte order mark."""
    high, low = chunk[::2].count(0), chunk[1::2].count(0)
    return min(high, low) == 0 and max(high, low) > 1 and max(high, low) * 10 >= len(chunk)

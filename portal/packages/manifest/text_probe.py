"""Which encoding a text is in, told while it streams past. Pure."""

import codecs
import re

from portal.packages.manifest.candidates import Candidate
from portal.packages.manifest.decoding import CODECS, sampled
from portal.packages.manifest.encoding import is_western
from portal.packages.manifest.reading import UnableToRead

_PROOF = 20
"""So many multi-byte characters that are valid UTF-8 do not happen in text of another encoding."""
_PROOF_SHARE = 4
"""Unless more than one place in so many is broken."""
_NULS = 1_000
_BOMS = (
    (codecs.BOM_UTF8, "utf-8-sig", "broken_utf8"),
    (codecs.BOM_UTF16_LE, "utf-16", "broken_utf16"),
    (codecs.BOM_UTF16_BE, "utf-16", "broken_utf16"),
)
_CONTROL = re.compile(r"[\0-\x08\x0b\x0c\x0e-\x1f]")


class TextProbe:
    """Begins with the first bytes of a text, is fed all of them, and then says its encoding."""

    def __init__(self, opening: bytes, wished: str | None = None) -> None:
        self._opening = opening
        self._size = self._nuls = 0
        self._utf8 = Candidate("utf-8")
        self._gb18030 = Candidate("gb18030", is_judged=True)
        self._sole, self._certainty, self._refusal = _sole(opening, wished)

    def feed(self, chunk: bytes) -> None:
        """The next bytes. Raises :class:`UnableToRead` when no encoding is left."""
        self._size += len(chunk)
        if self._opening.isascii() and not chunk.isascii():
            self._opening = chunk  # the beginning of what is to be told apart
        self._refuse_binary(chunk)
        self._try(chunk)
        candidates = [self._sole] if self._sole else [self._utf8, self._gb18030]
        if all(candidate.is_hopeless for candidate in candidates):
            self._decided()

    def finish(self) -> tuple[str, str]:
        """The encoding and how certain it is."""
        self._try(b"", final=True)
        return self._decided()

    def _refuse_binary(self, chunk: bytes) -> None:
        if b"\0" in chunk and not (self._sole and self._sole.encoding.startswith("utf-16")):
            self._nuls += chunk.count(0)
            if self._nuls > _NULS and self._nuls * 50 > self._size:
                raise UnableToRead("binary_file")

    def _try(self, chunk: bytes, *, final: bool = False) -> None:
        if self._sole:
            self._sole.feed(chunk, final=final)
            return
        self._utf8.feed(chunk, final=final)
        if not (self._utf8.beyond_ascii >= _PROOF and not self._utf8.marks):
            self._gb18030.feed(chunk, final=final)

    def _decided(self) -> tuple[str, str]:
        if self._sole:
            if not self._sole.is_tolerable or self._is_beside_the_point(self._sole):
                raise self._refused(self._sole)
            return self._sole.encoding, self._certainty
        return self._of_utf8() or self._of_others()

    def _is_beside_the_point(self, sole: Candidate) -> bool:
        """Is the wish UTF-16, which any bytes are, but without a single end of a line?"""
        return self._certainty == "chosen" and sole.encoding.startswith("utf-16") and sole.lines < 2

    def _refused(self, sole: Candidate) -> UnableToRead:
        if not sole.marks and self._nuls:
            return UnableToRead("binary_file")
        about = {"encoding": sole.encoding} if self._certainty == "chosen" else {}
        return UnableToRead(self._refusal, line=sole.first_broken or 1, **about)

    def _of_utf8(self) -> tuple[str, str] | None:
        utf8 = self._utf8
        if not utf8.marks:
            if not utf8.is_tolerable:
                raise UnableToRead("binary_file")
            return "utf-8", "proven"
        is_proven = utf8.is_cut or (utf8.beyond_ascii >= _PROOF and utf8.beyond_ascii >= _PROOF_SHARE * utf8.marks)
        if not is_proven:
            return None
        if not utf8.is_tolerable:
            raise UnableToRead("broken_utf8", line=utf8.first_broken or 1)
        return "utf-8", "likely"

    def _of_others(self) -> tuple[str, str]:
        """What a text is that is not, or only just, UTF-8."""
        utf8, gb18030 = self._utf8, self._gb18030
        verdict = gb18030.verdict() if gb18030.is_tolerable and gb18030.broken < max(1, utf8.broken) else "nonsense"
        if verdict == "likely":
            return "gb18030", verdict
        if _is_big5(self._opening):
            return "big5", "doubtful"
        if verdict == "doubtful" and not gb18030.broken:
            return "gb18030", verdict
        if utf8.is_tolerable:
            return "utf-8", "doubtful"
        if is_western(self._opening.decode("cp1252", "replace")):
            return "windows-1252", "doubtful"
        if self._nuls:  # in no encoding a text, and with what no text has
            raise UnableToRead("binary_file")
        raise UnableToRead("unknown_encoding", line=utf8.first_broken or 1)


def _sole(opening: bytes, wished: str | None) -> tuple[Candidate | None, str, str]:
    """The one encoding that is tried where the person or the file names it, how certain it is, and the refusal."""
    if wished:
        if wished not in CODECS:
            raise UnableToRead("unusable_encoding", encoding=wished[:50])
        return Candidate(wished), "chosen", "wrong_encoding"
    for mark, encoding, refusal in _BOMS:
        if opening.startswith(mark):
            return Candidate(encoding), "declared", refusal
    if encoding := _unmarked_utf16(opening):
        return Candidate(encoding), "likely", "utf16"
    return None, "", ""


def _unmarked_utf16(opening: bytes) -> str:
    """Is every other byte of a text often 0, and seldom the one beside? So it is without a byte order mark.

    Seldom: 一 (U+4E00) is among the commonest of characters.
    """
    first, second = opening[::2].count(0), opening[1::2].count(0)
    most = max(first, second)
    if min(first, second) * 4 > most or most < 2 or most * 10 < len(opening):
        return ""
    encoding = "utf-16-be" if first == most else "utf-16-le"
    return "" if _CONTROL.search(sampled(opening, encoding)) else encoding


def _is_big5(opening: bytes) -> bool:
    """Does the beginning make sense as the Chinese of Taiwan, and has nothing that is not a part of it?"""
    candidate = Candidate("big5", is_judged=True)
    candidate.feed(opening)
    return candidate.is_tolerable and candidate.beyond_ascii >= 2 and candidate.verdict() == "likely"

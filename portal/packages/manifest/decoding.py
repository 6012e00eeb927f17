"""Bytes to text, piece by piece; bytes that are no text become a mark that no text can hold. Pure."""

import codecs
import re

MARK = "\udcff"
"""Stands for bytes that could not be decoded: half a surrogate pair, which strict decoding never yields."""
CODECS = {
    "utf-8": "utf-8",
    "utf-8-sig": "utf-8",
    "gb18030": "gb18030",
    "big5": "big5hkscs",  # as browsers do: whatever Taiwan and Hong Kong added is a part of it
    "utf-16": "utf-16",
    "utf-16-le": "utf-16-le",
    "utf-16-be": "utf-16-be",
    "windows-1252": "cp1252",
    "latin-1": "cp1252",  # who says Latin-1 means what Windows calls so; its printable signs are the same
}
"""The encodings that a reading can have, and who decodes them."""
_MARKING = "slackwater.mark"
_EURO = 0x80
"""GBK files of Windows hold the euro sign as this byte, which GB18030 does not know."""


def _mark(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeDecodeError):
        raise error
    if error.encoding == "gb18030" and error.object[error.start] == _EURO:
        return "€", error.start + 1
    return MARK, error.end


codecs.register_error(_MARKING, _mark)


def _decoder(encoding: str) -> codecs.IncrementalDecoder:
    return codecs.getincrementaldecoder(CODECS[encoding])("strict")


class Decoding:
    """Decodes one file; a text without broken bytes pays nothing for the marks of one that has some."""

    def __init__(self, encoding: str) -> None:
        self._is_open = encoding != "utf-16"
        self._decoder = _decoder(encoding if self._is_open else "utf-16-le")
        self._has_ascii = not encoding.startswith("utf-16")
        self._held = b""
        self._is_first = True

    def text(self, chunk: bytes, *, final: bool = False) -> str:
        """The text of the next bytes, a byte order mark at the beginning left out."""
        if not self._is_open:
            chunk = self._opened(chunk, final)
        if self._has_ascii and chunk.isascii() and not final and not self._decoder.getstate()[0]:
            text = chunk.decode("ascii")  # many times as fast as a decoder for Chinese
        else:
            text = self._decoded(chunk, final)
        if self._is_first and text:
            self._is_first = False
            text = text.removeprefix("\ufeff")
        return text

    def _opened(self, chunk: bytes, final: bool) -> bytes:
        """The bytes to go on with once the first two have told their order; nothing before."""
        self._held += chunk
        if len(self._held) < 2 and not final:
            return b""
        self._is_open = True
        if self._held.startswith(codecs.BOM_UTF16_BE):
            self._decoder = _decoder("utf-16-be")
        return self._held

    def _decoded(self, chunk: bytes, final: bool) -> str:
        try:
            return self._decoder.decode(chunk, final)
        except UnicodeDecodeError:
            self._decoder.errors = _MARKING
            text = self._decoder.decode(chunk, final)
            self._decoder.errors = "strict"
            return text


def sampled(data: bytes, encoding: str) -> str:
    """The text of the beginning of a file, its last character perhaps missing."""
    return Decoding(encoding).text(data)


NO_TEXT = frozenset({"nul_character", "half_character"})
"""Problems of what is written as characters, and is no text."""
_HALVES = re.compile("[\ud800-\udfff]")


def no_text_in(text: str) -> str:
    """The problem of ``text`` that holds a NUL character or half a surrogate pair; ``""`` for any other."""
    if "\0" in text:
        return "nul_character"
    try:
        text.encode()
    except UnicodeEncodeError:
        return "half_character"
    return ""


def readable(text: str) -> str:
    """``text`` as it can be shown and stored: marks, halves and NUL characters become signs that stand for them."""
    text = text if text.isascii() else _HALVES.sub("\ufffd", text)
    return text.replace("\0", "\u2400")

"""One encoding that a file may be in, tried to the end or until it is hopeless. Pure."""

import re

from portal.packages.manifest.decoding import MARK, Decoding
from portal.packages.manifest.encoding import Plausibility

FEW = 3
"""So many broken lines may be set aside in the shortest file."""
SHARE = 20
"""One broken line among so many may be set aside in any."""
_HOPELESS = 1_000
_LINE = re.compile(r"\r\n|\n|\r")
_HIGH = bytes(range(128, 256))


class Candidate:
    """Fed with the bytes of a file, it counts the lines that this encoding cannot read."""

    def __init__(self, encoding: str, *, is_judged: bool = False) -> None:
        self.encoding = encoding
        self.broken = self.marks = self.beyond_ascii = 0
        """Lines with broken bytes, such places, and characters beyond ASCII."""
        self.first_broken: int | None = None
        self.is_hopeless = False
        self.is_cut = False
        """Does the text break only at its very end, within a character?"""
        self._decoding = Decoding(encoding)
        self._lines = 1
        self._last_broken = 0
        self._ended_in_return = False
        self._is_begun = False
        self._plausibility = Plausibility() if is_judged else None

    def feed(self, chunk: bytes, *, final: bool = False) -> None:
        """The next bytes; nothing is done with them once the encoding is hopeless."""
        if self.is_hopeless:
            return
        text = self._decoding.text(chunk, final=final)
        if MARK in text or "\0" in text:
            self.is_cut = final and not self.marks and text == MARK
            self._note_broken(text)
        if not text.isascii():
            self.beyond_ascii += len(text) - len(text.encode("ascii", "ignore")) - text.count(MARK)
            if self._plausibility is not None:
                self._plausibility.feed(text)
        self._lines += self._ends(text)
        self._is_begun = not text.endswith(("\n", "\r")) if text else self._is_begun
        self.is_hopeless = self._is_hopeless()

    @property
    def lines(self) -> int:
        """Lines so far."""
        return self._lines - (not self._is_begun)

    @property
    def is_tolerable(self) -> bool:
        """Are so few lines broken that these can be set aside?"""
        if self.is_hopeless:
            return False
        return not self.broken or (self.broken <= max(FEW, self.lines // SHARE) and self.broken * 2 < self.lines)

    def verdict(self) -> str:
        """How much sense the text makes so far, where that is judged."""
        return self._plausibility.verdict() if self._plausibility is not None else "likely"

    def _is_hopeless(self) -> bool:
        many_lines = self.broken > _HOPELESS and self.broken * 4 > self._lines
        return many_lines or (self.marks > 20 * _HOPELESS and self.marks > 50 * self._lines)

    def _note_broken(self, text: str) -> None:
        self.marks += text.count(MARK)
        starts_anew = self._ended_in_return and text.startswith("\n")
        for number, line in enumerate(_LINE.split(text), start=self._lines - starts_anew):
            if (MARK in line or "\0" in line) and number > self._last_broken:
                self._last_broken = number
                self.broken += 1
                self.first_broken = self.first_broken or number

    def _ends(self, text: str) -> int:
        """Ends of lines in ``text``, one that was cut in two counted once."""
        joined = self._ended_in_return and text.startswith("\n")
        self._ended_in_return = text.endswith("\r") if text else self._ended_in_return
        returns = text.count("\r")
        return text.count("\n") + (returns - text.count("\r\n") if returns else 0) - joined

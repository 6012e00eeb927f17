"""Files that are made while a person waits: few at a time, and none for somebody who has left."""

from collections.abc import Generator
from threading import BoundedSemaphore, Event, Lock

from django.utils.translation import gettext as _

from portal.departments.refusals import Refusal

AT_ONCE = 2
"""Files that one program of the portal makes at a time: each keeps a core busy, which pages need too."""
_places = BoundedSemaphore(AT_ONCE)


class UnableToMakeNow(Refusal):
    """As many files are being made as may be at a time."""

    code = "busy"
    status = 429


class Making:
    """The pieces of a file that is made as they are asked for. Its place is free again at its end or once it is closed.

    It may be asked from one thread and closed from another: what is being made then ends with the piece at hand.
    """

    def __init__(self, pieces: Generator[bytes]) -> None:
        if not _places.acquire(blocking=False):
            pieces.close()
            raise UnableToMakeNow(
                _("Several files are being made right now. Try again in a minute, or take CSV or JSON Lines.")
            )
        self._pieces, self._one_at_a_time = pieces, Lock()
        self._has_place, self._is_left = True, Event()

    def __iter__(self) -> "Making":
        return self

    def __next__(self) -> bytes:
        with self._one_at_a_time:
            if self._is_left.is_set():
                self._leave()
                raise StopIteration
            try:
                piece = next(self._pieces)
            except BaseException:
                self._leave()
                raise
            if self._is_left.is_set():
                self._leave()
            return piece

    def close(self) -> None:
        """Make no further piece. Waits for nothing: a piece that is being made ends the file by itself."""
        self._is_left.set()
        if self._one_at_a_time.acquire(blocking=False):
            try:
                self._leave()
            finally:
                self._one_at_a_time.release()

    def __del__(self) -> None:
        if getattr(self, "_has_place", False):
            self._leave()

    def _leave(self) -> None:
        self._pieces.close()
        if self._has_place:
            self._has_place = False
            _places.release()

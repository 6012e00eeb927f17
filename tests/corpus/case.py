"""What a file of the corpus is and what must come out of it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from portal.packages.manifest.reading import AS_FOUND, Wish

Table = Sequence[Sequence[str]]


@dataclass(frozen=True)
class Case:
    """A file by its place in the corpus (``group/name.ending``), and what reading it must come to.

    Either ``refusal``, the code with which the whole file is refused, or ``columns`` with the ``rows`` that are good,
    in their order, and the others ``aside`` by number, each with its code. ``found`` are facts of the reading.
    """

    name: str
    data: bytes | Callable[[], bytes]
    columns: Sequence[str] = ()
    rows: Table = ()
    aside: Mapping[int, str] = field(default_factory=dict)
    refusal: str = ""
    found: Mapping[str, Any] = field(default_factory=dict)
    told: Mapping[str, Any] = field(default_factory=dict)
    """Facts that the refusal, or the first row set aside, must name, such as its line."""
    wish: Wish = AS_FOUND
    oracle: Callable[[bytes], Table] | None = None
    """Somebody else's reader: it must find the heading and ``rows`` too, for files in which nothing is wrong."""
    is_large: bool = False
    """Read in a process of its own, whose memory is watched."""

    @property
    def filename(self) -> str:
        return self.name.rpartition("/")[2]

    def content(self) -> bytes:
        """The bytes of the file, the same each time."""
        return self.data if isinstance(self.data, bytes) else self.data()

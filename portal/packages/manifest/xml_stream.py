"""XML read as a stream of events in bounded memory, whatever its author had in mind. Pure.

The parser keeps an unfinished tag or comment, every different name and the stack of open elements; so these are
limited here, or by whoever handles the events. Entities are refused with the document type that declares them.
"""

from collections.abc import Callable, Iterator
from typing import Any, Protocol, TypeAlias
from xml.parsers import expat

from portal.packages.manifest.reading import UnableToRead

CHUNK = 1 << 16
MOST_MARKUP_BYTES = 1 << 20
"""One tag or comment."""
MOST_NAMES = 10_000
"""Different names of elements and attributes."""
MOST_DEPTH = 100
Attributes: TypeAlias = dict[str, str]


class Readable(Protocol):
    """A stream of bytes, as far as it is used here."""

    def read(self, size: int = -1, /) -> bytes:
        """The next bytes, at most ``size``; none at its end."""
        ...


def local(name: str) -> str:
    """``name`` without its prefix: which prefix stands for a namespace is up to the file."""
    return name[name.rfind(":") + 1 :]


def steps(
    stream: Readable,
    *,
    start: Callable[[str, Attributes], Any],
    end: Callable[[str], Any],
    text: Callable[[str], Any] | None = None,
) -> Iterator[None]:
    """Call the handlers for what is in ``stream``, pausing after each piece of it. They limit depth themselves.

    Raises :class:`UnableToRead` for XML that is broken or out of bounds.
    """
    parser = expat.ParserCreate()
    parser.StartElementHandler, parser.EndElementHandler = start, end
    parser.StartDoctypeDeclHandler = _refuse
    parser.buffer_text, parser.buffer_size = True, CHUNK
    if text is not None:
        parser.CharacterDataHandler = text
    fed = 0
    while chunk := stream.read(CHUNK):
        parser.Parse(chunk, False)
        fed += len(chunk)
        if fed - parser.CurrentByteIndex > MOST_MARKUP_BYTES or len(parser.intern) > MOST_NAMES:
            raise UnableToRead("workbook_too_large")
        yield
    parser.Parse(b"", True)
    yield


def _refuse(*_declared: object) -> None:
    raise UnableToRead("broken_workbook")


def elements(stream: Readable, found: Callable[[str, Attributes, tuple[str, ...]], Any]) -> None:
    """Call ``found`` with the local name, the attributes and the local names around every element of a small part."""
    around: list[str] = []

    def start(name: str, attributes: Attributes) -> None:
        if len(around) >= MOST_DEPTH:
            raise UnableToRead("broken_workbook")
        found(local(name), attributes, tuple(around[-2:]))
        around.append(local(name))

    for _step in steps(stream, start=start, end=lambda _name: around.pop()):
        pass

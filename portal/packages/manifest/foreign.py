"""Files that are read in a child process with limits: what comes out of it, as a stream. Pure but for the process.

The libraries that read them may ask for any amount of memory, never end, or fall over in native code; whatever a
file makes them do, only the child ends, and the file is refused in a sentence.
"""

import io
import os
import select
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import IO, Any, BinaryIO, Final

import msgspec

from portal.packages.manifest.packing import seekable
from portal.packages.manifest.reading import UnableToRead

MEMORY_BYTES: Final = 1024**3
"""Writable memory of a child."""
CPU_S: Final = 600
SILENCE_S: Final = 180
"""A child that says nothing for so long is given up."""
MOST_SAID: Final = 256 * 1024**2
"""Bytes of one line from the child; it keeps far below that."""

SCRIPT: Final = Path(__file__).with_name("foreign_child.py")
_ENVIRONMENT: Final = {
    "PATH": os.defpath,
    "LANG": "C.UTF-8",
    "ARROW_DEFAULT_MEMORY_POOL": "system",
    "OMP_NUM_THREADS": "1",
    "MALLOC_ARENA_MAX": "1",
}
_EXHAUSTED: Final = {-signal.SIGKILL, -signal.SIGXCPU, -signal.SIGABRT}
"""Memory or time was used up: native code that gets no memory aborts."""
_decode = msgspec.json.Decoder().decode


@contextmanager
def table_of(stream: BinaryIO, kind: str, wished: str = "") -> Iterator[tuple[dict[str, Any], Iterator[Any]]]:
    """What the child says that the file in ``stream`` is, and what it says next; leaving ends the child.

    ``kind`` is ``xls`` or ``parquet``. Raises :class:`UnableToRead`, also while it is listened to.
    """
    with ExitStack() as stack:
        file = _file(stream, stack)
        child = subprocess.Popen(
            [sys.executable, "-I", str(SCRIPT), kind, wished, str(MEMORY_BYTES), str(CPU_S)],
            stdin=file, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=_ENVIRONMENT, cwd="/",
        )  # fmt: skip
        stack.callback(_end, child)
        said = _said(child)
        about = next(said)
        yield about, said


def _file(stream: BinaryIO, stack: ExitStack) -> IO[bytes]:
    """``stream`` as a file that another process can open: itself, or a copy of it."""
    stream.seek(0)
    with suppress(OSError, AttributeError):
        stream.fileno()
        return stream
    return stack.enter_context(seekable(stream))


def _end(child: "subprocess.Popen[bytes]") -> None:
    child.kill()
    child.wait()
    if child.stdout:
        child.stdout.close()


def _said(child: "subprocess.Popen[bytes]") -> Iterator[Any]:
    """What the child says up to its last word. Raises :class:`UnableToRead` if that is not that the file is over."""
    if child.stdout is None:
        raise AssertionError
    lines = io.BufferedReader(_Patient(child.stdout.fileno()), 1 << 18)
    while line := lines.readline(MOST_SAID):
        try:
            said = _decode(line)
        except msgspec.DecodeError as error:
            raise UnableToRead("broken_table") from error
        if isinstance(said, dict) and "error" in said:
            raise UnableToRead(said.pop("error"), **said)
        if isinstance(said, dict) and "end" in said:
            return
        yield said
    raise UnableToRead("table_too_large" if child.wait() in _EXHAUSTED else "broken_table")


class _Patient(io.RawIOBase):
    """A pipe that is waited for, but not for ever."""

    def __init__(self, pipe: int) -> None:
        self._pipe = pipe

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        if not select.select([self._pipe], [], [], SILENCE_S)[0]:
            raise UnableToRead("table_too_large")
        piece = os.read(self._pipe, len(buffer))
        buffer[: len(piece)] = piece
        return len(piece)

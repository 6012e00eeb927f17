"""What a broken or hostile file raises in the libraries that read it, told as a refusal. Pure."""

import errno
import struct
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from xml.parsers.expat import ExpatError

from portal.packages.manifest.reading import UnableToRead


@contextmanager
def damage_told(code: str = "broken_workbook") -> Iterator[None]:
    """Turns what a broken archive or broken XML raises into :class:`UnableToRead`; a disk's faults stay theirs."""
    try:
        yield
    except UnableToRead:
        raise
    except OSError as error:
        if error.errno not in {None, errno.EINVAL}:
            raise
        raise UnableToRead(code) from error
    except (
        zipfile.BadZipFile, zlib.error, struct.error, ExpatError, EOFError,
        LookupError, ValueError, NotImplementedError, RuntimeError,
    ) as error:  # fmt: skip
        raise UnableToRead(code) from error

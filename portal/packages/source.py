"""The manifest of a package, opened for reading."""

from collections.abc import Iterator
from contextlib import closing, contextmanager

from django.conf import settings

from portal.packages.corrected import own_rows
from portal.packages.manifest import Reading, Rows, UnableToRead, rows
from portal.packages.models import Package
from portal.packages.store import objects
from scheduler.objects import ObjectNotFound


@contextmanager
def manifest_rows(package: Package) -> Iterator[Rows]:
    """The rows of the manifest as it was uploaded; of a corrected file without what we had put into it.

    Raises :class:`UnableToRead`, also while they are read.
    """
    try:
        stream = objects().open_read(package.manifest_key)
    except ObjectNotFound as error:
        raise UnableToRead("file_lost") from error
    read = rows(stream, Reading.from_json(package.reading), expanded_limit=settings.EXPANDED_LIMIT_BYTES)
    with closing(stream), closing(own_rows(package, read) if package.corrects_id else read) as found:
        yield found

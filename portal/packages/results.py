"""What became of every row, as a stream: for the downloads while a package runs and for its final files."""

from collections.abc import Iterator
from typing import Literal, TypeAlias

from portal.packages.models import Package

Format: TypeAlias = Literal["jsonl", "csv"]


def partial(package: Package, form: Format) -> Iterator[bytes]:
    """The rows that have ended so far, in manifest order, as JSON Lines or CSV."""
    raise NotImplementedError

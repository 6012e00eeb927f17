"""Manifests and drafts for the tests of reading, ingest and results."""

import io
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Any

import openpyxl
from django.db import transaction

from portal.packages import services
from portal.packages.manifest import BadRow, Reading, Row, rows
from portal.packages.manifest.probe import Probe, Probed
from portal.packages.manifest.reading import AS_FOUND, Wish
from portal.packages.manifest.sniff import sniff
from portal.packages.models import Package
from portal.packages.reading.ingest import ingest
from portal.packages.receiving.uploads import create_draft
from tests.world import World

NOW = datetime(2026, 12, 1, 9, 0, tzinfo=UTC)


def probed(data: bytes, *, chunk: int = 1 << 16) -> Probed:
    """What the bytes are, as they are found while they are uploaded in chunks of ``chunk`` bytes."""
    probe = Probe(limit=1 << 30)
    for start in range(0, len(data), chunk):
        probe.feed(data[start : start + chunk])
    return probe.finish()


def reading_of(data: bytes, filename: str = "file.csv", *, chunk: int = 1 << 16, wish: Wish = AS_FOUND) -> Reading:
    """How the file would be read after an upload in chunks of ``chunk`` bytes."""
    return sniff(io.BytesIO(data), probed(data, chunk=chunk), filename, wish)


def read(data: bytes, filename: str = "file.csv") -> list[Row | BadRow]:
    """Every row of the file."""
    return list(rows(io.BytesIO(data), reading_of(data, filename)))


def workbook(lines: Iterable[Sequence[Any]], formats: dict[str, str] | None = None) -> bytes:
    """An .xlsx file with these cells on its first sheet; ``formats`` by cell name."""
    book = openpyxl.Workbook()
    sheet = book.worksheets[0]
    for line in lines:
        sheet.append(list(line))
    for cell, number_format in (formats or {}).items():
        sheet[cell].number_format = number_format
    out = io.BytesIO()
    book.save(out)
    return out.getvalue()


def draft(world: World, data: bytes | str, filename: str = "reviews.csv", **fields: Any) -> Package:
    """Alice's draft of the file, its task saved: tagging ``{{text}}`` by two labels unless ``fields`` say otherwise."""
    raw = data.encode() if isinstance(data, str) else data
    package = create_draft(by=world.alice, department=world.retail, filename=filename, chunks=[raw], now=NOW)
    task: dict[str, Any] = {
        "kind": "tagging",
        "model": world.echo,
        "user_template": "Judge: {{text}}",
        "labels": ["good", "bad"],
        "max_output_tokens": 8,
    }
    return services.save_task(package=package, by=world.alice, now=NOW, **task | fields)


def ingested(world: World, data: bytes | str, filename: str = "reviews.csv", **fields: Any) -> Package:
    """The draft after its manifest was read."""
    package = draft(world, data, filename, **fields)
    read_now(package)
    return package


def read_now(package: Package) -> None:
    """Start reading and do what the Celery task would do."""
    with transaction.atomic():
        services.start_reading(package=package, by=package.created_by, now=NOW)
    ingest(package_id=package.pk, epoch=package.ingest_epoch, clock=lambda: NOW)
    package.refresh_from_db()

"""Manifests whose rows bring their own messages and settings: what a task for them begins with."""

from typing import Any

from portal.packages.manifest import Row, UnableToRead
from portal.packages.models import Kind, Package
from portal.packages.receiving.first_rows import first_rows

FORMAT = "openai"


def brings_messages(package: Package) -> bool:
    """Are the rows whole requests, so that the task needs no prompt?"""
    return bool(package.reading.get("format") == FORMAT)


def suggested(package: Package) -> dict[str, Any]:
    """What the form of a task that was never saved begins with: what the first row asks for, as far as it does."""
    if package.model_id is not None or not brings_messages(package):
        return {}
    try:
        row = next((row for row in first_rows(package) if isinstance(row, Row)), None)
    except UnableToRead:
        row = None
    values = row.values if row else {}
    found: dict[str, Any] = {"kind": Kind.GENERATION, "id_column": "custom_id"}
    if values.get("max_tokens"):
        found["max_output_tokens"] = int(values["max_tokens"])
    if values.get("temperature"):
        found["temperature"] = float(values["temperature"])
    return found

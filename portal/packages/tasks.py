"""Celery tasks: each one call. The database says what is to be done; a task that comes twice does it once."""

from uuid import UUID

from celery import shared_task


@shared_task(name="packages.ingest")
def ingest(package_id: str, epoch: int) -> None:
    """Read the manifest of a package that is ``validating`` in this ingest epoch."""
    from portal.packages.reading.ingest import ingest as read

    read(package_id=UUID(package_id), epoch=epoch)


@shared_task(name="packages.finalise")
def finalise(package_id: str) -> None:
    """Write the results of a package whose shards have all ended."""
    from portal.packages.delivering.finalise import finalise as write

    write(package_id=UUID(package_id))


@shared_task(name="packages.merge")
def merge(package_id: str) -> None:
    """Write the files of a package anew after one of its corrections has ended."""
    from portal.packages.correcting.merging import merge as write

    write(package_id=UUID(package_id))


@shared_task(name="packages.tabulate")
def tabulate(package_id: str) -> None:
    """Write the results of a package that is over as a workbook and as Parquet."""
    from portal.packages.delivering.tabulating import tabulate as write

    write(package_id=UUID(package_id))

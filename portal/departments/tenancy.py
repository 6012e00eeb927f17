"""The tenant wall: rows that belong to a department can only be queried through that department.

A query set of a tenant model refuses to run until it says whose rows it wants:

- ``Package.objects.for_department(department)``: the ordinary way, for requests;
- ``package.shards``: through an object that was itself found that way;
- ``Package.objects.across_departments()``: for the scheduler, background work and administrators' sums,
  spelled out so that a review finds every use.
"""

from collections.abc import Iterator
from typing import Any, Self, TypeVar

from django.db import models

Row = TypeVar("Row", bound=models.Model)


class UnscopedQuery(RuntimeError):
    """A query on tenant data that did not say for which department: a programming error, never a page."""


class TenantQuerySet(models.QuerySet[Row]):
    """A query set that raises :class:`UnscopedQuery` unless its department is settled."""

    _is_scoped = False

    def for_department(self, department: models.Model | None) -> Self:
        """Only rows of ``department``, which must be a saved department (``None`` raises)."""
        if department is None or department.pk is None:
            raise UnscopedQuery(f"{self.model.__name__} was asked for without a department")
        scoped = self.filter(department=department)
        scoped._is_scoped = True
        return scoped

    def across_departments(self) -> Self:
        """Rows of every department. For system work only; no request of a department may use it."""
        scoped = self.all()
        scoped._is_scoped = True
        return scoped

    def _clone(self) -> Self:
        clone: Self = super()._clone()  # type: ignore[misc]
        clone._is_scoped = self._is_scoped
        return clone

    def _require_scope(self) -> None:
        through_an_object = "instance" in self._hints  # type: ignore[attr-defined]
        if not (self._is_scoped or through_an_object):
            raise UnscopedQuery(f"{self.model.__name__}: say for_department(…) or across_departments() before querying")

    def _fetch_all(self) -> None:
        self._require_scope()
        super()._fetch_all()

    def iterator(self, chunk_size: int | None = None) -> Iterator[Row]:
        self._require_scope()
        return super().iterator(chunk_size)

    def count(self) -> int:
        self._require_scope()
        return super().count()

    def exists(self) -> bool:
        self._require_scope()
        return super().exists()

    def aggregate(self, *args: Any, **kwargs: Any) -> dict[str, Any]:
        self._require_scope()
        return super().aggregate(*args, **kwargs)

    def update(self, **kwargs: Any) -> int:
        self._require_scope()
        return super().update(**kwargs)

    def delete(self) -> tuple[int, dict[str, int]]:
        self._require_scope()
        return super().delete()


class TenantModel(models.Model):
    """A table whose rows belong to one department each."""

    department = models.ForeignKey("departments.Department", on_delete=models.PROTECT, related_name="+")

    objects = TenantQuerySet.as_manager()

    class Meta:
        abstract = True

"""Querying a department's data without saying whose raises."""

import pytest

from portal.departments.tenancy import UnscopedQuery
from portal.packages.models import Package
from tests.world import World


@pytest.mark.parametrize(
    "query",
    [
        lambda rows: list(rows.all()),
        lambda rows: rows.filter(name="x").count(),
        lambda rows: rows.exists(),
        lambda rows: rows.first(),
        lambda rows: rows.get(name="x"),
        lambda rows: rows.update(name="x"),
        lambda rows: rows.filter(name="x").delete(),
        lambda rows: list(rows.iterator()),
        lambda rows: list(rows.values_list("id")),
        lambda rows: rows.for_department(None),
    ],
)
def test_a_query_without_a_department_raises(db: None, query: object) -> None:
    with pytest.raises(UnscopedQuery):
        query(Package.objects)  # type: ignore[operator]


def test_a_scoped_query_runs(world: World) -> None:
    assert Package.objects.for_department(world.retail).count() == 0
    assert list(Package.objects.across_departments().filter(name="x")) == []

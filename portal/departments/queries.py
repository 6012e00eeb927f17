"""What the pages about departments and people read."""

from django.db.models import Count, Q, QuerySet

from portal.departments.access import department_of
from portal.departments.models import ApiKey, Department, Person


def departments_with_people() -> QuerySet[Department]:
    """Every department, open ones first, with ``people_count``: how many may sign in."""
    active = Count("people", filter=Q(people__is_active=True))
    return Department.objects.annotate(people_count=active).order_by("closed_at", "name")


def people(*, department: str = "", role: str = "") -> QuerySet[Person]:
    """Everybody, or those of a department (its code) or a role."""
    found = Person.objects.select_related("department").order_by("-is_active", "department__name", "name")
    if department:
        found = found.filter(department__code=department)
    return found.filter(role=role) if role else found


def keys_of(person: Person) -> QuerySet[ApiKey]:
    """``person``'s keys that still work, newest first."""
    return ApiKey.objects.for_department(department_of(person)).filter(person=person, revoked_at=None)

"""What changes departments, people and their credentials."""

import hashlib
import secrets
from datetime import datetime, timedelta

from django.contrib.auth import authenticate
from django.db import transaction
from django.db.models import F, Sum
from django.utils.translation import gettext as _

from portal.audit import services as audit
from portal.departments.access import department_of, owned
from portal.departments.models import ApiKey, Department, Person, Role, SignInAttempt
from portal.departments.refusals import Refusal

ATTEMPTS_ALLOWED = 8
ATTEMPTS_OF_A_CLIENT = 30
ATTEMPTS_FOR_AN_ADDRESS = 100
ATTEMPTS_WITHIN = timedelta(minutes=5)
KEY_SEEN_EVERY = timedelta(minutes=1)


class UnableToSignIn(Refusal):
    """Unknown address, wrong password, or no longer admitted: the three look the same."""

    code = "sign_in_failed"


class UnableToSignInYet(UnableToSignIn):
    """Too many attempts: for this address, or from this client."""

    code = "too_many_attempts"
    status = 429


def check_credentials(*, email: str, password: str, now: datetime, client: str = "") -> Person:
    """The person whose password this is; :class:`UnableToSignIn` otherwise.

    ``client`` is the network address that asks. Eight wrong guesses of one client for one address end in a wait, so
    that a stranger's guesses do not keep the owner out; so do many of one client, or for one address from everywhere.
    """
    email = email.strip().lower()
    counted = {
        f"pair {email} {client}": ATTEMPTS_ALLOWED,
        f"client {client}": ATTEMPTS_OF_A_CLIENT,
        f"address {email}": ATTEMPTS_FOR_AN_ADDRESS,
    }
    for subject, allowed in counted.items():
        _spend_attempt(subject, allowed, now)
    person = authenticate(username=email, password=password)
    if not isinstance(person, Person):
        raise UnableToSignIn(
            _("Email and password do not match. Check both; an administrator can give you a new password.")
        )
    _forgive(*counted, now=now)
    audit.record(action="person.signed_in", subject=person.pk, now=now, by=person, department=person.department)
    return person


def spend_password_try(*, person: Person, now: datetime) -> None:
    """Count one attempt to name the current password: whoever finds a session open cannot guess on without end."""
    _spend_attempt(f"password {person.pk}", ATTEMPTS_ALLOWED, now)


def _spend_attempt(subject: str, allowed: int, now: datetime) -> None:
    """Count one attempt before the password is looked at, so that guesses sent side by side are counted too.

    Attempts that are refused are not counted: the wait ends even if somebody goes on trying.
    """
    spent = _attempts(subject, now)
    if spent < allowed:
        _count_attempt(subject, now)
        spent = _attempts(subject, now) - 1
    if spent >= allowed:
        raise UnableToSignInYet(_("Too many attempts. Wait five minutes, then try again."))


def _attempts(subject: str, now: datetime) -> int:
    recent = SignInAttempt.objects.filter(subject=subject, minute__gt=now - ATTEMPTS_WITHIN)
    return recent.aggregate(sum=Sum("attempts"))["sum"] or 0


def _count_attempt(subject: str, now: datetime) -> None:
    SignInAttempt.objects.filter(minute__lt=now - 12 * ATTEMPTS_WITHIN).delete()
    row, _made = SignInAttempt.objects.get_or_create(subject=subject, minute=_minute(now))
    SignInAttempt.objects.filter(pk=row.pk).update(attempts=F("attempts") + 1)


def _forgive(pair: str, *others: str, now: datetime) -> None:
    """The attempt was right: the pair begins anew, and it does not count against the client or the address."""
    SignInAttempt.objects.filter(subject=pair).delete()
    SignInAttempt.objects.filter(subject__in=others, minute=_minute(now)).update(attempts=F("attempts") - 1)


def _minute(now: datetime) -> datetime:
    return now.replace(second=0, microsecond=0)


def choose_password(*, person: Person, password: str, now: datetime) -> None:
    """Set the password that ``person`` chose; their other sessions end."""
    with transaction.atomic():
        person.set_password(password)
        person.must_change_password = False
        person.save(update_fields=["password", "must_change_password"])
        _forgive(f"password {person.pk}", now=now)
        audit.record(
            action="person.password_chosen", subject=person.pk, now=now, by=person, department=person.department
        )


def choose_preferences(*, person: Person, now: datetime) -> None:
    """Save language and theme as they stand on ``person``."""
    with transaction.atomic():
        person.save(update_fields=["language", "theme"])
        audit.record(action="person.preferences", subject=person.pk, now=now, by=person, department=person.department)


def save_department(*, department: Department, by: Person, now: datetime) -> Department:
    """Create or change a department (already validated)."""
    action = "department.created" if department._state.adding else "department.changed"
    with transaction.atomic():
        department.save()
        audit.record(action=action, subject=department.pk, now=now, by=by, department=department, name=department.name)
    return department


def add_person(*, person: Person, by: Person, now: datetime) -> str:
    """Save a new person with a one-time password, which is returned and kept nowhere."""
    password = _one_time_password()
    with transaction.atomic():
        person.email = person.email.lower()
        person.set_password(password)
        person.must_change_password = True
        person.save()
        audit.record(
            action="person.added", subject=person.pk, now=now, by=by, department=person.department, role=person.role
        )
    return password


def change_person(*, person: Person, by: Person, now: datetime) -> None:
    """Save name, role, department and whether ``person`` may sign in. Nobody locks themselves out."""
    if person.pk == by.pk and (not person.is_active or person.role != Role.ADMIN):
        raise Refusal(
            _("You cannot take your own access away. Ask another administrator to do it."),
            code="own_access",
            field="is_active" if not person.is_active else "role",
        )
    with transaction.atomic():
        person.save(update_fields=["name", "email", "role", "department", "is_active"])
        audit.record(
            action="person.changed", subject=person.pk, now=now, by=by, department=person.department,
            role=person.role, is_active=person.is_active,
        )  # fmt: skip


def reset_password(*, person: Person, by: Person, now: datetime) -> str:
    """Give ``person`` a new one-time password, which is returned; their sessions end."""
    password = _one_time_password()
    with transaction.atomic():
        person.set_password(password)
        person.must_change_password = True
        person.save(update_fields=["password", "must_change_password"])
        audit.record(action="person.password_reset", subject=person.pk, now=now, by=by, department=person.department)
    return password


def create_api_key(*, person: Person, name: str, now: datetime) -> tuple[ApiKey, str]:
    """A key with which scripts act as ``person``, and its secret, which is kept nowhere."""
    secret = f"sw_{secrets.token_urlsafe(32)}"
    with transaction.atomic():
        key = ApiKey.objects.create(
            department=department_of(person), person=person, name=name, prefix=secret[:10], hashed=_hashed(secret),
            created_at=now,
        )  # fmt: skip
        audit.record(action="api_key.created", subject=key.pk, now=now, by=person, department=key.department, name=name)
    return key, secret


def revoke_api_key(*, person: Person, ref: object, now: datetime) -> None:
    """End one of ``person``'s keys at once. Revoking it twice changes nothing."""
    key = owned(ApiKey, str(ref), department=department_of(person))
    mine = ApiKey.objects.for_department(key.department).filter(pk=key.pk, person=person)
    with transaction.atomic():
        if mine.filter(revoked_at=None).update(revoked_at=now):
            audit.record(action="api_key.revoked", subject=key.pk, now=now, by=person, department=key.department)


def person_for_key(*, secret: str, now: datetime) -> Person | None:
    """Whoever this key stands for, or ``None``: unknown, revoked, or its person may not act any more."""
    keys = ApiKey.objects.across_departments().select_related("person__department")
    key = keys.filter(hashed=_hashed(secret), revoked_at=None).first()
    if key is None or not _still_acts(key):
        return None
    if key.last_used_at is None or now - key.last_used_at > KEY_SEEN_EVERY:
        ApiKey.objects.across_departments().filter(pk=key.pk).update(last_used_at=now)
    return key.person


def _still_acts(key: ApiKey) -> bool:
    person, department = key.person, key.person.department
    return (
        person.is_active and department is not None and department.pk == key.department_id and not department.closed_at
    )


def _hashed(secret: str) -> str:
    """SHA-256 is enough for 256 random bits; a slow hash would only slow every request down."""
    return hashlib.sha256(secret.encode()).hexdigest()


def _one_time_password() -> str:
    """Four groups of four characters that cannot be mistaken for one another: 79 bits, readable on the phone."""
    alphabet = "abcdefghjkmnpqrstuvwxyz23456789"
    groups = ("".join(secrets.choice(alphabet) for _ in range(4)) for _ in range(4))
    return "-".join(groups)

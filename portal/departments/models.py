"""Departments (the tenants), the people in them and their API keys."""

import uuid
from typing import Any, ClassVar
from zoneinfo import ZoneInfo

from django.contrib.auth.base_user import AbstractBaseUser, BaseUserManager
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from portal.departments.tenancy import TenantModel


class Department(models.Model):
    """A tenant: owns packages, ledger entries and bills. Never deleted; closed instead."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    name = models.CharField(_("Name"), max_length=120, unique=True)
    code = models.SlugField(_("Code"), max_length=40, unique=True)
    cost_centre = models.CharField(_("Cost centre"), max_length=60, blank=True)
    contact = models.CharField(_("Contact"), max_length=120, blank=True)
    time_zone = models.CharField(_("Time zone"), max_length=60, default="Asia/Shanghai")
    created_at = models.DateTimeField(auto_now_add=True)
    closed_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["name"]

    def __str__(self) -> str:
        return self.name

    @property
    def zone(self) -> ZoneInfo:
        """The zone in which this department's deadlines and bills are written."""
        return ZoneInfo(self.time_zone)


class Role(models.TextChoices):
    """What a person may do. Staff and finance act for their department, the others for the installation."""

    STAFF = "staff", _("Staff")
    FINANCE = "finance", _("Finance")
    ADMIN = "admin", _("Administrator")
    OPERATOR = "operator", _("Operator")


class Theme(models.TextChoices):
    SYSTEM = "system", _("As the device")
    LIGHT = "light", _("Light")
    DARK = "dark", _("Dark")


class Language(models.TextChoices):
    ENGLISH = "en", "English"
    CHINESE = "zh-hans", "简体中文"


class PersonManager(BaseUserManager["Person"]):
    def create_person(self, *, email: str, password: str | None, **fields: Any) -> "Person":
        """A person who can sign in with ``email`` (kept in lower case) and ``password``."""
        person = self.model(email=self.normalize_email(email).lower(), **fields)
        person.set_password(password)
        person.full_clean()
        person.save(using=self._db)
        return person

    def get_by_natural_key(self, username: str | None) -> "Person":
        return self.get(email=(username or "").lower())


class Person(AbstractBaseUser):
    """Somebody who can sign in."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    email = models.EmailField(_("Email"), unique=True)
    name = models.CharField(pgettext_lazy("of a person", "Name"), max_length=120)
    department = models.ForeignKey(
        Department,
        on_delete=models.PROTECT,
        null=True,
        blank=True,
        related_name="people",
        verbose_name=_("Department"),
    )
    role = models.CharField(_("Role"), max_length=12, choices=Role, default=Role.STAFF)
    language = models.CharField(_("Language"), max_length=10, choices=Language, default=Language.ENGLISH)
    theme = models.CharField(_("Theme"), max_length=8, choices=Theme, default=Theme.SYSTEM)
    is_active = models.BooleanField(_("May sign in"), default=True)
    must_change_password = models.BooleanField(default=False)
    created_at = models.DateTimeField(auto_now_add=True)

    USERNAME_FIELD = "email"
    REQUIRED_FIELDS: ClassVar[list[str]] = ["name"]
    objects: ClassVar[PersonManager] = PersonManager()

    class Meta:
        ordering = ["name"]
        constraints = [
            models.CheckConstraint(
                name="staff_and_finance_have_a_department",
                condition=Q(role__in=["admin", "operator"]) | Q(department__isnull=False),
                violation_error_message=_("Staff and finance people need a department."),
            )
        ]

    def __str__(self) -> str:
        return self.name


class ApiKey(TenantModel):
    """A script's credential. Only its hash is kept; ``prefix`` lets a person recognise it."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    person = models.ForeignKey(Person, on_delete=models.CASCADE, related_name="api_keys")
    name = models.CharField(_("Name"), max_length=80)
    prefix = models.CharField(max_length=12)
    hashed = models.CharField(max_length=64, unique=True)
    created_at = models.DateTimeField()
    last_used_at = models.DateTimeField(null=True)
    revoked_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["-created_at"]

    def __str__(self) -> str:
        return f"{self.name} ({self.prefix}…)"


class SignInAttempt(models.Model):
    """How often something was tried in one minute: what throttling looks at. Old rows are swept away.

    ``subject`` is what is counted: an address, a client, the two together, or a person's password page.
    """

    subject = models.CharField(max_length=400)
    minute = models.DateTimeField()
    attempts = models.IntegerField(default=0)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["subject", "minute"], name="one_count_per_subject_and_minute")]
        indexes = [models.Index(fields=["minute"])]

    def __str__(self) -> str:
        return f"{self.attempts} at {self.minute:%H:%M}"

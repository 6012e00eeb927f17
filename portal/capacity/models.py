"""Models, pools, windows, quotes and reservations: what can be promised, and what has been."""

import uuid

from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.db.models import F, Q
from django.utils.translation import gettext_lazy as _

from portal.departments.tenancy import TenantModel


class Engine(models.TextChoices):
    LLAMA_CPP = "llama_cpp", "llama.cpp"
    ECHO = "echo", _("Echo (no model)")


class Tier(models.TextChoices):
    """Service level: how soon, and at what factor of the price list."""

    STANDARD = "standard", _("Standard")
    EXPRESS = "express", _("Express")


class LanguageModel(models.Model):
    """A model that packages can ask for.

    ``location`` is a path, or ``package:NAME`` for a GGUF file inside an installed Python package;
    ``tokenizer`` is ``gguf`` (read from that file) or ``words`` (the echo engine's).
    """

    name = models.SlugField(_("Name"), max_length=60, unique=True)
    title = models.CharField(_("Title"), max_length=120)
    engine = models.CharField(_("Engine"), max_length=20, choices=Engine)
    location = models.CharField(_("Location"), max_length=300, blank=True)
    tokenizer = models.CharField(_("Tokenizer"), max_length=20, default="gguf")
    context_tokens = models.PositiveIntegerField(_("Context (tokens)"), default=2048)
    max_output_tokens = models.PositiveIntegerField(_("Longest output (tokens)"), default=512)
    is_enabled = models.BooleanField(_("Offered"), default=True)

    class Meta:
        ordering = ["name"]

    def __str__(self) -> str:
        return self.title


class Pool(models.Model):
    """Identical replicas that serve one model.

    The three speeds are the prior of the work model, measured on one whole replica:
    work of an item in GPU-seconds = prompt / prefill speed + output / decode speed + overhead.
    """

    name = models.SlugField(_("Name"), max_length=60, unique=True)
    model = models.ForeignKey(LanguageModel, on_delete=models.PROTECT, related_name="pools", verbose_name=_("Model"))
    replicas = models.PositiveIntegerField(
        _("Replicas"), default=1, validators=[MinValueValidator(1), MaxValueValidator(10_000)]
    )
    max_in_flight = models.PositiveIntegerField(
        _("Requests at once per replica"), default=4, validators=[MinValueValidator(1)]
    )
    base_share = models.DecimalField(
        _("Offline share outside windows"),
        max_digits=4,
        decimal_places=3,
        default=0,
        validators=[MinValueValidator(0), MaxValueValidator(1)],
    )
    time_zone = models.CharField(_("Time zone"), max_length=60, default="Asia/Shanghai")
    prefill_tokens_per_s = models.FloatField(
        _("Input tokens per second"), default=150, validators=[MinValueValidator(0.001)]
    )
    decode_tokens_per_s = models.FloatField(
        _("Output tokens per second"), default=40, validators=[MinValueValidator(0.001)]
    )
    item_overhead_s = models.FloatField(
        _("Seconds of overhead per item"), default=0.01, validators=[MinValueValidator(0)]
    )
    is_open = models.BooleanField(_("Takes packages"), default=True)

    class Meta:
        ordering = ["name"]
        constraints = [
            models.CheckConstraint(name="base_share_is_a_share", condition=Q(base_share__gte=0, base_share__lte=1)),
            models.CheckConstraint(
                name="speeds_are_positive",
                condition=Q(prefill_tokens_per_s__gt=0, decode_tokens_per_s__gt=0, item_overhead_s__gte=0),
            ),
        ]

    def __str__(self) -> str:
        return self.name


class Window(models.Model):
    """A weekly interval in which offline work may use ``share`` of its pool.

    ``days`` is a bit mask of the days on which it starts (bit 0 is Monday). An end at or before the start
    is on the next day; equal times mean 24 hours.
    """

    pool = models.ForeignKey(Pool, on_delete=models.CASCADE, related_name="windows", verbose_name=_("Pool"))
    name = models.CharField(_("Name"), max_length=60)
    days = models.PositiveSmallIntegerField(_("Days"), default=0b111_1111)
    starts_at = models.TimeField(_("From"))
    ends_at = models.TimeField(_("To"))
    share = models.DecimalField(
        _("Offline share"),
        max_digits=4,
        decimal_places=3,
        validators=[MinValueValidator(0), MaxValueValidator(1)],
    )

    class Meta:
        ordering = ["pool", "starts_at"]
        constraints = [
            models.CheckConstraint(name="share_is_a_share", condition=Q(share__gte=0, share__lte=1)),
            models.CheckConstraint(name="days_are_a_mask", condition=Q(days__gte=1, days__lte=127)),
        ]

    def __str__(self) -> str:
        return self.name


class Quote(TenantModel):
    """What was offered for a package, with the inputs it was computed from. Never changed; it expires."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    package_ref = models.UUIDField(db_index=True)
    ingest_epoch = models.PositiveIntegerField(default=0)  # the reading of the package that the offer is for
    pool = models.ForeignKey(Pool, on_delete=models.PROTECT, related_name="+")
    tier = models.CharField(max_length=12, choices=Tier)
    deadline_at = models.DateTimeField()
    is_feasible = models.BooleanField()
    expected_start_at = models.DateTimeField(null=True)
    expected_finish_at = models.DateTimeField(null=True)
    earliest_deadline_at = models.DateTimeField(null=True)
    rows_that_fit = models.PositiveIntegerField(default=0)
    work_expected_s = models.FloatField()
    work_at_most_s = models.FloatField()
    output_tokens_low = models.PositiveBigIntegerField()
    output_tokens_expected = models.PositiveBigIntegerField()
    output_tokens_high = models.PositiveBigIntegerField()
    price_expected = models.DecimalField(max_digits=20, decimal_places=2)
    price_at_most = models.DecimalField(max_digits=20, decimal_places=2)
    currency = models.CharField(max_length=3)
    price_list_ref = models.PositiveBigIntegerField()
    price_list_name = models.CharField(max_length=60)
    created_at = models.DateTimeField()
    expires_at = models.DateTimeField()

    class Meta:
        ordering = ["-created_at"]

    def __str__(self) -> str:
        return f"{self.tier} by {self.deadline_at:%Y-%m-%d %H:%M}"


class Reservation(TenantModel):
    """Capacity that an admitted package has been promised: ``remaining_s`` GPU-seconds by ``deadline_at``."""

    pool = models.ForeignKey(Pool, on_delete=models.PROTECT, related_name="reservations")
    package_ref = models.UUIDField(unique=True)
    tier = models.CharField(max_length=12, choices=Tier)
    deadline_at = models.DateTimeField()
    promised_s = models.FloatField()
    remaining_s = models.FloatField()
    admitted_at = models.DateTimeField()
    released_at = models.DateTimeField(null=True)

    class Meta:
        indexes = [models.Index(fields=["pool", "deadline_at"], condition=Q(released_at=None), name="open_promises")]
        constraints = [
            models.CheckConstraint(
                name="remaining_within_promised",
                condition=Q(remaining_s__gte=0, remaining_s__lte=F("promised_s")),
            )
        ]

    def __str__(self) -> str:
        return f"{self.remaining_s:.0f} s by {self.deadline_at:%Y-%m-%d %H:%M}"

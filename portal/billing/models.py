"""Price lists and the ledger."""

from django.core.validators import MinValueValidator
from django.db import models
from django.db.models import F, Q
from django.utils.translation import gettext_lazy as _

from portal.billing.fields import ExactDecimalField
from portal.capacity.models import LanguageModel, Tier
from portal.departments.tenancy import TenantModel

LEDGER_PLACES = 10
"""Decimal places of a ledger amount: price per 1,000 tokens (6) × tokens ÷ 1,000 (3) × factor (1) is exact."""


class PriceList(models.Model):
    """Prices that hold for packages quoted from ``valid_from`` until ``valid_until`` (half-open)."""

    name = models.CharField(_("Version"), max_length=60, unique=True)
    currency = models.CharField(_("Currency"), max_length=3)
    valid_from = models.DateTimeField(_("Valid from"))
    valid_until = models.DateTimeField(_("Valid until"), null=True, blank=True)
    express_factor = models.DecimalField(
        _("Express factor"), max_digits=4, decimal_places=1, default=2, validators=[MinValueValidator(1)]
    )

    class Meta:
        ordering = ["-valid_from"]
        constraints = [
            models.CheckConstraint(
                name="price_list_ends_after_it_begins",
                condition=Q(valid_until=None) | Q(valid_until__gt=F("valid_from")),
                violation_error_message=_("A price list must end after it begins."),
            )
        ]

    def __str__(self) -> str:
        return self.name


class Price(models.Model):
    """What 1,000 tokens of a model cost in one price list."""

    price_list = models.ForeignKey(PriceList, on_delete=models.CASCADE, related_name="prices")
    model = models.ForeignKey(LanguageModel, on_delete=models.PROTECT, related_name="+", verbose_name=_("Model"))
    input_per_1k = models.DecimalField(
        _("Input, per 1,000 tokens"), max_digits=14, decimal_places=6, validators=[MinValueValidator(0)]
    )
    cached_per_1k = models.DecimalField(
        _("Cached input, per 1,000 tokens"),
        max_digits=14,
        decimal_places=6,
        validators=[MinValueValidator(0)],
    )
    output_per_1k = models.DecimalField(
        _("Output, per 1,000 tokens"), max_digits=14, decimal_places=6, validators=[MinValueValidator(0)]
    )

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["price_list", "model"], name="one_price_per_model_and_list"),
            models.CheckConstraint(
                name="prices_are_not_negative",
                condition=Q(input_per_1k__gte=0, cached_per_1k__gte=0, output_per_1k__gte=0),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.model} {self.price_list}"


class LedgerEntry(TenantModel):
    """What one settled shard is charged. Append-only: never updated, never deleted (the model refuses)."""

    package_ref = models.UUIDField()
    package_name = models.CharField(max_length=200)
    corrects_ref = models.UUIDField(null=True)  # the package whose quarantined rows this one ran again
    round = models.PositiveIntegerField(default=0)  # of corrections; 0 for a package that is none
    shard_no = models.PositiveIntegerField()
    person_ref = models.UUIDField(null=True)
    person_name = models.CharField(max_length=120, blank=True)
    model_name = models.CharField(max_length=60)
    tier = models.CharField(max_length=12, choices=Tier)
    factor = models.DecimalField(max_digits=4, decimal_places=1)
    price_list_name = models.CharField(max_length=60)
    currency = models.CharField(max_length=3)
    input_per_1k = models.DecimalField(max_digits=14, decimal_places=6)
    cached_per_1k = models.DecimalField(max_digits=14, decimal_places=6)
    output_per_1k = models.DecimalField(max_digits=14, decimal_places=6)
    items = models.PositiveIntegerField()
    repeats = models.PositiveIntegerField(default=0)  # rows that got one of these items' results, free of charge
    input_tokens = models.PositiveBigIntegerField()
    cached_tokens = models.PositiveBigIntegerField()
    output_tokens = models.PositiveBigIntegerField()
    amount = ExactDecimalField(max_digits=24, decimal_places=LEDGER_PLACES)
    settled_at = models.DateTimeField()

    class Meta:
        ordering = ["id"]
        constraints = [
            models.UniqueConstraint(fields=["package_ref", "shard_no"], name="a_shard_is_charged_once"),
            models.CheckConstraint(name="amount_is_not_negative", condition=Q(amount__gte=0)),
        ]
        indexes = [models.Index(fields=["department", "settled_at"]), models.Index(fields=["package_ref"])]

    def __str__(self) -> str:
        return f"{self.package_name} #{self.shard_no}: {self.amount}"

    def save(self, *args: object, **kwargs: object) -> None:
        if not self._state.adding:
            raise TypeError("Ledger entries are never changed; write a correcting entry.")
        super().save(*args, **kwargs)  # type: ignore[arg-type]

    def delete(self, *_args: object, **_kwargs: object) -> tuple[int, dict[str, int]]:
        raise TypeError("Ledger entries are never deleted; write a correcting entry.")

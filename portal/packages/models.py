"""Packages, their shards and what happened to them."""

import uuid
from datetime import timedelta

from django.db import models
from django.db.models import F, Q
from django.utils.translation import gettext_lazy as _

from portal.billing.models import PriceList
from portal.capacity.models import LanguageModel, Pool, Quote, Tier
from portal.departments.models import Person
from portal.departments.tenancy import TenantModel
from scheduler.domain.lifecycle import PackageState, ShardState

STATE_LABELS = {
    PackageState.DRAFT: _("draft"),
    PackageState.VALIDATING: _("reading"),
    PackageState.INVALID: _("needs attention"),
    PackageState.QUOTED: _("quoted"),
    PackageState.REFUSED: _("refused"),
    PackageState.ADMITTED: _("waiting for its window"),
    PackageState.RUNNING: _("running"),
    PackageState.PAUSED: _("paused"),
    PackageState.FINALISING: _("finalising"),
    PackageState.COMPLETED: _("completed"),
    PackageState.CANCELLING: _("cancelling"),
    PackageState.CANCELLED: _("cancelled"),
}
SHARD_STATE_LABELS = {
    ShardState.WAITING: _("waiting"),
    ShardState.ASSIGNED: _("assigned"),
    ShardState.RUNNING: _("running"),
    ShardState.SETTLED: _("settled"),
    ShardState.DEAD: _("dead letter"),
    ShardState.CANCELLED: _("cancelled"),
}


class Kind(models.TextChoices):
    """What is asked of the model for each row."""

    TAGGING = "tagging", _("Tagging: one label for each row")
    EXTRACTION = "extraction", _("Extraction: fields as JSON")
    SUMMARISATION = "summarisation", _("Summarisation")
    GENERATION = "generation", _("Generation")


class Package(TenantModel):
    """What a department submits: a manifest, a model, a prompt template, a tier and a deadline."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    name = models.CharField(_("Name"), max_length=200)
    created_by = models.ForeignKey(Person, on_delete=models.PROTECT, related_name="+")
    created_at = models.DateTimeField()
    state = models.CharField(max_length=12, choices=STATE_LABELS, default=PackageState.DRAFT)

    # the manifest as uploaded; `reading` says how to read it: {"format", "encoding", "delimiter", "columns"}
    filename = models.CharField(max_length=255)
    manifest_key = models.CharField(max_length=300)
    manifest_bytes = models.PositiveBigIntegerField()
    manifest_sha256 = models.CharField(max_length=64)
    reading = models.JSONField(default=dict)

    # the task
    kind = models.CharField(_("Kind"), max_length=16, choices=Kind, default=Kind.TAGGING)
    model = models.ForeignKey(
        LanguageModel, on_delete=models.PROTECT, null=True, related_name="+", verbose_name=_("Model")
    )
    id_column = models.CharField(_("Id column"), max_length=200, blank=True)
    system_template = models.TextField(_("System prompt"), blank=True)
    user_template = models.TextField(_("Prompt"), blank=True)
    labels = models.JSONField(_("Labels"), default=list)
    json_schema = models.JSONField(_("JSON Schema"), null=True, blank=True)
    max_output_tokens = models.PositiveIntegerField(_("Longest output (tokens)"), default=64)
    temperature = models.FloatField(_("Temperature"), default=0)
    run_repeats_once = models.BooleanField(_("Run repeated rows once"), default=True)
    # the task's form as it was left, half-written or not; empty once it has been saved as the task above
    typed = models.JSONField(default=dict, blank=True)

    # what ingest found
    rows_total = models.PositiveBigIntegerField(default=0)
    rows_good = models.PositiveBigIntegerField(default=0)
    rows_set_aside = models.PositiveBigIntegerField(default=0)
    rows_repeated = models.PositiveBigIntegerField(default=0)  # of the good rows: answered with an earlier row's result
    set_aside_by_code = models.JSONField(default=dict)
    input_tokens = models.PositiveBigIntegerField(default=0)
    fixed_prompt_tokens = models.PositiveIntegerField(default=0)
    rows_read = models.PositiveBigIntegerField(default=0)
    # while it reads: since when, and which part of the file is behind it (0 to 1; empty where nobody can tell)
    reading_since = models.DateTimeField(null=True)
    reading_share = models.FloatField(null=True)
    refusal = models.JSONField(null=True, blank=True)
    ingest_epoch = models.PositiveIntegerField(default=0)
    ingest_attempts = models.PositiveSmallIntegerField(default=0)

    # the promise
    pool = models.ForeignKey(Pool, on_delete=models.PROTECT, null=True, related_name="+")
    tier = models.CharField(_("Tier"), max_length=12, choices=Tier, default=Tier.STANDARD)
    deadline_at = models.DateTimeField(null=True, blank=True)
    accepted_quote = models.OneToOneField(Quote, on_delete=models.PROTECT, null=True, related_name="+")
    price_list = models.ForeignKey(PriceList, on_delete=models.PROTECT, null=True, related_name="+")
    tier_factor = models.DecimalField(max_digits=4, decimal_places=1, default=1)

    admitted_at = models.DateTimeField(null=True)
    started_at = models.DateTimeField(null=True)
    finished_at = models.DateTimeField(null=True)
    touched_at = models.DateTimeField()
    finalise_attempts = models.PositiveSmallIntegerField(default=0)  # failed ones; the results cannot be written

    # a correction: quarantined rows of `corrects`, handed over again as a package of their own
    corrects = models.ForeignKey("self", on_delete=models.PROTECT, null=True, related_name="corrections")
    round = models.PositiveSmallIntegerField(default=0)  # of corrections, from 1; 0 is not one
    # of the package that is corrected: its quarantined rows that succeeded since, the last round in its files
    rows_corrected = models.PositiveBigIntegerField(default=0)
    merged_round = models.PositiveSmallIntegerField(default=0)
    # the round whose results lie in the store as a workbook and as Parquet, too; those two come after the end
    tables_round = models.PositiveSmallIntegerField(null=True)

    class Meta:
        ordering = ["-created_at"]
        indexes = [models.Index(fields=["department", "-created_at"]), models.Index(fields=["state"])]
        constraints = [
            models.CheckConstraint(name="rows_add_up", condition=Q(rows_total=F("rows_good") + F("rows_set_aside"))),
            models.CheckConstraint(name="repeats_are_good_rows", condition=Q(rows_good__gte=F("rows_repeated"))),
            models.CheckConstraint(
                name="corrections_have_a_round",
                condition=Q(corrects=None, round=0) | Q(corrects__isnull=False, round__gt=0),
            ),
            models.UniqueConstraint(fields=["corrects", "round"], name="one_correction_per_round"),
            models.UniqueConstraint(
                fields=["corrects"],
                condition=~Q(state__in=["completed", "cancelled"]),
                name="one_open_correction",
            ),
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def number(self) -> str:
        """The short name that people read out and bills print."""
        return f"PK-{self.id.hex[:8].upper()}"

    @property
    def requests(self) -> int:
        """Rows that the model is asked about: good ones, each of those that are alike once."""
        return self.rows_good - self.rows_repeated

    @property
    def prefix(self) -> str:
        """Where everything of this package lies in the object store (CONTRACTS §4)."""
        return f"{self.department_id.hex}/{self.id.hex}"

    @property
    def out(self) -> str:
        """Where its results and their report lie: for a corrected package, those of the last round merged into it."""
        return f"{self.prefix}/out/{self.merged_round}" if self.merged_round else f"{self.prefix}/out"

    @property
    def late_by(self) -> timedelta | None:
        """How long after its deadline the package finished, or ``None`` if it was in time."""
        if self.finished_at and self.deadline_at and self.finished_at > self.deadline_at:
            return self.finished_at - self.deadline_at
        return None


class Shard(TenantModel):
    """A deterministic slice of a package's items: the unit of dispatch, retry and pause.

    Item results live in parts in the object store; this row sees only their sums. The counts and tokens are
    those that the current epoch reported last, and become final when the shard is settled.
    """

    package = models.ForeignKey(Package, on_delete=models.CASCADE, related_name="shards")
    no = models.PositiveIntegerField()
    key = models.CharField(max_length=300)
    items = models.PositiveIntegerField()
    input_tokens = models.PositiveBigIntegerField()
    work_s = models.FloatField()

    state = models.CharField(max_length=10, choices=SHARD_STATE_LABELS, default=ShardState.WAITING)
    epoch = models.PositiveIntegerField(default=0)
    attempts = models.PositiveIntegerField(default=0)
    worker = models.CharField(max_length=80, blank=True)
    lease_until = models.DateTimeField(null=True)
    not_before = models.DateTimeField(null=True)
    troubled_at = models.DateTimeField(null=True)  # since when the scheduler has failed to move it on
    cause = models.CharField(max_length=20, blank=True)

    succeeded = models.PositiveIntegerField(default=0)
    quarantined = models.PositiveIntegerField(default=0)
    failed = models.PositiveIntegerField(default=0)
    # later rows of the manifest that get the result of one of this shard's items; in no sum above
    repeats = models.PositiveIntegerField(default=0)
    repeats_succeeded = models.PositiveIntegerField(default=0)
    repeats_quarantined = models.PositiveIntegerField(default=0)
    repeats_failed = models.PositiveIntegerField(default=0)
    prompt_tokens = models.PositiveBigIntegerField(default=0)
    cached_tokens = models.PositiveBigIntegerField(default=0)
    completion_tokens = models.PositiveBigIntegerField(default=0)
    engine_s = models.FloatField(default=0)
    parts = models.JSONField(default=list)
    settled_at = models.DateTimeField(null=True)
    touched_at = models.DateTimeField()

    class Meta:
        ordering = ["package", "no"]
        constraints = [
            models.UniqueConstraint(fields=["package", "no"], name="one_shard_per_number"),
            models.CheckConstraint(
                name="counts_within_items",
                condition=Q(items__gte=F("succeeded") + F("quarantined") + F("failed")),
            ),
            models.CheckConstraint(
                name="settled_counts_add_up",
                condition=~Q(state="settled") | Q(items=F("succeeded") + F("quarantined") + F("failed")),
            ),
            models.CheckConstraint(
                name="repeats_within_their_number",
                condition=Q(repeats__gte=F("repeats_succeeded") + F("repeats_quarantined") + F("repeats_failed")),
            ),
        ]
        indexes = [models.Index(fields=["state", "package"]), models.Index(fields=["state", "lease_until"])]

    def __str__(self) -> str:
        return f"{self.package_id} #{self.no}"


class Upload(TenantModel):
    """A file on its way in, piece by piece (tus). How far it is, the object store says; this row says whose it is.

    A finished upload names the package that became of it, so that the last piece may be sent twice.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    created_by = models.ForeignKey(Person, on_delete=models.PROTECT, related_name="+")
    created_at = models.DateTimeField()
    touched_at = models.DateTimeField()
    filename = models.CharField(max_length=255)
    size = models.PositiveBigIntegerField()
    corrects = models.ForeignKey(Package, on_delete=models.CASCADE, null=True, related_name="+")
    package = models.ForeignKey(Package, on_delete=models.CASCADE, null=True, related_name="+")

    class Meta:
        ordering = ["-created_at"]
        indexes = [models.Index(fields=["touched_at"])]

    def __str__(self) -> str:
        return self.filename


class TimelineEntry(TenantModel):
    """Something that happened to a package, told to its people. ``code`` and ``params`` become a sentence."""

    package = models.ForeignKey(Package, on_delete=models.CASCADE, related_name="timeline")
    at = models.DateTimeField()
    code = models.CharField(max_length=40)
    params = models.JSONField(default=dict)

    class Meta:
        ordering = ["-at", "-id"]

    def __str__(self) -> str:
        return self.code

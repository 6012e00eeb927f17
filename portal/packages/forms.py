"""Forms of the package pages: the task and the wished promise. What they mean is checked by the services."""

import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django import forms
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from portal.capacity.models import LanguageModel, Tier
from portal.departments.refusals import Refusal
from portal.packages.brought import brings_messages, suggested
from portal.packages.models import Kind, Package
from portal.packages.promising.offered import models_on_offer
from portal.packages.task import TaskFields, UnableToSaveTask

TYPED = "%Y-%m-%dT%H:%M"


class TaskForm(forms.Form):
    """What a package asks of its model. Every field may be half-written: the preview copes."""

    name = forms.CharField(label=_("Name"), max_length=200)
    kind = forms.ChoiceField(label=_("Kind"), choices=Kind.choices)
    model = forms.ModelChoiceField(
        label=_("Model"), queryset=LanguageModel.objects.none(), empty_label=None, required=False,
        error_messages={"invalid_choice": _("This model cannot be asked for at present. Choose another one.")},
    )  # fmt: skip
    labels = forms.CharField(
        label=_("Labels, one per line"),
        required=False,
        widget=forms.Textarea(attrs={"rows": 3, "class": "short", "spellcheck": "false"}),
    )
    json_schema = forms.CharField(
        label=_("JSON Schema of the answer"),
        required=False,
        widget=forms.Textarea(attrs={"rows": 8, "class": "mono", "spellcheck": "false"}),
    )
    user_template = forms.CharField(
        label=_("Prompt"), required=False, strip=False, widget=forms.Textarea(attrs={"rows": 5})
    )
    system_template = forms.CharField(
        label=_("System prompt"),
        required=False,
        strip=False,
        widget=forms.Textarea(attrs={"rows": 3, "class": "short"}),
        help_text=_("Said to the model before every row. May be empty."),
    )
    id_column = forms.ChoiceField(
        label=_("Id column"),
        required=False,
        help_text=_("Its values name the rows in the results and must not repeat."),
    )
    max_output_tokens = forms.IntegerField(label=_("Longest answer (tokens)"), min_value=1)
    temperature = forms.FloatField(
        label=_("Temperature"), min_value=0, max_value=2, widget=forms.NumberInput(attrs={"step": "0.1"})
    )
    run_repeats_once = forms.BooleanField(
        label=_("Run repeated rows once"),
        required=False,
        help_text=_(
            "Rows that ask exactly the same get one answer and are paid once. At temperature 0 only: "
            "otherwise every answer is drawn anew."
        ),
    )

    def __init__(self, data: Mapping[str, Any] | None = None, *, package: Package) -> None:
        super().__init__(data, initial=_begun(package))
        self.brings_messages = brings_messages(package)
        self._offer_columns(package.reading.get("columns", []))
        self._offer_models(package)

    def _offer_columns(self, columns: list[str]) -> None:
        """The columns of the file, and what was chosen before the file was read another way: it is said, not lost."""
        held = self["id_column"].value()
        lost = [(held, _("%(column)s (not in the file)") % {"column": held})] if held and held not in columns else []
        choices = [("", _("Row number")), *((name, name) for name in columns), *lost]
        self.fields["id_column"].choices = choices  # type: ignore[attr-defined]

    def _offer_models(self, package: Package) -> None:
        """Only models that can be asked for; beside the field what that leaves out, as far as it matters here."""
        field, offered = self.fields["model"], models_on_offer(now=timezone.now())
        field.queryset = offered  # type: ignore[attr-defined]
        if not offered:
            field.help_text = _("No model can be asked for at present. An administrator opens a pool and sets a price.")
        elif package.model and package.model not in offered:
            field.help_text = _("“%(model)s” cannot be asked for at present. Choose another model.") % {
                "model": package.model.title
            }

    @classmethod
    def as_left(cls, package: Package) -> "TaskForm":
        """The form sent with what somebody left in it, for a look at what it would give."""
        return cls(_begun(package), package=package)

    def typed(self) -> dict[str, str]:
        """What stands in the fields, readable or not, to be shown again."""
        typed = {name: str(self.data[name]) for name in self.fields if name in self.data}
        edit = str(self.data.get("edit", ""))[:40]
        return (
            typed | {"run_repeats_once": str(self.data.get("run_repeats_once", ""))} | ({"edit": edit} if edit else {})
        )

    def clean(self) -> dict[str, Any]:
        self._typed = dict(
            self.cleaned_data
        )  # blaming a field takes it out of cleaned_data; the preview still wants it
        return self.cleaned_data

    def task(self) -> TaskFields:
        """The fields that could be read, as the services take them; call ``is_valid`` first."""
        read = dict(self._typed)
        if "labels" in read:
            read["labels"] = [line.strip() for line in read["labels"].splitlines() if line.strip()]
        for name in ("user_template", "system_template"):
            if name in read:
                read[name] = read[name].replace("\r\n", "\n")
        return read  # type: ignore[return-value]

    def blame(self, refusal: Refusal) -> None:
        """Put a refusal beside the field at fault, or on top of the form."""
        problems = refusal.problems if isinstance(refusal, UnableToSaveTask) else [refusal]
        for problem in problems:
            self.add_error(problem.field if problem.field in self.fields else None, str(problem.message))


class WishForm(forms.Form):
    """The tier and the deadline that somebody would like, typed in the department's zone."""

    tier = forms.ChoiceField(label=_("Tier"), choices=Tier.choices, widget=forms.RadioSelect, initial=Tier.STANDARD)
    deadline = forms.DateTimeField(
        label=_("Deadline"),
        required=False,
        input_formats=[TYPED, "%Y-%m-%dT%H:%M:%S"],
        widget=forms.DateTimeInput(format=TYPED, attrs={"type": "datetime-local", "step": "60"}),
    )

    @classmethod
    def of(cls, tier: str, deadline_at: datetime) -> "WishForm":
        """The form showing what was offered last."""
        return cls(initial={"tier": tier, "deadline": timezone.localtime(deadline_at)})

    def blame(self, refusal: Refusal) -> None:
        """Put a refusal beside the field at fault, or on top of the form."""
        self.add_error(refusal.field if refusal.field in self.fields else None, str(refusal.message))


def _begun(package: Package) -> dict[str, Any]:
    """What the form begins with: what is saved, over it what was typed, and the model that a browser shows first."""
    begun: dict[str, Any] = _initial(package) | package.typed
    if not begun["model"]:
        first = models_on_offer(now=timezone.now()).first()
        begun["model"] = first.pk if first else None
    return begun


def _initial(package: Package) -> dict[str, Any]:
    schema = package.json_schema
    return {
        "name": package.name,
        "kind": package.kind,
        "model": package.model_id,
        "labels": "\n".join(package.labels),
        "json_schema": json.dumps(schema, ensure_ascii=False, indent=2) if schema else "",
        "user_template": package.user_template,
        "system_template": package.system_template,
        "id_column": package.id_column,
        "max_output_tokens": package.max_output_tokens,
        "temperature": package.temperature,
        "run_repeats_once": package.run_repeats_once,
        **suggested(package),
    }

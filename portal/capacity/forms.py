"""Forms of administrators about models, pools and windows."""

from typing import TYPE_CHECKING, Any

from django import forms
from django.utils.dates import WEEKDAYS
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from portal.capacity.model_files import UnableToUseModel, usable_tokenizer
from portal.capacity.models import Engine, LanguageModel, Pool, Window
from portal.departments.forms import ZoneInput, check_zone, tell_plainly

if TYPE_CHECKING:
    LanguageModelForm = forms.ModelForm[LanguageModel]
    PoolModelForm = forms.ModelForm[Pool]
    WindowModelForm = forms.ModelForm[Window]
else:
    LanguageModelForm = PoolModelForm = WindowModelForm = forms.ModelForm

TOKENIZERS = [("gguf", gettext_lazy("From the GGUF file")), ("words", gettext_lazy("Words (echo only)"))]
TOKENIZER_OF = {Engine.LLAMA_CPP: "gguf", Engine.ECHO: "words"}


class ModelForm(LanguageModelForm):
    """A model. Its name is what packages, prices and workers know it by, so it never changes."""

    tokenizer = forms.ChoiceField(label=gettext_lazy("Tokenizer"), choices=TOKENIZERS)

    class Meta:
        model = LanguageModel
        fields = [
            "title", "name", "engine", "tokenizer", "location", "context_tokens", "max_output_tokens", "is_enabled",
        ]  # fmt: skip
        help_texts = {
            "name": gettext_lazy("For programs: letters, digits, hyphens. It cannot be changed later."),
            "location": gettext_lazy("A path, or package:NAME for a GGUF file in an installed Python package."),
            "is_enabled": gettext_lazy("Switched off, it cannot be chosen any more; admitted packages still run."),
        }

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        tell_plainly(self)
        self.fields["name"].disabled = not self.instance._state.adding

    def clean(self) -> dict[str, Any]:
        given = super().clean() or self.cleaned_data
        context, output = given.get("context_tokens"), given.get("max_output_tokens")
        if context and output and output >= context:
            self.add_error("max_output_tokens", _("The longest output must be shorter than the context."))
        if {"engine", "tokenizer", "location"} <= given.keys():
            self._check_fit(Engine(given["engine"]), given["tokenizer"], given["location"])
        if given.get("is_enabled") and not self.errors:
            self._check_file(given["tokenizer"], given["location"])
        return given

    def _check_fit(self, engine: Engine, tokenizer: str, location: str) -> None:
        """Engine, tokenizer and location go together: llama.cpp counts from its file, echo reads none."""
        if tokenizer != TOKENIZER_OF[engine]:
            fitting = dict(TOKENIZERS)[TOKENIZER_OF[engine]]
            told = _("With %(engine)s, choose the tokenizer “%(tokenizer)s”.")
            self.add_error("tokenizer", told % {"engine": engine.label, "tokenizer": fitting})
        if engine == Engine.LLAMA_CPP and not location:
            self.add_error("location", _("Say where the model's file lies."))
        if engine == Engine.ECHO and location:
            self.add_error("location", _("The echo engine reads no file. Leave this empty."))

    def _check_file(self, tokenizer: str, location: str) -> None:
        """What is offered must work now; a model whose file is gone can still be switched off."""
        try:
            usable_tokenizer(tokenizer, location)
        except UnableToUseModel as refusal:
            self.add_error("location", str(refusal.message))


class PoolForm(PoolModelForm):
    """A pool. Its name is part of its workers' settings, so it never changes."""

    class Meta:
        model = Pool
        fields = [
            "name", "model", "replicas", "max_in_flight", "base_share", "time_zone", "prefill_tokens_per_s",
            "decode_tokens_per_s", "item_overhead_s", "is_open",
        ]  # fmt: skip
        widgets = {"time_zone": ZoneInput}
        help_texts = {
            "name": gettext_lazy("As in the workers' SLACKWATER_POOL. It cannot be changed later."),
            "base_share": gettext_lazy("0 to 1: what offline work may use when no window holds."),
            "time_zone": gettext_lazy("The windows are written in this zone."),
            "prefill_tokens_per_s": gettext_lazy("One whole replica, measured."),
            "decode_tokens_per_s": gettext_lazy("One whole replica, measured."),
            "is_open": gettext_lazy("Closed, it takes no new packages; admitted ones still run."),
        }

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        tell_plainly(self)
        self.fields["name"].disabled = not self.instance._state.adding

    def clean_time_zone(self) -> str:
        return check_zone(self.cleaned_data["time_zone"])


class WindowForm(WindowModelForm):
    """A weekly window; the days are ticked one by one."""

    days = forms.TypedMultipleChoiceField(
        label=gettext_lazy("Begins on"),
        choices=list(WEEKDAYS.items()),
        coerce=int,
        widget=forms.CheckboxSelectMultiple,
        error_messages={"required": gettext_lazy("Tick at least one day.")},
    )

    class Meta:
        model = Window
        fields = ["name", "days", "starts_at", "ends_at", "share"]
        widgets = {
            "starts_at": forms.TimeInput(attrs={"type": "time"}, format="%H:%M"),
            "ends_at": forms.TimeInput(attrs={"type": "time"}, format="%H:%M"),
        }
        help_texts = {
            "ends_at": gettext_lazy("At or before the start: on the next day."),
            "share": gettext_lazy("0 to 1. Where windows overlap, the largest holds."),
        }

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.initial["days"] = [day for day in range(7) if self.instance.days >> day & 1]

    def clean_days(self) -> int:
        return sum(1 << int(day) for day in self.cleaned_data["days"])

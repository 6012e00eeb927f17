"""The form by which a person says how a file is to be read, instead of what was found."""

from collections.abc import Mapping
from typing import Any, Final

from django import forms
from django.core.exceptions import NON_FIELD_ERRORS
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from portal.departments.refusals import Refusal
from portal.packages.manifest import Reading
from portal.packages.manifest.reading import Wish
from portal.packages.reading_words import DELIMITERS, ENCODINGS, HEADINGS, LABELS, QUOTES, Fact, facts_of
from portal.packages.receiving.rereading import wish_of

AS_FOUND: Final = ""
_TYPED: Final[dict[str, dict[Any, str]]] = {
    "delimiter": {"": "none", "\t": "tab", " ": "space", "\x01": "ctrl-a"},
    "quote": {'"': "double", "'": "single", "": "none"},
    "has_heading": {True: "yes", False: "no"},
}
"""How values are written in a form that lose something on their way, or are nothing: spaces, the empty text."""

_KNOWN: Final[dict[str, Mapping[Any, str | Promise]]] = {
    "encoding": ENCODINGS,
    "delimiter": DELIMITERS,
    "quote": QUOTES,
    "has_heading": HEADINGS,
}

Choices = list[tuple[str, str | Promise]]


class ReadingForm(forms.Form):
    """One choice for each part of a reading that its format has; the first of each leaves it to what is found."""

    prefix = "read"

    def __init__(self, data: Mapping[str, Any] | None = None, *, reading: Reading) -> None:
        super().__init__(data, auto_id="id_%s")
        self.reading = reading
        wish = wish_of(reading)
        for fact in facts_of(reading):
            chosen = getattr(wish, fact.name)
            if fact.name == "sheet" and len(reading.sheets) < 2:
                continue
            self.fields[fact.name] = _field(fact, _known(fact.name, reading), chosen)

    @property
    def parts(self) -> list[tuple[Fact, forms.BoundField | None]]:
        """What was found, part by part, each with the field that chooses it."""
        return [(fact, self[fact.name] if fact.name in self.fields else None) for fact in facts_of(self.reading)]

    @property
    def is_chosen(self) -> bool:
        """Has a person chosen anything that can be left to what is found again?"""
        return wish_of(self.reading) != Wish()

    def wish(self) -> Wish:
        """What was chosen; call ``is_valid`` first."""
        return Wish(**{name: _meant(name, typed) for name, typed in self.cleaned_data.items() if typed != AS_FOUND})

    def blame(self, refusal: Refusal) -> None:
        """Put a refusal beside the choice at fault, or on top of the form; it says what was tried."""
        name = refusal.field if refusal.field in self.fields else None
        said, tried = str(refusal.message), self._tried(name)
        if tried and tried not in said:
            said = _("“%(choice)s” was tried: %(why)s") % {"choice": tried, "why": said}
        self.add_error(name, said)

    def _tried(self, name: str | None) -> str:
        """The choice that was sent for one part, as the form shows it."""
        if name is None:
            return ""
        typed = str(self[name].value() or AS_FOUND)
        choices: Choices = self.fields[name].choices  # type: ignore[attr-defined]
        return next((str(text) for value, text in choices if value == typed and typed != AS_FOUND), "")

    def in_force(self) -> "ReadingForm":
        """After a refusal: the choices that hold, since nothing was changed, with what was said about those sent."""
        shown = ReadingForm(reading=self.reading)
        held = {shown.add_prefix(name): field.initial for name, field in shown.fields.items()}
        answered = ReadingForm(held, reading=self.reading)
        for name, said in self.errors.items():
            answered.add_error(None if name == NON_FIELD_ERRORS else name, list(said))
        return answered


def _field(fact: Fact, values: Mapping[Any, str | Promise], chosen: Any) -> forms.ChoiceField:
    choices: Choices = [
        (AS_FOUND, gettext_lazy("as found")),
        *((_written(fact.name, value), text) for value, text in values.items()),
    ]
    initial = AS_FOUND if chosen is None else _written(fact.name, chosen)
    return forms.ChoiceField(label=LABELS[fact.name], choices=choices, required=False, initial=initial)


def _known(name: str, reading: Reading) -> Mapping[Any, str | Promise]:
    """The values that can be chosen, and the one that holds now, which a program may have chosen."""
    if name == "sheet":
        return {sheet: sheet for sheet in reading.sheets}
    known = _KNOWN[name]
    held = getattr(reading, name)
    is_chosen = getattr(wish_of(reading), name) is not None
    return {**known, held: str(held)} if is_chosen and held not in known else known


def _written(name: str, value: Any) -> str:
    return str(_TYPED.get(name, {}).get(value, value))


def _meant(name: str, typed: str) -> Any:
    return next((value for value, written in _TYPED.get(name, {}).items() if written == typed), typed)

"""Forms about departments, people and oneself."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, cast
from zoneinfo import available_timezones

from django import forms
from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.db.models.fields import BLANK_CHOICE_DASH
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from portal.departments.models import ApiKey, Department, Person, Role
from portal.departments.refusals import Refusal

if TYPE_CHECKING:
    DepartmentModelForm = forms.ModelForm[Department]
    PersonModelForm = forms.ModelForm[Person]
    KeyModelForm = forms.ModelForm[ApiKey]
else:
    DepartmentModelForm = PersonModelForm = KeyModelForm = forms.ModelForm


def add_refusal(form: forms.BaseForm, refusal: Refusal) -> None:
    """Show a refusal beside the field that it names, or above the form."""
    form.add_error(refusal.field if refusal.field in form.fields else None, str(refusal.message))


def tell_plainly(form: forms.BaseForm) -> None:
    """Replace Django's own words about fields by ours, and its "---------" by what an empty choice means."""
    for field in form.fields.values():
        field.error_messages["unique"] = _("This is already taken. Choose another.")
        if isinstance(field, forms.SlugField):
            field.error_messages["invalid"] = _("Use only the letters a to z, digits, hyphens and underscores.")
        if isinstance(field, forms.ModelChoiceField):
            field.empty_label = _("Choose one") if field.required else _("none")
        elif isinstance(field, forms.ChoiceField):
            choices: list[Any] = list(cast("Iterable[Any]", field.choices))
            if choices[:1] == BLANK_CHOICE_DASH:
                field.choices = [("", _("Choose one")), *choices[1:]]


_AREAS = {
    *("Africa", "America", "Antarctica", "Arctic", "Asia"),
    *("Atlantic", "Australia", "Europe", "Indian", "Pacific"),
}


def time_zones() -> list[str]:
    """The IANA zones that are places, and UTC."""
    return sorted(name for name in available_timezones() if name == "UTC" or name.partition("/")[0] in _AREAS)


class ZoneInput(forms.TextInput):
    """A text field that offers every time zone while one types."""

    def render(self, name: str, value: Any, attrs: dict[str, Any] | None = None, renderer: Any = None) -> SafeString:
        listed = f"{(attrs or {}).get('id', name)}_zones"
        field = super().render(name, value, {**(attrs or {}), "list": listed, "autocomplete": "off"}, renderer)
        options = format_html_join("", '<option value="{}"></option>', ((zone,) for zone in time_zones()))
        return format_html('{}<datalist id="{}">{}</datalist>', field, listed, options)


def check_zone(name: str) -> str:
    """``name`` if it is an IANA time zone."""
    if name not in available_timezones():
        raise ValidationError(
            _("There is no time zone “%(name)s”. Choose one from the list, such as Asia/Shanghai.") % {"name": name}
        )
    return name


class SignInForm(forms.Form):
    email = forms.EmailField(
        label=gettext_lazy("Email"), widget=forms.EmailInput(attrs={"autocomplete": "username", "autofocus": True})
    )
    password = forms.CharField(
        label=gettext_lazy("Password"),
        strip=False,
        widget=forms.PasswordInput(attrs={"autocomplete": "current-password"}),
    )


class PreferencesForm(PersonModelForm):
    class Meta:
        model = Person
        fields = ["language", "theme"]
        widgets = {"language": forms.RadioSelect, "theme": forms.RadioSelect}


class PasswordForm(forms.Form):
    """The old password once, the new one twice, held against the rules for passwords."""

    current = forms.CharField(
        label=gettext_lazy("Current password"),
        strip=False,
        widget=forms.PasswordInput(attrs={"autocomplete": "current-password"}),
    )
    new = forms.CharField(
        label=gettext_lazy("New password"),
        help_text=gettext_lazy("At least 10 characters; not only digits, not a common one."),
        strip=False,
        widget=forms.PasswordInput(attrs={"autocomplete": "new-password"}),
    )
    again = forms.CharField(
        label=gettext_lazy("New password again"),
        strip=False,
        widget=forms.PasswordInput(attrs={"autocomplete": "new-password"}),
    )

    def __init__(self, person: Person, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._person = person

    def clean_current(self) -> str:
        current: str = self.cleaned_data["current"]
        if not self._person.check_password(current):
            raise ValidationError(_("This is not your current password."))
        return current

    def clean_new(self) -> str:
        new: str = self.cleaned_data["new"]
        validate_password(new, self._person)
        return new

    def clean(self) -> dict[str, Any]:
        given = self.cleaned_data
        if "new" in given and "again" in given and given["new"] != given["again"]:
            self.add_error("again", _("The two new passwords differ. Type the same one twice."))
        return given


class KeyForm(KeyModelForm):
    class Meta:
        model = ApiKey
        fields = ["name"]
        widgets = {"name": forms.TextInput(attrs={"placeholder": gettext_lazy("What will use it: nightly export")})}


class DepartmentForm(DepartmentModelForm):
    is_closed = forms.BooleanField(
        label=gettext_lazy("Closed"),
        required=False,
        help_text=gettext_lazy("Nobody of a closed department can sign in, and its API keys stop. Its bills stay."),
    )

    class Meta:
        model = Department
        fields = ["name", "code", "cost_centre", "contact", "time_zone"]
        widgets = {"time_zone": ZoneInput}
        help_texts = {
            "code": gettext_lazy("Short, in addresses and file names: letters, digits, hyphens."),
            "cost_centre": gettext_lazy("Printed on the bill."),
            "contact": gettext_lazy("Printed on the bill: who answers questions about it."),
            "time_zone": gettext_lazy("Deadlines, days and months of the bill are counted in this zone."),
        }

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        tell_plainly(self)
        self.fields["is_closed"].initial = self.instance.closed_at is not None
        if self.instance._state.adding:
            del self.fields["is_closed"]

    def clean_time_zone(self) -> str:
        return check_zone(self.cleaned_data["time_zone"])


class PersonForm(PersonModelForm):
    """A person as administrators see them. ``is_active`` only for people who exist already."""

    class Meta:
        model = Person
        fields = ["name", "email", "role", "department", "language", "is_active"]
        help_texts = {
            "email": gettext_lazy("They sign in with it."),
            "department": gettext_lazy("For staff and finance. Administrators and operators have none."),
            "is_active": gettext_lazy("Switch off when somebody leaves: sessions and API keys end at once."),
        }

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        tell_plainly(self)
        self.fields["email"].error_messages["unique"] = _("Somebody has this address already.")
        del self.fields["is_active" if self.instance._state.adding else "language"]

    def clean_email(self) -> str:
        return str(self.cleaned_data["email"]).lower()

    def clean(self) -> dict[str, Any]:
        given = super().clean() or self.cleaned_data
        serves_all = given.get("role") in {Role.ADMIN, Role.OPERATOR}
        if serves_all and given.get("department"):
            self.add_error("department", _("Administrators and operators serve every department: leave this empty."))
        if not serves_all and "department" in given and not given["department"]:
            self.add_error("department", _("Choose the department that this person acts for."))
        return given

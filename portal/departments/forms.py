"""Forms about departments, people and oneself."""

from typing import TYPE_CHECKING, Any
from zoneinfo import available_timezones

from django import forms
from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
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


def check_zone(name: str) -> str:
    """``name`` if it is an IANA time zone."""
    if name not in available_timezones():
        raise ValidationError(_("Write an IANA time zone, such as Asia/Shanghai."))
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
        help_texts = {
            "code": gettext_lazy("Short, in addresses and file names: letters, digits, hyphens."),
            "cost_centre": gettext_lazy("Printed on the bill."),
            "contact": gettext_lazy("Printed on the bill: who answers questions about it."),
            "time_zone": gettext_lazy("Deadlines, days and months of the bill are counted in this zone."),
        }

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
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

"""The form for a new price list: its head, and one row of prices for each model."""

from decimal import Decimal
from typing import TYPE_CHECKING, Any

from django import forms
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from portal.billing.models import PriceList
from portal.billing.price_lists import ModelPrice
from portal.capacity.models import LanguageModel
from portal.departments.forms import tell_plainly

if TYPE_CHECKING:
    PriceListModelForm = forms.ModelForm[PriceList]
else:
    PriceListModelForm = forms.ModelForm


class PriceListForm(PriceListModelForm):
    class Meta:
        model = PriceList
        fields = ["name", "valid_from", "express_factor"]
        widgets = {"valid_from": forms.DateTimeInput(attrs={"type": "datetime-local"}, format="%Y-%m-%dT%H:%M")}
        help_texts = {
            "name": gettext_lazy("Printed on quotes and bills, for example 2026-10."),
            "valid_from": gettext_lazy("In UTC. Quotes from then on use it; accepted ones keep theirs."),
            "express_factor": gettext_lazy("Express costs so many times the standard price."),
        }

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        tell_plainly(self)


class PriceForm(forms.Form):
    """The price of one model. All three empty: the model is not offered under this list."""

    input_per_1k = forms.DecimalField(label=gettext_lazy("Input"), min_value=0, decimal_places=6, required=False)
    cached_per_1k = forms.DecimalField(
        label=gettext_lazy("Cached input"), min_value=0, decimal_places=6, required=False
    )
    output_per_1k = forms.DecimalField(label=gettext_lazy("Output"), min_value=0, decimal_places=6, required=False)

    def __init__(self, model: LanguageModel, data: Any = None, *, initial: dict[str, str] | None = None) -> None:
        super().__init__(data, prefix=f"price-{model.pk}", initial=initial)
        self.model = model
        for field in self.fields.values():
            field.widget.attrs.update({"aria-label": f"{model.title}: {field.label}", "step": "0.000001"})

    def clean(self) -> dict[str, Any]:
        given = self.cleaned_data
        missing = [name for name in self.fields if name not in self.errors and given.get(name) is None]
        if 0 < len(missing) < len(self.fields):
            for name in missing:
                self.add_error(name, _("Give all three prices, or none."))
        return given

    def price(self) -> ModelPrice | None:
        """The price that was given, or ``None`` if the row was left empty."""
        given: dict[str, Decimal | None] = self.cleaned_data
        input_, cached, output = (given[name] for name in ("input_per_1k", "cached_per_1k", "output_per_1k"))
        if input_ is None or cached is None or output is None:
            return None
        return ModelPrice(self.model, input_, cached, output)

"""What does not fit the description of the API, said in the reader's language.

The framework says it in English only, so that half of an error would be in another language than the rest.
"""

from collections.abc import Mapping
from typing import Any

from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

_SAID: dict[str, Promise] = {
    "missing": gettext_lazy("it is missing"),
    "extra_forbidden": gettext_lazy("there is no such field"),
    "json_invalid": gettext_lazy("it is no valid JSON"),
    "string_type": gettext_lazy("it must be a text"),
    "int_type": gettext_lazy("it must be a whole number"),
    "int_parsing": gettext_lazy("it must be a whole number"),
    "int_from_float": gettext_lazy("it must be a whole number"),
    "int_parsing_size": gettext_lazy("the number is too large"),
    "float_type": gettext_lazy("it must be a number"),
    "float_parsing": gettext_lazy("it must be a number"),
    "finite_number": gettext_lazy("it must be a number"),
    "bool_type": gettext_lazy("it must be true or false"),
    "bool_parsing": gettext_lazy("it must be true or false"),
    "list_type": gettext_lazy("it must be a list"),
    "dict_type": gettext_lazy("it must be an object"),
    "model_type": gettext_lazy("it must be an object"),
    "model_attributes_type": gettext_lazy("it must be an object"),
    "uuid_type": gettext_lazy("it must be an id, as the API gives them"),
    "uuid_parsing": gettext_lazy("it must be an id, as the API gives them"),
    "greater_than_equal": gettext_lazy("it must be at least %(ge)s"),
    "less_than_equal": gettext_lazy("it must be at most %(le)s"),
    "literal_error": gettext_lazy("it must be one of these: %(expected)s"),
}
_MOMENT = gettext_lazy("it must be a date and time with its zone, such as 2026-03-01T18:00:00+08:00")
_OTHER = gettext_lazy("its value is not possible here")


def said(found: Mapping[str, Any]) -> str:
    """Why one place does not fit, for an error as pydantic tells it; never in another language than the current."""
    kind, facts = str(found.get("type", "")), dict(found.get("ctx") or {})
    if kind == "value_error" and "error" in facts:  # raised by a schema of ours, in the reader's language already
        return str(facts["error"])
    if kind == "literal_error":
        facts["expected"] = str(facts["expected"]).replace(" or ", ", ")
    if kind.startswith(("datetime_", "timezone_")):
        return str(_MOMENT)
    return str(_SAID.get(kind, _OTHER)) % facts


def unstorable() -> str:
    """What is wrong with a text that no database and no file can keep."""
    return _("it holds a character that cannot be stored (NUL, or half an emoji)")

"""How pools and their weeks are written in pages."""

from decimal import Decimal

from django import template
from django.utils.dates import WEEKDAYS_ABBR
from django.utils.translation import gettext, pgettext
from django.utils.translation import gettext_lazy as _

from portal.capacity.models import Window

register = template.Library()
_RANGES = {0b111_1111: _("every day"), 0b001_1111: _("Mon–Fri"), 0b110_0000: _("Sat, Sun")}


@register.filter
def weekday(day: int) -> str:
    """The short name of a day; 0 is Monday."""
    return str(WEEKDAYS_ABBR[day])


@register.filter
def days_of(window: Window) -> str:
    """On which days a window begins: "every day", "Mon–Fri", or the days one by one."""
    known = _RANGES.get(window.days)
    comma = pgettext("between two weekdays", ", ")
    return str(known) if known else comma.join(weekday(day) for day in range(7) if window.days >> day & 1)


@register.filter
def percent(share: float) -> str:
    """A share of 0 to 1 as "85 %"."""
    return gettext("%(percent)s %%") % {"percent": f"{float(share) * 100:g}"}


@register.filter
def rate(price: Decimal) -> str:
    """A price per 1,000 tokens with as many decimals as it has: "0.0005"."""
    return f"{price.normalize():f}"

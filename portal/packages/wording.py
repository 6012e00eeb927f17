"""Numbers, times and durations as people read them, in the language and zone that are active."""

from datetime import datetime, timedelta
from decimal import Decimal

from django.utils import timezone
from django.utils.dateformat import format as format_date
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop, ngettext, pgettext

# Django's own Chinese catalogue has only the long names (星期三). Named here they get the short ones (周三), which
# every "D" in a date format and every WEEKDAYS_ABBR then shows.
SHORT_DAYS = (
    gettext_noop("Mon"),
    gettext_noop("Tue"),
    gettext_noop("Wed"),
    gettext_noop("Thu"),
    gettext_noop("Fri"),
    gettext_noop("Sat"),
    gettext_noop("Sun"),
)
SYMBOLS = {"CNY": "¥", "USD": "$", "EUR": "€", "GBP": "£", "HKD": "HK$"}


def count(value: float | None) -> str:
    """``30000`` as ``30,000``."""
    return "" if value is None else f"{value:,.0f}"


def pace(per_s: float) -> str:
    """Rows a second: ``3,993``, ``1.9`` or ``0.04``, with decimals only where they tell something."""
    if per_s >= 100:
        return f"{per_s:,.0f}"
    return f"{per_s:.1f}".removesuffix(".0") if per_s >= 0.1 else f"{per_s:.3f}".rstrip("0").rstrip(".")


def money(amount: Decimal | None, currency: str) -> str:
    """``41.8`` CNY as ``¥ 41.80``. Formats only: amounts arrive rounded."""
    if amount is None:
        return "–"
    return f"{SYMBOLS.get(currency, currency)}\u00a0{amount:,.2f}"


def clock(at: datetime | None) -> str:
    """``15:00`` in the active zone."""
    return "" if at is None else format_date(timezone.localtime(at), "H:i")


def day(at: datetime | None) -> str:
    """``Wed 2 Dec``."""
    if at is None:
        return ""
    return _dated(at, pgettext("date format: weekday, day, month", "D j M"))


def moment(at: datetime | None) -> str:
    """``Wed 2 Dec, 15:00``."""
    if at is None:
        return ""
    return _dated(at, pgettext("date format: weekday, day, month, time", "D j M, H:i"))


def when(at: datetime | None, now: datetime | None = None) -> str:
    """An instant as near ones are named: ``today 15:03``, ``tomorrow 04:25``, ``Fri 4 Dec, 15:00``."""
    if at is None:
        return ""
    today = timezone.localtime(now or timezone.now()).date()
    days = (timezone.localtime(at).date() - today).days
    if days == 0:
        return _("today %(time)s") % {"time": clock(at)}
    if days == 1:
        return _("tomorrow %(time)s") % {"time": clock(at)}
    if days == -1:
        return _("yesterday %(time)s") % {"time": clock(at)}
    return moment(at)


def stretch(low: datetime | None, high: datetime | None) -> str:
    """``today 04:05 – 04:40``; one instant where the two are less than two minutes apart."""
    if low is None or high is None or high - low < timedelta(minutes=2):
        return when(high or low)
    is_one_day = timezone.localtime(low).date() == timezone.localtime(high).date()
    return f"{when(low)} – {clock(high) if is_one_day else when(high)}"


def span(length: timedelta | None) -> str:
    """``10 h 20 min``; the two largest units, rounded down, never negative."""
    if length is None:
        return ""
    minutes = int(abs(length).total_seconds() // 60)
    days, hours, rest = minutes // 1440, minutes % 1440 // 60, minutes % 60
    if days:
        first = ngettext("%(n)d day", "%(n)d days", days) % {"n": days}
        return f"{first} {_hours(hours)}" if hours else first
    if hours:
        return _("%(hours)d h %(minutes)d min") % {"hours": hours, "minutes": rest} if rest else _hours(hours)
    if minutes:
        return _minutes(minutes)
    return _("%(n)d s") % {"n": int(abs(length).total_seconds())}


def window(name: str) -> str:
    """A window's name as an administrator gave it; the one that every installation begins with is translated."""
    return pgettext("name of a window", "night") if name == "night" else name


def size(octets: int) -> str:
    """``93.1 MB``, in powers of 1,000."""
    value = float(octets)
    for unit in ("B", "kB", "MB", "GB"):
        if value < 1000 or unit == "GB":
            return f"{value:.0f} {unit}" if unit == "B" else f"{value:.1f} {unit}"
        value /= 1000
    raise AssertionError("unreachable")


def gpu_hours(hours: float) -> str:
    """``61`` or, below ten, ``6.2``."""
    return f"{hours:,.0f}" if hours >= 9.95 else f"{hours:.1f}"


def gpu_time(seconds: float) -> str:
    """GPU-seconds as ``48 s``, ``12.5 min`` or ``6.2 h``."""
    if seconds < 90:
        return _("%(n)s s") % {"n": f"{seconds:.0f}"}
    if seconds < 5400:
        return _("%(n)s min") % {"n": f"{seconds / 60:.1f}"}
    return _("%(n)s h") % {"n": f"{seconds / 3600:,.1f}"}


def _hours(n: int) -> str:
    return _("%(n)d h") % {"n": n}


def _minutes(n: int) -> str:
    return _("%(n)d min") % {"n": n}


def _dated(at: datetime, layout: str) -> str:
    return format_date(timezone.localtime(at), layout)

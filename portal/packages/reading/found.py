"""What reading a manifest found, in a sentence that people read before anything is paid."""

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from portal.packages.correcting.quarantine import Reason, reasons_of
from portal.packages.following.progress import progress_of
from portal.packages.models import Package
from portal.packages.wording import count


def found_words(package: Package) -> str:
    """``30,000 rows: 16,767 run, 13,233 repeat an earlier row and cost nothing, 60 are set aside.``"""
    rows, requests = package.rows_total, package.requests
    repeats, aside = package.rows_repeated, package.rows_set_aside
    parts = [ngettext("%(n)s runs", "%(n)s run", requests) % {"n": count(requests)}]
    if repeats:
        said = ngettext(
            "%(n)s repeats an earlier row and costs nothing", "%(n)s repeat an earlier row and cost nothing", repeats
        )
        parts.append(said % {"n": count(repeats)})
    if aside:
        parts.append(ngettext("%(n)s is set aside", "%(n)s are set aside", aside) % {"n": count(aside)})
    total = ngettext("%(n)s row", "%(n)s rows", rows) % {"n": count(rows)}
    joined = _(", ").join(parts)
    return _("%(total)s: %(parts)s.") % {"total": total, "parts": joined}


def set_aside_of(package: Package) -> list[Reason]:
    """Rows that were set aside while the manifest was read, by reason, the most frequent first."""
    return reasons_of(package, progress_of(package)) if package.rows_set_aside else []

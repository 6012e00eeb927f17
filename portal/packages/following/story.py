"""What happened to a package, as sentences: the timeline's codes and facts in the reader's language."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal, InvalidOperation
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from portal.capacity.models import Tier
from portal.packages import reasons, wording
from portal.packages.models import Package, TimelineEntry
from scheduler.domain.lifecycle import Cause

Facts = dict[str, Any]
TOGETHER = timedelta(minutes=2)
"""Shards that share a fate within this time are told in one line."""


@dataclass(frozen=True)
class Happening:
    """One line of the timeline."""

    at: datetime
    text: str


def story_of(package: Package) -> list[Happening]:
    """Everything that happened, the latest first; what befell several shards together is one line."""
    return [Happening(group[0].at, _told(group)) for group in _grouped(package.timeline.all())]


def sentence(code: str, facts: Facts, shards: int = 1) -> str:
    """The sentence of one line. An unknown code is shown as it is: better odd than silent."""
    if code in _OF_SHARDS:
        return _OF_SHARDS[code](facts, shards)
    return _SENTENCES[code](facts) if code in _SENTENCES else code


def _told(group: list[TimelineEntry]) -> str:
    return sentence(group[0].code, group[0].params, len({entry.params.get("shard") for entry in group}))


def _grouped(entries: Iterable[TimelineEntry]) -> Iterator[list[TimelineEntry]]:
    group: list[TimelineEntry] = []
    for entry in entries:
        if group and not _belongs(entry, group[-1]):
            yield group
            group = []
        group.append(entry)
    if group:
        yield group


def _belongs(entry: TimelineEntry, later: TimelineEntry) -> bool:
    is_same = entry.code == later.code and entry.params.get("cause") == later.params.get("cause")
    return is_same and entry.code in _OF_SHARDS and later.at - entry.at <= TOGETHER


# --- the package ------------------------------------------------------------------------------------------
def _read(facts: Facts) -> str:
    rows = int(facts.get("rows", 0))
    said = ngettext("%(rows)s row read", "%(rows)s rows read", rows) % {"rows": wording.count(rows)}
    aside = int(facts.get("set_aside", 0))
    return said + (_(", %(aside)s set aside") % {"aside": wording.count(aside)} if aside else "")


def _invalid(facts: Facts) -> str:
    why = reasons.sentence(facts["reason"], facts) if facts.get("reason") else ""
    return " ".join(filter(None, [_("The file could not be used as it is."), why]))


def _admitted(facts: Facts) -> str:
    said = {
        "tier": str(Tier(facts["tier"]).label) if facts.get("tier") in Tier.values else "",
        "at": wording.moment(_instant(facts.get("deadline_at"))),
        "price": wording.money(_amount(facts.get("price_at_most")), facts.get("currency", "")),
    }
    return _("Promise accepted: %(tier)s, by %(at)s, at most %(price)s") % said


def _finished(facts: Facts) -> str:
    if facts.get("succeeded") is None:
        return _("Finished, the results are ready")
    rows = wording.count(int(facts["succeeded"]))
    return _("Finished: %(rows)s rows succeeded, the results are ready") % {"rows": rows}


def _results_lost(facts: Facts) -> str:
    rows = int(facts.get("rows", 0))
    said = ngettext(
        "The result of %(rows)s row was lost by our fault; it counts as failed, its charge is to be corrected",
        "The results of %(rows)s rows were lost by our fault; they count as failed, their charge is to be corrected",
        rows,
    )
    return said % {"rows": wording.count(rows)}


def _columns_lost(_facts: Facts) -> str:
    return _("What was uploaded cannot be read any more by a fault on our side; rows without it have only their number")


def _reasons_lost(_facts: Facts) -> str:
    return _("Why rows were set aside was lost by a fault on our side; they stay in quarantine")


def _aims_lost(facts: Facts) -> str:
    rows = int(facts.get("rows", 0))
    said = ngettext(
        "Round %(round)s of corrections: which row %(rows)s corrected row is for was lost by our fault; it stays in "
        "quarantine, its charge is to be corrected",
        "Round %(round)s of corrections: which rows %(rows)s corrected rows are for was lost by our fault; they stay "
        "in quarantine, their charge is to be corrected",
        rows,
    )
    return said % {"round": facts.get("round", "?"), "rows": wording.count(rows)}


def _corrected_lost(facts: Facts) -> str:
    said = _(
        "The corrected file of round %(round)s cannot be read any more by a fault on our side; its rows are shown "
        "with their earlier columns"
    )
    return said % {"round": facts.get("round", "?")}


def _repeats_lost(facts: Facts) -> str:
    rows = int(facts.get("rows", 0))
    said = ngettext(
        "Which row %(rows)s repeated row repeats was lost by our fault; it counts as failed",
        "Which rows %(rows)s repeated rows repeat was lost by our fault; they count as failed",
        rows,
    )
    return said % {"rows": wording.count(rows)}


def _correction_uploaded(facts: Facts) -> str:
    said = {"round": facts.get("round", "?"), "name": facts.get("by", "")}
    return _("Corrected rows handed over, round %(round)s (%(name)s)") % said


def _correction_replaced(facts: Facts) -> str:
    said = {"round": facts.get("round", "?"), "name": facts.get("by", "")}
    return _("The file of round %(round)s was replaced by another one; nothing of it had run (%(name)s)") % said


def _corrected(facts: Facts) -> str:
    rows, left = int(facts.get("rows", 0)), int(facts.get("left", 0))
    said = ngettext(
        "Round %(round)s of corrections has ended: %(rows)s row corrected, %(left)s left in quarantine",
        "Round %(round)s of corrections has ended: %(rows)s rows corrected, %(left)s left in quarantine",
        rows,
    )
    return said % {"round": facts.get("round", "?"), "rows": wording.count(rows), "left": wording.count(left)}


def _by(text: Callable[[], str]) -> Callable[[Facts], str]:
    """A sentence that ends with who asked for it, where somebody did."""
    return lambda facts: _("%(what)s (%(name)s)") % {"what": text(), "name": facts["by"]} if facts.get("by") else text()


_SENTENCES: dict[str, Callable[[Facts], str]] = {
    "correction_uploaded": _correction_uploaded,
    "correction_replaced": _correction_replaced,
    "corrected": _corrected,
    "uploaded": _by(lambda: _("File uploaded")),
    "read": _read,
    "invalid": _invalid,
    "admitted": _admitted,
    "started": _by(lambda: _("Started")),
    "paused": _by(lambda: _("Paused")),
    "resumed": _by(lambda: _("Resumed, nothing is repeated")),
    "cancelling": _by(lambda: _("Cancel asked for; finished rows are kept")),
    "finalising": _by(lambda: _("Every shard has ended, writing the results")),
    "completed": _finished,
    "results_lost": _results_lost,
    "columns_lost": _columns_lost,
    "reasons_lost": _reasons_lost,
    "aims_lost": _aims_lost,
    "corrected_lost": _corrected_lost,
    "repeats_lost": _repeats_lost,
    "cancelled": _by(lambda: _("Cancelled; what had finished is kept")),
}


# --- its shards -------------------------------------------------------------------------------------------
def _parked(facts: Facts, n: int) -> str:
    said = ngettext("%(n)d shard parked: %(why)s", "%(n)d shards parked: %(why)s", n)
    why = {
        Cause.PREEMPTION: _("online traffic comes first"),
        Cause.SHUTDOWN: _("its worker is shutting down"),
        Cause.OPERATOR_PAUSE: _("paused by a person"),
        Cause.USER_CANCEL: _("cancelled by a person"),
    }
    return said % {"n": n, "why": why.get(facts.get("cause", ""), str(facts.get("cause", "")))}


def _lost(_facts: Facts, n: int) -> str:
    said = ngettext(
        "%(n)d shard goes to another worker: its own fell silent. Nothing finished is repeated",
        "%(n)d shards go to another worker: their own fell silent. Nothing finished is repeated",
        n,
    )
    return said % {"n": n}


def _faulted(_facts: Facts, n: int) -> str:
    said = ngettext(
        "%(n)d shard is tried again after a fault on our side",
        "%(n)d shards are tried again after a fault on our side",
        n,
    )
    return said % {"n": n}


def _dead(_facts: Facts, n: int) -> str:
    said = ngettext(
        "%(n)d shard gave up for a reason of ours; its unfinished rows cost nothing",
        "%(n)d shards gave up for a reason of ours; their unfinished rows cost nothing",
        n,
    )
    return said % {"n": n}


_OF_SHARDS: dict[str, Callable[[Facts, int], str]] = {
    "shard_parked": _parked,
    "shard_lost": _lost,
    "shard_faulted": _faulted,
    "shard_dead": _dead,
}


def _instant(text: str | None) -> datetime | None:
    return datetime.fromisoformat(text) if text else None


def _amount(text: object) -> Decimal | None:
    try:
        return Decimal(str(text))
    except InvalidOperation:
        return None

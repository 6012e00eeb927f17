"""Reading a draft's manifest another way: what a person chose instead of what was found, and back."""

from dataclasses import fields
from datetime import datetime
from typing import Final

from django.db import transaction
from django.utils.translation import gettext as _

from portal.audit.services import record
from portal.departments.models import Person
from portal.departments.refusals import Refusal, UnableToChangeState
from portal.packages import reasons
from portal.packages.drafts import NOTHING_READ, change
from portal.packages.manifest import Reading, UnableToRead
from portal.packages.manifest.containers import HEAD, container_of
from portal.packages.manifest.probe import Probed
from portal.packages.manifest.reading import Wish
from portal.packages.models import Package
from portal.packages.reading_words import encoding_name
from portal.packages.receiving.first_rows import keep_first_rows
from portal.packages.receiving.uploads import looked_through, reading_of
from portal.packages.store import objects
from scheduler.domain.lifecycle import EDITABLE, PackageState
from scheduler.objects import ObjectNotFound

CHOSEN: Final = "chosen"
_FIELDS: Final = {
    "wrong_encoding": "encoding",
    "unusable_encoding": "encoding",
    "utf16": "encoding",
    "binary_file": "encoding",
    "unusable_delimiter": "delimiter",
    "unusable_quote": "quote",
    "unclosed_quote": "quote",
    "no_heading": "has_heading",
    "unknown_sheet": "sheet",
    "no_sheet": "sheet",
}
"""The part of a wish that a refusal is about, where its code tells."""


class UnableToReread(Refusal):
    """The file cannot be read in this way; ``field`` is the part of the wish that is most likely at fault."""


def reread(*, package: Package, wish: Wish, by: Person | None, now: datetime) -> Package:
    """Read the manifest of a draft as ``wish`` says, as far as that is not left to what is found.

    The package goes back to draft, whatever was quoted for it; its task and what is typed of it are kept. Raises
    :class:`UnableToReread` for a wish that the file cannot be read by, and
    :class:`~portal.departments.refusals.UnableToChangeState` for a package that is promised, being read or
    finished, and for a correction; nothing is changed then.
    """
    if package.corrects_id is not None:
        raise UnableToChangeState(_("The file of a correction is read as it is. Upload another one instead."))
    before = Reading.from_json(package.reading)
    try:
        reading = reading_of(package.manifest_key, package.filename, _probed(package, before, wish), wish)
    except ObjectNotFound as error:
        raise _refusal(UnableToRead("file_lost"), wish, before) from error
    except UnableToRead as error:
        raise _refusal(error, wish, before) from error
    with transaction.atomic():
        change(package, EDITABLE, now, state=PackageState.DRAFT, reading=reading.as_json(), **NOTHING_READ)
        record(action="package.reread", subject=package.number, by=by, department=package.department, now=now)
    package.refresh_from_db()
    keep_first_rows(package)
    return package


def wish_of(reading: Reading) -> Wish:
    """The wish that ``reading`` fulfils: what a person chose, everything else left to what is found."""
    chosen = {name for name, certainty in reading.certainties.items() if certainty == CHOSEN}
    return Wish(
        encoding=reading.encoding if reading.certainty == CHOSEN else None,
        delimiter=reading.delimiter if "delimiter" in chosen else None,
        quote=reading.quote if "quote" in chosen else None,
        has_heading=reading.has_heading if "heading" in chosen else None,
        sheet=reading.sheet if "sheet" in chosen else None,
    )


def _probed(package: Package, before: Reading, wish: Wish) -> Probed:
    """What the manifest is; its bytes are looked at again only if another encoding is asked for."""
    with objects().open_read(package.manifest_key) as stream:
        content = container_of(stream.read(HEAD))
    if content != "text" or wish.encoding != wish_of(before).encoding:
        return looked_through(package.manifest_key, wish)
    return Probed(package.manifest_bytes, package.manifest_sha256, content, before.encoding, before.certainty)


def _refusal(error: UnableToRead, wish: Wish, before: Reading) -> UnableToReread:
    facts = dict(error.details)
    if "encoding" in facts:
        facts["encoding"] = encoding_name(facts["encoding"])
    said = reasons.sentence(error.code, facts)
    return UnableToReread(said, code=error.code, field=_at_fault(error.code, wish, before), **error.details)


def _at_fault(code: str, wish: Wish, before: Reading) -> str | None:
    """The part of the wish that ``code`` is about; otherwise one that is wished now and was not before."""
    if code in _FIELDS:
        return _FIELDS[code]
    held = wish_of(before)
    names = [field.name for field in fields(Wish)]
    return next((name for name in names if getattr(wish, name) not in (None, getattr(held, name))), None)

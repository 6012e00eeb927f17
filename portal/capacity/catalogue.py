"""What administrators change: models, pools and their windows."""

from datetime import datetime

from django.db import models, transaction
from django.utils.translation import gettext as _

from portal.audit import services as audit
from portal.capacity.models import LanguageModel, Pool, Window
from portal.departments.models import Person
from portal.departments.refusals import UnableToChangeState


def save(*, thing: LanguageModel | Pool | Window, by: Person, now: datetime) -> None:
    """Create or change a model, pool or window (already validated)."""
    verb = "created" if thing._state.adding else "changed"
    with transaction.atomic():
        thing.save()
        audit.record(action=f"{_kind(thing)}.{verb}", subject=thing.pk, now=now, by=by, name=str(thing))


def remove_window(*, window: Window, by: Person, now: datetime) -> None:
    """Take a window out of its pool's week; from now on the pool's base share holds there."""
    with transaction.atomic():
        audit.record(action="window.removed", subject=window.pk, now=now, by=by, name=window.name)
        if window.delete()[0] != 1:
            raise UnableToChangeState(_("Somebody else has just removed this window."))


def _kind(thing: models.Model) -> str:
    return {LanguageModel: "model", Pool: "pool", Window: "window"}[type(thing)]

"""What the machine itself refuses, told like any other refusal: a full disk, a database that takes nothing more."""

import errno
import sqlite3

from django.db import DatabaseError
from django.utils.translation import gettext_lazy as _

from portal.departments.refusals import Refusal

_FULL = {errno.ENOSPC, errno.EDQUOT}
_SQLITE_FULL = {
    sqlite3.SQLITE_FULL,
    sqlite3.SQLITE_IOERR_WRITE,
    sqlite3.SQLITE_IOERR_FSYNC,
    sqlite3.SQLITE_IOERR_TRUNCATE,
    sqlite3.SQLITE_IOERR_SHMSIZE,
    sqlite3.SQLITE_IOERR_SHMOPEN,
    sqlite3.SQLITE_IOERR_SHMMAP,
}
_POSTGRES_FULL = "53100"


class UnableToStore(Refusal):
    """There is no space left. Nothing was kept, and the same request works once there is space."""

    code = "storage_full"
    status = 507

    def __init__(self) -> None:
        super().__init__(
            _("There is no space left to store this, so nothing was kept. Tell the operators, then try again.")
        )


def outage_of(error: BaseException) -> Refusal | None:
    """The refusal that stands for ``error``, or ``None`` if it is not about space."""
    if isinstance(error, OSError) and error.errno in _FULL:
        return UnableToStore()
    if isinstance(error, DatabaseError) and _is_full(error.__cause__):
        return UnableToStore()
    return None


def _is_full(cause: BaseException | None) -> bool:
    """Whether a driver says so: SQLite by its number (a failed write of its log is an I/O error to it)."""
    if isinstance(cause, sqlite3.Error):
        return getattr(cause, "sqlite_errorcode", 0) in _SQLITE_FULL
    return getattr(cause, "sqlstate", None) == _POSTGRES_FULL

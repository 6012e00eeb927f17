"""What the content of one row can do to the code that looks at it: it costs that row its place, and no other."""

from typing import Any, TypeAlias

import structlog

from portal.packages.manifest.openai_rows import UnableToAsk
from scheduler.records import SetAsideRow
from scheduler.tokenizers import UnableToRenderChat

FAULTS_OF_ROWS = (LookupError, RecursionError, ValueError)
"""What is raised over a row's content, foreseen or not; faults of the machine or the store are none of these."""
Why: TypeAlias = tuple[str, dict[str, Any]]
"""The code for which a row is set aside, and its facts."""
log = structlog.get_logger()


def unreadable(fault: Exception, row: int) -> Why:
    """Why ``row`` is set aside after ``fault`` while its cells were looked at."""
    return _foreseen(fault, row) or ("malformed_row", {"line": row, "fault": _logged(fault, row)})


def unaskable(fault: Exception, row: int) -> Why:
    """Why ``row`` is set aside after ``fault`` while its chat was made or counted."""
    return _foreseen(fault, row) or ("template_fault", {"problem": _logged(fault, row)})


def _foreseen(fault: Exception, row: int) -> Why | None:
    if isinstance(fault, UnableToRenderChat):
        return "template_fault", {"problem": str(fault)[:200]}
    if isinstance(fault, UnableToAsk):
        return "unsupported_request", {"line": row, "parameter": fault.parameter}
    return None


def _logged(fault: Exception, row: int) -> str:
    """The kind of ``fault``: what it says may hold the row's content, so neither the log nor a page repeats it."""
    kind = type(fault).__name__
    log.warning("row cannot be used", action="screening.fault", row=row, fault=kind)
    return kind


def writable(row: SetAsideRow) -> SetAsideRow:
    """``row`` with question marks for halves of surrogate pairs, which no file takes."""
    return SetAsideRow(row.row, row.code, _plain(row.detail), _plain(row.columns))


def _plain(values: dict[str, Any]) -> dict[str, Any]:
    return {_text(name): _text(value) if isinstance(value, str) else value for name, value in values.items()}


def _text(text: str) -> str:
    return text.encode(errors="replace").decode()

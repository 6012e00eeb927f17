"""Cells of tables that people open in a spreadsheet: text in them is never taken for a formula."""

import re
from typing import Any

_NUMBER = re.compile(r"[+-]?[0-9.,]+(?:[eE][+-]?[0-9]+)?%?")
_COMMAND_STARTS = ("=", "+", "-", "@", "＝", "＋", "－", "＠", "\t", "\r", "\n")
"""The wide ones too: Excel takes them for the narrow ones where people write Chinese or Japanese."""


def guarded(cell: Any) -> Any:
    """``cell`` with an apostrophe in front if a spreadsheet would take its text for a formula; numbers as they are.

    Text that begins with apostrophes before such a start gets one more, so that :func:`unguarded` gives it back.
    """
    if isinstance(cell, str) and _would_command(cell) and not _NUMBER.fullmatch(cell):
        return f"'{cell}"
    return cell


def unguarded(text: str) -> str:
    """The text of which :func:`guarded` made ``text``: exactly one apostrophe less, if it has one."""
    return text[1:] if text.startswith("'") and _would_command(text) else text


def _would_command(text: str) -> bool:
    return text.lstrip("'").startswith(_COMMAND_STARTS)

"""Rows with characters that no text has: broken bytes and NUL. Pure."""

from portal.packages.manifest.decoding import MARK, readable
from portal.packages.manifest.reading import BadRow, Row


def spoiled(row: Row | BadRow, line: int) -> Row | BadRow:
    """``row``, set aside if something in it is no text, the rest of it kept in a form that can be shown."""
    is_broken = any(MARK in value for value in row.values.values())
    if not is_broken and not any("\0" in value for value in row.values.values()):
        return row
    values = {name: readable(value) for name, value in row.values.items()}
    if isinstance(row, BadRow) and not is_broken:
        return row._replace(values=values)
    column = next((name for name, value in row.values.items() if (MARK if is_broken else "\0") in value), "")
    place = {"line": line, "column": column}
    if isinstance(row, BadRow):
        return BadRow(row.number, "undecodable", {"problem": "undecodable_line", "line": line}, values)
    if is_broken:
        return BadRow(row.number, "undecodable", place, values)
    return BadRow(row.number, "malformed_row", {"problem": "nul_character", **place}, values)

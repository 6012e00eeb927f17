"""Corrected rows of a manifest of whole requests: what people change in a table is put into the chat again. Pure."""

from collections.abc import Mapping

from portal.packages.manifest import BadRow, Row
from portal.packages.manifest.json_values import as_json
from portal.packages.manifest.openai_rows import UnableToAsk, messages_of
from scheduler.tokenizers import ChatMessage


def whole_request(row: Row | BadRow) -> Row | BadRow:
    """``row`` with its messages as its prompt says; a bad row where it asks for what cannot be understood."""
    if isinstance(row, BadRow):
        return row
    try:
        chat = _chat(row.values)
        _check_numbers(row.values)
    except UnableToAsk as error:
        detail = {"line": row.number, "parameter": error.parameter}
        return BadRow(row.number, "unsupported_request", detail, row.values)
    last = next((one["content"] for one in reversed(chat) if one["role"] == "user"), "")
    return row._replace(values={**row.values, "prompt": last, "messages": as_json(chat) if chat else ""})


def _chat(values: Mapping[str, str]) -> list[ChatMessage]:
    """The messages, of which the last one of the user says what the column ``prompt`` has now."""
    prompt = values.get("prompt", "")
    if not values.get("messages", "").strip():
        return [{"role": "user", "content": prompt}] if prompt.strip() else []
    chat = messages_of(values)
    last = max((at for at, one in enumerate(chat) if one["role"] == "user"), default=None)
    if last is not None and prompt.strip():
        chat[last] = {"role": "user", "content": prompt}
    return chat


def _check_numbers(values: Mapping[str, str]) -> None:
    limit, temperature = values.get("max_tokens", "").strip(), values.get("temperature", "").strip()
    if limit and not (limit.isascii() and limit.isdecimal()):
        raise UnableToAsk("max_tokens")
    try:
        float(temperature or 0)
    except ValueError as error:
        raise UnableToAsk("temperature") from error

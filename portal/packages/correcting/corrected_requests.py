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
        numbers = _numbers(row.values)
    except UnableToAsk as error:
        detail = {"line": row.number, "parameter": error.parameter}
        return BadRow(row.number, "unsupported_request", detail, row.values)
    last = next((one["content"] for one in reversed(chat) if one["role"] == "user"), "")
    return row._replace(values={**row.values, **numbers, "prompt": last, "messages": as_json(chat) if chat else ""})


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


def _numbers(values: Mapping[str, str]) -> dict[str, str]:
    """What the row asks for in numbers, without the spaces that people leave in cells."""
    found = {name: values[name].strip() for name in ("max_tokens", "temperature") if name in values}
    limit, temperature = found.get("max_tokens"), found.get("temperature")
    if limit and not (limit.isascii() and limit.isdecimal() and len(limit) < 10 and int(limit)):
        raise UnableToAsk("max_tokens")
    if temperature and not _is_temperature(temperature):
        raise UnableToAsk("temperature")
    return found


def _is_temperature(text: str) -> bool:
    try:
        return 0 <= float(text) <= 2
    except ValueError:
        return False

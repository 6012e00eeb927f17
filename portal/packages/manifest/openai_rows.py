"""Manifests in the OpenAI batch format: one request a line, each with its own messages. Pure.

A row has the columns :data:`COLUMNS`: the id, the text of the last user message (``prompt``), all messages as JSON, and
what the line asks of the model. A line that asks for what is not offered is set aside and told so by its parameter.
"""

import json
from collections.abc import Mapping
from itertools import islice
from typing import Any, BinaryIO, Final

from portal.packages.manifest.json_values import Malformed, Number, as_json, refuse_no_text, shown
from portal.packages.manifest.jsonl_rows import LOOKED_AT, Record, records
from portal.packages.manifest.reading import BadRow, Reading, Row, Rows
from scheduler.tokenizers import ChatMessage

COLUMNS: Final = ("custom_id", "prompt", "messages", "max_tokens", "temperature")
URL: Final = "/v1/chat/completions"
ROLES: Final = frozenset({"system", "developer", "user", "assistant"})

_ASKED = frozenset({"model", "messages", "max_tokens", "max_completion_tokens", "temperature"})
_UNHEEDED = frozenset({"user", "metadata", "store", "seed", "service_tier", "safety_identifier", "prompt_cache_key"})
"""Parameters that change nothing in the answer."""
_AS_IF_LEFT_OUT: Mapping[str, tuple[Any, ...]] = {
    "stream": (False,),
    "n": ("1",),
    "tools": ([],),
    "functions": ([],),
    "tool_choice": ("none", "auto"),
    "parallel_tool_calls": (True, False),
    "stop": ([],),
    "top_p": ("1", "1.0"),
    "frequency_penalty": ("0", "0.0"),
    "presence_penalty": ("0", "0.0"),
    "logprobs": (False,),
    "logit_bias": ({},),
    "response_format": ({"type": "text"},),
}
"""Values of further parameters that ask for nothing beyond what is done anyway."""


class UnableToAsk(ValueError):
    """The line asks for what is not offered; ``parameter`` is what asks for it."""

    def __init__(self, parameter: str) -> None:
        super().__init__(parameter)
        self.parameter = parameter


def is_request(found: Mapping[str, Any]) -> bool:
    """Is a line's object a request of the batch format, right or wrong?"""
    return isinstance(found.get("body"), dict) and ("custom_id" in found or "url" in found)


def describe(reading: Reading) -> Reading:
    """``reading`` of a JSON Lines file whose lines are requests."""
    return Reading("openai", reading.encoding, columns=COLUMNS, certainty=reading.certainty)


def rows(stream: BinaryIO, reading: Reading) -> Rows:
    """See ``portal.packages.manifest.rows``."""
    for record in records(stream, reading.encoding):
        yield record if isinstance(record, BadRow) else _row(record)


def messages_of(values: Mapping[str, str]) -> list[ChatMessage]:
    """The chat of a row, from its column ``messages``. Raises :class:`UnableToAsk` where that was made into none."""
    written = values.get("messages", "")
    try:
        chat = _chat(json.loads(written))
        refuse_no_text({str(at): message["content"] for at, message in enumerate(chat)}, written)
    except (ValueError, RecursionError) as error:
        raise UnableToAsk("messages") from error
    return chat


def defaults(stream: BinaryIO, encoding: str) -> dict[str, Any]:
    """What the first lines ask of the model, as far as they do, so that a task can begin with it.

    ``model`` (a name), ``max_output_tokens`` (a whole number) and ``temperature`` (a float).
    """
    for record in islice(records(stream, encoding), LOOKED_AT):
        if isinstance(record, Record) and is_request(record.found) and isinstance(_row(record), Row):
            return _defaults(record.found["body"])
    return {}


def _defaults(body: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    if body.get("model"):
        found["model"] = str(body["model"])
    if limit := _tokens(body):
        found["max_output_tokens"] = int(limit)
    if temperature := _temperature(body):
        found["temperature"] = float(temperature)
    return found


def _row(record: Record) -> Row | BadRow:
    try:
        values = _values(record.found)
        refuse_no_text(values, record.raw)
    except UnableToAsk as error:
        return record.bad("unsupported_request", parameter=error.parameter)
    except Malformed as error:
        return record.malformed(error)
    return Row(record.number, values)


def _values(found: dict[str, Any]) -> dict[str, str]:
    custom_id, body = found.get("custom_id"), found.get("body")
    if not isinstance(custom_id, str) or not custom_id.strip():
        raise UnableToAsk("custom_id")
    if found.get("method", "POST") != "POST":
        raise UnableToAsk("method")
    if found.get("url") != URL:
        raise UnableToAsk("url")
    if not isinstance(body, dict):
        raise UnableToAsk("body")
    _refuse_unoffered(body)
    chat = _chat(body.get("messages"))
    prompt = next((message["content"] for message in reversed(chat) if message["role"] == "user"), "")
    return dict(zip(COLUMNS, (custom_id, prompt, as_json(chat), _tokens(body), _temperature(body)), strict=True))


def _refuse_unoffered(body: dict[str, Any]) -> None:
    for name, value in body.items():
        if name in _ASKED or name in _UNHEEDED or value is None:
            continue
        if not any(type(value) in (type(usual), Number) and value == usual for usual in _AS_IF_LEFT_OUT.get(name, ())):
            raise UnableToAsk(name)


def _chat(messages: Any) -> list[ChatMessage]:
    if not isinstance(messages, list) or not messages:
        raise UnableToAsk("messages")
    return [_message(message) for message in messages]


def _message(message: Any) -> ChatMessage:
    if not isinstance(message, dict):
        raise UnableToAsk("messages")
    role = message.get("role")
    if not isinstance(role, str) or role not in ROLES:
        raise UnableToAsk("role")
    for name, value in message.items():
        if name not in {"role", "content", "name"} and value not in (None, []):
            raise UnableToAsk(name)
    return {"role": "system" if role == "developer" else role, "content": _content(message.get("content"))}


def _content(content: Any) -> str:
    """The text of a message, its parts one below the other."""
    if isinstance(content, str) and not isinstance(content, Number):
        return content
    if not isinstance(content, list):
        raise UnableToAsk("content")
    return "\n".join(map(_part, content))


def _part(part: Any) -> str:
    if isinstance(part, dict) and part.get("type") == "text" and isinstance(part.get("text"), str):
        return str(part["text"])
    raise UnableToAsk("content")


def _tokens(body: dict[str, Any]) -> str:
    """The most tokens that may be generated, or ``""``."""
    value = shown(body.get("max_completion_tokens")) or shown(body.get("max_tokens"))
    if value and not (value.isascii() and value.isdigit() and len(value) < 10 and int(value)):
        raise UnableToAsk("max_tokens")
    return value


def _temperature(body: dict[str, Any]) -> str:
    value = body.get("temperature")
    if value is None:
        return ""
    if not isinstance(value, Number) or not 0 <= float(value) <= 2:
        raise UnableToAsk("temperature")
    return str(value)

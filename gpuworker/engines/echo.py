"""The engine without a model: deterministic answers at once, for tests and for measuring everything else.

Copy this file to add an engine (docs/recipes/engine.md).
"""

import asyncio
import json
import os
from collections.abc import Sequence
from hashlib import sha256

from gpuworker.engines.instances import UnableToInstantiate, smallest_instance
from gpuworker.engines.port import EngineAnswer, EngineRequest, EngineSettings, RequestRefused
from scheduler.tokenizers import ChatMessage
from scheduler.tokenizers.words import WordsTokenizer
from scheduler.wire import Usage


class EchoEngine:
    """Labels by a hash of the last message, the smallest valid JSON for a schema, otherwise the message's words.

    SLACKWATER_ECHO_DELAY_S makes every answer take that many seconds.
    """

    def __init__(self, settings: EngineSettings) -> None:
        self._context_tokens = settings.context_tokens
        self._delay_s = float(os.environ.get("SLACKWATER_ECHO_DELAY_S", "0"))
        self._tokenizer = WordsTokenizer()

    async def start(self) -> None:
        """Nothing to load."""

    async def generate(self, request: EngineRequest) -> EngineAnswer:
        prompt_tokens = self._tokenizer.count_chat(request.messages)
        if prompt_tokens > self._context_tokens:
            raise RequestRefused("too_long", f"{prompt_tokens} tokens exceed the context of {self._context_tokens}")
        text = _answer(request)
        await asyncio.sleep(self._delay_s)
        words = text.split()
        if len(words) <= request.max_output_tokens:
            return EngineAnswer(text, Usage(prompt_tokens, 0, len(words)))
        cut = words[: request.max_output_tokens]
        return EngineAnswer(" ".join(cut), Usage(prompt_tokens, 0, len(cut)), "length")

    async def stop(self) -> None:
        """Nothing to release."""


def _answer(request: EngineRequest) -> str:
    if request.labels:
        digest = sha256(_last(request.messages).encode()).digest()
        return request.labels[int.from_bytes(digest[:4]) % len(request.labels)]
    if request.json_schema is not None:
        return _instance(request.json_schema)
    return _last(request.messages)


def _last(messages: Sequence[ChatMessage]) -> str:
    return messages[-1]["content"] if messages else ""


def _instance(json_schema: str) -> str:
    try:
        return json.dumps(smallest_instance(json.loads(json_schema)), separators=(",", ":"), ensure_ascii=False)
    except (ValueError, UnableToInstantiate) as error:
        raise RequestRefused("bad_constraint", str(error)) from error

"""llama.cpp in this process, through xllamacpp: the embedded form's engine.

Its calls block, so each request in flight has a thread. Answers stream into a callback there; its return value
is how a request is aborted, between two tokens or two pieces of the prompt. llama.cpp also opens an HTTP port on
loopback that nobody uses; a random key shuts it.
"""

import asyncio
import json
import os
import secrets
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from gpuworker.engines.port import (
    EngineAnswer,
    EngineBusy,
    EngineDied,
    EngineRequest,
    EngineSettings,
    RequestRefused,
    UnableToAnswer,
)
from scheduler.model_file import model_file
from scheduler.wire import Usage

PROMPT_PIECE_TOKENS = 64  # a prompt is read in pieces of this length (no slower), with a chance to abort between them
STALL_S = 300.0  # a request that shows no sign of life for so long means the engine hangs
QUIET = -1


class LlamaCppEngine:
    """A GGUF model on the CPU, with ``max_in_flight`` contexts side by side."""

    def __init__(self, settings: EngineSettings) -> None:
        self._settings = settings
        self._threads = ThreadPoolExecutor(settings.max_in_flight, thread_name_prefix="llama")
        self._calls: set[_Call] = set()
        self._server: Any = None

    async def start(self) -> None:
        """Raises ``UnableToFindModel``, or ``EngineDied`` when llama.cpp cannot load the file."""
        path = str(model_file(self._settings.location))
        try:
            self._server = await asyncio.to_thread(self._load, path)
        except Exception as error:
            raise EngineDied(f"llama.cpp could not load the model: {error}") from error

    def _load(self, path: str) -> Any:
        import xllamacpp

        return xllamacpp.Server(_parameters(xllamacpp.CommonParams(), path, self._settings))

    async def generate(self, request: EngineRequest) -> EngineAnswer:
        call = _Call(self._server, _body(request))
        self._calls.add(call)
        running = asyncio.get_running_loop().run_in_executor(self._threads, call.run)
        try:
            while not running.done():
                await asyncio.wait({running}, timeout=1)
                if call.silent_s() > STALL_S:
                    raise EngineDied(f"llama.cpp has not answered for {STALL_S:.0f} s")
            return running.result()
        finally:
            call.abort()
            running.cancel()
            running.add_done_callback(lambda _: self._calls.discard(call))

    async def stop(self) -> None:
        """Abort what is in flight and wait for its threads; the memory goes with the process."""
        for call in list(self._calls):
            call.abort()
        await asyncio.to_thread(self._threads.shutdown, wait=True, cancel_futures=True)
        self._server = None


class _Call:
    """One request in its thread; other threads may abort it and ask when it last gave a sign of life."""

    def __init__(self, server: Any, body: dict[str, Any]) -> None:
        self._server, self._body = server, body
        self._aborted = threading.Event()
        self._text: list[str] = []
        self._finish_reason: str | None = None
        self._usage: dict[str, Any] | None = None
        self._error: dict[str, Any] | None = None
        self._seen_at: float | None = None

    def abort(self) -> None:
        self._aborted.set()

    def silent_s(self) -> float:
        """Seconds since the last sign of life; 0 before the call has a thread."""
        return 0.0 if self._seen_at is None else time.monotonic() - self._seen_at

    def run(self) -> EngineAnswer:
        self._seen_at = time.monotonic()
        try:
            self._server.handle_chat_completions(self._body, self._on_chunk)
        except (ValueError, RuntimeError) as error:
            raise _raised(error) from error
        if self._error is not None:
            raise _failure(self._error)
        if self._usage is None or self._finish_reason is None:
            raise EngineBusy("the answer broke off")
        return EngineAnswer("".join(self._text), _usage(self._usage), self._finish_reason)

    def _on_chunk(self, chunk: dict[str, Any]) -> bool:
        """Called for every piece of the answer; True ends the request."""
        self._seen_at = time.monotonic()
        self._error = chunk.get("error", self._error)
        self._usage = chunk.get("usage", self._usage)
        for choice in chunk.get("choices", ()):
            self._text.append(choice["delta"].get("content") or "")
            self._finish_reason = choice["finish_reason"] or self._finish_reason
        return self._aborted.is_set()


def _parameters(params: Any, path: str, settings: EngineSettings) -> Any:
    # One core is left free: llama.cpp's threads spin against each other when every core has one.
    threads = max(1, (os.cpu_count() or 2) - 1)
    params.model.path = path
    params.n_parallel = settings.max_in_flight
    params.n_ctx = settings.context_tokens * settings.max_in_flight
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = threads
    params.n_batch = params.n_ubatch = PROMPT_PIECE_TOKENS
    params.fit_params = False  # the context is what the promise was computed with: never shrink it silently
    params.cache_ram_mib = 0  # contexts keep their shared prefix; no second cache of gigabytes
    params.cache_idle_slots = False
    params.api_keys = [secrets.token_urlsafe(32)]
    params.verbosity = QUIET
    return params


def _body(request: EngineRequest) -> dict[str, Any]:
    body: dict[str, Any] = {
        "messages": request.messages,
        "max_tokens": request.max_output_tokens,
        "temperature": request.temperature,
        "cache_prompt": True,
        "stream": True,
        "stream_options": {"include_usage": True},
        "return_progress": True,
    }
    if request.labels:
        body["grammar"] = label_grammar(request.labels)
    elif request.json_schema is not None:
        schema = json.loads(request.json_schema)
        body["response_format"] = {"type": "json_schema", "json_schema": {"schema": schema}}
    return body


def label_grammar(labels: tuple[str, ...]) -> str:
    """A GBNF grammar of exactly these texts."""
    return "root ::= " + " | ".join(f'"{"".join(map(_literal, label))}"' for label in labels)


def _literal(character: str) -> str:
    if character in '"\\':
        return "\\" + character
    return character if character.isprintable() else f"\\U{ord(character):08X}"


def _usage(usage: dict[str, Any]) -> Usage:
    cached = (usage.get("prompt_tokens_details") or {}).get("cached_tokens", 0)
    return Usage(usage["prompt_tokens"], cached, usage["completion_tokens"])


def _failure(error: dict[str, Any]) -> UnableToAnswer:
    code, message = error.get("code"), str(error.get("message"))
    if error.get("type") == "exceed_context_size_error":
        return RequestRefused("too_long", message)
    return _refused(message) if code in {400, 422} else EngineBusy(message)


def _raised(error: Exception) -> UnableToAnswer:
    """xllamacpp raises ValueError for a bad schema, RuntimeError for unreadable JSON and for anything internal."""
    message = str(error)
    if isinstance(error, ValueError) or "json.exception" in message:
        return _refused(message)
    return EngineBusy(message)


def _refused(message: str) -> RequestRefused:
    at_fault = any(word in message.lower() for word in ("grammar", "schema"))
    return RequestRefused("bad_constraint" if at_fault else "invalid_request", message)

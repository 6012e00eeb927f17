"""A request's body that is read while it arrives, by a view that waits for it in its own thread."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures import CancelledError
from contextvars import Context
from typing import Any

Message = Mapping[str, Any]
Receive = Callable[[], Awaitable[Message]]

PATIENCE_S = 20.0
"""So long without a byte, and the sender is taken to be gone: whoever comes back must not wait for its ghost."""


class Stream:
    """The file that Django takes for a request's body, and the ``receive`` that tells it of the end."""

    def __init__(self, source: Receive) -> None:
        self._source = source
        self._loop = asyncio.get_running_loop()
        self._waiting = b""
        self._is_over = False
        self._has_ended = asyncio.Event()

    async def __call__(self) -> Message:
        """What comes after the body."""
        await self._has_ended.wait()
        return await self._source()

    def read(self, size: int = -1) -> bytes:
        """At most ``size`` bytes (all, when negative), as soon as there are some; none at the end.

        Not for the thread of the event loop. Raises ``ConnectionResetError`` when the sender is gone or silent.
        """
        if size < 0:
            return b"".join(iter(lambda: self.read(2**16), b""))
        while not self._waiting and not self._is_over:
            self._waiting = self._next_chunk()
        taken, self._waiting = self._waiting[:size], self._waiting[size:]
        return taken

    def close(self) -> None:
        """Nothing is kept here."""

    def _next_chunk(self) -> bytes:
        # Reading goes on in the context in which it is asked for, also with the connection's next request: in an empty
        # one, as the view's own thread would be looked for there when it is gone.
        coming = Context().run(asyncio.run_coroutine_threadsafe, self._receive(), self._loop)
        try:
            return coming.result(PATIENCE_S)
        except TimeoutError as error:
            coming.cancel()
            raise ConnectionResetError("nothing came any more") from error
        except CancelledError as error:
            raise ConnectionResetError("the portal is stopping") from error

    async def _receive(self) -> bytes:
        message = await self._source()
        is_gone = message["type"] == "http.disconnect"
        if is_gone or not message.get("more_body", False):
            self._is_over = True
            self._has_ended.set()
        if is_gone:
            raise ConnectionResetError("the sender is gone")
        return bytes(message.get("body", b""))

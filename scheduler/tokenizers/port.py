"""The tokenizer port: counts the tokens of a request exactly as the model's engine will.

Every adapter passes tests/contract/test_tokenizers.py; the GGUF one is also compared with the engine itself
in tests/engines/.
"""

from collections.abc import Sequence
from typing import Protocol, TypedDict


class ChatMessage(TypedDict):
    role: str
    content: str


class UnableToRenderChat(ValueError):
    """The model's chat template has no form for these messages, such as a role that it does not know."""


class Tokenizer(Protocol):
    """Counts tokens. Thread-safe. Chats may raise :class:`UnableToRenderChat`."""

    def count_text(self, text: str) -> int:
        """Tokens of ``text`` alone."""
        ...

    def count_chat(self, messages: Sequence[ChatMessage]) -> int:
        """Tokens of the whole prompt: ``messages`` in the model's chat template, answer prefix included."""
        ...

    def count_chats(self, chats: Sequence[Sequence[ChatMessage]]) -> list[int]:
        """``count_chat`` of many, faster."""
        ...

    def at_least(self, text: str, times: int = 1) -> int:
        """Tokens that a prompt has at least which holds ``text`` so many ``times``, found without counting them.

        The bounds of several texts in one prompt may be added up.
        """
        ...

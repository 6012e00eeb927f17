"""The tokenizer port: counts the tokens of a request exactly as the model's engine will.

Every adapter passes tests/contract/test_tokenizers.py; the GGUF one is also compared with the engine itself
in tests/engines/.
"""

from collections.abc import Sequence
from typing import Protocol, TypedDict


class ChatMessage(TypedDict):
    role: str
    content: str


class Tokenizer(Protocol):
    """Counts tokens. Thread-safe."""

    def count_text(self, text: str) -> int:
        """Tokens of ``text`` alone."""
        ...

    def count_chat(self, messages: Sequence[ChatMessage]) -> int:
        """Tokens of the whole prompt: ``messages`` in the model's chat template, answer prefix included."""
        ...

    def count_chats(self, chats: Sequence[Sequence[ChatMessage]]) -> list[int]:
        """``count_chat`` of many, faster."""
        ...


def open_tokenizer(kind: str, location: str) -> Tokenizer:
    """``gguf`` reads the vocabulary and chat template from the model file, ``words`` is the echo engine's."""
    from scheduler.tokenizers.gguf import GgufTokenizer
    from scheduler.tokenizers.words import WordsTokenizer

    if kind == "gguf":
        return GgufTokenizer.of(location)
    if kind == "words":
        return WordsTokenizer()
    raise ValueError(f"unknown tokenizer {kind!r}: use gguf or words")

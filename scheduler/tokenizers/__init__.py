"""How tokens are counted: the port is port.py, its adapters stand beside it."""

from scheduler.tokenizers.port import (
    ChatMessage,
    Tokenizer,
    UnableToRenderChat,
)

__all__ = [
    "ChatMessage",
    "Tokenizer",
    "UnableToRenderChat",
    "open_tokenizer",
]


def open_tokenizer(kind: str, location: str) -> Tokenizer:
    """``gguf`` reads the vocabulary and chat template from the model file, ``words`` is the echo engine's."""
    from scheduler.tokenizers.gguf import GgufTokenizer
    from scheduler.tokenizers.words import WordsTokenizer

    if kind == "gguf":
        return GgufTokenizer.of(location)
    if kind == "words":
        return WordsTokenizer()
    raise ValueError(f"unknown tokenizer {kind!r}: use gguf or words")

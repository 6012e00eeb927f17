"""The echo engine's tokenizer: a token is a word, and each message costs one more for its role."""

from collections.abc import Sequence

from scheduler.tokenizers.port import ChatMessage


class WordsTokenizer:
    """Counts words between white space."""

    def count_text(self, text: str) -> int:
        return len(text.split())

    def count_chat(self, messages: Sequence[ChatMessage]) -> int:
        return sum(1 + self.count_text(message["content"]) for message in messages)

    def count_chats(self, chats: Sequence[Sequence[ChatMessage]]) -> list[int]:
        return [self.count_chat(messages) for messages in chats]

    def at_least(self, text: str, times: int = 1) -> int:  # noqa: ARG002 - of the port
        return 0  # a word may be of any length, and counting words takes no time

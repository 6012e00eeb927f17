"""How much engine time work takes: tokens in, GPU-seconds of one replica out."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class WorkModel:
    """How fast one replica works when it is kept full.

    ``prefill_tokens_per_s`` and ``decode_tokens_per_s`` are the rates over all requests in flight together, so an
    item's seconds are its share of the replica's time and not the time that a person would wait for it.
    ``item_overhead_s`` is what each item costs whatever its length. Raises ``ValueError`` for rates that are not
    above zero or an overhead below it.
    """

    prefill_tokens_per_s: float
    decode_tokens_per_s: float
    item_overhead_s: float = 0.0

    def __post_init__(self) -> None:
        if self.prefill_tokens_per_s <= 0 or self.decode_tokens_per_s <= 0 or self.item_overhead_s < 0:
            raise ValueError(f"rates must be above zero and the overhead not below it: {self}")

    def item_s(self, prompt_tokens: float, output_tokens: float) -> float:
        """GPU-seconds of one item."""
        return self.total_s(1, prompt_tokens, output_tokens)

    def total_s(self, items: float, prompt_tokens: float, output_tokens: float) -> float:
        """GPU-seconds of ``items`` items whose prompts and outputs sum up to the given tokens."""
        return (
            items * self.item_overhead_s
            + prompt_tokens / self.prefill_tokens_per_s
            + output_tokens / self.decode_tokens_per_s
        )

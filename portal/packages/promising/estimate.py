"""What a package will probably take: output tokens, GPU-seconds, price, and what would make it cheaper."""

import math
from dataclasses import dataclass
from decimal import Decimal

from portal.billing.domain import Rates, Tokens, price_of, round_money
from portal.capacity.models import Pool
from portal.capacity.queries import work_model_of
from portal.packages.models import Kind, Package
from portal.packages.prompts import counts_as_its_engine, tokenizer_of

END_TOKEN = 1
"""Engines count the token that ends an answer as output."""

SHARE_OF_LONGEST = (0.25, 0.6, 1.0)
"""Low, expected and high share of the longest output for free text, until a department's history tells better."""

WORTH_SAYING = 0.25
"""Advice on the fixed part of the prompt is given from this share of the input on."""


@dataclass(frozen=True)
class OutputTokens:
    """Sums over all requests: how few, how many probably, how many at most."""

    low: int
    expected: int
    high: int


@dataclass(frozen=True)
class Work:
    """GPU-seconds of the whole package on one pool. The promise is made for ``at_most_s``."""

    expected_s: float
    at_most_s: float


@dataclass(frozen=True)
class Price:
    """Rounded to the cent; without any discount for cached input, which shows on the bill only."""

    expected: Decimal
    at_most: Decimal


@dataclass(frozen=True)
class Saving:
    """One fact that would make the package cheaper. ``share`` is a part of 1, ``tokens`` per request."""

    code: str
    share: float
    tokens: int


def output_tokens(package: Package) -> OutputTokens:
    """Tokens of the answers, from the labels for tagging and from the longest output for the other kinds."""
    low, expected, high = _of_a_label(package) if package.kind == Kind.TAGGING else _of_free_text(package)
    requests = package.requests
    return OutputTokens(requests * low, math.ceil(requests * expected), requests * high)


def work_on(pool: Pool, package: Package, output: OutputTokens) -> Work:
    """How long ``pool`` takes for the package."""
    model = work_model_of(pool)
    requests, prompt = package.requests, package.input_tokens
    return Work(model.total_s(requests, prompt, output.expected), model.total_s(requests, prompt, output.high))


def price_for(package: Package, output: OutputTokens, rates: Rates, factor: Decimal) -> Price:
    """What the package will cost at ``rates``, at most: tries after the first are not charged."""
    dearest = Rates(max(rates.input_per_1k, rates.cached_per_1k), rates.cached_per_1k, rates.output_per_1k)
    return Price(
        expected=round_money(price_of(Tokens(package.input_tokens, 0, output.expected), rates, factor)),
        at_most=round_money(price_of(Tokens(package.input_tokens, 0, output.high), dearest, factor)),
    )


def savings(package: Package) -> list[Saving]:
    """What would make the package cheaper, the largest saving first."""
    if not package.input_tokens or package.model is None or not counts_as_its_engine(package.model):
        return []
    fixed = package.fixed_prompt_tokens * package.requests / package.input_tokens
    found = [Saving("fixed_prompt", min(1.0, fixed), package.fixed_prompt_tokens)] if fixed >= WORTH_SAYING else []
    return sorted(found, key=lambda saving: -saving.share)


def _of_a_label(package: Package) -> tuple[int, float, int]:
    assert package.model is not None
    tokenizer = tokenizer_of(package.model)
    lengths = [tokenizer.count_text(label) + END_TOKEN for label in package.labels]
    # A constrained engine may spell a label in other tokens than the tokenizer, but never in more than its bytes.
    longest = max(len(label.encode()) for label in package.labels) + END_TOKEN
    high = max(min(longest, package.max_output_tokens), max(lengths))
    return min(lengths), sum(lengths) / len(lengths), high


def _of_free_text(package: Package) -> tuple[int, float, int]:
    low, expected, high = (share * package.max_output_tokens for share in SHARE_OF_LONGEST)
    return math.ceil(low), expected, math.ceil(high)

"""Money, purely: exact prices, the one rounding and what it leaves, capital numerals. All of it ``Decimal``."""

from collections.abc import Iterable
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Context, Decimal, Inexact

CENT = Decimal("0.01")
_EXACT = Context(prec=60, traps=[Inexact])
_ROUNDING = Context(prec=60)


@dataclass(frozen=True)
class Rates:
    """What 1,000 tokens cost, by meter."""

    input_per_1k: Decimal
    cached_per_1k: Decimal
    output_per_1k: Decimal


@dataclass(frozen=True)
class Tokens:
    """Metered tokens. ``input`` does not contain ``cached``: the three are priced side by side."""

    input: int
    cached: int
    output: int


def price_of(tokens: Tokens, rates: Rates, factor: Decimal) -> Decimal:
    """The exact price, without rounding (tokens × rate ÷ 1,000 × factor). Linear: prices of sums are sums of prices."""
    return exact_sum(
        [
            meter_price(tokens.input, rates.input_per_1k, factor),
            meter_price(tokens.cached, rates.cached_per_1k, factor),
            meter_price(tokens.output, rates.output_per_1k, factor),
        ]
    )


def meter_price(tokens: int, per_1k: Decimal, factor: Decimal) -> Decimal:
    """The exact price of one meter's tokens."""
    return _EXACT.multiply(_EXACT.multiply(Decimal(tokens).scaleb(-3), per_1k), factor)


def exact_sum(amounts: Iterable[Decimal]) -> Decimal:
    """The sum, which raises ``decimal.Inexact`` before it would lose a digit."""
    total = Decimal(0)
    for amount in amounts:
        total = _EXACT.add(total, amount)
    return total


def round_money(amount: Decimal) -> Decimal:
    """To the cent, half away from zero. The only rounding of money in Slackwater."""
    return amount.quantize(CENT, rounding=ROUND_HALF_UP, context=_ROUNDING)


def exact_text(amount: Decimal) -> str:
    """Every digit of ``amount`` that counts, without an exponent: ``0.0125``, ``30``."""
    return f"{amount.normalize(_EXACT):f}"


def rounding_of(total: Decimal, amounts: Iterable[Decimal]) -> Decimal:
    """What is missing (or, negative, too much) when ``amounts``, each rounded on its own, are added up to ``total``.

    At most half a cent for each amount and half a cent for the total.
    """
    return total - exact_sum(amounts)


_DIGITS = "零壹贰叁肆伍陆柒捌玖"
_PLACES = ("", "拾", "佰", "仟")
_GROUPS = ("", "万", "亿", "万亿")


def capital_numerals(amount: Decimal) -> str:
    """``amount`` yuan in 人民币大写, as a Chinese document of money writes it: 962.40 → 人民币玖佰陆拾贰元肆角整.

    Where the rules for cheques (People's Bank of China, 支付结算办法, appendix 1) allow two spellings, the first one.
    Rounded to the cent; raises ``ValueError`` from 10¹⁶ yuan on.
    """
    cents = int(round_money(abs(amount)).scaleb(2))
    yuan, jiao, fen = cents // 100, cents // 10 % 10, cents % 10
    if yuan >= 10**16:
        raise ValueError(f"{amount} is too large to be written out")
    whole = f"{_integer(yuan)}元" if yuan or not cents else ""
    return ("人民币" + ("负" if amount < 0 and cents else "")) + whole + _fraction(yuan, jiao, fen)


def _fraction(yuan: int, jiao: int, fen: int) -> str:
    if not jiao and not fen:
        return "整"
    joins = "零" if yuan and (not jiao or yuan % 10 == 0) else ""
    return joins + (f"{_DIGITS[jiao]}角" if jiao else "") + (f"{_DIGITS[fen]}分" if fen else "整")


def _integer(number: int) -> str:
    """The digits in groups of four; one 零 for each run of zeros between digits."""
    if number == 0:
        return _DIGITS[0]
    written = ""
    owes_zero = False
    for group in range(3, -1, -1):
        value = number // 10_000**group % 10_000
        if value == 0:
            owes_zero = bool(written)
            continue
        if written and (owes_zero or value < 1000):
            written += _DIGITS[0]
        written += _group(value) + _GROUPS[group]
        owes_zero = False
    return written


def _group(value: int) -> str:
    """One to 9,999 without the zeros in front."""
    written, owes_zero = "", False
    for place in range(3, -1, -1):
        digit = value // 10**place % 10
        if digit == 0:
            owes_zero = bool(written)
            continue
        written += (_DIGITS[0] if owes_zero else "") + _DIGITS[digit] + _PLACES[place]
        owes_zero = False
    return written

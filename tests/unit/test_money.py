"""Money: exact prices, one rounding and what it leaves, capital numerals."""

from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from portal.billing.domain import Rates, Tokens, capital_numerals, exact_text, price_of, round_money, rounding_of

RATES = Rates(Decimal("0.002"), Decimal("0.0005"), Decimal("0.006"))
counts = st.integers(0, 10**12)
prices = st.decimals(0, 10_000, places=6)


def test_a_price_is_tokens_by_rate_by_factor() -> None:
    # 18,402,117 × 0.002 ÷ 1,000 = 36.804234; 9,120,480 × 0.0005 ÷ 1,000 = 4.56024; 1,204,553 × 0.006 ÷ 1,000 = 7.227318
    assert price_of(Tokens(18_402_117, 9_120_480, 1_204_553), RATES, Decimal(1)) == Decimal("48.591792")
    assert price_of(Tokens(1, 0, 0), RATES, Decimal("1.5")) == Decimal("0.000003")


@given(st.tuples(counts, counts, counts), st.tuples(prices, prices, prices), st.decimals(0, 100, places=1))
def test_a_price_loses_no_digit(tokens: tuple[int, int, int], rates: tuple[Decimal, ...], factor: Decimal) -> None:
    exact = sum(Fraction(t) * Fraction(r) for t, r in zip(tokens, rates, strict=True)) / 1000 * Fraction(factor)
    assert Fraction(price_of(Tokens(*tokens), Rates(*rates), factor)) == exact


@pytest.mark.parametrize(("amount", "rounded"), [("0.005", "0.01"), ("0.0049", "0.00"), ("2.675", "2.68"), ("1", "1")])
def test_halves_are_rounded_up(amount: str, rounded: str) -> None:
    assert round_money(Decimal(amount)) == Decimal(rounded)


@pytest.mark.parametrize(
    ("amount", "written"),
    [("0.0125000000", "0.0125"), ("30.00", "30"), ("0E-10", "0"), ("12345678901234567890123456789.1234567890", None)],
)
def test_an_exact_amount_is_written_with_every_digit_that_counts(amount: str, written: str | None) -> None:
    assert exact_text(Decimal(amount)) == (written or amount.rstrip("0"))


@given(st.lists(st.decimals(0, 10**6, places=10), max_size=30))
def test_rounded_lines_and_their_rounding_are_the_total(amounts: list[Decimal]) -> None:
    total, lines = round_money(sum(amounts, Decimal(0))), [round_money(amount) for amount in amounts]
    rounding = rounding_of(total, lines)
    assert sum(lines, rounding) == total
    assert abs(rounding) <= Decimal("0.005") * (len(lines) + 1)


@pytest.mark.parametrize(
    ("amount", "written"),
    [
        ("962.40", "人民币玖佰陆拾贰元肆角整"),
        ("0", "人民币零元整"),
        ("0.05", "人民币伍分"),
        ("0.30", "人民币叁角整"),
        ("10.05", "人民币壹拾元零伍分"),
        ("1409.50", "人民币壹仟肆佰零玖元伍角整"),  # this and the next five are the central bank's own examples
        ("6007.14", "人民币陆仟零柒元壹角肆分"),
        ("1680.32", "人民币壹仟陆佰捌拾元零叁角贰分"),
        ("107000.53", "人民币壹拾万柒仟元零伍角叁分"),
        ("16409.02", "人民币壹万陆仟肆佰零玖元零贰分"),
        ("325.04", "人民币叁佰贰拾伍元零肆分"),
        ("1001", "人民币壹仟零壹元整"),
        ("10000001", "人民币壹仟万零壹元整"),
        ("100000000", "人民币壹亿元整"),
        ("100010000", "人民币壹亿零壹万元整"),
        ("1234567898.12", "人民币壹拾贰亿叁仟肆佰伍拾陆万柒仟捌佰玖拾捌元壹角贰分"),
        ("-7.28", "人民币负柒元贰角捌分"),
    ],
)
def test_capital_numerals_are_written_as_on_a_chinese_document(amount: str, written: str) -> None:
    assert capital_numerals(Decimal(amount)) == written


def test_what_cannot_be_written_out_raises() -> None:
    with pytest.raises(ValueError, match="too large"):
        capital_numerals(Decimal(10**16))


def read_capitals(text: str) -> Decimal:
    """An independent reading: a digit times its place, groups by 万 and 亿."""
    whole, _, rest = text.removeprefix("人民币").rpartition("元")
    total = group = digit = 0
    for sign in whole:
        if sign in "零壹贰叁肆伍陆柒捌玖":
            digit = "零壹贰叁肆伍陆柒捌玖".index(sign)
        elif sign in "拾佰仟":
            group, digit = group + digit * 10 ** ("拾佰仟".index(sign) + 1), 0
        elif sign == "万":
            total, group, digit = total + (group + digit) * 10**4, 0, 0
        else:
            total, group, digit = (total + group + digit) * 10**8, 0, 0
    cents = 0
    for place, value in (("角", 10), ("分", 1)):
        if place in rest:
            cents += value * "零壹贰叁肆伍陆柒捌玖".index(rest[rest.index(place) - 1])
    return Decimal(total + group + digit) + Decimal(cents) / 100


@given(st.integers(0, 10**14))
def test_capital_numerals_read_back_as_the_amount(cents: int) -> None:
    assert read_capitals(capital_numerals(Decimal(cents) / 100)) == Decimal(cents) / 100

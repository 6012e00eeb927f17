"""Numbers by Excel's format codes (ECMA-376, part 1, §18.8.31), as far as these are usual. Pure.

Digits, decimals, grouping, percent, thousands left out, literals, and sections for negative numbers and zero. What is
beyond that, such as fractions, exponents and conditions, is told apart, so that nothing is shown half right.
"""

import re
from decimal import ROUND_HALF_UP, Context, Decimal
from functools import lru_cache
from typing import Final, NamedTuple

_EXACT: Final = Context(prec=400)
"""Enough digits for the largest number of a cell, about 10^308."""
_TOKEN: Final = re.compile(
    r"""
    "(?P<quoted>[^"]*)" | \\(?P<escaped>.) | \[(?P<bracket>[^\]]*)\] | [_*](?P<blank>.) | (?P<general>General)
    | (?P<digits>(?:[0#?][0#?,]*(?:\.[0#?]*)?|\.[0#?]+),*) | (?P<percent>%) | (?P<end>;)
    | (?P<plain>[-+$()/:!^&'~{}<>=\ ]|[^\x00-\x7f])
    """,
    re.VERBOSE | re.IGNORECASE,
)
_COLOUR: Final = re.compile(r"black|blue|cyan|green|magenta|red|white|yellow|color ?\d+", re.IGNORECASE)


class _Section(NamedTuple):
    """One section: the literals around the digits, and the placeholders of these, or ``General``.

    ``within`` are literals among the digits, each with the number of placeholders before it.
    """

    before: str = ""
    digits: str = ""
    after: str = ""
    percents: int = 0
    is_coloured: bool = False
    within: tuple[tuple[int, str], ...] = ()

    def with_literal(self, text: str) -> "_Section":
        return self._replace(after=self.after + text) if self.digits else self._replace(before=self.before + text)


def number_shown(general: str, code: str) -> str | None:
    """The number written as ``general`` by the format ``code``; ``None`` where that is beyond what is known here."""
    sections = _sections(code)
    exact = Decimal(general)
    if not sections:
        return None
    place = 1 if exact < 0 and len(sections) > 1 else 2 if not exact and len(sections) > 2 else 0
    section = sections[place]
    if section is None or (section == _Section() and place < 2):
        return None
    number = _digits(abs(exact), section)
    has_minus = exact < 0 and (_is_signed_by_colour(section) if place else any(sign in "123456789" for sign in number))
    return f"{'-' if has_minus else ''}{section.before}{number}{section.after}"


def _is_signed_by_colour(section: _Section) -> bool:
    """Would nothing but the colour say that the number is negative?"""
    return section.is_coloured and not set("-(") & set(section.before + section.after)


@lru_cache(maxsize=1024)
def _sections(code: str) -> tuple[_Section | None, ...]:
    """The sections of ``code``, ``None`` for one that is not understood; none if not even their bounds are."""
    sections: list[_Section | None] = [_Section()]
    place = 0
    while place < len(code):
        token = _TOKEN.match(code, place)
        if token is None:
            sections[-1] = None
            place += 1
            continue
        place = token.end()
        if token["end"]:
            sections.append(_Section())
        elif (section := sections[-1]) is not None:
            sections[-1] = _added(section, token)
    return tuple(sections[:3]) if any(section != _Section() for section in sections) else ()


def _added(section: _Section, token: re.Match[str]) -> _Section | None:
    kind, text = token.lastgroup, token[token.lastgroup or 0]
    match kind:
        case "quoted" | "escaped" | "plain":
            return section.with_literal(text)
        case "percent":
            return section.with_literal(text)._replace(percents=section.percents + 1)
        case "digits" if section.digits:
            return _with_more(section, text)
        case "digits" | "general":
            return None if section.digits else section._replace(digits=text)
        case "bracket" if _COLOUR.fullmatch(text):
            return section._replace(is_coloured=True)
        case "bracket" if text.startswith("$"):
            return section.with_literal(text[1:].rpartition("-")[0] if "-" in text else text[1:])
        case "blank":
            return section
    return None


def _with_more(section: _Section, digits: str) -> _Section | None:
    """Placeholders that go on after a literal, as in phone numbers; beside a point, a comma or a fraction, ``None``."""
    if not set(section.digits + digits) <= set("0#?") or "/" in section.after:
        return None
    within = (*section.within, (len(section.digits), section.after))
    return section._replace(digits=section.digits + digits, after="", within=within)


def _digits(exact: Decimal, section: _Section) -> str:
    """The digits of a number without its sign."""
    if not section.digits:
        return ""
    if section.digits.casefold() == "general":
        return f"{exact:f}"
    layout = section.digits.rstrip(",")
    whole, _, decimals = layout.partition(".")
    exact = exact.scaleb(2 * section.percents - 3 * (len(section.digits) - len(layout)), _EXACT)
    rounded = exact.quantize(Decimal(1).scaleb(-len(decimals)), ROUND_HALF_UP, _EXACT)
    before, _, after = f"{rounded:f}".partition(".")
    before = before.lstrip("0").zfill(len(whole.replace(",", "").lstrip("#?")))
    if "," in whole:
        before = grouped(before)
    count = len(before)
    for place, literal in reversed(section.within):
        at = max(0, count - len(whole) + place)
        before = before[:at] + literal + before[at:]
    after = after[: len(decimals.rstrip("#?"))] + after[len(decimals.rstrip("#?")) :].rstrip("0")
    return f"{before}.{after}" if after else before


def grouped(digits: str) -> str:
    """``digits`` in groups of three."""
    start = len(digits) % 3
    groups = [digits[:start], *(digits[at : at + 3] for at in range(start, len(digits), 3))]
    return ",".join(filter(None, groups))

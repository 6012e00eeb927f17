"""Prompt templates: plain text with ``{{column}}``, rendered strictly and once.

Pure. What a row's text contains is never read as a template: rendering is one pass over parts that were cut
before any row was seen.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from heapq import nsmallest

COMPARED = 60
CANDIDATES = 20
_FIELD = re.compile(r"\{\{([^{}\n]*)\}\}")


class UnableToReadTemplate(ValueError):
    """The text is not a template. ``code`` is ``unclosed_field`` or ``empty_field``, ``line`` counts from 1."""

    def __init__(self, code: str, line: int) -> None:
        super().__init__(f"{code} in line {line}")
        self.code, self.line = code, line


@dataclass(frozen=True, slots=True)
class Template:
    """A template cut into texts and columns: ``texts[0] columns[0] texts[1] … columns[-1] texts[-1]``."""

    texts: tuple[str, ...]
    columns: tuple[str, ...]

    def render(self, values: Mapping[str, str]) -> str:
        """The text with every column replaced by its value; ``KeyError`` for a column that has none."""
        if not self.columns:
            return self.texts[0]
        pieces = [self.texts[0]]
        for column, text in zip(self.columns, self.texts[1:], strict=True):
            pieces += (values[column], text)
        return "".join(pieces)

    def fixed(self) -> str:
        """The part that is the same for every row."""
        return "".join(self.texts)

    def first_blank(self, values: Mapping[str, str]) -> str | None:
        """The first column of this template without visible text in ``values``."""
        return next((column for column in self.columns if not values.get(column, "").strip()), None)


def _line_of(text: str, position: int) -> int:
    return text.count("\n", 0, position) + 1


def parse(text: str) -> Template:
    """The template in ``text``; spaces around a column's name do not count.

    Raises :class:`UnableToReadTemplate` for ``{{`` without its ``}}`` on the same line, and for ``{{}}``.
    A lone ``}}``, as in JSON, is text.
    """
    texts: list[str] = []
    columns: list[str] = []
    end = 0
    for found in _FIELD.finditer(text):
        name = found[1].strip()
        if not name:
            raise UnableToReadTemplate("empty_field", _line_of(text, found.start()))
        texts.append(text[end : found.start()])
        columns.append(name)
        end = found.end()
    texts.append(text[end:])
    _refuse_unclosed(text)
    return Template(tuple(texts), tuple(columns))


def columns_named(text: str) -> frozenset[str]:
    """The columns in ``text``, however half-written the rest of it is."""
    return frozenset(found[1].strip() for found in _FIELD.finditer(text))


def _refuse_unclosed(text: str) -> None:
    blanked = _FIELD.sub(lambda found: " " * len(found[0]), text)
    at = blanked.find("{{")
    if at >= 0:
        raise UnableToReadTemplate("unclosed_field", _line_of(text, at))


def unknown_columns(template: Template, columns: Iterable[str]) -> list[str]:
    """Columns of ``template`` that the manifest does not have, each once, in order."""
    known = set(columns)
    return [name for name in dict.fromkeys(template.columns) if name not in known]


def nearest(name: str, columns: Iterable[str]) -> str | None:
    """The column that somebody who wrote ``name`` most likely meant; capitals do not count.

    Comparing takes time that grows with the product of both lengths, and people type while this runs: names are
    compared by their first characters, and only the likeliest columns by the letters that they share.
    """
    wanted = name.casefold()[:COMPARED]
    by_folded = {column.casefold()[:COMPARED]: column for column in columns}
    close = get_close_matches(wanted, _likeliest(wanted, by_folded), n=1, cutoff=0.5)
    return by_folded[close[0]] if close else None


def _likeliest(wanted: str, folded: Iterable[str]) -> list[str]:
    """The few of ``folded`` that share most letters with ``wanted``, best first."""
    letters = Counter(wanted)

    def unlike(column: str) -> float:
        shared = sum((letters & Counter(column)).values())
        return -2 * shared / max(1, len(wanted) + len(column))

    return nsmallest(CANDIDATES, folded, key=unlike)

"""Every code has a sentence that survives missing facts."""

import re

import pytest

from portal.packages import reasons


@pytest.mark.parametrize("code", [*reasons.ROWS, *reasons.FILES, *reasons.LABELS, "never heard of"])
def test_a_sentence_is_made_with_and_without_facts(code: str) -> None:
    bare = reasons.sentence(code, None)
    names = re.findall(r"%\((\w+)\)s", str(reasons.ROWS.get(code) or reasons.FILES.get(code) or ""))
    full = reasons.sentence(code, dict.fromkeys(names, "100% %(x)s"))
    assert bare
    assert "%(" not in bare
    assert bare.count("?") >= len(names)
    assert full.count("100%") == len(names)


def test_a_more_exact_problem_speaks_for_its_code() -> None:
    said = reasons.sentence("malformed_row", {"problem": "field_too_long", "line": 3, "limit": 1000})
    assert said == "Line 3 has a field of more than 1000 characters. Shorten it."


def test_labels_of_unknown_codes_are_the_code() -> None:
    assert reasons.label("too_long") == "too long for the model"
    assert reasons.label("odd") == "odd"
    assert reasons.refusal_sentence(None) == ""

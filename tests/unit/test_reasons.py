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
    assert said == "Line 3 of the file has a field of more than 1,000 characters. Shorten it."


def test_labels_of_unknown_codes_are_the_code() -> None:
    assert reasons.label("too_long") == "too long for the model"
    assert reasons.label("odd") == "odd"
    assert reasons.refusal_sentence(None) == ""


def test_numbers_are_grouped_as_on_every_page() -> None:
    said = reasons.sentence("too_long", {"tokens": 9_004, "limit": 4_096})
    assert said.startswith("The prompt has 9,004 tokens; with this task the model takes at most 4,096.")
    assert "“10000”" in reasons.sentence("duplicate_id", {"id": "10000", "first_row": 1_200})  # an id is no number


@pytest.mark.parametrize("code", ["ragged_row", "no_good_row"])
def test_no_sentence_has_one_of_several(code: str) -> None:
    said = reasons.sentence(code, {"fields": 1, "expected": 1, "rows": 1})
    assert not re.search(r"\b1 (?:fields|rows|columns)", said)

"""Prompt templates are cut once and rendered once."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from portal.packages.template import UnableToReadTemplate, nearest, parse, unknown_columns


def test_columns_are_replaced_and_spaces_in_braces_do_not_count() -> None:
    template = parse("Rate {{ text }} of {{brand}} ({{text}})")
    assert template.columns == ("text", "brand", "text")
    assert template.render({"text": "a", "brand": "b"}) == "Rate a of b (a)"


def test_text_of_a_row_is_never_read_as_a_template() -> None:
    assert parse("{{a}} {{b}}").render({"a": "{{b}}", "b": "secret"}) == "{{b}} secret"


def test_json_in_a_prompt_is_text() -> None:
    text = 'Answer {"a": {"b": 1}} for {{x}}'
    assert parse(text).render({"x": "1"}) == 'Answer {"a": {"b": 1}} for 1'
    assert parse("{{{x}}}").render({"x": "1"}) == "{1}"


@pytest.mark.parametrize(
    ("text", "code", "line"),
    [
        ("a\nb {{text", "unclosed_field", 2),
        ("{{ text }\n}", "unclosed_field", 1),
        ("\n\n{{  }}", "empty_field", 3),
        ("{{a}} and {{", "unclosed_field", 1),
    ],
)
def test_a_template_that_cannot_be_read_names_its_line(text: str, code: str, line: int) -> None:
    with pytest.raises(UnableToReadTemplate) as refused:
        parse(text)
    assert (refused.value.code, refused.value.line) == (code, line)


def test_a_column_without_value_is_an_error_and_never_empty_text() -> None:
    with pytest.raises(KeyError):
        parse("{{a}}").render({})


def test_unknown_columns_are_named_once_with_the_nearest() -> None:
    template = parse("{{Txet}} {{text}} {{Txet}}")
    assert unknown_columns(template, ["text", "id"]) == ["Txet"]
    assert nearest("Txet", ["id", "text"]) == "text"
    assert nearest("评论内", ["评论编号", "评论内容"]) == "评论内容"
    assert nearest("zzz", ["id", "text"]) is None


def test_the_first_blank_column_is_found() -> None:
    template = parse("{{a}} {{b}}")
    assert template.first_blank({"a": "x", "b": " \t"}) == "b"
    assert template.first_blank({"a": "x", "b": "y"}) is None


@given(
    st.lists(st.tuples(st.text(st.characters(exclude_characters="{}")), st.sampled_from("abc")), max_size=6), st.text()
)
def test_rendering_equals_replacing_the_pieces(pieces: list[tuple[str, str]], value: str) -> None:
    text = "".join(f"{before}{{{{{column}}}}}" for before, column in pieces)
    template = parse(text)
    expected = "".join(f"{before}{value}{column}" for before, column in pieces)
    assert template.render({c: f"{value}{c}" for c in "abc"}) == expected
    assert template.fixed() == "".join(before for before, _ in pieces)


def test_a_misspelt_column_among_many_long_ones_is_answered_while_somebody_types() -> None:
    columns = [f"{'customer review text ' * 9}{no:03}" for no in range(500)]
    began = time.process_time()
    for typed in range(1, 6):
        nearest(("custmer reviw txt " * 12)[: typed * 40], columns)
    assert time.process_time() - began < 0.5


def test_the_nearest_is_found_among_many() -> None:
    columns = [f"column {no}" for no in range(500)]
    assert nearest("Colunm 417", columns) == "column 417"

"""Column names: whatever a heading says, every column can be named in a prompt."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from portal.packages.manifest import UnableToRead
from portal.packages.manifest.reading import MAX_COLUMN_NAME, checked_columns


@pytest.mark.parametrize(
    ("heading", "columns"),
    [
        (["id", "text"], ("id", "text")),
        ([" id ", "\ufefftext", "two\r\nlines"], ("id", "text", "two lines")),
        (["id", "id", "id"], ("id", "id_2", "id_3")),
        (["id", "id", "id_2"], ("id", "id_3", "id_2")),
        (["id", "", "text", ""], ("id", "column_2", "text", "column_4")),
        (["column_2", "", "x"], ("column_2", "column_2_2", "x")),
        (["", "column_1"], ("column_1_2", "column_1")),
        (["n" * 200, "n" * 200], ("n" * 200, "n" * 198 + "_2")),
    ],
)
def test_every_column_gets_a_name_of_its_own(heading: list[str], columns: tuple[str, ...]) -> None:
    assert checked_columns(heading) == columns


@pytest.mark.parametrize(
    ("heading", "code"),
    [
        ([], "no_heading"),
        (["", " "], "no_heading"),
        (["x"] * 501, "too_many_columns"),
        (["n" * 201], "long_column"),
        (["a{b"], "unusable_column"),
    ],
)
def test_a_heading_that_no_prompt_could_use_is_refused(heading: list[str], code: str) -> None:
    with pytest.raises(UnableToRead, match=code):
        checked_columns(heading)


@given(st.lists(st.sampled_from(["", "a", "a_2", "a_3", "column_1", "column_2", "column_1_2"]), min_size=1, max_size=9))
def test_no_two_columns_share_a_name_and_names_of_the_file_stay_with_their_first(heading: list[str]) -> None:
    if not any(heading):
        return
    columns = checked_columns(heading)
    assert len(set(columns)) == len(columns) == len(heading)
    assert all(0 < len(column) <= MAX_COLUMN_NAME for column in columns)
    assert all(columns[heading.index(name)] == name for name in heading if name)

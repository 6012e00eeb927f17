"""The whole corpus, by group."""

from itertools import chain

from tests.corpus import (
    archives,
    dialects,
    encodings,
    headings,
    hostile_workbooks,
    json_lines,
    no_manifests,
    odd_rows,
    other_sheets,
    packed,
    requests,
    shown_cells,
    tables,
    texts,
    workbooks,
)
from tests.corpus.case import Case

_GROUPS = (
    texts.CASES,
    encodings.CASES,
    dialects.CASES,
    headings.CASES,
    odd_rows.CASES,
    json_lines.CASES,
    requests.CASES,
    workbooks.CASES,
    shown_cells.CASES,
    hostile_workbooks.CASES,
    other_sheets.CASES,
    tables.CASES,
    packed.CASES,
    archives.CASES,
    no_manifests.CASES,
)

CASES: list[Case] = list(chain.from_iterable(_GROUPS))
assert len({case.name for case in CASES}) == len(CASES), "two files of one name"

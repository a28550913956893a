from dataclasses import replace

import pytest

from explorer.data.table import PairTable
from explorer.tabs.pairs.review.files import resumed
from explorer.tabs.pairs.review.state import FILTERED, Decision, Review
from scoring.errors import KnownError
from scoring.pairs.opening import TEXT_COLUMNS
from scoring.spec import text_hash


def decision(table: PairTable, row: int, at: int = 0) -> Decision:
    cells = table.cells(row)
    hashed = text_hash(*(cells[name] for name in TEXT_COLUMNS))
    return Decision(cells["key"], hashed, "keep", "why", at, table.id)


def rows_of(table: PairTable, subset: str) -> list[int]:
    return [row for row, name in enumerate(table.subset_of_row) if name == subset]


def test_decisions_of_one_subset_become_its_review_by_their_times(demo: PairTable) -> None:
    subset = next(iter(demo.subset_counts))
    first, second = (decision(demo, row, at=9 - row) for row in rows_of(demo, subset)[:2])
    assert resumed(demo, [first, second]) == (Review(demo.id, subset, 0, (second, first)), 0)


def test_decisions_of_several_subsets_become_a_review_of_what_is_filtered(demo: PairTable) -> None:
    one, two = list(demo.subset_counts)[:2]
    decisions = [decision(demo, row) for row in (rows_of(demo, one)[0], *rows_of(demo, two)[:2])]
    unknown = replace(decisions[0], key="nowhere:1")
    review, left_out = resumed(demo, [*decisions, unknown])
    assert (review.subset, len(review.standing), left_out) == (FILTERED, 3, 1)


def test_decisions_on_another_table_are_found_by_their_texts(demo: PairTable) -> None:
    made = decision(demo, 3)
    elsewhere = replace(made, key="else:7", source="org/other@abc")
    assert resumed(demo, [elsewhere])[0].decisions == (made,)


def test_a_file_about_other_pairs_is_refused(demo: PairTable) -> None:
    with pytest.raises(KnownError, match="None of the 1 decisions"):
        resumed(demo, [Decision("a:1", "0" * 16, "keep", "", 0, "elsewhere")])
    with pytest.raises(KnownError, match="None of the 0"):
        resumed(demo, [])


def test_of_two_decisions_on_a_pair_the_later_holds_whichever_came_from_the_file() -> None:
    old = Review("demo", "s", 2).mark("s:1", "0" * 16, "keep", at=1)
    new = Review("demo", "s").mark("s:1", "0" * 16, "drop", at=2)
    for review in (old.merged(new), new.merged(old)):
        assert review.verdict_of("s:1") == "drop" and len(review.decisions) == 2
    assert old.merged(new).start == 2

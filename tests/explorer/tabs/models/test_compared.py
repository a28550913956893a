"""Models side by side: verdicts, squares, likeness, ensembles; names stay words."""

from typing import Any

import pytest

from explorer.reader.scene import ScenePairs
from explorer.reader.scene import scene as pairs_scene
from explorer.reader.state import PairsState
from explorer.results.field import Field
from explorer.stats.duels import CELLS
from explorer.tabs.models.compare_html import compared_html
from explorer.tabs.models.compared import (
    cell_href,
    compared,
    first_duel,
)
from explorer.tabs.models.state import ModelsState
from tests.support.board_data import EVERY, matrix_of
from tests.support.boards import comparing
from tests.support.fields import rivals
from tests.support.html_reading import HtmlReading
from tests.support.tables import row, small_table

A, B = "org/a", "org/b"


def panel(state: ModelsState, field: Field, **how: Any) -> HtmlReading:
    return HtmlReading(compared_html(compared(state, field), **how))


def ahead(only_a: int, only_b: int, both: int = 40) -> Field:
    """Models a and b on pairs of all subsets in turn, which each wins alone so often."""
    n = only_a + only_b + both
    subsets = [EVERY[at % len(EVERY)] for at in range(n)]
    outcomes = {
        A: [1.0] * (only_a + both) + [0.0] * only_b,
        B: [0.0] * only_a + [1.0] * (both + only_b),
    }
    table = small_table(*(row(subset=subset, prompt=f"p{at}") for at, subset in enumerate(subsets)))
    return Field(table, matrix_of(outcomes, subsets), {}, (only_a, only_b))


@pytest.mark.parametrize(
    ("counts", "words"),
    [
        ((40, 2), "a is ahead of b by"),
        ((2, 40), "b is ahead of a by"),
        ((4, 5), "No significant difference between a and b:"),
        ((0, 0), "Identical: a and b have the same outcome on every pair."),
    ],
)
def test_the_verdict_follows_the_test_and_a_tie_group_is_told_of_two_that_it_tells_apart(
    counts: tuple[int, int], words: str
) -> None:
    field = ahead(*counts)
    for tied in (True, False):
        seen = panel(comparing(A, B), field, tied=tied)
        [verdict] = seen.of_class["verdict"]
        assert " ".join(verdict.split()).startswith(words)
        told = "On the board the two are in one tie group" in seen.words
        assert told == (tied and 40 in counts)


def n_listed(link: str, field: Field) -> int:
    """How many pairs the Pairs tab lists where a link leads to it."""
    state, dropped = PairsState.parse(link)
    assert link.startswith("?tab=pairs&") and not dropped
    return len(pairs_scene(state, ScenePairs(field.table, field)).listed)


def test_each_count_leads_to_as_many_pairs() -> None:
    now = compared(comparing(A, B), rivals())
    found = first_duel(now)
    for cell in CELLS:
        for section, of in [("", found.all_pairs), *((each.name, each) for each in found.sections)]:
            assert n_listed(cell_href(now, cell, section), rivals()) == getattr(of, cell)
        for each in found.subsets:
            query = cell_href(now, cell, subset=each.name)
            assert n_listed(query, rivals()) == getattr(each, cell)

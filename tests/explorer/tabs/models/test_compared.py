"""Models side by side: verdicts, squares, likeness, ensembles; names stay words."""

import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from explorer.reader.scene import ScenePairs
from explorer.reader.scene import scene as pairs_scene
from explorer.reader.state import PairsState
from explorer.results.field import Field
from explorer.stats.duels import CELLS
from explorer.tabs.models.compare_html import compared_html
from explorer.tabs.models.compared import (
    Compared,
    cell_href,
    compared,
    first_duel,
    likenesses,
)
from explorer.tabs.models.state import ModelsState
from tests.support.board_data import EVERY, matrix_of
from tests.support.boards import comparing
from tests.support.fields import rivals
from tests.support.hostile import NAME
from tests.support.html_reading import HtmlReading, body_rows
from tests.support.tables import row, small_table

A, B = "org/a", "org/b"


def scene(state: ModelsState) -> Compared:
    return compared(state, rivals())


def panel(state: ModelsState, field: Field | None = None, **how: Any) -> HtmlReading:
    return HtmlReading(compared_html(compared(state, field or rivals()), **how))


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


def test_each_count_stands_where_its_head_says_and_leads_to_as_many_pairs() -> None:
    now = scene(comparing(A, B))
    found, html = first_duel(now), compared_html(now)
    heads = re.findall('<th scope="col">(.*?)</th>', html)[:2]
    counts = [[str(getattr(found.all_pairs, each)) for each in CELLS[at : at + 2]] for at in (0, 2)]
    assert heads == ["B wins", "B fails"]
    assert body_rows(html) == [["A wins", *counts[0]], ["A fails", *counts[1]]]
    assert re.findall(r'<td class="(\w+)" data-testid="compare-cell"', html)[:4] == [*CELLS]
    cards = {each: HtmlReading(html).of_class[each][0].split()[:5] for each in "AB"}
    assert cards == {each: [each, "alone", "wins", "2", "pairs"] for each in "AB"}
    for cell in CELLS:
        for section, of in [("", found.all_pairs), *((each.name, each) for each in found.sections)]:
            assert n_listed(cell_href(now, cell, section), rivals()) == getattr(of, cell)
        for each in found.subsets:
            query = cell_href(now, cell, subset=each.name)
            assert n_listed(query, rivals()) == getattr(each, cell)


def test_an_ensemble_is_compared_with_its_best_member_and_names_stay_words() -> None:
    state = comparing(A, panel="ensembles", members=(A, NAME), way="worst")
    assert f"2: {NAME}" in panel(state).words
    said = f"The ensemble scores 27.8 %, its best member {NAME} 72.2 %: a difference of −44.4"
    for members in ((A, NAME), (NAME, A)):
        [verdict] = panel(replace(state, members=members)).of_class["verdict"]
        assert verdict.startswith(said)


def test_likeness_by_hand() -> None:
    found = {each["model"]: each for each in likenesses(scene(comparing(A)))}
    alike = found[B]
    assert (alike["n"], alike["same"], alike["won"]) == (7, 3 / 7, 0.0)
    won = [1, 1, 0, 1, 0, 1, 0], [1, 0, 1, 1, 0, 0, 1]
    assert alike["correlation"] == pytest.approx(np.corrcoef(*won)[0, 1])
    assert (found["half"]["n"], found["half"]["same"]) == (4, 0.75)

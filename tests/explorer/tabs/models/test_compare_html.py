"""Models side by side as HTML: verdicts, squares, margins, ensembles; names stay words."""

import re
from dataclasses import replace
from html import unescape
from typing import Any

import pytest

from explorer.results.field import Field
from explorer.stats.duels import CELLS
from explorer.tabs.models.compare_html import compared_html
from explorer.tabs.models.compared import compared, first_duel
from explorer.tabs.models.state import ModelsState
from tests.support.board_data import EVERY, matrix_of
from tests.support.boards import comparing, linked_states
from tests.support.fields import rivals
from tests.support.hostile import NAME
from tests.support.html_reading import HtmlReading, body_rows
from tests.support.tables import row, small_table

A, B = "org/a", "org/b"


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
def test_the_verdict_is_a_sentence_that_follows_the_test(
    counts: tuple[int, int], words: str
) -> None:
    field, state = ahead(*counts), comparing(A, B)
    [verdict] = panel(state, field).of_class["verdict"]
    head = first_duel(compared(state, field)).headline
    assert " ".join(verdict.split()).startswith(words)
    if any(counts):
        number, low, high = re.findall(r"[+−]?\d+\.\d", verdict)[:3]
        assert head.difference is not None and head.interval is not None
        sign = -1 if head.better == "b" else 1
        size = abs(head.difference) if head.better else head.difference
        found = [float(each.replace("−", "-")) for each in (number, low, high)]
        ends = sorted(sign * end for end in head.interval)
        assert found == pytest.approx([100 * each for each in (size, *ends)], abs=0.051)
        assert head.test.p is not None and ("p <" in verdict) == (head.test.p < 0.001)


def test_a_tie_group_is_told_of_two_that_their_own_test_tells_apart() -> None:
    words = "On the board the two are in one tie group"
    for counts, tied in (((40, 2), True), ((40, 2), False), ((4, 5), True)):
        shown = panel(comparing(A, B), ahead(*counts), tied=tied).words
        assert (words in shown) == (tied and counts == (40, 2))


def test_each_count_stands_where_its_head_says_and_leads_to_its_pairs() -> None:
    now = compared(comparing(A, B), rivals())
    found, seen = first_duel(now), panel(now.state)
    html = compared_html(now)
    cell = r'<td class="(\w+)" data-testid="compare-cell"><a href="([^"]*)" data-go>(\d+)'
    links = re.findall(cell, html)
    parts = [found.all_pairs, *(each for each in found.sections if each.n)]
    assert len(seen.of_class["square"]) == len(parts)
    assert [(cell, int(n)) for cell, _, n in links] == [
        (cell, getattr(part, cell)) for part in parts for cell in CELLS
    ]
    named = {cell: f"cell={cell}" in unescape(link) for cell, link, _ in links[:4]}
    assert named == {**dict.fromkeys(CELLS, True), "only_b": False}  # which is the default there
    heads = re.findall('<th scope="col">(.*?)</th>', html)[:2]
    counts = [[str(getattr(found.all_pairs, each)) for each in CELLS[at : at + 2]] for at in (0, 2)]
    assert heads == ["B wins", "B fails"]
    assert body_rows(html) == [["A wins", *counts[0]], ["A fails", *counts[1]]]
    cards = {each: seen.of_class[each][0].split()[:5] for each in "AB"}
    assert cards == {each: [each, "alone", "wins", "2", "pairs"] for each in "AB"}
    assert re.findall('class="card [AB]" href="([^"]*)"', html) == [links[1][1], links[2][1]]


def test_ensembles_offer_models_with_rewards_and_toggle_them() -> None:
    state = comparing(A, panel="ensembles", members=(A, NAME), way="worst")
    seen = panel(state)
    offered = {each.members for each in linked_states(seen) if each.way == "worst"}
    assert offered == {(NAME,), (A,), (A, NAME, B), state.members}
    assert "of 3 combinations tried" in seen.words and f"2: {NAME}" in seen.words
    said = f"The ensemble scores 27.8 %, its best member {NAME} 72.2 %: a difference of −44.4"
    for members in ((A, NAME), (NAME, A)):
        [verdict] = panel(replace(state, members=members)).of_class["verdict"]
        assert verdict.startswith(said)

"""Models side by side as HTML: verdicts, squares, margins, ensembles; names stay words."""

import re
from html import unescape
from typing import Any

import pytest

from explorer.results.ensembles import WAYS
from explorer.results.field import MAJORITY, Field
from explorer.stats.duels import CELLS
from explorer.tabs.models.compare_html import compare_bar_html, compared_html
from explorer.tabs.models.compared import compared, first_duel, likenesses
from explorer.tabs.models.state import MODELS_PANELS, ModelsPanel, ModelsState
from scoring.benchmark import SECTIONS
from tests.explorer.board_data import EVERY, matrix_of
from tests.explorer.boards import comparing, linked_states, reading
from tests.explorer.html_reading import HtmlReading, body_rows
from tests.explorer.rival_fields import HOSTILE, elsewhere, rivals
from tests.explorer.tables import row, small_table

A, B = "org/a", "org/b"


def panel(state: ModelsState, field: Field | None = None, **how: Any) -> HtmlReading:
    return reading(compared_html(compared(state, field or rivals()), **how))


def bar(state: ModelsState, field: Field | None = None, dropped: Any = ()) -> HtmlReading:
    now = compared(state, field or rivals())
    return reading(compare_bar_html(now, [now.field, elsewhere()], dropped, ""))


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


# Who wins more.


@pytest.mark.parametrize(
    ("counts", "words"),
    [
        ((40, 2), f"{A} is ahead of {B} by"),
        ((2, 40), f"{B} is ahead of {A} by"),
        ((4, 5), f"No significant difference between {A} and {B}:"),
        ((0, 0), f"Identical: {A} and {B} have the same outcome on every pair."),
    ],
)
def test_the_verdict_is_a_sentence_that_follows_the_test(
    counts: tuple[int, int], words: str
) -> None:
    field, state = ahead(*counts), comparing(A, B)
    [verdict] = panel(state, field).of_class["verdict"]
    head = first_duel(compared(state, field)).headline
    assert verdict.startswith(words)
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
    words = "On the board the two still share a tie group"
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
    assert heads == ["B wins", "B does not"]
    assert body_rows(html) == [["A wins", *counts[0]], ["A does not", *counts[1]]]
    assert [each.split() for each in seen.of_class["button"]] == [
        ["A", "alone", "wins", str(found.all_pairs.only_a), "pairs", "→"],
        ["B", "alone", "wins", str(found.all_pairs.only_b), "pairs", "→"],
    ]


def test_subsets_stand_below_their_sections_each_with_its_plot() -> None:
    seen = panel(comparing(A, B), ahead(40, 2))
    assert seen.attributes["th", "colspan"] == ["11"] * len(SECTIONS)
    assert len(seen.of_class["plot"]) == len(EVERY) == len(seen.of_class["difference"])
    of_all = panel(comparing(A, HOSTILE))
    assert "own" in of_all.words and "Other subsets" in of_all.words
    of_chat = panel(comparing(A, B, section="Chat"))
    assert "mt-bench-easy" in of_chat.words and "donotanswer" not in of_chat.words
    assert len(of_chat.of_class["chosen"]) == 1 and "Chat2 pairs" in of_chat.of_class["chosen"][0]
    for words in ("Holm-corrected over sections and over subsets", "in the counts a tie is no win"):
        assert words in of_all.words


def test_no_whisker_leaves_its_axis() -> None:
    html = compared_html(compared(comparing(A, B), ahead(40, 2)))
    places = [float(each) for each in re.findall(r"left:([\d.]+)%", html)]
    assert places and all(0 <= each <= 100 for each in places)


def test_several_models_are_compared_two_by_two() -> None:
    words = panel(comparing(A, B, (HOSTILE, "half"))).words
    assert "Holm-corrected for 6 comparisons" in words and "C − D" in words
    assert f"C: {HOSTILE}" in words
    assert "Pairwise comparisons" not in panel(comparing(A, B)).words


# The bar.


def test_the_bar_adds_removes_and_swaps_models() -> None:
    seen = bar(comparing(A, B, (HOSTILE,), section="Chat"))
    leads = linked_states(seen)
    assert (B, A, HOSTILE) in [each.named for each in leads]
    assert (A, B) in [each.named for each in leads] and (A,) in [each.named for each in leads]
    assert all(each.section == "Chat" for each in leads if each.named != (A, B, HOSTILE))
    assert seen.attributes["input", "id"] == ["a-name", "b-name", "with-name"]
    full = bar(comparing(A, B, (HOSTILE, "half")))
    assert full.attributes["input", "id"] == ["a-name", "b-name"]
    assert bar(comparing()).attributes["input", "id"] == ["a-name"]
    assert "elsewhere" in bar(comparing()).attributes["option", "value"]


def test_a_model_alone_stands_against_the_majority() -> None:
    words = bar(comparing("half")).words
    assert "the majority of the others" in words and "The majority wins a pair" in words
    assert "No other model has results" in bar(comparing("elsewhere"), elsewhere()).words
    assert "No pair has known outcomes" in panel(comparing("elsewhere"), elsewhere()).words
    assert MAJORITY not in words


def test_different_pairs_are_compared_on_what_they_share_and_it_is_said() -> None:
    seen = bar(comparing(A, "half"))
    assert seen.of_class["count"] == ["Compared on 4 pairs"] and "A 8, B 4" in seen.words
    assert "these pairs only" in panel(comparing(A, "half")).words


# Margins, agreement, ensembles.


def test_margins_are_drawn_where_both_models_have_rewards() -> None:
    seen = panel(comparing(A, B, panel="scatter"))
    assert seen.attributes["figure", "data-sets"] == ["pair"]
    [base] = seen.attributes["figure", "data-base"]
    assert base.startswith("?tab=pairs&model=org/a&show=all&against=org/b")
    for state, words, letter, model in (
        (comparing(A, "half"), "half", "b", B), (comparing("half", B), "half", "a", A),
        (comparing(A), "majority", "b", B), (comparing(), "two models", "a", A),
    ):  # fmt: skip
        asked = comparing(state.a, state.b, panel="scatter")
        empty = panel(asked)
        leads = linked_states(empty)
        assert words in empty.words and not empty.attributes["figure", "data-sets"]
        assert model in [getattr(each, letter) for each in leads]
        other = "b" if letter == "a" else "a"
        assert {getattr(each, other) for each in leads} == {getattr(asked, other)}
    few = panel(comparing("elsewhere", panel="scatter"), elsewhere())
    assert "for these pairs: 0" in few.words
    assert any(each.startswith("?tab=score") for each in few.attributes["a", "href"])


def test_agreement_lists_all_others_and_leads_to_them() -> None:
    state = comparing(A, B, panel="agreement")
    seen, rows = panel(state), likenesses(compared(state, rivals()))
    assert [each.b for each in linked_states(seen)] == [each["model"] for each in rows]
    assert seen.attributes["tr", "aria-current"] == ["true"]
    assert "Won, A − it, points" in seen.words
    searched = panel(comparing(A, panel="agreement", search="half"))
    assert [each.b for each in linked_states(searched)] == ["half"]


def test_ensembles_offer_models_with_rewards_and_toggle_them() -> None:
    state = comparing(A, panel="ensembles", members=(A, HOSTILE), way="worst")
    seen = panel(state)
    offered = {each.members for each in linked_states(seen) if each.way == "worst"}
    assert offered == {(HOSTILE,), (A,), (A, HOSTILE, B), state.members}
    assert {each.way for each in linked_states(seen)} == {*WAYS}
    assert "3 tried" in seen.words and f"2: {HOSTILE}" in seen.words


# Names that attack the page.


@pytest.mark.parametrize("which", MODELS_PANELS[1:])
def test_hostile_names_stay_words(which: ModelsPanel) -> None:
    state = comparing(HOSTILE, A, (B,), which, members=(HOSTILE, A))
    above, below = bar(state, dropped=(HOSTILE,)), panel(state)
    assert above.of_class["note"][-1] == HOSTILE
    for link in [each for seen in (above, below) for each in seen.attributes["a", "href"]]:
        assert link.startswith(("?tab=models&", "?tab=pairs&"))
        assert not set(link) & set("<>\"'\n")
    assert HOSTILE in above.attributes["input" if which != "ensembles" else "option", "value"]

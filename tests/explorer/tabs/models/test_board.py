"""A board and models side by side: as HTML and as files, whatever models are called."""

import re
from collections.abc import Mapping
from dataclasses import replace
from html import unescape
from pathlib import Path
from typing import Any

import pytest

from explorer.reader.scene import ScenePairs
from explorer.reader.scene import scene as pairs_scene
from explorer.reader.state import PairsState
from explorer.results.board import Board, build_board
from explorer.results.boards import BoardView
from explorer.results.field import Field
from explorer.results.published import Results
from explorer.stats.duels import CELLS
from explorer.stats.rules import RULES
from explorer.stats.uncertainty import measure
from explorer.tabs.models.board_html import bar_html, board_html, drawer_html
from explorer.tabs.models.compare_html import compared_html
from explorer.tabs.models.compared import cell_href, compared, first_duel
from explorer.tabs.models.exports import export_board
from explorer.tabs.models.ranked import MOST_BOARD_ROWS, Ranked, visible_rows
from explorer.tabs.models.state import ModelsState, rule_of
from scoring.benchmark import SUBSETS
from scoring.results.accuracies import Aggregate
from tests.support.board_data import EVERY, FOUR, NOTHING, SOURCE, coin_flips, matrix_of, results_of
from tests.support.fields import rivals
from tests.support.golden_files import check_golden
from tests.support.hostile import NAME, NAMES
from tests.support.html_reading import HtmlReading
from tests.support.tables import row, small_table

VIEW = ModelsState()


def ranked(board: Board, state: ModelsState) -> Ranked:
    """A board as a state shows it."""
    return Ranked(state, BoardView(board), visible_rows(board, state), list)


def html_of(board: Board, state: ModelsState = VIEW) -> str:
    return board_html(ranked(board, state))


def seen(board: Board, state: ModelsState = VIEW) -> HtmlReading:
    return HtmlReading(html_of(board, state))


def intervals(board: Board, state: ModelsState = VIEW) -> list[str]:
    return re.findall(r"<small(?: title=[^>]*)?>(.*?)</small>", html_of(board, state))


def test_intervals_stand_in_brackets_where_they_are_unpaired() -> None:
    shares = {"good": 0.9, "bad": 0.3}
    matrix = matrix_of({name: coin_flips(share) for name, share in shares.items()}, EVERY * 4)
    bare = build_board(NOTHING, "v1", outcomes=matrix)
    assert len(intervals(bare)) == 2 * 5
    assert all(re.fullmatch(r"\([\d.]+–[\d.]+\)", each) for each in intervals(bare))
    assert "Tie group" not in html_of(bare)

    sure = measure(matrix, RULES["v1"], ranked=bare.comparable, replicates=50)
    board = build_board(NOTHING, "v1", outcomes=matrix).measured(sure)
    assert len(intervals(board)) == 2 * 6  # with those of ranks
    assert seen(board).attributes["div", "style"] == ["--ends:3;--steps:5"]
    assert all(re.fullmatch(r"[\d.]+–[\d.]+", each) for each in intervals(board))
    assert seen(board).of_class["group"] == ["Tie group", "1", "2"]


def test_of_more_models_than_a_page_takes_there_is_a_note() -> None:
    shares = {f"org/m-{number}": {"hep-go": 0.5} for number in range(MOST_BOARD_ROWS + 40)}
    html = html_of(build_board(results_of(shares), "v1"))
    assert html.count("<tr") == 1 + MOST_BOARD_ROWS and "40 more models" in html
    assert len(html) < 1_500_000


def test_what_is_chosen_is_pressed_and_nothing_else() -> None:
    segment = re.compile('<a href="([^"]*)"( aria-current="true")?>')
    for state in (VIEW, ModelsState(table="subsets", rule="paper", ties="half", digits=3)):
        board = build_board(NOTHING, rule_of(state))
        bar = bar_html(ranked(board, state), state, NOTHING, (), "")
        leads = [ModelsState.parse(unescape(link)) for link, _ in segment.findall(bar)]
        pressed = [bool(here) for _, here in segment.findall(bar)]
        assert [each == (state, ()) for each in leads] == pressed and sum(pressed) == 8


def test_the_drawer_leads_to_what_was_lost_or_tied_and_not_to_what_is_missing() -> None:
    outcomes = [value for value in (1.0, 0.5, 0.0, 0.0, *[float("nan")] * 3) for _ in FOUR]
    board = build_board(NOTHING, "v1", outcomes=matrix_of({"a": outcomes}, FOUR * 7))
    words = HtmlReading(drawer_html(ranked(board, ModelsState(open="a")))).words
    assert f"Open its {3 * len(FOUR)} failures" in words and words.count("3 lost") == len(FOUR)


def test_beside_a_drawer_columns_give_way_and_names_stay_text() -> None:
    names = [*NAMES, NAME]
    shares = {name: 0.9 - 0.05 * place for place, name in enumerate(names)}
    hostile = build_board(results_of(shares), "v1")
    table = seen(hostile, state := ModelsState(open=NAMES[0]))
    assert table.attributes["th", "data-column"] == ["model", "score"]
    html = html_of(hostile, replace(state, sort="-Safety"))
    columns = HtmlReading(html).attributes["th", "data-column"]
    assert columns == ["model", "score", "Safety"]
    assert re.findall(r'drawn"\s+scope="col" data-column="(\w+)"', html) == ["Safety"]
    assert table.of_class["name"] == names
    assert table.attributes["tr", "aria-current"] == ["true"]


# Files


ODD = ["=1/gemma", "a|b", "<script>", "x_y & 50%", "a\n| b", "日本/語", "\\end{tabular}", 'a,"b"']


def board_of(*names: str) -> Board:
    """These models, the first the best, and one that lacks subsets."""
    aggregates = [
        Aggregate(name, "DPO", dict.fromkeys(SUBSETS, 1 / (3 + place)))
        for place, name in enumerate(names)
    ]
    part = Aggregate("part", None, {"hep-go": 1 / 7})
    return build_board(Results(SOURCE, (*aggregates, part)), "v1")


HOSTILE = board_of(*ODD)
OUTCOMES = build_board(NOTHING, "v1", outcomes=matrix_of({"a": [1, 0, 0, 0.5]}, FOUR))
MANY = build_board(results_of({f"m{at}": 0.5 for at in range(60)}), "v1")
EXPORTS: Mapping[str, tuple[Board, dict[str, Any]]] = {
    "sections.csv": (HOSTILE, {}),
    "three decimals.md": (HOSTILE, {"digits": 3}),
    "failures.md": (OUTCOMES, {}),
    "two decimals without types.tex": (HOSTILE, {"digits": 2, "hidden": ("type",)}),
    "best in bold.tex": (build_board(results_of({"good": 0.9, "even": 0.9, "bad": 0.3}), "v1"), {}),
    "many rows over pages.tex": (MANY, {}),
}
"""File -> a board, and how it is shown."""


@pytest.mark.parametrize("name", EXPORTS)
def test_a_board_is_written_as_it_is_shown(name: str, tmp_path: Path) -> None:
    board, seen = EXPORTS[name]
    form: Any = name.rpartition(".")[2]
    path, state = tmp_path / f"board.{form}", ModelsState(**seen)
    export_board(board, state, visible_rows(board, state), form, path)
    text = path.read_bytes().decode()
    check_golden(Path(__file__).parent / "exports" / name.replace(" ", "-"), text)


# Side by side


A, B = "org/a", "org/b"
A_AND_B = ModelsState("compare", a=A, b=B)


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
        seen = panel(A_AND_B, field, tied=tied)
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
    now = compared(A_AND_B, rivals())
    found = first_duel(now)
    for cell in CELLS:
        for section, of in [("", found.all_pairs), *((each.name, each) for each in found.sections)]:
            assert n_listed(cell_href(now, cell, section), rivals()) == getattr(of, cell)
        for each in found.subsets:
            query = cell_href(now, cell, subset=each.name)
            assert n_listed(query, rivals()) == getattr(each, cell)

"""A board's HTML: inert whatever models are called, and honest in all cells."""

import re
from dataclasses import replace
from html import unescape

from explorer.results.board import Board, build_board
from explorer.stats.rules import RULES
from explorer.stats.uncertainty import measure
from explorer.tabs.models.board_html import bar_html, board_html, drawer_html
from explorer.tabs.models.ranked import MOST_BOARD_ROWS
from explorer.tabs.models.state import ModelsState, rule_of
from scoring.benchmark import SUBSETS
from tests.support.board_data import EVERY, FOUR, NOTHING, coin_flips, matrix_of, results_of
from tests.support.boards import ranked
from tests.support.hostile import NAME, NAMES
from tests.support.html_reading import HtmlReading

VIEW = ModelsState()


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


def test_ranks_go_by_the_column_that_is_sorted_by_and_ties_share_one() -> None:
    sections = {"a": (0.9, 0.1), "b": (0.8, 0.5), "c": (0.8, 0.9)}
    shares = {
        name: {**dict.fromkeys(SUBSETS, low), "hep-go": at} for name, (low, at) in sections.items()
    }
    board = build_board(results_of(shares), "v1")
    for sort, ranks in {
        "-mt-bench-easy": ["# by mt-bench-easy", "1", "2", "2"],
        "mt-bench-easy": ["# by mt-bench-easy", "2", "2", "1"],
        "-size": ["#", "1", "2", "3"],
    }.items():
        found = seen(board, ModelsState(table="subsets", sort=sort)).of_class["rank"]
        assert [each.strip() for each in found] == ranks

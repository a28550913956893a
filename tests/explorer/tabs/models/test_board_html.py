"""A board's HTML: inert whatever models are called, honest in all cells, one choice pressed."""

import re
from dataclasses import replace
from html import unescape
from typing import Any

from explorer.results.board import Board, build_board
from explorer.stats.rules import RULES
from explorer.stats.uncertainty import measure
from explorer.tabs.models.board_html import bar_html, board_html, drawer_html
from explorer.tabs.models.ranked import MOST_BOARD_ROWS
from explorer.tabs.models.state import (
    BOARD_BENCHMARKS,
    DIGITS,
    MISSING,
    RULE_OPTIONS,
    TABLES,
    TIES,
    ModelsState,
    rule_of,
)
from scoring.benchmark import SUBSETS
from tests.support.board_data import (
    EVERY,
    FOUR,
    NOTHING,
    coin_flips,
    matrix_of,
    results_of,
)
from tests.support.boards import ranked
from tests.support.hostile import NAME, NAMES
from tests.support.html_reading import HtmlReading

VIEW = ModelsState()


def html_of(board: Board, state: ModelsState = VIEW, **seen: Any) -> str:
    return board_html(ranked(board, state, **seen))


def seen(board: Board, state: ModelsState = VIEW) -> HtmlReading:
    return HtmlReading(html_of(board, state))


def drawer_of(board: Board, model: object, **seen: Any) -> str:
    """The drawer of a model."""
    return drawer_html(ranked(board, ModelsState(open=str(model)), **seen))


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


CHOICES: dict[str, tuple[Any, ...]] = {
    "benchmark": tuple(BOARD_BENCHMARKS),
    "table": TABLES,
    "rule": RULE_OPTIONS,
    "ties": TIES,
    "missing": MISSING,
    "digits": DIGITS,
}


BAR_LINKS = re.compile(r'<a (?:class="tick" role="checkbox" aria-checked="(true|false)" )?'
                       r'href="([^"]*)"( aria-current="true")?>')  # fmt: skip


def segments_of(board: Board, state: ModelsState) -> list[tuple[ModelsState, bool]]:
    """What segments of the bar lead to, and whether that is said to be where one is."""
    found = BAR_LINKS.findall(bar_html(ranked(board, state), state, NOTHING, (), ""))
    parsed = [(ModelsState.parse(unescape(link)), here) for tick, link, here in found if not tick]
    assert not any(dropped for (_, dropped), _ in parsed)
    return [(leads, bool(here)) for (leads, _), here in parsed]


def test_what_is_chosen_is_pressed_and_nothing_else() -> None:
    for field, values in CHOICES.items():
        for value in values:
            state = replace(VIEW, **{field: value})
            segments = segments_of(build_board(NOTHING, rule_of(state)), state)
            assert all((leads == state) is here for leads, here in segments)
            is_first = state.benchmark == "v1"
            has_tables = is_first and state.table != "prior"
            assert sum(here for _, here in segments) == 6 + is_first + has_tables
            offered = {*values} if has_tables or field != "table" else {"sections", "prior"}
            assert {getattr(leads, field) for leads, _ in segments} == offered


def test_the_drawer_leads_to_what_was_lost_or_tied_and_not_to_what_is_missing() -> None:
    outcomes = [value for value in (1.0, 0.5, 0.0, 0.0, *[float("nan")] * 3) for _ in FOUR]
    board = build_board(NOTHING, "v1", outcomes=matrix_of({"a": outcomes}, FOUR * 7))
    words = HtmlReading(drawer_of(board, "a")).words
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


def ranks(board: Board, state: ModelsState = VIEW) -> list[str]:
    """What stands in the column of ranks, with its head first."""
    return [each.strip() for each in seen(board, state).of_class["rank"]]


def test_ranks_go_by_the_column_that_is_sorted_by_and_ties_share_one() -> None:
    sections = {"a": (0.9, 0.1), "b": (0.8, 0.5), "c": (0.8, 0.9)}
    shares = {
        name: {**dict.fromkeys(SUBSETS, low), "hep-go": at} for name, (low, at) in sections.items()
    }
    board = build_board(results_of(shares), "v1")
    state = ModelsState(table="subsets", sort="-mt-bench-easy")
    assert ranks(board, state) == ["# by mt-bench-easy", "1", "2", "2"]
    assert ranks(board, replace(state, sort="mt-bench-easy")) == [
        "# by mt-bench-easy", "2", "2", "1",
    ]  # fmt: skip
    assert ranks(board, replace(state, sort="-hep-go")) == ["# by hep-go", "1", "2", "3"]
    for sort in ("", "-score", "model", "-size"):
        assert ranks(board, replace(state, sort=sort))[0] == "#"

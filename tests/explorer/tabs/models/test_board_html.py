"""A board's HTML: inert whatever models are called, honest in all cells, one choice pressed."""

import re
from collections.abc import Sequence
from dataclasses import replace
from html import unescape
from itertools import product
from typing import Any

import pytest

from explorer.api.results import BoardEndpoints
from explorer.results.board import Board, build_board
from explorer.stats import intervals as statistics
from explorer.stats.rules import RULES
from explorer.stats.uncertainty import measure
from explorer.tabs.models.board_html import (
    PAIRED,
    RANKED,
    about_html,
    bar_html,
    board_html,
    drawer_html,
)
from explorer.tabs.models.ranked import MOST_BOARD_ROWS
from explorer.tabs.models.state import (
    BOARD_BENCHMARKS,
    DIGITS,
    MISSING,
    RULE_OPTIONS,
    TABLES,
    TIES,
    ModelsState,
)
from scoring.benchmark import SUBSETS
from scoring.results.files import Omission
from tests.support.board_data import (
    EVERY,
    FOUR,
    NOTHING,
    coin_flips,
    matrix_of,
    results_of,
    rows_in,
)
from tests.support.boards import HOSTILE, hostile_board, ranked, reading
from tests.support.html_reading import HtmlReading, body_rows

VIEW = ModelsState()


def html_of(board: Board, state: ModelsState = VIEW, **seen: Any) -> str:
    return board_html(ranked(board, state, **seen))


def seen(board: Board, state: ModelsState = VIEW) -> HtmlReading:
    return reading(html_of(board, state))


def models(table: HtmlReading) -> list[str]:
    """The models in their order."""
    return table.of_class["name"]


def drawer_of(board: Board, model: object, **seen: Any) -> str:
    """The drawer of a model."""
    return drawer_html(ranked(board, ModelsState(open=str(model)), **seen))


def intervals(board: Board, state: ModelsState = VIEW) -> list[str]:
    return re.findall(r"<small(?: title=[^>]*)?>(.*?)</small>", html_of(board, state))


# Numbers.


def test_the_best_of_a_column_stands_out_among_the_rows_that_are_shown() -> None:
    board = build_board(results_of({"a1": 0.9, "a2": 0.6, "b1": 0.3}), "v1")
    for search, best in (("", "90.0"), ("a2|b1", "60.0"), ("b1", "30.0")):
        found = seen(board, ModelsState(search=search)).of_class["best"]
        assert len(found) == 5 and all(each.startswith(best) for each in found)


def test_scores_are_drawn_on_one_axis_with_their_intervals() -> None:
    board = build_board(results_of({"a": 0.9, "b": 0.3}), "v1")
    marks, a, b = seen(board).of_class["whisker"]
    assert (marks[:2], marks[-3:]) == ("20", "100") and a == b == ""
    drawn = seen(board).attributes["bdi", "style"]
    assert drawn == ["left:87.5%", "left:12.5%"]
    assert marks == "2030405060708090100"
    narrow, *_ = seen(board, ModelsState(table="subsets")).of_class["whisker"]
    assert narrow == "20406080100"


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


def test_of_models_without_outcomes_intervals_stay_in_brackets_beside_measured_ones() -> None:
    matrix = matrix_of({"measured": coin_flips(0.9)}, EVERY * 4)
    results = results_of({"told": 0.3})
    sure = measure(matrix, RULES["v1"], ranked=("measured",), replicates=50)
    board = build_board(results, "v1", outcomes=matrix).measured(sure)
    rank, *measured = intervals(board)[:6]
    assert rank == "1–1" and not any("(" in each for each in measured)
    told = intervals(board)[6:]
    assert len(told) == 5 and all(each.startswith("(") for each in told)
    assert seen(board).of_class["group"] == ["Tie group", "1", ""]


def test_single_subsets_have_their_binomial_intervals() -> None:
    board = build_board(results_of({"a": 0.9}), "v1")
    [of_score, *rest] = intervals(board, ModelsState(table="subsets"))
    assert len(rest) == len(SUBSETS)
    at = [*board.subsets].index("hep-go")
    assert rest[at] == "(84.5–93.7)" != of_score  # Wilson's, 0.9 of 164


# Many rows.


def test_5000_models_are_300_rows_and_a_note() -> None:
    html = html_of(
        build_board(results_of({f"org/m-{number}": 0.5 for number in range(5000)}), "v1")
    )
    assert html.count("<tr") == 1 + MOST_BOARD_ROWS == 301
    assert "4,700 more models" in html
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


def bar_of(board: Board, state: ModelsState = VIEW, notes: Sequence[str] = ()) -> str:
    return bar_html(ranked(board, state), state, NOTHING, notes, "")


def links_of(board: Board, state: ModelsState) -> list[tuple[str, ModelsState, bool]]:
    """What segments and ticks of the bar lead to: "true" or "false" of a tick, the state, and
    whether it is said to be where one is.
    """
    found = BAR_LINKS.findall(bar_of(board, state))
    parsed = [(tick, ModelsState.parse(unescape(link)), here) for tick, link, here in found]
    assert not any(dropped for _, (_, dropped), _ in parsed)
    return [(tick, leads, bool(here)) for tick, (leads, _), here in parsed]


def test_what_is_chosen_is_pressed_and_nothing_else() -> None:
    for field, values in CHOICES.items():
        for value in values:
            state = replace(VIEW, **{field: value})
            links = links_of(hostile_board(state), state)
            segments = [(leads, here) for tick, leads, here in links if not tick]
            assert all((leads == state) is here for leads, here in segments)
            is_first = state.benchmark == "v1"
            has_tables = is_first and state.table != "prior"
            assert sum(here for _, here in segments) == 6 + is_first + has_tables
            offered = {*values} if has_tables or field != "table" else {"sections", "prior"}
            assert {getattr(leads, field) for leads, _ in segments} == offered


def test_every_interval_is_told_with_its_level() -> None:
    """Of scores and of ranks: on the page, to programs, and in files."""
    level = f"{100 * (statistics._ENDS[1] - statistics._ENDS[0]):.0f} %"
    on_page = [PAIRED, RANKED]
    told = re.findall(r"Intervals are at [^;]*", BoardEndpoints.leaderboard.__doc__ or "")
    assert len(told) == 1
    assert [each for each in (*on_page, *told) if level not in each] == []


def about_of(board: Board, state: ModelsState = VIEW, **seen: Any) -> str:
    return about_html(ranked(board, state, **seen))


def test_what_is_left_out_of_the_pairs_is_told_as_text_100_lines_and_the_rest_counted() -> None:
    board = build_board(results_of({"a": 0.5}), "v1")
    left_out = [Omission(f"{HOSTILE[0]} {number}.json", HOSTILE[1]) for number in range(103)]
    html = about_of(board, left_out=tuple(left_out))
    words = reading(html).words
    assert "Warnings about per-pair results: 103" in words and "and 3 more" in words
    assert f"{HOSTILE[0]} 99.json: {HOSTILE[1]}" in words and " 100.json" not in words
    assert "Warnings about per-pair" not in about_of(board)


NAN = float("nan")


@pytest.fixture(scope="module")
def board() -> Board:
    """One model with a win, a half, a loss and a missing outcome of each subset."""
    outcomes = [value for value in (1.0, 0.5, 0.0, NAN) for _ in FOUR]
    return build_board(NOTHING, "v1", outcomes=matrix_of({"a": outcomes}, FOUR * 4))


def counts_of(html: str, section: str) -> list[list[str]]:
    """A section's row of the table of counts, and those of its subsets."""
    rows = body_rows(html)
    start = next(at for at, row in enumerate(rows) if row[0] == section)
    end = next((at for at, row in enumerate(rows) if at > start and row[0]), len(rows))
    return rows[start:end]


def test_the_drawer_leads_to_what_was_lost_or_tied_and_not_to_what_is_missing() -> None:
    outcomes = [value for value in (1.0, 0.5, 0.0, 0.0, *[NAN] * 3) for _ in FOUR]
    board = build_board(NOTHING, "v1", outcomes=matrix_of({"a": outcomes}, FOUR * 7))
    words = reading(drawer_of(board, "a")).words
    assert f"Open its {3 * len(FOUR)} failures" in words and words.count("3 lost") == len(FOUR)


def test_credit_of_a_quarter_and_a_third_is_summed_up() -> None:
    outcomes = matrix_of({"a": [1, 1, 0.25, 1 / 3, 0]}, ["Focus"] * 5)
    board = build_board(NOTHING, "v2", outcomes=outcomes)
    rows = counts_of(drawer_of(board, "a"), "Focus")
    assert rows[1][4:6] == ["2 + 0.5833 of 2 won in part", "5"]


def test_beside_a_drawer_columns_give_way() -> None:
    state = ModelsState(open=HOSTILE[0])
    table = seen(hostile_board(), state)
    assert table.attributes["th", "data-column"] == ["model", "score"]
    by_safety = seen(hostile_board(), replace(state, sort="-Safety"))
    assert by_safety.attributes["th", "data-column"] == ["model", "score", "Safety"]
    html = html_of(hostile_board(), replace(state, sort="-Safety"))
    assert re.findall(r'drawn"\s+scope="col" data-column="(\w+)"', html) == ["Safety"]
    assert models(table) == [*HOSTILE] and table.attributes["tr", "aria-current"] == ["true"]


@pytest.mark.parametrize("rule", RULES)
def test_every_rule_can_be_looked_behind(rule: str) -> None:
    shares = {"mtbench_human": 0.5, "shp": 0.25, "Focus": 0.5, "Ties": 1.01, "hep-go": 0.5}
    for benchmark in ("v1", "v2", "prior"):
        found = build_board(results_of({"a": shares}, benchmark), rule)
        for row in rows_in(found):
            assert "–" in reading(drawer_of(found, row.model)).words


# Ranks.


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
        "# by mt-bench-easy",
        "2",
        "2",
        "1",
    ]
    assert ranks(board, replace(state, sort="-hep-go")) == ["# by hep-go", "1", "2", "3"]
    for sort in ("", "-score", "model", "-size"):
        assert ranks(board, replace(state, sort=sort))[0] == "#"


def test_tie_groups_are_those_of_the_section_that_is_sorted_by() -> None:
    matrix = matrix_of({"a": coin_flips(0.9, 690), "b": coin_flips(0.2, 690)}, EVERY * 30)
    bare = build_board(NOTHING, "v1", outcomes=matrix)
    sure = measure(matrix, RULES["v1"], ranked=bare.comparable, replicates=50)
    board = bare.measured(sure)
    _, *groups = seen(board, ModelsState(sort="-Safety")).of_class["group"]
    assert groups == [str(board.rows[name]["Safety_group"]) for name in ("a", "b")]
    assert intervals(board, ModelsState(sort="-Safety"))[0] == "by Safety"


def test_a_box_leads_to_where_it_is_ticked_the_other_way() -> None:
    for own, prior in product((True, False), repeat=2):
        state = replace(VIEW, own=own, prior_sets=prior, types=("Generative",), hidden=("Chat",))
        boxes = [(tick, leads) for tick, leads, _ in links_of(hostile_board(state), state) if tick]
        for place, (tick, leads) in enumerate(boxes):
            there = [each for each, *_ in links_of(hostile_board(leads), leads) if each]
            assert there[place] != tick

"""The leaderboard's table: inert and small whatever models are called, and honest in each cell."""

import re
from pathlib import Path

import pytest

from explorer.results.board import Board, build_board
from explorer.results.published import Results
from explorer.stats.rules import RULES
from explorer.stats.uncertainty import measure
from explorer.tabs.models.rows import shown_rows
from explorer.tabs.models.state import ModelsState
from explorer.tabs.models.table import MOST_ROWS, board_html
from scoring.benchmark import SUBSETS
from scoring.results.accuracies import Aggregate
from tests.explorer.board_data import (
    EVERY,
    NOTHING,
    SOURCE,
    coin_flips,
    finished,
    matrix_of,
    real_results,
    repeated,
    results_of,
)
from tests.explorer.boards import HOSTILE, hostile_board, reading, sent
from tests.explorer.html_reading import HtmlReading

VIEW = ModelsState()
DASH = "–"


def html_of(board: Board, state: ModelsState = VIEW) -> str:
    return board_html(board, state, shown_rows(board, state))


def seen(board: Board, state: ModelsState = VIEW) -> HtmlReading:
    return reading(html_of(board, state))


def models(table: HtmlReading) -> list[str]:
    """The models in their order, without the star before each."""
    _, *names = table.of_class["model"]
    return [name[1:] for name in names]


def cells(board: Board, state: ModelsState = VIEW) -> list[list[str]]:
    """The text of each cell of each row."""
    rows = html_of(board, state).split("<tbody>")[1].split("</tr>")[:-1]
    return [[re.sub("<[^>]*>", "", cell) for cell in re.findall(r"<t[hd].*?</t[hd]>", row)]
            for row in rows]  # fmt: skip


def intervals(board: Board, state: ModelsState = VIEW) -> list[str]:
    return re.findall("<small>(.*?)</small>", html_of(board, state))


def shades(board: Board, state: ModelsState = VIEW) -> list[float]:
    """How dark each number is that has a background."""
    return [float(each) for each in re.findall(r"--shade:([\d.]+)", html_of(board, state))]


# Hostile names.


def test_hostile_names_stay_text() -> None:
    table = seen(hostile_board())
    assert models(table) == [*HOSTILE]
    assert [each["value"] for each in sent(table, "pin")] == [*HOSTILE]
    assert table.attributes["tr", "data-model"] == [*HOSTILE]
    labels = table.attributes["button", "aria-label"]
    assert all(any(name in label for label in labels) for name in HOSTILE)


def test_every_column_of_numbers_says_its_name_for_those_below() -> None:
    table = seen(hostile_board(), ModelsState(table="subsets"))
    columns = table.attributes["th", "data-column"]
    assert columns == ["model", "type", "size", "score", *SUBSETS]
    numbers = [each for each in table.attributes["button", "data-act"] if each == "behind"]
    assert len(numbers) == len(HOSTILE) * (len(columns) - 3)


def test_only_a_name_that_is_a_model_of_the_hub_is_a_link() -> None:
    link = "https://huggingface.co/org/" + "x" * 500
    table = seen(hostile_board())
    assert table.attributes["a", "href"] == [link]
    assert table.attributes["a", "rel"] == ["noopener"]


def test_hostile_kinds_of_models_stay_text() -> None:
    kinds = [Aggregate(f"m{at}", kind, {"hep-go": 0.5}) for at, kind in enumerate(HOSTILE)]
    table = seen(build_board(Results(SOURCE, tuple(kinds)), "v1"))
    assert table.of_class["type"][1:] == [*HOSTILE]


# What is pressed.


def test_a_star_is_filled_where_a_model_is_pinned() -> None:
    board = results_of({"a": 0.9, "b": 0.5})
    table = seen(build_board(board, "v1"), ModelsState(pins=("b",)))
    assert table.of_class["pin"] == ["★", "☆"]
    assert (sent(table, "unpin"), sent(table, "pin")) == ([{"value": "b"}], [{"value": "a"}])
    assert len(table.of_class["pinned"]) == 1 and "b" in table.of_class["pinned"][0]


@pytest.mark.parametrize(("ascending", "order"), [(True, "ascending"), (False, "descending")])
def test_the_column_that_is_sorted_by_says_so(ascending: bool, order: str) -> None:
    table = seen(hostile_board(), ModelsState(sort="Chat", ascending=ascending))
    sorts = [each["value"] for each in sent(table, "sort")]
    orders = table.attributes["th", "aria-sort"]
    assert sorts == ["model", "type", "size", "score", "Chat", "Chat Hard", "Safety", "Reasoning"]
    assert dict(zip(sorts, orders, strict=True)) == {**dict.fromkeys(sorts, "none"), "Chat": order}
    assert models(table) == [*(reversed(HOSTILE) if ascending else HOSTILE)]


def test_hidden_columns_are_not_written() -> None:
    table = seen(hostile_board(), ModelsState(hidden=("type", "Safety")))
    assert [each["value"] for each in sent(table, "sort")] == [
        "model", "size", "score", "Chat", "Chat Hard", "Reasoning",
    ]  # fmt: skip


# Numbers.


def test_a_number_has_so_many_decimals() -> None:
    board = build_board(results_of({"a": 0.123456789}), "v1")
    for digits, words in ((1, "12.3"), (4, "12.3457")):
        table = seen(board, ModelsState(digits=digits))
        assert table.of_class["score"][0].startswith(words)


def test_what_is_not_known_is_a_dash() -> None:
    known = Aggregate("part", None, {"hep-go": 0.5})
    [row] = cells(build_board(Results(SOURCE, (known,)), "v1"))
    rank, model, kind, size, score, *sections = row
    assert (rank, model[1:], kind, size) == (DASH, "part", DASH, DASH)
    assert score.startswith("50.0") and sections[:3] == [DASH] * 3
    assert sections[3].startswith("50.0")


def test_the_best_of_a_column_is_the_darkest_and_shades_follow_the_rows_that_are_shown() -> None:
    board = build_board(results_of({"a1": 0.9, "a2": 0.6, "b1": 0.3}), "v1")
    three, two = shades(board), shades(board, ModelsState(search="^a"))
    assert three[::5] == [max(three), sorted(three)[5], min(three)]
    assert set(two) == {max(three), min(three)}
    assert set(shades(board, ModelsState(search="a1"))) == {max(three)}


def test_intervals_stand_in_brackets_where_they_are_unpaired() -> None:
    shares = {"good": 0.9, "bad": 0.3}
    matrix = matrix_of({name: coin_flips(share) for name, share in shares.items()}, EVERY * 4)
    bare = build_board(NOTHING, "v1", outcomes=matrix)
    assert len(intervals(bare)) == 2 * 5
    assert all(re.fullmatch(r"\([\d.]+–[\d.]+\)", each) for each in intervals(bare))
    assert "Tie group" not in html_of(bare)

    sure = finished(measure(matrix, RULES["v1"], ranked=bare.comparable, replicates=50))
    board = build_board(NOTHING, "v1", outcomes=matrix).measured(sure)
    assert len(intervals(board)) == 2 * 6  # with those of ranks
    assert all(re.fullmatch(r"[\d.]+–[\d.]+", each) for each in intervals(board))
    assert seen(board).of_class["group"] == ["1", "2"]


def test_of_models_without_outcomes_intervals_stay_in_brackets_beside_measured_ones() -> None:
    matrix = matrix_of({"measured": coin_flips(0.9)}, EVERY * 4)
    results = results_of({"told": 0.3})
    sure = finished(measure(matrix, RULES["v1"], ranked=("measured",), replicates=50))
    board = build_board(results, "v1", outcomes=matrix).measured(sure)
    rank, *measured = intervals(board)[:6]
    assert rank == "1–1" and not any("(" in each for each in measured)
    told = intervals(board)[6:]
    assert len(told) == 5 and all(each.startswith("(") for each in told)
    assert seen(board).of_class["group"] == ["1", ""]


def test_single_subsets_have_their_binomial_intervals() -> None:
    board = build_board(results_of({"a": 0.9}), "v1")
    [of_score, *rest] = intervals(board, ModelsState(table="subsets"))
    assert len(rest) == len(SUBSETS)
    at = [*board.subsets].index("hep-go")
    assert rest[at] == "(84.5–93.7)" != of_score  # Wilson's, 0.9 of 164


# Many rows.


def test_188_models_in_detail_are_no_large_page(shared_data: Path) -> None:
    results, _, matrix = real_results(shared_data)
    board = build_board(results, "v1", outcomes=repeated(matrix, 188))
    size = len(html_of(board, ModelsState(table="subsets")).encode())
    print(f"188 models in detail: {size:,} bytes")
    assert size < 700_000


def test_5000_models_are_300_rows_and_a_note() -> None:
    html = html_of(
        build_board(results_of({f"org/m-{number}": 0.5 for number in range(5000)}), "v1")
    )
    assert html.count("<tr") == 1 + MOST_ROWS == 301
    assert "4,700 more models" in html
    assert len(html) < 1_500_000


def test_no_row_is_a_sentence() -> None:
    table = seen(hostile_board(), ModelsState(search="no such model"))
    assert "No model passes" in table.words and not table.attributes["th", "scope"]

"""The charts below a leaderboard: what is drawn of which models, what is said where nothing is."""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from explorer.core.html import percent
from explorer.data.table import PairTable
from explorer.results.board import Board, build_board
from explorer.results.boards import BoardView
from explorer.stats.matrix import OutcomeMatrix
from explorer.stats.rules import V1
from explorer.tabs.models.board_html import board_html, drawer_html
from explorer.tabs.models.charts_html import MOST_ALIKE, chart_html
from explorer.tabs.models.ranked import MOST_BOARD_ROWS, Ranked, visible_rows
from explorer.tabs.models.state import ModelsState
from scoring.benchmark import SUBSETS
from tests.support.board_data import FOUR, NOTHING, coin_flips, matrix_of
from tests.support.html_reading import HtmlReading, body_rows
from tests.support.tables import benchmark_table


def outcomes_of(shares: Sequence[float], names: Sequence[str] = ()) -> OutcomeMatrix:
    """Outcomes on the whole benchmark, of models that win about such shares of the pairs."""
    table = benchmark_table()
    values = {
        (names[at] if names else f"org/m{at}-{at + 1}B"): coin_flips(share, len(table), at)
        for at, share in enumerate(shares)
    }
    return matrix_of(values, table.subset_of_row.tolist(), dataset=table.id)


def scene_of(
    state: ModelsState,
    matrix: OutcomeMatrix | None,
    board: Board | None = None,
    tables: Sequence[PairTable] = (),
    is_read: bool = True,
) -> Ranked:
    board = board or build_board(NOTHING, "v1", outcomes=matrix)
    rows = visible_rows(board, state)
    return Ranked(state, BoardView(board, matrix, is_read), rows, lambda: tables)


@dataclass(frozen=True)
class Drawn:
    """What is written of a chart. about: all but its table. plot: the figure; None for none."""

    about: HtmlReading
    plot: dict[str, Any] | None
    table: str


def drawn_of(scene: Ranked) -> Drawn:
    html = chart_html(scene)
    about, table = re.split("(?=<div class=.stats-box)|(?=</div>$)", html, maxsplit=1)
    read = HtmlReading(f"{about}</div>")
    figures = read.attributes["figure", "data-plot"]
    assert HtmlReading(html).attributes["figure", "data-plot"] == figures and len(figures) <= 1
    return Drawn(read, json.loads(figures[0]) if figures else None, table.removesuffix("</div>"))


def figure_of(shown: Drawn) -> dict[str, Any]:
    assert shown.plot is not None
    return shown.plot


def models_of(shown: Drawn) -> list[str]:
    """The models that a click on the figure can ask for."""
    return [name for trace in figure_of(shown)["data"] for name in trace.get("customdata", [])]


def told(shown: Drawn) -> list[str]:
    """What is said of the chart: its sentence first."""
    return shown.about.of_class["note"]


@pytest.fixture(scope="module")
def matrix() -> OutcomeMatrix:
    return outcomes_of([0.9, 0.8, 0.3])


@pytest.fixture(scope="module")
def whole() -> PairTable:
    return benchmark_table()


# Length bias.


def test_each_model_has_a_line_and_the_baselines_the_last(
    matrix: OutcomeMatrix, whole: PairTable
) -> None:
    shown = drawn_of(scene_of(ModelsState(chart="length", digits=2), matrix, tables=[whole]))
    rows = body_rows(shown.table)
    assert [row[0] for row in rows] == ["org/m0-1B", "org/m1-2B", "org/m2-3B"]
    difference = whole.lengths("difference", "chars")
    for row, outcomes in zip(rows, matrix.outcomes, strict=True):
        for at, side in ((2, difference > 0), (4, difference < 0), (6, difference == 0)):
            assert row[at] == f"{side.sum():,}"
            assert float(row[at + 1]) == pytest.approx(100 * outcomes[side].mean(), abs=0.006)
    foot = HtmlReading(shown.table.partition("<tfoot>")[2].partition("</tfoot>")[0])
    assert foot.words.strip().startswith("The longer response wins")
    assert "+100.00" in foot.words and "−100.00" in foot.words


# Results of each pair.


def test_so_many_models_are_drawn_and_no_more() -> None:
    n = MOST_BOARD_ROWS + 1
    many = matrix_of({f"m{at}-1B": [at % 2, 1.0, 0.0, at % 3 == 0] for at in range(n)}, FOUR)
    for chart, most in (
        ("agreement", MOST_ALIKE),
        ("size", MOST_BOARD_ROWS),
        ("tradeoff", MOST_BOARD_ROWS),
    ):
        state = ModelsState(chart=chart)  # type: ignore[arg-type]
        scene = scene_of(state, many)
        shown = drawn_of(scene)
        assert sorted(models_of(shown)) == sorted(scene.rows.index[:most])
        assert f"Only the first {most} models are shown." in told(shown)


# By length alone, on the board.


def test_what_goes_by_length_alone_stands_below_the_board(
    matrix: OutcomeMatrix, whole: PairTable
) -> None:
    known = scene_of(ModelsState(open="org/m0-1B"), matrix, tables=[whole])
    html = board_html(scene_of(ModelsState(), matrix, tables=[whole]))
    rows = re.findall(r'scope="row">The \w+ response wins</th>(.*?)</tr>', html, re.DOTALL)
    marks = re.findall("; the longer response wins: (.*); the shorter response wins: (.*)\"><span",
                       drawer_html(known))  # fmt: skip
    chars = whole.lengths("difference", "chars")
    of_both = zip(*marks, strict=True)
    for row, of_subset, wins in zip(rows, of_both, (chars > 0, chars < 0), strict=True):
        shares = {name: wins[whole.subset_of_row == name].mean() for name in SUBSETS}
        assert [*of_subset] == [percent(shares[name]) for name in SUBSETS]
        weights = V1.sections["Chat"]
        of_chat = np.average([shares[name] for name in weights], weights=[*weights.values()])
        assert re.findall(r"([\d.]+)(?=<)", row)[1] == f"{100 * of_chat:.1f}"
    assert "response wins" not in board_html(scene_of(ModelsState(), matrix))
    prior = build_board(NOTHING, "prior", outcomes=matrix)
    assert "response wins" not in board_html(scene_of(ModelsState(), matrix, prior, [whole]))

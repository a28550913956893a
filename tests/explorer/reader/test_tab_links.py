"""What one tab asks of another is spelled as the other spells it."""

from dataclasses import replace

import pytest

from explorer.reader.links import board_query, cell_query, compare_query, failures_query, read_pairs
from explorer.reader.state import PairsState
from explorer.results.field import MAJORITY
from explorer.stats.duels import CELLS, Cell
from explorer.stats.rules import PRIOR_KEY
from explorer.tabs.models.state import BOARD_BENCHMARKS, ModelsState
from tests.support.boards import comparing

SOME = PairsState("org/set", section=("Chat",), key="a:1")


@pytest.mark.parametrize("pairs", [PairsState(), SOME])
def test_a_models_failures_are_asked_for_with_the_pairs(pairs: PairsState) -> None:
    found = replace(pairs, model="org/m", kind="failures")
    assert read_pairs(failures_query("org/m", pairs)) == (found, ())


@pytest.mark.parametrize("cell", CELLS)
def test_cells_are_asked_for_with_the_pairs(cell: Cell) -> None:
    asked, _ = read_pairs(cell_query("a/&", "b", cell, SOME))
    assert asked == replace(SOME, model="a/&", kind="all", against="b", cell=cell)


def test_models_are_compared_as_their_tab_writes_it() -> None:
    for models in (("a",), ("a", "b"), ("a", "b", "c", "d")):
        a, b, *more = models if len(models) > 1 else (*models, MAJORITY)
        asked = comparing(a, b, tuple(more))
        assert f"?tab=models&{compare_query(*models)}" == asked.href()


@pytest.mark.parametrize("benchmark", BOARD_BENCHMARKS)
def test_a_models_row_is_asked_for_on_the_board_of_its_benchmark(benchmark: str) -> None:
    asked = ModelsState(benchmark=benchmark, pins=("a",), open="a")
    assert f"?tab=models&{board_query('a', benchmark)}" == asked.href()
    prior = ModelsState(table="prior", pins=("a",), open="a")
    assert f"?tab=models&{board_query('a', PRIOR_KEY)}" == prior.href()

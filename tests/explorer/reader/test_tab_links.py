"""What one tab asks of another is spelled as the other spells it."""

import pytest

from explorer.data.filters import NO_FILTERS
from explorer.reader.links import cell_query, compare_query, failures_query
from explorer.reader.reading import Reading
from explorer.reader.state import View
from explorer.stats.duels import CELLS, Cell
from explorer.tabs.models.compare_state import COMPARE_LINK, CompareState
from explorer.tabs.pairs.fail_state import FAIL_LINK, FailView

SOME = View("org/set", NO_FILTERS.picking("section", ["Chat"]), reading=Reading(key="a:1"))


@pytest.mark.parametrize("pairs", [View(), SOME])
def test_a_models_failures_are_asked_for_as_their_tab_writes_them(pairs: View) -> None:
    assert failures_query("org/m", pairs) == FAIL_LINK.encode(FailView("org/m", view=pairs))


@pytest.mark.parametrize("cell", CELLS)
def test_cells_are_asked_for_as_their_tab_writes_them(cell: Cell) -> None:
    view = FailView("a/&", "all", against="b", cell=cell, view=SOME)
    assert cell_query("a/&", "b", cell, SOME) == FAIL_LINK.encode(view)


def test_models_are_compared_as_their_tab_writes_it() -> None:
    assert compare_query("a") == COMPARE_LINK.encode(CompareState("a"))
    assert compare_query("a", "b", "c", "d") == COMPARE_LINK.encode(
        CompareState("a", "b", ("c", "d"))
    )

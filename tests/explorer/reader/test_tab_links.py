"""What one tab asks of another is spelled as the other spells it."""

from dataclasses import replace

import pytest

from explorer.core.links import Decoded
from explorer.data.filters import NO_FILTERS
from explorer.reader.links import cell_query, compare_query, decode_pairs, failures_query
from explorer.reader.reading import Reading
from explorer.reader.state import PairsState
from explorer.results.field import MAJORITY
from explorer.stats.duels import CELLS, Cell
from tests.explorer.boards import comparing

SOME = PairsState("org/set", NO_FILTERS.picking("section", ["Chat"]), reading=Reading(key="a:1"))


@pytest.mark.parametrize("pairs", [PairsState(), SOME])
def test_a_models_failures_are_asked_for_with_the_pairs(pairs: PairsState) -> None:
    asked = decode_pairs(failures_query("org/m", pairs)).state
    assert asked == replace(pairs, outcomes=True, model="org/m")


@pytest.mark.parametrize("cell", CELLS)
def test_cells_are_asked_for_with_the_pairs(cell: Cell) -> None:
    asked = decode_pairs(cell_query("a/&", "b", cell, SOME)).state
    of_a = replace(SOME, outcomes=True, model="a/&")
    assert asked == replace(of_a, kind="all", against="b", cell=cell)


@pytest.mark.parametrize(
    ("link", "state"),
    [
        ("?tab=browse&sort=-chosen&panel=lengths", PairsState(sort="-chosen", panel="lengths")),
        ("?tab=failures", PairsState().of("")),
        ("?tab=failures&pairs=telling", PairsState(outcomes=True, field_kind="telling")),
        (
            "?tab=failures&model=m&show=near&slice=longer:rejected&by=-surprise&part=kinds",
            replace(PairsState(slices=("longer:rejected",), sort="-surprise").of("m"),
                    kind="near", panel="kinds"),
        ),
        ("?tab=failures&model=m&by=-length", PairsState(sort="-difference").of("m")),
    ],
)  # fmt: skip
def test_links_of_the_tabs_that_were_open_the_same(link: str, state: PairsState) -> None:
    assert decode_pairs(link) == Decoded(state)


def test_models_are_compared_as_their_tab_writes_it() -> None:
    for models in (("a",), ("a", "b"), ("a", "b", "c", "d")):
        a, b, *more = models if len(models) > 1 else (*models, MAJORITY)
        asked = comparing(a, b, tuple(more))
        assert f"?tab=models&{compare_query(*models)}" == asked.href()

import numpy as np
import pytest

from explorer.reader.scene import ScenePairs
from explorer.reader.scene import scene as pairs_scene
from explorer.reader.state import PairsState
from explorer.results.field import Field
from explorer.stats.duels import CELLS
from explorer.tabs.models.compared import (
    Compared,
    cell_href,
    compared,
    first_duel,
    likenesses,
    margin_points,
)
from explorer.tabs.models.state import ModelsState
from tests.support.boards import comparing
from tests.support.fields import rivals
from tests.support.hostile import NAME

ALL = comparing("org/a", "org/b", (NAME, "half"))


def scene(state: ModelsState) -> Compared:
    return compared(state, rivals())


def test_margins_are_drawn_where_both_have_rewards() -> None:
    found = margin_points(scene(comparing("org/a", "org/b")))
    assert found is not None and found.n == 7
    assert (found.rows.tolist(), found.a.tolist()) == ([*range(7)], [1, 1, -1, 2, -2, 1, -1])
    assert [CELLS[each] for each in found.cells] == [
        "both", "only_a", "only_b", "both", "neither", "only_a", "only_b",
    ]  # fmt: skip
    of_section = margin_points(scene(comparing("org/a", "org/b", section="Safety")))
    assert of_section is not None and of_section.rows.tolist() == [3, 4]
    assert of_section.correlation == pytest.approx(1)
    assert margin_points(scene(comparing("org/a", "half"))) is None
    assert margin_points(scene(comparing("org/a"))) is None


def test_likeness_by_hand() -> None:
    found = {each["model"]: each for each in likenesses(scene(comparing("org/a")))}
    alike = found["org/b"]
    assert (alike["n"], alike["same"], alike["won"]) == (7, 3 / 7, 0.0)
    assert alike["correlation"] == pytest.approx(np.corrcoef(
        [1, 1, 0, 1, 0, 1, 0], [1, 0, 1, 1, 0, 0, 1])[0, 1])  # fmt: skip
    assert (found["half"]["n"], found["half"]["same"]) == (4, 0.75)
    models = [each["model"] for each in likenesses(scene(comparing("org/a", section="Chat")))]
    assert models[-1] == "half"  # without a pair there


def n_listed(link: str, field: Field) -> int:
    """How many pairs the Pairs tab lists where a link leads to it."""
    state, dropped = PairsState.parse(link)
    assert link.startswith("?tab=pairs&") and not dropped
    return len(pairs_scene(state, ScenePairs(field.table, field)).listed)


def test_a_cell_leads_to_as_many_pairs_of_the_pairs_tab() -> None:
    now = scene(comparing("org/a", "org/b"))
    found = first_duel(now)
    for cell in CELLS:
        for section, of in [("", found.all_pairs), *((each.name, each) for each in found.sections)]:
            assert n_listed(cell_href(now, cell, section), rivals()) == getattr(of, cell)
        for each in found.subsets:
            query = cell_href(now, cell, subset=each.name)
            assert n_listed(query, rivals()) == getattr(each, cell)

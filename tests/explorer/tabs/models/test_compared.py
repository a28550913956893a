from pathlib import Path

import numpy as np
import pytest

from explorer.data.table import PairTable
from explorer.reader.scene import ScenePairs
from explorer.reader.scene import scene as pairs_scene
from explorer.reader.state import PairsState
from explorer.results.field import MAJORITY, Field
from explorer.stats.duels import CELLS
from explorer.tabs.models.compared import (
    Compared,
    cell_href,
    compared,
    first_duel,
    likenesses,
    margin_points,
    standings,
)
from explorer.tabs.models.state import ModelsState
from scoring.benchmark import SECTIONS, SUBSETS, overall_score, section_scores
from tests.support.board_data import real_results
from tests.support.boards import comparing
from tests.support.fields import rivals
from tests.support.hostile import NAME

ALL = comparing("org/a", "org/b", (NAME, "half"))


def scene(state: ModelsState) -> Compared:
    return compared(state, rivals())


@pytest.fixture(scope="module")
def whole(shared_data: Path, real: PairTable) -> Field:
    _, _, matrix = real_results(shared_data)
    return Field(real, matrix, {}, ("real",))


def test_standings_are_on_the_pairs_that_all_have() -> None:
    *found, by_rule = standings(scene(ALL))
    assert [(each.section, each.n) for each in found] == [
        ("", 4), ("Chat", 0), ("Chat Hard", 0), ("Safety", 1), ("Reasoning", 3),
    ]  # fmt: skip
    assert found[0].scores == (0.75, 0.75, 0.5, 0.5)
    assert found[1].scores == (None,) * 4
    assert (by_rule.section, by_rule.n) == (None, 4)
    assert by_rule.scores == pytest.approx((5 / 6, 5 / 6, 1 / 3, 1 / 3))
    assert standings(scene(comparing("half")))[-1].scores == (1 / 3, 1.0)


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
    constant = margin_points(scene(comparing("org/a", NAME, section="Chat")))
    assert constant is not None and constant.correlation is None
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


def test_real_models_by_hand(whole: Field) -> None:
    names, outcomes = whole.matrix.models, whole.matrix.outcomes
    subsets = whole.table.subset_of_row
    for one in range(0, 60, 12):
        state = comparing(names[one], names[one + 3], (names[one + 5],))
        now = compared(state, whole)
        rows = [one, one + 3, one + 5]
        known = [at for at in range(2985) if not np.isnan(outcomes[rows, at]).any()]
        assert np.flatnonzero(now.shared).tolist() == known
        cells = [(outcomes[one, at] == 1, outcomes[one + 3, at] == 1) for at in known]
        counts = [cells.count(each) for each in ((1, 1), (1, 0), (0, 1), (0, 0))]
        assert [getattr(first_duel(now).all_pairs, cell) for cell in CELLS] == counts
        *parts, by_rule = standings(now)
        for each in parts:
            among = [
                at for at in known if not each.section or subsets[at] in SECTIONS[each.section]
            ]
            assert each.n == len(among)
            for row, score in zip(rows, each.scores, strict=True):
                of = {name: [at for at in among if subsets[at] == name] for name in SUBSETS}
                means = {name: float(outcomes[row, at].mean()) for name, at in of.items() if at}
                expected = section_scores(means).get(each.section) if each.section else None
                assert score == pytest.approx(expected or float(outcomes[row, among].mean()))
        for row, score in zip(rows, by_rule.scores, strict=True):
            rows_of = {name: [at for at in known if subsets[at] == name] for name in SUBSETS}
            means = {name: float(outcomes[row, at].mean()) for name, at in rows_of.items()}
            assert score == pytest.approx(overall_score(section_scores(means)))
        alike = likenesses(now)[0]
        other = outcomes[names.index(alike["model"])]
        both = ~np.isnan(other + outcomes[one])
        r = np.corrcoef(outcomes[one][both], other[both])[0, 1]
        assert alike["correlation"] == pytest.approx(r, abs=1e-6)
        same = (outcomes[one][both] == 1) == (other[both] == 1)
        assert alike["n"] == both.sum()
        assert alike["same"] == pytest.approx(same.mean())


def test_real_cells_lead_to_their_pairs(whole: Field) -> None:
    names = whole.matrix.models
    for one, other in ((0, 40), (13, 21), (30, None)):
        rival = MAJORITY if other is None else names[other]
        now = compared(comparing(names[one], rival), whole)
        found = first_duel(now)
        for section in found.sections:
            for cell in CELLS:
                query = cell_href(now, cell, section.name)
                assert n_listed(query, whole) == getattr(section, cell)

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from statsmodels.stats.contingency_tables import mcnemar  # type: ignore[import-untyped]
from statsmodels.stats.multitest import multipletests  # type: ignore[import-untyped]

from explorer.stats.duels import CELLS, DuelPart, cells_of, duel, majority_of
from explorer.stats.rules import RULES
from scoring.benchmark import SECTIONS, SUBSETS, overall_score, section_scores
from scoring.results.order import PairOrder
from tests.support.board_data import order_of
from tests.support.real_outcomes import read_real_outcomes

V1 = RULES["v1"]
EACH_TEN = np.repeat(SUBSETS, 10).tolist()


def drawn(seed: int, n_models: int = 2, n_pairs: int = len(EACH_TEN)) -> Any:
    """Outcomes with halves and missing ones."""
    values = [0.0, 1.0, 1.0, 0.5, np.nan]
    return np.random.default_rng(seed).choice(values, size=(n_models, n_pairs))


def counted(name: str, a: Any, b: Any, rows: Any) -> tuple[str, int, int, int, int]:
    """A part's cells, pair by pair."""
    cells = dict.fromkeys(CELLS, 0)
    for one, other in zip(a[rows], b[rows], strict=True):
        if not np.isnan(one) and not np.isnan(other):
            wins = (bool(one == 1), bool(other == 1))
            cells[
                CELLS[[(True, True), (True, False), (False, True), (False, False)].index(wins)]
            ] += 1
    return (name, cells["both"], cells["only_a"], cells["only_b"], cells["neither"])


def cells_in(part: DuelPart) -> tuple[str, int, int, int, int]:
    return (part.name, part.both, part.only_a, part.only_b, part.neither)


def check(a: Any, b: Any, order: PairOrder) -> None:
    found = duel(a, b, order, V1)
    subsets = np.array(order.names)[order.codes]
    section_of = {subset: name for name, of in SECTIONS.items() for subset in of}
    sections = np.array([section_of.get(subset) for subset in subsets])
    assert cells_in(found.all_pairs) == counted("", a, b, slice(None))
    assert [cells_in(each) for each in found.sections] == [
        counted(name, a, b, sections == name) for name in SECTIONS
    ]
    assert [cells_in(each) for each in found.subsets] == [
        counted(name, a, b, subsets == name) for name in order.names
    ]
    for part in found.subsets:
        known = ~np.isnan(a + b) & (subsets == part.name)
        alike = set(a[known]) | set(b[known]) <= {0.0, 1.0}
        if known.any() and alike and "refusals" not in part.name:  # two of those share a prompt
            table = [[part.both, part.only_a], [part.only_b, part.neither]]
            assert part.test.p == pytest.approx(mcnemar(table, exact=True).pvalue)
    for parts in (found.sections, found.subsets):
        p = [each.test.p for each in parts if each.n]
        adjusted = multipletests(p, method="holm")[1]
        assert [each.p_adjusted for each in parts if each.n] == pytest.approx(adjusted)
    known = ~np.isnan(a + b)
    both = [
        section_scores(
            {
                name: float(np.mean(each[known & (subsets == name)]))
                for name in SUBSETS
                if (known & (subsets == name)).any()
            }
        )
        for each in (a, b)
    ]
    assert [[each.a for each in found.sections], [each.b for each in found.sections]] == [
        pytest.approx(list(scores.values())) for scores in both
    ]
    assert [found.score.a, found.score.b] == pytest.approx([overall_score(each) for each in both])
    for part in (found.all_pairs, found.score, *found.sections, *found.subsets):
        if part.a is not None and part.b is not None:
            low, high = part.test.interval or (1, -1)
            assert low <= (part.difference or 0.0) <= high
            assert part.difference == pytest.approx(part.a - part.b)


@pytest.mark.parametrize("seed", range(2))
def test_a_duel_is_what_counting_says(seed: int) -> None:
    a, b = drawn(seed)
    check(a, b, order_of(EACH_TEN))


def test_two_of_them_in_full(shared_data: Path) -> None:
    real = read_real_outcomes(shared_data)
    check(real.matrix[5].astype(float), real.matrix[60].astype(float), order_of(real.subsets))


def test_a_subset_is_better_only_where_it_is_significant() -> None:
    a = np.array([1.0] * 40 + [1, 0])
    b = np.array([0.0] * 20 + [1.0] * 20 + [0, 0])
    order = order_of(["hep-go"] * 20 + ["hep-js"] * 20 + ["hep-cpp"] * 2)
    found = duel(a, b, order, V1)
    assert [(each.name, each.better) for each in found.subsets] == [
        ("hep-go", "a"), ("hep-js", None), ("hep-cpp", None),
    ]  # fmt: skip
    assert found.subsets[0].p_adjusted == 3 * found.subsets[0].test.p


def test_without_a_common_pair_there_is_nothing_to_say() -> None:
    found = duel([1, np.nan], [np.nan, 0], order_of(["hep-go", "own"]), V1)
    part = found.all_pairs
    assert (part.n, part.test.p, part.p_adjusted) == (0, 1.0, 1.0)
    assert (part.a, part.b, part.difference, part.test.interval) == (None,) * 4
    assert part.better is None
    assert not any(each.n for each in found.subsets)
    assert found.headline is found.all_pairs


def test_without_a_discordant_pair_p_is_1_and_little_is_sure() -> None:
    found = duel([1, 0, 1], [1, 0, 1], order_of(["hep-go"] * 3), V1)
    assert (found.all_pairs.test.p, found.score.test.p) == (1.0, 1.0)
    low, high = found.score.test.interval or (0, 0)
    assert low < -0.3 < 0.3 < high


def test_who_has_the_higher_section_score_is_never_significantly_worse() -> None:
    # math-prm weighs as much as all code: few pairs of it outweigh many of code
    a = np.repeat([1.0, 0.0, 1.0, 0.0], [40, 5, 100, 60])
    b = np.repeat([0.0, 1.0, 1.0, 1.0], [40, 5, 100, 60])
    names = ["math-prm"] * 45 + ["hep-go"] * 160
    [found] = [part for part in duel(a, b, order_of(names), V1).sections if part.n]
    assert found.only_a < found.only_b
    assert found.a is not None
    assert found.b is not None
    assert found.a > found.b
    assert found.better == "a"


def test_one_problem_in_six_languages_is_no_six_proofs() -> None:
    order = replace(order_of(["hep-go", "hep-js", "hep-rust"]), ids=["3856", "4184", "4348"])
    apart = replace(order, ids=["3856", "4185", "4350"])
    together, alone = (duel([1, 1, 1], [0, 0, 0], each, V1) for each in (order, apart))
    assert (together.score.test.p, alone.score.test.p) == (1.0, 0.25)


def test_cells_say_who_wins() -> None:
    a, b = drawn(8)
    cells = cells_of(a, b)
    for place, cell in enumerate(CELLS):
        rows = cells == place
        assert set((a[rows] == 1).tolist()) == {cell in ("both", "only_a")}
        assert set((b[rows] == 1).tolist()) == {cell in ("both", "only_b")}
    assert (cells == -1).tolist() == np.isnan(a + b).tolist()


def test_a_majority_is_more_than_half_of_those_that_are_known() -> None:
    models = drawn(9, n_models=5, n_pairs=400)
    for found, of_pair in zip(majority_of(models).tolist(), models.T, strict=True):
        known = of_pair[~np.isnan(of_pair)]
        twice = 2 * int((known == 1).sum())
        if len(known) and twice != len(known):
            assert found == (twice > len(known))
        else:
            assert np.isnan(found)

from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from statsmodels.stats.contingency_tables import mcnemar  # type: ignore[import-untyped]
from statsmodels.stats.multitest import multipletests  # type: ignore[import-untyped]

from explorer.duels import CELLS, DuelPart, against_field, cells_of, duel, paired_interval
from explorer.rules import RULES
from scoring.benchmark import SECTIONS, SUBSETS, overall_score, section_scores
from scoring.pair_order import PairOrder
from tests.explorer.board_data import order_of
from tests.explorer.real_outcomes import read_real_outcomes

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
    assert cells_in(found.overall) == counted("", a, b, slice(None))
    assert [cells_in(each) for each in found.sections] == [
        counted(name, a, b, sections == name) for name in SECTIONS
    ]
    assert [cells_in(each) for each in found.subsets] == [
        counted(name, a, b, subsets == name) for name in order.names
    ]
    for parts in (found.sections, found.subsets):
        p = [
            mcnemar([[each.both, each.only_a], [each.only_b, each.neither]], exact=True).pvalue
            for each in parts
            if each.n
        ]
        assert [each.p for each in parts if each.n] == pytest.approx(p)
        adjusted = multipletests(p, method="holm")[1]
        assert [each.p_adjusted for each in parts if each.n] == pytest.approx(adjusted)
    known = ~np.isnan(a + b)
    scores = [
        overall_score(
            section_scores(
                {
                    name: float(np.mean(each[known & (subsets == name)]))
                    for name in SUBSETS
                    if (known & (subsets == name)).any()
                }
            )
        )
        for each in (a, b)
    ]
    assert [found.score.a, found.score.b] == pytest.approx(scores)
    assert found.score.test.difference == pytest.approx(found.score.a - found.score.b)
    low, high = found.score.interval or (0, 0)
    assert low < found.score.test.difference < high


@pytest.mark.parametrize("seed", range(5))
def test_a_duel_is_what_counting_says(seed: int) -> None:
    a, b = drawn(seed)
    check(a, b, order_of(EACH_TEN))


def test_twenty_real_models_against_each_other(shared_data: Path) -> None:
    real = read_real_outcomes(shared_data)
    order = order_of(real.subsets)
    subsets = np.array(real.subsets)
    for one, other in combinations(range(0, 60, 3), 2):
        a, b = real.matrix[one], real.matrix[other]
        found = duel(a, b, order, V1)
        assert found.overall.only_a == int(((a == 1) & (b == 0)).sum())
        assert found.overall.difference == pytest.approx(float(a.mean() - b.mean()), abs=1e-6)
        for part in found.subsets:
            rows = subsets == part.name
            assert part.n == int(rows.sum())
            assert (part.both, part.neither) == (
                int((a[rows] * b[rows]).sum()),
                int(((1 - a[rows]) * (1 - b[rows])).sum()),
            )
        assert sum(part.n for part in found.sections) == 2985
        lost = len(found.subsets_better("b")), len(found.subsets_ahead(-1))
        assert lost[0] <= lost[1] <= 23


def test_three_of_them_in_full(shared_data: Path) -> None:
    real = read_real_outcomes(shared_data)
    order = order_of(real.subsets)
    for one, other in combinations((5, 33, 60), 2):
        check(real.matrix[one].astype(float), real.matrix[other].astype(float), order)


def test_turned_round_it_is_the_same_duel() -> None:
    a, b = drawn(7)
    order = order_of(EACH_TEN)
    one, other = duel(a, b, order, V1), duel(b, a, order, V1)
    assert one.overall.p == other.overall.p
    assert (one.overall.accuracy_a, one.overall.accuracy_b) == (
        other.overall.accuracy_b,
        other.overall.accuracy_a,
    )
    assert one.subsets_ahead(1) == other.subsets_ahead(-1)
    assert one.subsets_ahead(0) == other.subsets_ahead(0)


def test_a_subset_is_better_only_where_it_is_significant() -> None:
    a = np.array([1.0] * 40 + [1, 0])
    b = np.array([0.0] * 20 + [1.0] * 20 + [0, 0])
    order = order_of(["hep-go"] * 20 + ["hep-js"] * 20 + ["hep-cpp"] * 2)
    found = duel(a, b, order, V1)
    assert found.subsets_better("a") == ("hep-go",)
    assert found.subsets_better(None) == ("hep-js", "hep-cpp")
    assert found.subsets_better("b") == ()
    assert found.subsets_ahead(1) == ("hep-go", "hep-cpp")
    assert found.subsets[0].p_adjusted == 3 * found.subsets[0].p


def test_without_a_common_pair_there_is_nothing_to_say() -> None:
    found = duel([1, np.nan], [np.nan, 0], order_of(["hep-go", "own"]), V1)
    part = found.overall
    assert (part.n, part.p, part.p_adjusted) == (0, 1.0, 1.0)
    assert (part.accuracy_a, part.accuracy_b, part.difference, part.interval) == (None,) * 4
    assert part.better is None
    assert found.subsets_ahead(0) == found.subsets_better(None) == ()
    assert np.isnan([found.score.a, found.score.b]).all()
    assert found.score.interval is None


def test_without_a_discordant_pair_p_is_1() -> None:
    found = duel([1, 0, 1], [1, 0, 1], order_of(["hep-go"] * 3), V1)
    assert (found.overall.p, found.score.test.p, found.score.interval) == (1.0, 1.0, (0.0, 0.0))


def test_outcomes_must_fit() -> None:
    order = order_of(["hep-go"] * 3)
    with pytest.raises(ValueError, match="shape"):
        duel([1, 0], [1, 0], order, V1)
    with pytest.raises(ValueError, match="between 0 and 1"):
        duel([1, 0, 2], [1, 0, 1], order, V1)


@pytest.mark.parametrize("n", [20, 100, 450])
@pytest.mark.parametrize(("only_a", "only_b"), [(0.02, 0.02), (0.1, 0.05), (0.3, 0.1), (0.0, 0.04)])
def test_the_interval_covers_as_often_as_it_says(n: int, only_a: float, only_b: float) -> None:
    shares = [only_a, only_b, 1 - only_a - only_b]
    tables = np.random.default_rng(n).multinomial(n, shares, size=3000)
    ends = np.array([paired_interval(int(x), int(y), n) for x, y, _ in tables])
    covered = (ends[:, 0] <= only_a - only_b) & (only_a - only_b <= ends[:, 1])
    assert covered.mean() > 0.93


def test_on_the_whole_it_is_not_too_wide() -> None:
    covered = []
    for only_a in (0.05, 0.1, 0.15, 0.2):
        tables = np.random.default_rng(1).multinomial(300, [only_a, 0.1, 0.9 - only_a], size=2000)
        for x, y, _ in tables:
            low, high = paired_interval(int(x), int(y), 300) or (0, 0)
            covered.append(low <= only_a - 0.1 <= high)
    assert np.mean(covered) == pytest.approx(0.95, abs=0.01)


def test_the_interval_holds_the_difference() -> None:
    for n in range(1, 12):
        for only_a in range(n + 1):
            for only_b in range(n + 1 - only_a):
                low, high = paired_interval(only_a, only_b, n) or (1, -1)
                assert -1 <= low <= (only_a - only_b) / n <= high <= 1


def test_cells_say_who_wins() -> None:
    a, b = drawn(8)
    cells = cells_of(a, b)
    for place, cell in enumerate(CELLS):
        rows = cells == place
        assert set((a[rows] == 1).tolist()) == {cell in ("both", "only_a")}
        assert set((b[rows] == 1).tolist()) == {cell in ("both", "only_b")}
    assert (cells == -1).tolist() == np.isnan(a + b).tolist()


def test_against_the_field_pair_by_pair() -> None:
    outcomes = drawn(9, n_models=6, n_pairs=400)
    model, field = outcomes[0], outcomes[1:]
    found = against_field(model, field)
    rows = {name: getattr(found, name).tolist() for name in (
        "both", "only_model", "only_majority", "neither", "split", "alone_wins", "alone_fails"
    )}  # fmt: skip
    for row, (own, others) in enumerate(zip(model, field.T, strict=True)):
        known = others[~np.isnan(others)]
        wins, n = int((known == 1).sum()), len(known)
        expected = set()
        if not np.isnan(own) and n:
            if 2 * wins == n:
                expected.add("split")
            elif 2 * wins > n:
                expected.add("both" if own == 1 else "only_majority")
            else:
                expected.add("only_model" if own == 1 else "neither")
            if own == 1 and wins == 0:
                expected.add("alone_wins")
            if own != 1 and wins == n:
                expected.add("alone_fails")
        assert {name for name, found_rows in rows.items() if row in found_rows} == expected
    assert found.overall.only_a == len(found.only_model)
    assert found.overall.n == 400 - np.isnan(model).sum() - len(rows["split"])


def test_there_may_be_no_others() -> None:
    found = against_field(np.array([1.0, 0.0]), np.zeros((0, 2)))
    assert found.overall.n == 0
    assert np.isnan(found.share).all()
    assert len(found.split) == len(found.alone_wins) == len(found.alone_fails) == 0

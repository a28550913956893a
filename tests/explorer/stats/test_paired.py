from fractions import Fraction
from itertools import product
from math import comb
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats  # type: ignore[import-untyped]
from statsmodels.stats.contingency_tables import mcnemar  # type: ignore[import-untyped]

from explorer.stats import paired as paired_tests
from explorer.stats.paired import MOST_EXACT, holm, mcnemar_exact, paired_p_values, paired_test
from scoring.strata import Strata, one_stratum, score_weights, strata

SIZES = (60, 25, 150, 40)
N = sum(SIZES)
GROUPS = strata(np.repeat(range(4), SIZES), [60, 25, 150, 300], [0, 0, 1, 1], [1, 1])
THREE_A_PROMPT = np.arange(N) % (N // 3)
"""Pairs of one prompt lie in several strata, as those of HumanEval's problems do."""
CLUSTERED = strata(
    GROUPS.of_pair, GROUPS.weights, GROUPS.sections, GROUPS.section_weights, THREE_A_PROMPT
)


def two_sided(only_a: int, only_b: int) -> Fraction:
    """McNemar's p in whole numbers."""
    n, few = only_a + only_b, min(only_a, only_b)
    return min(Fraction(1), Fraction(2 * sum(comb(n, k) for k in range(few + 1)), 2**n))


@given(st.integers(0, 400), st.integers(0, 400))
def test_mcnemar_is_exact(only_a: int, only_b: int) -> None:
    found = mcnemar_exact(only_a, only_b)
    assert found == pytest.approx(float(two_sided(only_a, only_b)), rel=1e-13)
    assert found == mcnemar_exact(only_b, only_a)
    table = [[7, only_a], [only_b, 9]]
    if only_a + only_b:
        assert found == pytest.approx(mcnemar(table, exact=True).pvalue, rel=1e-8, abs=1e-300)


def test_mcnemar_at_its_ends() -> None:
    assert mcnemar_exact(0, 0) == 1.0
    assert mcnemar_exact(0, 1) == 1.0
    assert mcnemar_exact(0, 6) == 0.03125
    assert mcnemar_exact(5, 5) == 1.0
    assert mcnemar_exact(0, 2985) == 0.0  # 2**-2984 is below the smallest float
    assert mcnemar_exact(50_000, 49_000) == pytest.approx(
        stats.binomtest(50_000, 99_000).pvalue, rel=1e-9
    )


@given(st.lists(st.sampled_from([0.0, 1e-9, 0.01, 0.0125, 0.02, 0.3, 1.0]), max_size=30))
def test_holm_steps_down_and_keeps_equals_equal(p_values: list[float]) -> None:
    found = holm(p_values)
    expected: dict[float, float] = {}
    highest = 0.0
    for done, p in enumerate(sorted(p_values)):
        highest = max(highest, min(1.0, p * (len(p_values) - done)))
        expected[p] = highest
    assert found.tolist() == [expected[p] for p in p_values]


def drawn(n_models: int, seed: int) -> Any:
    return np.random.default_rng(seed).integers(0, 3, size=(n_models, N)) / 2


def test_of_many_pairs_p_is_near_the_share_of_signs() -> None:
    a, b = drawn(2, seed=1)
    b = np.where(np.arange(N) % 3, b, np.maximum(a - 0.5, 0))
    signs = np.random.default_rng(0).choice([-1.0, 1.0], size=(20_000, N))
    weights = score_weights(GROUPS, np.ones((1, N), dtype=bool))[0]
    as_far = abs(signs @ (weights * (a - b))) >= abs(float((weights * (a - b)).sum()))
    assert 0.001 < as_far.mean() < 0.5
    assert paired_test(a, b, GROUPS).p == pytest.approx(as_far.mean(), rel=0.1)


def test_over_strata_it_is_the_formula() -> None:
    a, b = drawn(2, seed=2)
    found = paired_test(a, b, GROUPS)
    shares = (0.5 * 60 / 85, 0.5 * 25 / 85, 0.5 * 150 / 450, 0.5 * 300 / 450)
    parts = np.split(a - b, np.cumsum(SIZES)[:-1])
    difference = sum(share * part.mean() for share, part in zip(shares, parts, strict=True))
    variance = sum(
        ((share * part / len(part)) ** 2).sum() for share, part in zip(shares, parts, strict=True)
    )
    assert found.n == N
    assert found.difference == pytest.approx(difference)
    assert found.p == pytest.approx(2 * stats.norm.sf(abs(difference) / np.sqrt(variance)))


def test_a_few_pairs_that_weigh_much_do_not_make_certain() -> None:
    """Three pairs weigh as much as 400: nothing is known of how such pairs differ."""
    groups = strata(np.repeat([0, 1], [3, 400]), [400, 400], [0, 0], [1])
    a, b = np.zeros(403), np.zeros(403)
    a[:3] = 1
    a[3:15], b[15:27] = 1, 1
    found = paired_test(a, b, groups)
    assert found.difference == pytest.approx(0.5)
    assert found.p > 0.05
    assert found.interval is not None
    assert found.interval[1] - found.interval[0] > 0.5


def test_pairs_copied_within_a_prompt_make_nobody_surer() -> None:
    a, b = drawn(2, seed=3)
    once = paired_test(a, b, one_stratum(N))
    thrice = paired_test(np.tile(a, 3), np.tile(b, 3), one_stratum(3 * N, np.tile(np.arange(N), 3)))
    assert thrice.difference == pytest.approx(once.difference)
    assert thrice.p == pytest.approx(once.p)
    assert thrice.interval == pytest.approx(once.interval)


@pytest.mark.parametrize("groups", [GROUPS, CLUSTERED], ids=["independent", "clustered"])
def test_the_test_errs_as_often_as_it_says(groups: Strata) -> None:
    """Two models of the same score, alike on pairs of one prompt: 5 of 100 p-values are small."""
    truth = np.repeat((0.95, 0.6, 0.8, 0.3), SIZES)
    generator = np.random.default_rng(4)
    luck = generator.random((2, 1500, N))
    if groups.clusters is not None:
        luck = generator.random((2, 1500, N // 3 + 1))[:, :, groups.clusters]
    p = [paired_test(a, b, groups).p for a, b in zip(*(luck < truth).astype(float), strict=True)]
    assert 0.03 <= np.mean(np.array(p) <= 0.05) <= 0.065


def by_every_sign(a: Any, b: Any, weights: Any, clusters: Any) -> float:
    """The share of all signs of the clusters that give so large a sum, one by one."""
    totals = [float((weights * (a - b))[clusters == each].sum()) for each in set(clusters)]
    totals = [each for each in totals if each]
    sums = [sum(s * t for s, t in zip(signs, totals, strict=True))
            for signs in product((-1, 1), repeat=len(totals))]  # fmt: skip
    return float(np.mean([abs(each) >= abs(sum(totals)) - 1e-9 for each in sums]))


@pytest.mark.parametrize("seed", range(6))
def test_where_few_clusters_differ_p_is_exact(seed: int) -> None:
    generator = np.random.default_rng(seed)
    a = generator.integers(0, 3, 24) / 2
    b = np.where(generator.random(24) < 0.6, a, generator.integers(0, 3, 24) / 2)
    of_pair, clusters = np.arange(24) % 2, np.arange(24) // 2 if seed % 2 else np.arange(24)
    found = paired_test(a, b, strata(of_pair, [1, 3], [0, 0], [1], clusters))
    weights = np.where(of_pair == 0, 0.25, 0.75) / 12
    assert found.p == pytest.approx(by_every_sign(a, b, weights, clusters))


@pytest.mark.parametrize(("only_a", "only_b"), [(3, 0), (0, 1), (12, 4), (70, 41), (0, 0)])
def test_of_wins_and_losses_that_weigh_alike_it_is_mcnemars(only_a: int, only_b: int) -> None:
    a = np.array([1.0] * only_a + [0.0] * only_b + [1.0] * 5)
    b = np.array([0.0] * only_a + [1.0] * only_b + [1.0] * 5)
    assert paired_test(a, b, one_stratum(len(a))).p == pytest.approx(
        float(two_sided(only_a, only_b))
    )


def test_three_pairs_do_not_make_certain() -> None:
    found = paired_test([1, 1, 1], [0, 0, 0], one_stratum(3))
    assert (found.difference, found.p) == (1.0, 0.25)
    assert found.interval is not None
    assert found.interval[0] < 0.4
    assert paired_test([1, 1, 1], [0, 0, 0], one_stratum(3, [0, 0, 0])).p == 1.0  # one prompt alone


def test_the_exact_and_the_normal_p_are_alike_where_they_meet(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    a = drawn(1, seed=9)[0]
    b = np.where(np.arange(N) % (N // MOST_EXACT), a, 0.5)
    exact = paired_test(a, b, GROUPS).p
    monkeypatch.setattr(paired_tests, "MOST_EXACT", 0)
    assert 0.5 < exact / paired_test(a, b, GROUPS).p < 2
    assert exact != paired_test(a, b, GROUPS).p


def test_a_pair_missing_for_either_is_left_out() -> None:
    a, b = drawn(2, seed=5)
    a[3::7], b[5::11] = np.nan, np.nan
    known = ~np.isnan(a - b)
    there = strata(
        GROUPS.of_pair[known], GROUPS.weights, GROUPS.sections, GROUPS.section_weights,
        THREE_A_PROMPT[known],
    )  # fmt: skip
    found, alone = paired_test(a, b, CLUSTERED), paired_test(a[known], b[known], there)
    assert found.n == alone.n == known.sum()
    assert (found.difference, found.p) == pytest.approx((alone.difference, alone.p))
    assert found.interval == pytest.approx(alone.interval)


def test_turning_the_models_turns_the_sign_alone() -> None:
    a, b = drawn(2, seed=6)
    one, other = paired_test(a, b, CLUSTERED), paired_test(b, a, CLUSTERED)
    assert (one.difference, one.p) == (-other.difference, other.p)
    assert one.interval == pytest.approx([-end for end in (other.interval or ())[::-1]])


@pytest.mark.parametrize("groups", [GROUPS, CLUSTERED], ids=["independent", "clustered"])
def test_many_at_once_are_each_by_itself(groups: Strata) -> None:
    models = drawn(6, seed=7)
    models[3, :70] = np.nan
    models[4] = models[0]
    models[5, 9:] = models[0, 9:]
    found = paired_p_values(models[0], models[1:], groups)
    assert found == pytest.approx([paired_test(models[0], each, groups).p for each in models[1:]])
    assert found[3] == 1.0


@pytest.mark.parametrize("n", [20, 100, 450])
@pytest.mark.parametrize(("only_a", "only_b"), [(0.02, 0.02), (0.1, 0.05), (0.3, 0.1), (0.0, 0.04)])
def test_the_interval_covers_as_often_as_it_says(n: int, only_a: float, only_b: float) -> None:
    shares = [only_a, only_b, 1 - only_a - only_b]
    tables, times = np.unique(
        np.random.default_rng(n).multinomial(n, shares, size=3000), axis=0, return_counts=True
    )
    covered = 0
    for (x, y, _), often in zip(tables.tolist(), times.tolist(), strict=True):
        d = np.repeat([1.0, -1.0, 0.0], [x, y, n - x - y])
        low, high = paired_test(np.maximum(d, 0), np.maximum(-d, 0), one_stratum(n)).interval or (
            1,
            -1,
        )
        assert -1 <= low <= (x - y) / n <= high <= 1
        covered += often * (low <= only_a - only_b <= high)
    assert covered / 3000 > 0.93


@pytest.mark.parametrize(
    ("both", "only_a", "only_b", "neither", "interval"),
    [
        # (3 - 2)/12 +- 1.96 sqrt((5/12 - 1/144) / 12), by hand
        (3, 2, 1, 4, (1 / 12 - 0.362161, 1 / 12 + 0.362161)),
        # (10 - 5)/102 +- 1.96 sqrt((15/102 - (5/102)**2) / 102)
        (50, 9, 4, 37, (-0.0247905, 0.1228298)),
        (5, 0, 0, 5, (-0.2309840, 0.2309840)),
        (0, 6, 0, 0, (0.2916554, 1.0)),
    ],
)
def test_the_interval_of_won_and_lost_pairs_is_bonett_and_prices(
    both: int, only_a: int, only_b: int, neither: int, interval: tuple[float, float]
) -> None:
    cells = [both, only_a, only_b, neither]
    a, b = np.repeat([1, 1, 0, 0], cells), np.repeat([1, 0, 1, 0], cells)
    assert paired_test(a, b, one_stratum(sum(cells))).interval == pytest.approx(interval, abs=1e-6)


def test_with_prompts_in_common_the_interval_covers_as_often_as_it_says() -> None:
    truth = np.repeat((0.95, 0.6, 0.8, 0.3), SIZES)
    other = np.repeat((0.9, 0.6, 0.7, 0.35), SIZES)
    luck = np.random.default_rng(8).random((1500, 2, N // 3 + 1))[:, :, THREE_A_PROMPT]
    shares = GROUPS.shares(SIZES)
    true = float((shares * ([0.95, 0.6, 0.8, 0.3] - np.array([0.9, 0.6, 0.7, 0.35]))).sum())
    ends = np.array([
        paired_test(one < truth, two < other, CLUSTERED).interval for one, two in luck
    ])  # fmt: skip
    assert 0.93 <= ((ends[:, 0] <= true) & (true <= ends[:, 1])).mean() <= 0.975

from fractions import Fraction
from math import comb
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats  # type: ignore[import-untyped]
from statsmodels.stats.contingency_tables import mcnemar  # type: ignore[import-untyped]
from statsmodels.stats.multitest import multipletests  # type: ignore[import-untyped]
from statsmodels.stats.weightstats import DescrStatsW  # type: ignore[import-untyped]

from explorer.paired_tests import discordant, holm, mcnemar_exact, paired_z, paired_z_tests
from explorer.strata import plain, strata

SIZES = (60, 25, 150, 40)
GROUPS = strata(np.repeat(range(4), SIZES), [60, 25, 150, 300], [0, 0, 1, 1], [1, 1])


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
        assert found == pytest.approx(
            stats.binomtest(only_a, only_a + only_b).pvalue, rel=1e-8, abs=1e-300
        )


def test_mcnemar_at_its_ends() -> None:
    assert mcnemar_exact(0, 0) == 1.0
    assert mcnemar_exact(0, 1) == 1.0
    assert mcnemar_exact(0, 6) == 0.03125
    assert mcnemar_exact(5, 5) == 1.0
    assert mcnemar_exact(0, 2985) == 0.0  # 2**-2984 is below the smallest float
    assert mcnemar_exact(50_000, 49_000) == pytest.approx(
        stats.binomtest(50_000, 99_000).pvalue, rel=1e-9
    )
    with pytest.raises(ValueError, match="-1"):
        mcnemar_exact(-1, 3)


@pytest.mark.parametrize("m", [1, 2, 3, 10, 187])
def test_holm_is_that_of_statsmodels(m: int) -> None:
    p_values = np.random.default_rng(m).random(m) ** 6
    rejected, adjusted, *_ = multipletests(p_values, alpha=0.05, method="holm")
    assert holm(p_values) == pytest.approx(adjusted)
    assert (holm(p_values) <= 0.05).tolist() == rejected.tolist()


@given(st.lists(st.sampled_from([0.0, 1e-9, 0.01, 0.0125, 0.02, 0.3, 1.0]), max_size=30))
def test_holm_steps_down_and_keeps_equals_equal(p_values: list[float]) -> None:
    found = holm(p_values)
    expected: dict[float, float] = {}
    highest = 0.0
    for done, p in enumerate(sorted(p_values)):
        highest = max(highest, min(1.0, p * (len(p_values) - done)))
        expected[p] = highest
    assert found.tolist() == [expected[p] for p in p_values]


@pytest.mark.parametrize("p_values", [[0.5, 1.1], [-0.1], [np.nan]])
def test_holm_refuses_what_is_no_p_value(p_values: list[float]) -> None:
    with pytest.raises(ValueError, match="p-value"):
        holm(p_values)


def drawn(n_models: int, seed: int) -> Any:
    return np.random.default_rng(seed).integers(0, 3, size=(n_models, sum(SIZES))) / 2


def test_in_one_stratum_the_z_is_that_of_statsmodels() -> None:
    a, b = drawn(2, seed=1)
    found = paired_z(a, b, plain(len(a)))
    z, p = DescrStatsW(a - b).ztest_mean()
    assert (found.z, found.p) == pytest.approx((z, p))
    assert found.difference == pytest.approx(float((a - b).mean()))
    assert found.standard_error == pytest.approx(stats.sem(a - b))


def test_over_strata_it_is_the_formula() -> None:
    a, b = drawn(2, seed=2)
    found = paired_z(a, b, GROUPS)
    shares = (0.5 * 60 / 85, 0.5 * 25 / 85, 0.5 * 150 / 450, 0.5 * 300 / 450)
    parts = np.split(a - b, np.cumsum(SIZES)[:-1])
    difference = sum(share * part.mean() for share, part in zip(shares, parts, strict=True))
    variance = sum(
        share**2 * part.var(ddof=1) / len(part) for share, part in zip(shares, parts, strict=True)
    )
    assert found.n == sum(SIZES)
    assert found.difference == pytest.approx(difference)
    assert found.standard_error == pytest.approx(np.sqrt(variance))
    assert found.p == pytest.approx(2 * stats.norm.sf(abs(difference) / np.sqrt(variance)))


def test_the_test_errs_as_often_as_it_says() -> None:
    """Two models of the same score, different from pair to pair: 5 of 100 p-values are small."""
    truth = np.repeat((0.95, 0.6, 0.8, 0.3), SIZES)
    wins = np.random.default_rng(3).random((2, 2000, len(truth))) < truth
    p = [paired_z(a, b, GROUPS).p for a, b in zip(*wins.astype(float), strict=True)]
    assert 0.035 <= np.mean(np.array(p) <= 0.05) <= 0.065


def test_a_pair_missing_for_either_is_left_out() -> None:
    a, b = drawn(2, seed=4)
    a[3::7], b[5::11] = np.nan, np.nan
    known = ~np.isnan(a - b)
    there = strata(GROUPS.of_pair[known], GROUPS.weights, GROUPS.sections, GROUPS.section_weights)
    assert paired_z(a, b, GROUPS) == paired_z(a[known], b[known], there)
    assert paired_z(a, b, GROUPS).n == known.sum()


def test_turning_the_models_turns_the_sign_alone() -> None:
    a, b = drawn(2, seed=5)
    one, other = paired_z(a, b, GROUPS), paired_z(b, a, GROUPS)
    assert (one.difference, one.z, one.p) == (-other.difference, -other.z, other.p)


@pytest.mark.parametrize(
    ("a", "b", "difference", "p"),
    [
        ([1, 0, 1, 0], [1, 0, 1, 0], 0, 1),
        ([1, 1, 1, 1], [0, 0, 0, 0], 1, 0),
        ([0.3, 0.3, 0.3, 0.3], [0.2, 0.2, 0.2, 0.2], 0.1, 0),
        ([1, 1, 0, 0], [0, 0, 1, 1], 0, 1),  # the strata differ and cancel
    ],
)
def test_without_spread_p_is_0_or_1(a: Any, b: Any, difference: float, p: float) -> None:
    found = paired_z(a, b, strata([0, 0, 1, 1], [1, 1], [0, 0], [1]))
    assert found.difference == pytest.approx(difference)
    assert (found.standard_error, found.p) == (0, p)


def test_without_a_common_pair_nothing_is_told_apart() -> None:
    found = paired_z([1, np.nan], [np.nan, 0], plain(2))
    assert (found.n, found.p) == (0, 1.0)
    assert np.isnan([found.difference, found.standard_error, found.z]).all()


def test_strata_of_one_pair_do_not_make_certain() -> None:
    groups = strata(range(4), [1] * 4, [0] * 4, [1])
    found = paired_z([1, 1, 1, 1], [0, 0, 0, 0], groups)
    assert found.standard_error == pytest.approx(0.5)  # 4 * (1/4)**2 * 1 under the root
    assert 0.04 < found.p < 0.05


def test_many_at_once_are_each_by_itself() -> None:
    models = drawn(6, seed=6)
    models[3, :70] = np.nan
    found = paired_z_tests(models[0], models[1:], GROUPS)
    for other, p, n in zip(models[1:], found.p, found.n, strict=True):
        alone = paired_z(models[0], other, GROUPS)
        assert alone.p == pytest.approx(p)
        assert alone.n == n


def test_pairs_that_do_not_count_are_not_discordant() -> None:
    a, b = np.array([1.0, 1.0, 0.0, 1.0]), np.array([[0.0, 0.0, 1.0, np.nan]])
    counts = discordant(a, b, strata([0, 1, -1, 0], [1, 1], [0, 1], [1, 0]))
    assert [each.tolist() for each in counts] == [[1], [0]]

from dataclasses import replace
from itertools import combinations, product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats  # type: ignore[import-untyped]
from scipy.special import expit, logit  # type: ignore[import-untyped]
from statsmodels.stats.contingency_tables import mcnemar  # type: ignore[import-untyped]
from statsmodels.stats.multitest import multipletests  # type: ignore[import-untyped]

from explorer.stats.duels import DuelPart, duel
from explorer.stats.matrix import OutcomeMatrix
from explorer.stats.paired import holm, mcnemar_exact, paired_p_values, paired_test
from explorer.stats.rules import V1
from explorer.stats.tie_groups import group_numbers, tie_groups
from scoring.benchmark import SECTIONS, SUBSETS, overall_score, section_of, section_scores
from scoring.strata import Strata, one_stratum, score_models, strata
from tests.support.board_data import order_of, real_results, v1_strata

SIZES = (60, 25, 150, 40)
N = sum(SIZES)
GROUPS = strata(np.repeat(range(4), SIZES), [60, 25, 150, 300], [0, 0, 1, 1], [1, 1])
THREE_A_PROMPT = np.arange(N) % (N // 3)
"""Pairs of one prompt lie in several strata, as those of HumanEval's problems do."""
CLUSTERED = strata(
    GROUPS.of_pair, GROUPS.weights, GROUPS.sections, GROUPS.section_weights, THREE_A_PROMPT
)


@given(st.integers(0, 400), st.integers(1, 400))
def test_mcnemar_is_that_of_statsmodels(only_a: int, only_b: int) -> None:
    expected = mcnemar([[7, only_a], [only_b, 9]], exact=True).pvalue
    found = mcnemar_exact(only_a, only_b)
    assert found == mcnemar_exact(only_b, only_a) == pytest.approx(expected, rel=1e-8, abs=1e-300)


def test_mcnemar_at_its_ends() -> None:
    assert mcnemar_exact(0, 6) == 0.03125
    assert mcnemar_exact(5, 5) == 1.0
    assert mcnemar_exact(0, 2985) == 0.0  # 2**-2984 is below the smallest float
    expected = stats.binomtest(50_000, 99_000).pvalue
    assert mcnemar_exact(50_000, 49_000) == pytest.approx(expected, rel=1e-9)


@given(st.lists(st.sampled_from([0.0, 1e-9, 0.01, 0.0125, 0.02, 0.3, 1.0]), min_size=1))
def test_holm_is_that_of_statsmodels(p_values: list[float]) -> None:
    assert holm(p_values) == pytest.approx(multipletests(p_values, method="holm")[1])


def drawn(n_models: int, seed: int) -> Any:
    return np.random.default_rng(seed).integers(0, 3, size=(n_models, N)) / 2


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


def test_the_test_errs_as_often_as_it_says_and_the_interval_holds_as_often() -> None:
    """Models alike on pairs of one prompt: 5 of 100 p-values of equal ones are small."""
    truth, other = np.array([0.95, 0.6, 0.8, 0.3]), np.array([0.9, 0.6, 0.7, 0.35])
    luck = np.random.default_rng(4).random((2, 1500, N // 3 + 1))[:, :, THREE_A_PROMPT]
    a, alike, b = (
        (drawn < np.repeat(chance, SIZES)).astype(float)
        for drawn, chance in ((luck[0], truth), (luck[1], truth), (luck[1], other))
    )
    p = [paired_test(*both, CLUSTERED).p for both in zip(a, alike, strict=True)]
    assert 0.03 <= np.mean(np.array(p) <= 0.05) <= 0.065
    low, high = np.array([
        paired_test(*both, CLUSTERED).interval for both in zip(a, b, strict=True)
    ]).T  # fmt: skip
    true = float((GROUPS.shares(SIZES) * (truth - other)).sum())
    assert 0.93 <= ((low <= true) & (true <= high)).mean() <= 0.975


def by_every_sign(a: Any, b: Any, weights: Any, clusters: Any) -> float:
    """The share of all signs of the clusters that give so large a sum, one by one."""
    totals = [float((weights * (a - b))[clusters == each].sum()) for each in set(clusters)]
    totals = [each for each in totals if each]
    sums = [sum(s * t for s, t in zip(signs, totals, strict=True))
            for signs in product((-1, 1), repeat=len(totals))]  # fmt: skip
    return float(np.mean([abs(each) >= abs(sum(totals)) - 1e-9 for each in sums]))


@pytest.mark.parametrize("seed", range(2))
def test_where_few_clusters_differ_p_is_exact(seed: int) -> None:
    generator = np.random.default_rng(seed)
    a = generator.integers(0, 3, 24) / 2
    b = np.where(generator.random(24) < 0.6, a, generator.integers(0, 3, 24) / 2)
    of_pair, clusters = np.arange(24) % 2, np.arange(24) // 2 if seed % 2 else np.arange(24)
    found = paired_test(a, b, strata(of_pair, [1, 3], [0, 0], [1], clusters))
    weights = np.where(of_pair == 0, 0.25, 0.75) / 12
    assert found.p == pytest.approx(by_every_sign(a, b, weights, clusters))


@pytest.mark.parametrize(("only_a", "only_b"), [(3, 0), (70, 41), (0, 0)])
def test_of_wins_and_losses_that_weigh_alike_it_is_mcnemars(only_a: int, only_b: int) -> None:
    cells = [only_a, only_b, 5]
    a, b = np.repeat([1, 0, 1], cells), np.repeat([0, 1, 1], cells)
    found = paired_test(a, b, one_stratum(len(a)))
    assert found.p == pytest.approx(mcnemar_exact(only_a, only_b))


def test_a_pair_missing_for_either_is_left_out_and_turning_the_models_turns_the_sign() -> None:
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
    turned = paired_test(b, a, CLUSTERED)
    assert (turned.difference, turned.p) == (-found.difference, found.p)
    assert turned.interval == pytest.approx([-end for end in (found.interval or ())[::-1]])


def test_many_at_once_are_each_by_itself() -> None:
    models = drawn(6, seed=7)
    models[3, :70] = np.nan
    models[4] = models[0]
    models[5, 9:] = models[0, 9:]
    found = paired_p_values(models[0], models[1:], CLUSTERED)
    each = [paired_test(models[0], other, CLUSTERED).p for other in models[1:]]
    assert found == pytest.approx(each)
    assert found[3] == 1.0


@pytest.mark.parametrize(
    ("n", "only_a", "only_b"), [(20, 0.3, 0.1), (100, 0.0, 0.04), (450, 0.1, 0.05)]
)
def test_the_interval_covers_as_often_as_it_says(n: int, only_a: float, only_b: float) -> None:
    shares = [only_a, only_b, 1 - only_a - only_b]
    tables, times = np.unique(
        np.random.default_rng(n).multinomial(n, shares, size=3000), axis=0, return_counts=True
    )
    covered = 0
    for table, often in zip(tables, times.tolist(), strict=True):
        a, b = np.repeat([1, 0, 0], table), np.repeat([0, 1, 0], table)
        low, high = paired_test(a, b, one_stratum(n)).interval or (1, -1)
        assert -1 <= low <= (table[0] - table[1]) / n <= high <= 1
        covered += often * (low <= only_a - only_b <= high)
    assert covered / 3000 > 0.93


@pytest.mark.parametrize(
    ("cells", "interval"),
    [
        # (3 - 2)/12 +- 1.96 sqrt((5/12 - 1/144) / 12), by hand
        ((3, 2, 1, 4), (1 / 12 - 0.362161, 1 / 12 + 0.362161)),
        ((0, 6, 0, 0), (0.2916554, 1.0)),
    ],
)
def test_the_interval_of_won_and_lost_pairs_is_bonett_and_prices(
    cells: tuple[int, ...], interval: tuple[float, float]
) -> None:
    a, b = np.repeat([1, 1, 0, 0], cells), np.repeat([1, 0, 1, 0], cells)
    assert paired_test(a, b, one_stratum(sum(cells))).interval == pytest.approx(interval, abs=1e-6)


# Two models on all pairs: what is counted, and who is better where.


def cells_in(part: DuelPart) -> tuple[object, ...]:
    return (part.name, part.both, part.only_a, part.only_b, part.neither)


def test_a_duel_is_what_counting_says() -> None:
    subsets = np.repeat(SUBSETS, 10)
    order = order_of(subsets.tolist())
    outcomes = [0.0, 1.0, 1.0, 0.5, np.nan]
    a, b = np.random.default_rng(0).choice(outcomes, size=(2, len(subsets)))
    known = ~np.isnan(a + b)
    sections = np.array([section_of(subset) for subset in subsets])
    found = duel(a, b, order, V1)

    def counted(name: str, rows: Any) -> tuple[object, ...]:
        wins = [(one == 1, other == 1) for one, other in zip(a[rows], b[rows], strict=True)]
        cells = [(True, True), (True, False), (False, True), (False, False)]
        return (name, *(wins.count(cell) for cell in cells))

    assert cells_in(found.all_pairs) == counted("", known)
    assert [*map(cells_in, found.sections)] == [
        counted(name, known & (sections == name)) for name in SECTIONS
    ]
    assert [*map(cells_in, found.subsets)] == [
        counted(name, known & (subsets == name)) for name in order.names
    ]
    for parts in (found.sections, found.subsets):
        adjusted = multipletests([each.test.p for each in parts], method="holm")[1]
        assert [each.p_adjusted for each in parts] == pytest.approx(adjusted)
    for each, side in ((a, "a"), (b, "b")):
        means = {name: float(each[known & (subsets == name)].mean()) for name in order.names}
        scores = section_scores(means)
        assert [getattr(part, side) for part in found.sections] == pytest.approx([*scores.values()])
        assert getattr(found.score, side) == pytest.approx(overall_score(scores))
    for part in (found.all_pairs, found.score, *found.sections, *found.subsets):
        assert part.a is not None and part.b is not None and part.test.interval is not None
        low, high = part.test.interval
        assert low <= (part.difference or 0.0) <= high
        assert part.difference == pytest.approx(part.a - part.b)


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


def test_who_has_the_higher_section_score_is_never_significantly_worse() -> None:
    # math-prm weighs as much as all code: few pairs of it outweigh many of code
    a = np.repeat([1.0, 0.0, 1.0, 0.0], [40, 5, 100, 60])
    b = np.repeat([0.0, 1.0, 1.0, 1.0], [40, 5, 100, 60])
    names = ["math-prm"] * 45 + ["hep-go"] * 160
    [found] = [part for part in duel(a, b, order_of(names), V1).sections if part.n]
    assert found.only_a < found.only_b
    assert (found.a or 0) > (found.b or 0)
    assert found.better == "a"


def test_one_problem_in_six_languages_is_no_six_proofs() -> None:
    order = replace(order_of(["hep-go", "hep-js", "hep-rust"]), ids=["3856", "4184", "4348"])
    apart = replace(order, ids=["3856", "4185", "4350"])
    together, alone = (duel([1, 1, 1], [0, 0, 0], each, V1) for each in (order, apart))
    assert (together.score.test.p, alone.score.test.p) == (1.0, 0.25)


# Groups of models that no test tells from their leader.


@pytest.fixture(scope="module")
def real(shared_data: Path) -> OutcomeMatrix:
    return real_results(shared_data)[2]


@pytest.fixture(scope="module")
def by_rule(real: OutcomeMatrix) -> Strata:
    """RewardBench's rule of those pairs."""
    return v1_strata([real.pairs.names[code] for code in real.pairs.codes])


def test_the_real_models_fall_into_11_groups(real: OutcomeMatrix, by_rule: Strata) -> None:
    found = tie_groups(real.outcomes, by_rule)
    assert len(found) == 11
    assert [real.models[model] for model in found[0]] == [
        "nicolinho/QRM-Gemma-2-27B",
        "Skywork/Skywork-Reward-Llama-3.1-8B-v0.2",
        "LxzGordon/URM-LLaMa-3.1-8B",
        "Skywork/Skywork-Reward-Llama-3.1-8B",
    ]
    assert sorted(model for group in found for model in group) == list(range(66))


def test_groups_are_what_every_pairs_test_says_after_holm(
    real: OutcomeMatrix, by_rule: Strata
) -> None:
    matrix, groups = real.outcomes[:14], by_rule.only(2)
    scores = score_models(matrix, groups)
    pairs = list(combinations(range(14), 2))
    p = [paired_test(matrix[a], matrix[b], groups).p for a, b in pairs]
    apart = dict(zip(pairs, multipletests(p, 0.05, "holm")[0], strict=True))
    unplaced, expected = sorted(range(14), key=lambda model: -scores[model].round(12)), []
    while unplaced:
        leader = unplaced[0]
        group = [x for x in unplaced if x == leader or not apart[min(leader, x), max(leader, x)]]
        expected.append(tuple(group))
        unplaced = [model for model in unplaced if model not in group]
    assert list(tie_groups(matrix, groups)) == expected
    assert 1 < len(expected) < 14


@given(st.integers(0, 1000), st.lists(st.integers(0, 5), min_size=1, max_size=12))
def test_equal_models_are_never_apart_and_each_has_one_place(seed: int, kind_of: list[int]) -> None:
    values = [0.0, 0.5, 1 / 3, 1.0, np.nan]
    kinds = np.random.default_rng(seed).choice(values, size=(6, 12))
    outcomes = kinds[kind_of].repeat(3, axis=1)
    groups = strata(np.arange(36) % 3, [1, 2, 3], [0, 0, 1], [1, 1], np.arange(36) // 2)
    found = tie_groups(outcomes, groups)
    scores = score_models(outcomes, groups).round(12)
    placed = [model for group in found for model in group]
    assert sorted(placed) == np.flatnonzero(~np.isnan(scores)).tolist()
    numbers = group_numbers(found, len(outcomes))
    for kind in set(kind_of):
        assert len(set(numbers[np.array(kind_of) == kind].tolist())) == 1
    for group in (*found, [group[0] for group in found]):
        assert (np.diff(scores[list(group)]) <= 0).all()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("section", "n_models", "n_times"),
    [("all", 20, 200), ("Chat", 10, 400), ("Reasoning", 20, 200)],
)
def test_equal_models_are_split_in_at_most_5_of_100_cases(
    real: OutcomeMatrix, by_rule: Strata, section: str, n_models: int, n_times: int
) -> None:
    """On the real pairs, as hard as the better half of the real models finds them, of models that
    are alike on a prompt.
    """
    groups = by_rule if section == "all" else by_rule.only(list(SECTIONS).index(section))
    clusters = by_rule.clusters
    assert clusters is not None
    better = real.outcomes[real.outcomes.mean(axis=1) > np.median(real.outcomes.mean(axis=1))]
    easy = logit(better.mean(axis=0).clip(0.02, 0.98))
    generator = np.random.default_rng(n_models)
    times = 0
    for _ in range(n_times):
        prompts = generator.normal(size=(n_models, clusters.max() + 1))[:, clusters]
        wins = generator.random((n_models, len(easy))) < expit(easy + prompts)
        times += len(tie_groups(wins.astype(float), groups)) > 1
    assert times / n_times <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / n_times)


def test_a_model_alone_is_a_group_and_no_model_is_none() -> None:
    assert tie_groups([[1, 0]], one_stratum(2)) == ((0,),)
    assert tie_groups(np.zeros((0, 2)), one_stratum(2)) == ()


def test_holm_counts_the_tests_of_every_two_models() -> None:
    # 6 to 0 is p = 0.03125: apart as the only test, not as one of three
    better, worse = [1.0] * 20, [0.0] * 6 + [1.0] * 14
    alone = tie_groups([better, worse], one_stratum(20))
    both = tie_groups([better, worse, worse], one_stratum(20))
    assert alone == ((0,), (1,))
    assert both == ((0, 1, 2),)


def test_who_is_not_like_the_leader_may_be_like_one_of_its_group() -> None:
    steps: Any = [[0.0] * lost + [1.0] * (40 - lost) for lost in (0, 5, 10)]
    found = tie_groups(steps, one_stratum(40))
    assert found == ((0, 1), (2,))

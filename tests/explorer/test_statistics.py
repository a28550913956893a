from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats  # type: ignore[import-untyped]

from explorer import statistics
from explorer.statistics import (
    Intervals,
    bootstrap,
    bootstrapping,
    ranks,
    unpaired_interval,
)
from explorer.strata import Strata, plain, score_models, score_weights, strata
from scoring.benchmark import COUNTS, SUBSETS
from tests.explorer.real_outcomes import read_real_outcomes

SIZES = (60, 25, 150, 40)
TRUTH = np.repeat((0.95, 0.6, 0.8, 0.3), SIZES)
GROUPS = strata(np.repeat(range(4), SIZES), [60, 25, 150, 300], [0, 0, 1, 1], [1, 1])
"""Two sections; the last stratum is worth much more than its pairs, as math-prm is."""


def drawn_models(n_models: int, seed: int) -> Any:
    """Models of the same true score, each with outcomes of its own."""
    return (np.random.default_rng(seed).random((n_models, len(TRUTH))) < TRUTH).astype(float)


def as_they_are(models: Any) -> Intervals:
    return bootstrap(models, GROUPS, replicates=1000, seed=3).overall


def all_pairs_alike(models: Any) -> Intervals:
    """What a plain mean over pairs would have, put around the true score's estimate."""
    return moved(bootstrap(models, plain(len(TRUTH)), replicates=1000, seed=3).overall, models)


def one_stratum(models: Any) -> Intervals:
    """Weights as they should be, but drawn over all pairs as if there were no strata."""
    weights = score_weights(GROUPS, np.ones(len(TRUTH), dtype=bool))
    scaled = models * weights / weights.max()
    found = bootstrap(scaled, plain(len(TRUTH)), replicates=1000, seed=3).overall
    scale = len(TRUTH) * weights.max()
    return Intervals(found.score * scale, found.low * scale, found.high * scale, *(found.rank,) * 3)


def standard_error_unsquared(models: Any) -> Intervals:
    """Intervals narrower by the root of two, as of a variance that lacks a factor."""
    found = as_they_are(models)
    low, high = (found.score + (end - found.score) / np.sqrt(2) for end in (found.low, found.high))
    return Intervals(found.score, low, high, *(found.rank,) * 3)


def moved(found: Intervals, models: Any) -> Intervals:
    shift = score_models(models, GROUPS).overall - found.score
    return Intervals(found.score + shift, found.low + shift, found.high + shift, *(found.rank,) * 3)


def coverage(method: Callable[[Any], Intervals]) -> float:
    """How often the interval holds the true score, over 1500 models with outcomes of their own."""
    found = method(drawn_models(1500, seed=1))
    true = score_models(TRUTH[None], GROUPS).overall[0]
    return float(((found.low <= true) & (true <= found.high)).mean())


def test_95_of_100_intervals_hold_the_true_score() -> None:
    # 1500 models leave a standard error of 0.006
    assert 0.935 <= coverage(as_they_are) <= 0.965


@pytest.mark.parametrize("wrong", [all_pairs_alike, one_stratum, standard_error_unsquared])
def test_a_wrong_variance_would_not_pass(wrong: Callable[[Any], Intervals]) -> None:
    assert not 0.935 <= coverage(wrong) <= 0.965


def test_the_spread_of_replicates_is_the_formulas() -> None:
    models = drawn_models(40, seed=2)
    found = bootstrap(models, GROUPS, replicates=20_000).overall
    shares = GROUPS.shares(SIZES)
    error = np.sqrt(
        sum(
            share**2 * models[:, at].var(axis=1) / size
            for share, at, size in zip(shares, GROUPS.columns(), SIZES, strict=True)
        )
    )
    assert (found.high - found.low) / (2 * 1.96 * error) == pytest.approx(1, abs=0.06)


def test_small_cases_agree_with_every_resample_there_is() -> None:
    # 3 pairs, wins on two: the mean of a resample is binomial(3, 2/3) / 3
    found = bootstrap([[1, 0, 1]], plain(3), replicates=50_000).overall
    ends = stats.binom(3, 2 / 3).ppf([0.025, 0.975]) / 3
    assert (found.low[0], found.high[0]) == pytest.approx(ends)


def test_the_same_pairs_are_drawn_for_all_models() -> None:
    # the second loses where the first wins: drawn apart, their order would be uncertain; here
    # a third that wins one pair more than the first is above it whenever that pair is drawn
    first = np.repeat([1.0, 0.0], 50)
    better = first.copy()
    better[50:60] = 1.0
    found = bootstrap([first, better], plain(100), replicates=2000).overall
    assert (found.best.tolist(), found.worst.tolist()) == ([2, 1], [2, 1])
    assert found.low[1] < found.high[0]  # though their intervals overlap


def test_equal_models_share_scores_intervals_and_ranks() -> None:
    one = drawn_models(3, seed=4) * 0.3  # no number that a float holds exactly
    found = bootstrap(np.concatenate([one, one]), GROUPS, replicates=500).overall
    for field in fields(found):
        values = getattr(found, field.name)
        assert values[:3].tolist() == pytest.approx(values[3:].tolist(), abs=1e-12)
    assert sorted(found.rank.tolist()) == [1, 1, 3, 3, 5, 5]


def test_the_seed_decides_and_nothing_else() -> None:
    models = drawn_models(5, seed=5)

    one, again, other = (bootstrap(models, GROUPS, 300, seed).overall.low for seed in (0, 0, 1))
    assert one.tolist() == again.tolist() != other.tolist()


def test_it_is_told_how_far_the_draws_are_and_they_stay_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    outcomes, groups = [[1, 0, 1, 1, 0, 1]], strata([0, 0, 0, 0, 1, 1], [1, 1], [0, 1], [1, 1])
    whole = bootstrap(outcomes, groups, 100).overall
    monkeypatch.setattr(statistics, "_CHUNK", 200)  # draws of 50 replicates, then of 100
    steps = bootstrapping(outcomes, groups, 100)
    shares = [next(steps) for _ in range(3)]
    assert shares == pytest.approx([200 / 600, 400 / 600, 1])
    with pytest.raises(StopIteration) as ended:
        next(steps)
    again = ended.value.value.overall
    assert (again.low, again.high, again.score) == (whole.low, whole.high, whole.score)


def test_a_sections_interval_is_that_of_the_section_alone() -> None:
    models = drawn_models(5, seed=6)
    whole, alone = (bootstrap(models, each, 300) for each in (GROUPS, GROUPS.only(1)))
    assert whole.sections[1].low.tolist() == alone.overall.low.tolist()
    assert whole.sections[1].high.tolist() == alone.overall.high.tolist()


def test_missing_outcomes_widen_an_interval_as_if_the_pairs_were_not_there() -> None:
    models = drawn_models(1, seed=7)
    known = np.random.default_rng(8).random(len(TRUTH)) < 0.5
    missing = np.where(known, models, np.nan)
    fewer = Strata(GROUPS.of_pair[known], GROUPS.weights, GROUPS.sections, GROUPS.section_weights)
    found = bootstrap(missing, GROUPS).overall
    expected = bootstrap(models[:, known], fewer).overall
    assert found.score == pytest.approx(expected.score)
    # the number that is known varies from resample to resample, which is a little wider
    assert found.high - found.low == pytest.approx(expected.high - expected.low, rel=0.1)


def test_a_model_that_knows_nothing_has_no_score_and_no_rank() -> None:
    nothing, half = np.full(len(TRUTH), np.nan), np.where(GROUPS.of_pair < 2, 1.0, np.nan)
    found = bootstrap([nothing, half, TRUTH], GROUPS, 200)
    assert np.isnan([found.overall.score[0], found.overall.low[0], found.overall.high[0]]).all()
    assert (found.overall.rank[0], found.overall.best[0], found.overall.worst[0]) == (0, 0, 0)
    assert found.overall.rank.tolist() == [0, 1, 2]
    assert found.sections[1].rank.tolist() == [0, 0, 1]
    assert found.overall.low[1] == found.overall.high[1] == 1.0


def test_a_resample_without_a_known_pair_is_no_nan_in_the_interval() -> None:
    found = bootstrap([[1.0, np.nan, np.nan], [0.0, 0.0, 1.0]], plain(3), 500).overall
    assert (found.low[0], found.high[0]) == (1.0, 1.0)
    assert (found.best[0], found.worst[0]) == (1, 2)


def test_no_models_and_no_pairs_are_no_error() -> None:
    assert bootstrap(np.zeros((0, 3)), plain(3), 10).overall.score.shape == (0,)
    assert np.isnan(bootstrap(np.zeros((2, 0)), plain(0), 10).overall.low).all()


def test_no_replicates_are_refused() -> None:
    with pytest.raises(ValueError, match="0 replicates"):
        bootstrap([[1.0]], plain(1), 0)


def test_ranks_are_those_of_scipy() -> None:
    scores = np.random.default_rng(9).integers(0, 8, size=(50, 12)) / 7
    assert (ranks(scores) == stats.rankdata(-scores, method="min", axis=1)).all()
    assert ranks(scores * 0.1 + 0.2 - 0.2).tolist() == ranks(scores).tolist()


def test_from_counts_alone_the_interval_is_wider(shared_data: Path) -> None:
    real = read_real_outcomes(shared_data)
    paired = bootstrap(real.matrix, real.groups, 2000).overall
    counts = [COUNTS[subset] for subset in SUBSETS]
    unpaired = [unpaired_interval(score, real.groups, counts) for score in paired.score]
    widths = np.array([found.high - found.low for found in unpaired if found])
    ratios = widths / (paired.high - paired.low)
    assert ratios.mean() > 1.1
    assert ratios.min() > 0.97  # as wide as the bootstrap's where all subsets are equally hard


def test_an_unpaired_interval_needs_a_score_and_pairs() -> None:
    assert unpaired_interval(float("nan"), GROUPS, SIZES) is None
    assert unpaired_interval(0.5, GROUPS, [0, 0, 0, 0]) is None
    assert unpaired_interval(0.5, plain(1), [1]) is not None

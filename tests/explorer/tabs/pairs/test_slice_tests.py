from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse, stats  # type: ignore[import-untyped]

from explorer.data.conditions import condition_of, conditions
from explorer.data.table import PairTable
from explorer.tabs.pairs.slice_tests import (
    FLOOR,
    LEAST_OUTSIDE,
    LEAST_RIVALS,
    Expectation,
    Expected,
    among_rivals,
    tails,
)
from explorer.tabs.pairs.slices import by_condition, worst_slices
from tests.explorer.real_outcomes import read_real_outcomes

N = 1500


def drawn(seed: int, rivals: int = 20, hard: float = 0.0) -> tuple[Any, Any, Any]:
    """A model and its rivals on pairs of all difficulties, those of a slice harder or not.

    Returns:
        Their outcomes, the model first; which fifth of the pairs is the slice; and the share of
        these that the model would win on average, which depends on their difficulty alone.
    """
    generator = np.random.default_rng(seed)
    inside = np.arange(N) < N / 5
    ease = generator.normal(0.5, 1.2, N) - hard * inside
    skill = np.append(0.5, generator.normal(0.5, 0.7, rivals))
    chance = 1 / (1 + np.exp(-skill[:, None] - ease))
    wins = generator.random(chance.shape) < chance
    return wins.astype(float), inside, chance[0, inside].mean()


def expected_of(outcomes: Any, inside: Any) -> Expected:
    members = sparse.csr_array(inside[None].astype(float))
    return Expectation(among_rivals(outcomes[0], outcomes[1:])).of(members)


def made(n: int, won: int, wins: float, error: float = 0.0, freedom: float = 1e9) -> Expected:
    one = np.array([float(n)])
    return Expected(
        one.astype(int), np.array([won]), np.array([wins]), np.array([error]), np.array([freedom]),
        one[None], one[None],
    )  # fmt: skip


@pytest.mark.parametrize(("n", "won"), [(1, 0), (20, 3), (150, 100), (1500, 1300)])
def test_where_the_chance_is_certain_wins_are_binomial(n: int, won: int) -> None:
    few, many = tails(made(n, won, 0.8 * n))[:, 0]
    assert few == pytest.approx(max(FLOOR, stats.binom.cdf(won, n, 0.8)), rel=1e-6, abs=1e-12)
    assert many == pytest.approx(max(FLOOR, stats.binom.sf(won - 1, n, 0.8)), rel=1e-6, abs=1e-12)


@pytest.mark.parametrize(("error", "freedom"), [(20, 4), (20, 19), (3, 9), (60, 1e6)])
def test_an_uncertain_chance_makes_more_likely_what_is_far(error: float, freedom: float) -> None:
    few, many = tails(made(400, 220, 250.0, error, freedom))[:, 0]
    off = np.random.default_rng(1).standard_t(freedom, 400_000)
    chance = np.clip((250 + error * off) / 400, 0, 1)
    assert few == pytest.approx(stats.binom.cdf(220, 400, chance).mean(), rel=0.03)
    assert many == pytest.approx(stats.binom.sf(219, 400, chance).mean(), rel=0.03)


@pytest.mark.parametrize("rivals", [LEAST_RIVALS, 20, 60])
def test_few_rivals_expect_what_many_do(rivals: int) -> None:
    """However hard the slice is, and as near as the standard error says."""
    for hard in (0.0, 2.0):
        off, errors = [], []
        for seed in range(40):
            outcomes, inside, truth = drawn(seed, rivals, hard)
            found = expected_of(outcomes, inside)
            off.append(found.wins[0] - truth * found.n[0])
            errors.append(found.error[0])
        assert abs(np.mean(off)) < 3 * np.std(off) / np.sqrt(len(off))
        assert 0.6 < np.std(off) / np.median(errors) < 1.4


def test_what_is_expected_does_not_depend_on_the_slice_itself() -> None:
    outcomes, inside, _ = drawn(2, hard=1.5)
    before = expected_of(outcomes, inside).wins
    for outcome in (0.0, 1.0):
        outcomes[0, inside] = outcome
        assert expected_of(outcomes, inside).wins == pytest.approx(before, rel=0.03)


def test_a_model_that_has_won_all_may_lose_one() -> None:
    outcomes, inside, _ = drawn(3)
    outcomes[0] = 1.0
    few = []
    for lost in range(4):
        outcomes[0, :lost] = 0.0
        few.append(tails(expected_of(outcomes, inside))[0, 0])
    assert few[0] > 0.5 and few[1] > 0.1
    assert few[3] == pytest.approx((inside.sum() / N) ** 3, rel=1)  # all in the slice by chance


def test_pairs_of_one_prompt_are_not_taken_for_many() -> None:
    """Of a model that wins all pairs of a prompt or none, slices of prompts differ by chance."""
    generator = np.random.default_rng(8)
    prompts = np.repeat(np.arange(300), 5)
    outcomes, _, _ = drawn(8)
    outcomes[0] = (generator.random(300) < 0.7)[prompts]
    slices = sparse.csr_array((generator.random((400, 300)) < 0.2)[:, prompts].astype(float))
    small = []
    for clusters in (None, prompts):
        expectation = Expectation(among_rivals(outcomes[0], outcomes[1:], clusters))
        small.append(np.mean(tails(expectation.of(slices)).min(axis=0) < 0.025))
    assert small[0] > 0.2
    assert small[1] < 0.08


def test_too_few_pairs_outside_tell_nothing() -> None:
    outcomes, _, _ = drawn(4)
    for outside, told in ((LEAST_OUTSIDE, True), (LEAST_OUTSIDE - 1, False), (0, False)):
        found = expected_of(outcomes, np.arange(N) >= outside)
        assert (not np.isnan(found.wins[0])) == told
        if not told:
            assert tails(found).ravel().tolist() == [1, 1]


def test_pairs_outside_that_are_all_as_hard_tell_nothing_of_others() -> None:
    outcomes, inside, _ = drawn(5)
    outcomes[1:, ~inside] = 1.0
    assert np.isnan(expected_of(outcomes, inside).wins[0])


def test_ten_rivals_are_needed() -> None:
    outcomes, _, _ = drawn(6)
    assert among_rivals(outcomes[0], outcomes[1 : LEAST_RIVALS + 1]).tested
    few = among_rivals(outcomes[0], outcomes[1:LEAST_RIVALS])
    assert (few.tested, few.rivals, few.used.sum()) == (False, LEAST_RIVALS - 1, N)
    for nobody in (None, np.zeros((0, N)), np.full((30, N), np.nan)):
        alone = among_rivals(outcomes[0], nobody)
        assert (alone.tested, alone.rivals) == (False, 0)
        assert np.isnan(alone.others).all()


def test_rivals_know_half_of_the_pairs_and_pairs_are_known_of_half_of_them() -> None:
    outcomes, _, _ = drawn(7, rivals=24)
    outcomes[0, -100:] = np.nan
    outcomes[1:3, : N // 2] = np.nan  # two that know less than half of the others
    outcomes[5:18, :50] = np.nan  # fifty pairs that nine know
    found = among_rivals(outcomes[0], outcomes[1:])
    assert (found.tested, found.rivals) == (True, 22)
    assert np.flatnonzero(~found.used).tolist() == [*range(50), *range(N - 100, N)]
    assert found.others == pytest.approx((outcomes[3:, 50:-100] == 1).mean(axis=0))


def test_a_half_is_no_win() -> None:
    found = among_rivals(np.array([1.0, 0.5]), np.array([[0.5, 1.0]]))
    assert (found.won.tolist(), found.others.tolist()) == ([True, False], [0, 1])


def test_shapes_must_fit() -> None:
    with pytest.raises(ValueError, match="shape"):
        among_rivals(np.zeros(3), np.zeros((2, 4)))


def chances(outcome: Any, share: Any) -> Any:
    """The share of pairs that a model wins of those that are as hard, pair by pair."""
    level = np.argsort(np.argsort(share, kind="stable")) * 20 // len(share)
    return (np.bincount(level, outcome) / np.bincount(level))[level]


def made_up(
    outcomes: Any, model: int, rivals: int, are_real: bool, generator: Any
) -> tuple[Any, Any]:
    """A model's chance of each pair, and its rivals.

    The chance depends on the share of real models that win the pair, as one of these does. Rivals
    are others of them, or made up in the same way.
    """
    others = np.delete(outcomes, model, axis=0)
    share = others.mean(axis=0)
    some = others[generator.choice(len(others), rivals, replace=not are_real)]
    if not are_real:
        some = np.array([chances(each, share) for each in some])
        some = (generator.random(some.shape) < some).astype(float)
    return chances(outcomes[model], share), some


@pytest.mark.slow
@pytest.mark.parametrize(("rivals", "are_real"), [(5, True), (20, True), (20, False), (132, False)])
def test_a_model_of_which_difficulty_says_all_stands_out_nowhere(
    real: PairTable, shared_data: Path, rivals: int, are_real: bool
) -> None:
    """Of 30 such models, four or fewer seem to have a weakness, as 5 % say."""
    outcomes = read_real_outcomes(shared_data).matrix.astype(float)
    found = conditions(real)
    of_one, of_two = 0, 0
    for seed in range(30):
        generator = np.random.default_rng([seed, rivals])
        model = 7 * seed % len(outcomes)
        chance, some = made_up(outcomes, model, rivals, are_real, generator)
        wins = (generator.random(len(chance)) < chance).astype(float)
        of_one += min(each.p_adjusted for each in by_condition(wins, some, found)) <= 0.05
        of_two += worst_slices(wins, some, found).significant > 0
    assert max(of_one, of_two) <= 4


@pytest.mark.slow
@pytest.mark.parametrize(("rivals", "least"), [(20, 6), (132, 9)])
def test_a_weakness_of_15_points_is_found(
    real: PairTable, shared_data: Path, rivals: int, least: int
) -> None:
    """In pairs of math-prm whose rejected response is longer, of ten models in most."""
    outcomes = read_real_outcomes(shared_data).matrix.astype(float)
    found = conditions(real)
    weak = condition_of(real, "subset:math-prm").mask & condition_of(real, "longer:rejected").mask
    times = 0
    for seed in range(10):
        generator = np.random.default_rng([seed, rivals])
        chance, some = made_up(outcomes, 7 * seed, rivals, False, generator)
        chance = np.where(weak, np.maximum(chance - 0.15, 0), chance)
        wins = (generator.random(len(chance)) < chance).astype(float)
        times += any(
            (each.mask & weak).sum() > 0.8 * (each.mask | weak).sum()
            for each in worst_slices(wins, some, found).slices
        )
    assert times >= least

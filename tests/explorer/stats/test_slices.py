from typing import Any

import numpy as np
import pytest
from scipy import stats  # type: ignore[import-untyped]

from explorer.stats.slices import LEAST_REFERENCE, LEAST_RIVALS, SliceTester

N = 1500
INSIDE = np.arange(N) < N / 5


def draw_outcomes(seed: int, rivals: int = 20, hard: float = 0.0) -> tuple[Any, Any]:
    """Outcomes of a model and its rivals, the model first, and the model's chances.

    hard: how much more difficult the pairs `INSIDE` are.
    """
    generator = np.random.default_rng(seed)
    ease = generator.normal(0.5, 1.2, N) - hard * INSIDE
    skill = np.append(0.5, generator.normal(0.5, 0.7, rivals))
    chance = 1 / (1 + np.exp(-skill[:, None] - ease))
    return (generator.random(chance.shape) < chance).astype(float), chance[0]


def make_tester(outcomes: Any, clusters: Any = None) -> SliceTester:
    clusters = np.arange(N) if clusters is None else clusters
    return SliceTester(outcomes[0], np.array(outcomes[1:]), [INSIDE], clusters)


def test_wins_of_a_stratum_are_a_draw_without_replacement() -> None:
    """Of rivals that agree on everything there are two strata, and nothing is estimated."""
    easy = np.arange(N) % 3 > 0
    outcomes = np.tile(easy, (21, 1)).astype(float)
    members = np.isin(np.arange(N), [*range(0, 60, 2), *range(1, 31, 2)])
    model = np.where(easy, np.arange(N) % 5 > 0, np.arange(N) % 4 == 0)
    model[:20] = False
    outcomes[0] = model
    found = make_tester(outcomes).test(members)
    expected, law = 0.0, np.ones(1)
    for stratum in (easy, ~easy):
        n, of_slice = int(stratum.sum()), int((stratum & members).sum())
        expected += of_slice * model[stratum & ~members].mean()
        wins = np.arange(of_slice + 1)
        law = np.convolve(law, stats.hypergeom.pmf(wins, n, model[stratum].sum(), of_slice))
    n, won = int(members.sum()), int(model[members].sum())
    assert found[:3] == (n, won, easy[members].mean())
    tails = law[: won + 1].sum(), law[won:].sum()
    assert found[3:] == pytest.approx((expected / n, *tails))
    assert found.p_fewer < 0.05


@pytest.mark.parametrize("rivals", [LEAST_RIVALS, 60])
def test_as_many_wins_are_expected_of_a_difficult_slice_as_there_are(rivals: int) -> None:
    """Few rivals expect what many do, else each difficult slice would be a weakness."""
    off = []
    for seed in range(10):
        outcomes, chance = draw_outcomes(seed, rivals, hard=1.0)
        off.append((make_tester(outcomes).test(INSIDE).expected or 0) - chance[INSIDE].mean())
    assert abs(np.mean(off)) < 0.02


def test_a_model_that_wins_all_surprises_nowhere_and_may_lose_one_or_half_of_it() -> None:
    outcomes, _ = draw_outcomes(3)
    outcomes[0] = 1.0
    assert make_tester(outcomes).test(INSIDE)[-3:] == pytest.approx((1, 1, 1))
    outcomes[0, 0] = 0.0
    found = make_tester(outcomes).test(INSIDE)
    assert found.p_fewer > 0.1
    assert make_tester(np.where(outcomes == 0, 0.5, outcomes)).test(INSIDE) == found


def test_pairs_of_one_prompt_are_not_independent() -> None:
    """Of a model that wins all pairs of a prompt or none, slices of prompts differ by chance."""
    generator = np.random.default_rng(8)
    prompts = np.repeat(np.arange(300), 5)
    outcomes, _ = draw_outcomes(8)
    outcomes[0] = (generator.random(300) < 0.7)[prompts]
    slices = (generator.random((150, 300)) < 0.2)[:, prompts]
    small = []
    for clusters in (np.arange(N), prompts):
        tests = map(make_tester(outcomes, clusters).test, slices)
        small.append(np.mean([min(each.p_fewer, each.p_more) < 0.025 for each in tests]))
    assert small[0] > 0.2
    assert small[1] < 0.08


def test_rivals_that_disagree_on_a_slice_make_it_less_certain() -> None:
    outcomes, _ = draw_outcomes(9)
    outcomes[0, INSIDE] *= np.arange(INSIDE.sum()) % 8 > 0
    at_random = np.random.default_rng(9).random(N) < np.where(INSIDE, 0.4, 0.5)
    p = []
    for rivals in (outcomes[1:], np.where(INSIDE, np.sort(outcomes[1:], axis=0), outcomes[1:])):
        for model in (outcomes[0], at_random):
            p.append(make_tester([model, *rivals]).test(INSIDE).p_fewer)
    assert p[0] < 1e-4 < 0.05 < p[2]
    assert p[1] == pytest.approx(p[3], rel=0.5)  # its wins do not depend on difficulty


def test_nothing_is_expected_without_pairs_outside_that_are_as_difficult() -> None:
    outcomes, _ = draw_outcomes(4)
    for n_outside in (LEAST_REFERENCE, LEAST_REFERENCE - 1, 0):
        found = make_tester(outcomes).test(np.arange(N) >= n_outside)
        assert (found.expected is None) == (n_outside < LEAST_REFERENCE)
        assert found.expected is not None or found[-2:] == (1, 1)
    outcomes[1:, ~INSIDE] = 1.0
    assert make_tester(outcomes).test(INSIDE).expected is None


def test_ten_rivals_are_needed() -> None:
    outcomes, _ = draw_outcomes(6)
    assert make_tester(outcomes[: LEAST_RIVALS + 1]).can_test
    few = make_tester(outcomes[:LEAST_RIVALS])
    assert (few.can_test, few.n_rivals, few.used.sum()) == (False, LEAST_RIVALS - 1, N)
    assert few.test(INSIDE).others == pytest.approx(outcomes[1:LEAST_RIVALS, INSIDE].mean())
    for unknown in (np.zeros((0, N)), np.full((30, N), np.nan)):
        none = make_tester(np.concatenate([outcomes[:1], unknown]))
        assert (none.can_test, none.n_rivals, none.test(INSIDE).others) == (False, 0, None)


def test_rivals_know_half_of_the_pairs_and_pairs_are_known_of_half_of_them() -> None:
    outcomes, _ = draw_outcomes(7, rivals=24)
    outcomes[0, -100:] = np.nan
    outcomes[1:3, : N // 2] = np.nan  # two that know less than half of the others
    outcomes[5:18, :50] = np.nan  # fifty pairs that nine know
    found = make_tester(outcomes)
    assert (found.can_test, found.n_rivals) == (True, 22)
    assert np.flatnonzero(~found.used).tolist() == [*range(50), *range(N - 100, N)]
    test = found.test(INSIDE[found.used])
    assert test.others == pytest.approx((outcomes[3:, 50:-100] == 1)[:, INSIDE[50:-100]].mean())
    assert test.expected is not None

from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from explorer.data.conditions import Condition, ConditionKind, conditions
from explorer.data.table import PairTable
from explorer.tabs.pairs.slice_tests import LEAST_RIVALS
from explorer.tabs.pairs.slices import LEAST_PAIRS, WorstSlices, by_condition, worst_slices
from scoring.interval import wilson
from tests.explorer.real_outcomes import read_real_outcomes

N = 1200
KINDS: tuple[ConditionKind, ...] = ("subset", "longer", "marker")


def made_up(seed: int) -> list[Condition]:
    """Four conditions of each of three kinds, of a quarter of the pairs each."""
    generator = np.random.default_rng(seed)
    codes = generator.integers(0, 4, (len(KINDS), N))
    return [
        Condition(kind, f"{kind}:{code}", f"{kind} {code}", of_kind == code)
        for kind, of_kind in zip(KINDS, codes, strict=True)
        for code in range(4)
    ]


def drawn(seed: int) -> Any:
    generator = np.random.default_rng(seed)
    skill, ease = generator.normal(0.5, 1, (30, 1)), generator.normal(0.5, 1.5, N)
    return (generator.random((30, N)) < 1 / (1 + np.exp(-skill - ease))).astype(float)


CONDITIONS = made_up(0)
OUTCOMES = drawn(1)
SUBSET_1, LONGER_2 = CONDITIONS[1].mask, CONDITIONS[6].mask


def test_each_condition_is_counted_over_the_pairs_known() -> None:
    outcomes = OUTCOMES.copy()
    generator = np.random.default_rng(2)
    outcomes[generator.random(outcomes.shape) < 0.3] = np.nan
    outcomes[0, generator.random(N) < 0.2] = 0.5
    model, field = outcomes[0], outcomes[1:]
    found = {each.conditions[0].id: each for each in by_condition(model, field, CONDITIONS)}
    assert len(found) == len(CONDITIONS)
    enough = (~np.isnan(field)).sum(axis=0) >= len(field) / 2
    for condition in CONDITIONS:
        rows = np.flatnonzero(condition.mask & ~np.isnan(model) & enough)
        one = found[condition.id]
        assert (one.n, one.wins) == (len(rows), int((model[rows] == 1).sum()))
        assert one.interval == wilson(one.wins, one.n)
        shares = [np.mean(of[~np.isnan(of)] == 1) for of in field[:, rows].T]
        assert one.others == pytest.approx(np.mean(shares))
        assert one.expected is not None
        assert one.difference == pytest.approx(one.won - one.expected)


def test_expected_is_what_the_model_does_on_pairs_as_hard() -> None:
    """A model that wins what half of the others win is expected to do so in every slice."""
    model = (OUTCOMES[1:].mean(axis=0) > 0.5).astype(float)
    for each in by_condition(model, OUTCOMES[1:], CONDITIONS):
        assert each.expected == pytest.approx(each.won, abs=0.03)
        assert each.p_adjusted > 0.05


def test_pairs_that_the_slice_holds_most_of_are_expected_of_the_others_as_hard() -> None:
    """A model that wins no hard pair outside is not expected to win those inside."""
    share = OUTCOMES[1:].mean(axis=0)
    hard = share < 0.3
    inside = hard & (np.arange(N) % 5 > 0)
    slice_ = Condition("marker", "marker:x", "x", inside)
    model = np.where(hard, inside, OUTCOMES[0])
    [found] = by_condition(model, OUTCOMES[1:], [slice_])
    assert found.won == 1
    assert found.expected == pytest.approx(0.0, abs=0.05)


@pytest.mark.parametrize("others", [None, OUTCOMES[1:1], OUTCOMES[1:LEAST_RIVALS]])
def test_of_fewer_than_ten_others_nothing_is_expected(others: Any) -> None:
    found = by_condition(OUTCOMES[0], others, CONDITIONS)
    assert {(each.expected, each.p_adjusted) for each in found} == {(None, 1)}
    accuracies = [each.won for each in found]
    assert accuracies == sorted(accuracies)
    n = 0 if others is None else len(others)
    for each in found:
        share = others[:, each.mask].mean() if others is not None and n else None
        assert each.others == (None if share is None else pytest.approx(share))
    assert worst_slices(OUTCOMES[0], others, CONDITIONS) == WorstSlices(n, tested=False)


def test_the_most_surprising_comes_first_and_is_the_planted_one() -> None:
    model = np.where(SUBSET_1 & (np.arange(N) % 2 == 0), 0.0, OUTCOMES[0])
    found = by_condition(model, OUTCOMES[1:], CONDITIONS)
    assert found[0].conditions == (CONDITIONS[1],)
    assert (found[0].difference or 0) < -0.1
    assert found[0].p_adjusted < 1e-6
    subsets = [each for each in found if each.conditions[0].kind == "subset"]
    assert [(each.difference or 0) > 0 for each in subsets] == [False, True, True, True]
    assert [each.p for each in found] == sorted(each.p for each in found)


def test_a_weakness_of_two_conditions_together_is_found() -> None:
    model = np.where(SUBSET_1 & LONGER_2, 0.0, OUTCOMES[0])
    found = worst_slices(model, OUTCOMES[1:], CONDITIONS)
    [slice_] = found.slices
    assert slice_.conditions == (CONDITIONS[1], CONDITIONS[6])
    assert slice_.name == "subset 1 and longer 2"
    assert (slice_.mask == (SUBSET_1 & LONGER_2)).all()
    assert (slice_.wins, slice_.n) == (0, (SUBSET_1 & LONGER_2).sum())
    assert slice_.p_adjusted < 1e-6


def test_what_one_condition_explains_is_not_told_of_two() -> None:
    found = worst_slices(np.where(SUBSET_1, 0.0, OUTCOMES[0]), OUTCOMES[1:], CONDITIONS)
    assert found.significant > 0
    assert found.slices == ()


def test_nothing_is_found_where_nothing_is() -> None:
    """Of 40 models without a weakness, one or two may seem to have one."""
    with_one = 0
    for seed in range(40):
        outcomes = drawn(100 + seed)
        with_one += worst_slices(outcomes[0], outcomes[1:], CONDITIONS).significant > 0
    assert with_one <= 5


def looked_at(model: Any, conditions: list[Condition], least_pairs: int) -> set[bytes]:
    known = ~np.isnan(model)
    found = set()
    for one, other in combinations(conditions, 2):
        mask = one.mask & other.mask & known
        smallest = min((one.mask & known).sum(), (other.mask & known).sum())
        if one.kind != other.kind and least_pairs <= mask.sum() < smallest:
            found.add(mask.tobytes())
    return found


@pytest.mark.parametrize("least_pairs", [1, LEAST_PAIRS, 80, N])
def test_all_slices_are_looked_at_once(least_pairs: int) -> None:
    again = [Condition("marker", "marker:x", "x", CONDITIONS[0].mask)]  # has the pairs of another
    everything = [Condition("section", "section:all", "all", np.ones(N, dtype=bool))]
    several = [*CONDITIONS, *again, *everything]
    model = OUTCOMES[0].copy()
    model[::3] = np.nan
    found = worst_slices(model, OUTCOMES[1:], several, least_pairs=least_pairs)
    assert found.looked_at == len(looked_at(model, several, least_pairs))


def test_of_slices_that_are_much_alike_one_is_listed() -> None:
    alike = CONDITIONS[1].mask.copy()
    alike[np.flatnonzero(alike)[:3]] = False
    more = [*CONDITIONS, Condition("section", "section:x", "x", alike)]
    model = np.where(SUBSET_1 & LONGER_2, 0.0, OUTCOMES[0])
    found = worst_slices(model, OUTCOMES[1:], more)
    assert found.significant >= 2
    assert len(found.slices) == 1


def test_there_are_no_more_than_asked_for() -> None:
    model = np.where((SUBSET_1 & LONGER_2) | (CONDITIONS[3].mask & CONDITIONS[8].mask), 0, 1.0)
    assert len(worst_slices(model, OUTCOMES[1:], CONDITIONS, most=5).slices) >= 2
    assert len(worst_slices(model, OUTCOMES[1:], CONDITIONS, most=1).slices) == 1


def test_a_model_of_which_nothing_is_known_has_no_slices() -> None:
    nothing = np.full(N, np.nan)
    assert by_condition(nothing, OUTCOMES, CONDITIONS) == []
    found = worst_slices(nothing, OUTCOMES, CONDITIONS)
    assert (found.looked_at, found.significant, found.slices) == (0, 0, ())
    assert by_condition(OUTCOMES[0], OUTCOMES[1:], []) == []


def test_a_model_that_wins_all_surprises_nowhere() -> None:
    assert all(each.p == 1 for each in by_condition(np.ones(N), OUTCOMES, CONDITIONS))
    assert worst_slices(np.ones(N), OUTCOMES, CONDITIONS).significant == 0


def test_conditions_must_be_of_the_same_pairs() -> None:
    with pytest.raises(ValueError, match="other pairs"):
        by_condition(OUTCOMES[0, 1:], None, CONDITIONS)


def test_a_real_model_that_likes_length_is_caught(real: PairTable, shared_data: Path) -> None:
    outcomes = read_real_outcomes(shared_data)
    model = outcomes.names.index("PKU-Alignment/beaver-7b-v1.0-reward")
    field = np.delete(outcomes.matrix, model, axis=0)
    found = conditions(real)
    first = by_condition(outcomes.matrix[model], field, found)[:2]
    assert {each.conditions[0].id for each in first} == {"longer:chosen", "longer:rejected"}
    assert sum(each.n for each in first) == 1116 + 1501
    worst = worst_slices(outcomes.matrix[model], field, found)
    assert worst.looked_at > 500
    assert all(each.n >= LEAST_PAIRS and (each.difference or 0) < 0 for each in worst.slices)
    assert any("rejected longer" in each.name for each in worst.slices[:3])

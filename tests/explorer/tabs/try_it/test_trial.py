"""A pair that is tried out: what is told, what is left out, what a change does to which side."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import pytest

from explorer.runs.orders import ModelOrder
from explorer.runs.running import Rewarded
from explorer.tabs.try_it.trial import (
    CHANGES,
    SIDES,
    Change,
    Effect,
    Trial,
    effects_of,
    trying,
    variants,
)
from scoring.errors import KnownError
from scoring.probing.edits import FILLER
from scoring.spec import Pair, RunFacts, ScoredPair
from tests.support.rewarding import FACTS, Reward, by_length, first_is_better, scored
from tests.support.stepping import stepwise

PAIR = Pair("typed", "typed", "p", "Take the figs. Wash them.", "No.")


class Counting:
    """Scores, and remembers how many pairs at a time."""

    def __init__(self, reward: Reward = by_length, facts: RunFacts = FACTS) -> None:
        self.asked: list[int] = []
        self._reward, self._facts = reward, facts

    def __call__(self, pairs: Sequence[Pair]) -> Rewarded:
        self.asked.append(len(pairs))
        return Rewarded(tuple(scored(pair, self._reward) for pair in pairs), self._facts)


def tried(pair: Pair, rewards: Counting, **how: Any) -> list[Trial]:
    return list(stepwise(partial(trying, ModelOrder("longer"), pair, rewards, **how)))


def last(pair: Pair, rewards: Counting, former: Trial | None = None) -> Trial:
    return tried(pair, rewards, former=former)[-1]


def test_the_rewards_come_first_and_then_each_edit() -> None:
    rewards = Counting()
    told = tried(PAIR, rewards)
    assert rewards.asked == [1] * 6  # the pair, and every edit but the two that do not apply
    assert [len({change for change, _ in trial.effects}) for trial in told] == [0, 1, 2, 3, 4, 5]
    assert [trial.is_whole for trial in told] == [False] * 5 + [True]
    trial = told[-1]
    assert trial.effects["longer", "rejected"].change == len(FILLER) + 2
    assert trial.effects["upper", "chosen"].change == 0
    assert ("cut", "rejected") not in trial.applies and ("plain", "chosen") not in trial.applies
    assert (trial.reward("chosen"), trial.swapped_margin) == (25.0, -22.0)


def test_rewards_are_compared_with_those_of_the_start() -> None:
    first = last(PAIR, Counting())
    assert [first.moved(side) for side in SIDES] == [0.0, 0.0]
    typed = Pair("typed", "typed", "p", PAIR.chosen + "!!", "No")
    second = last(typed, Counting(), first)
    third = last(PAIR, Counting(), second)
    assert [second.moved(side) for side in SIDES] == [2.0, -1.0]
    assert third.moved("chosen") == 0.0 and third.start == first.scored
    rounded = last(PAIR, Counting(lambda pair: (25.0 + 2e-6, 3.0)), first)
    assert rounded.moved("chosen") == rounded.margin_moved == 0.0


def test_of_a_slow_model_edits_are_left_out_until_they_are_asked_for() -> None:
    rewards = Counting()
    [only] = tried(PAIR, rewards, seconds=-1)
    assert rewards.asked == [1] and not only.is_whole
    *_, whole = tried(PAIR, rewards, seconds=None)
    assert whole.is_whole


def test_rewards_of_another_revision_are_not_compared() -> None:
    newer = replace(FACTS, revision="newer")
    with pytest.raises(KnownError, match="m has changed its revision"):
        last(PAIR, Counting(facts=newer), last(PAIR, Counting()))
    with pytest.raises(KnownError, match="m has changed its revision"):
        tried(PAIR, Counting(), first=Counting(facts=newer))


SHORT = Pair("s:1", "s", "p", "Take the figs.", "ONE TWO.")
FILLED = float(len(FILLER) + 2)


def effects(pair: Pair, change: Change, reward: Reward, *, pairwise: bool) -> dict[str, Effect]:
    before = scored(pair, reward)
    return {
        side: effect
        for variant in variants([pair], [change], pairwise=pairwise)
        for side, effect in effects_of(variant, before, scored(variant.pair, reward)).items()
    }


def test_what_reads_one_response_is_asked_once_for_both_sides() -> None:
    made = variants([SHORT, SHORT], CHANGES, pairwise=False)
    assert [(each.place, each.change, each.sides) for each in made if each.place == 1] == [
        (1, "polite", ("chosen", "rejected")),
        (1, "refusal", ("chosen", "rejected")),
        (1, "longer", ("chosen", "rejected")),
        (1, "upper", ("chosen",)),
    ]
    assert len({each.pair.key for each in made}) == len(made)
    upper = made[-1].pair
    assert (upper.chosen, upper.rejected) == ("TAKE THE FIGS.", SHORT.rejected)


def test_each_side_is_changed_alone() -> None:
    margin = float(len(SHORT.chosen) - len(SHORT.rejected))
    for pairwise in (True, False):
        assert effects(SHORT, "longer", by_length, pairwise=pairwise) == {
            "chosen": Effect(FILLED, margin + FILLED),
            "rejected": Effect(FILLED, margin - FILLED),
        }
        upper = effects(SHORT, "upper", by_length, pairwise=pairwise)
        assert upper == {"chosen": Effect(0.0, margin)}


def test_a_swap_shows_what_the_place_is_worth() -> None:
    # The chosen response, which is longer, is worth 1.5 when read first and -0.5 when second.
    found = effects(SHORT, "swap", first_is_better, pairwise=True)
    assert found == {"chosen": Effect(-2.0, -1.0), "rejected": Effect(2.0, -1.0)}


def test_a_missing_reward_has_no_effect() -> None:
    [variant] = variants([SHORT], ["upper"], pairwise=False)
    before = scored(SHORT, by_length)
    none = ScoredPair("", "", "", None, 8.0, 1, 1)
    assert effects_of(variant, before, none) == {"chosen": Effect(None, None)}
    assert effects_of(variant, none, before)["chosen"].change is None

"""What a change does to which response, of models that read one response or both."""

from dataclasses import replace

import pytest

from explorer.tabs.try_it.counterfactuals import CHANGES, Effect, effects_of, variants
from scoring.probing.edits import FILLER
from scoring.spec import Pair, ScoredPair
from tests.explorer.rewarding import Reward, by_length, first_is_better, scored

PAIR = Pair("s:1", "s", "p", "Take the figs.", "ONE TWO.")
FILLED = float(len(FILLER) + 2)


def effects(pair: Pair, change: str, reward: Reward, *, pairwise: bool) -> dict[str, Effect]:
    known = next(each for each in CHANGES if each == change)
    before = scored(pair, reward)
    return {
        side: effect
        for variant in variants([pair], [known], pairwise=pairwise)
        for side, effect in effects_of(variant, before, scored(variant.pair, reward)).items()
    }


def test_what_reads_one_response_is_asked_once_for_both_sides() -> None:
    made = variants([PAIR, PAIR], CHANGES, pairwise=False)
    assert [(each.place, each.change, each.sides) for each in made if each.place == 1] == [
        (1, "polite", ("chosen", "rejected")),
        (1, "refusal", ("chosen", "rejected")),
        (1, "longer", ("chosen", "rejected")),
        (1, "upper", ("chosen",)),
    ]
    assert len({each.pair.key for each in made}) == len(made)
    upper = made[-1].pair
    assert (upper.chosen, upper.rejected) == ("TAKE THE FIGS.", PAIR.rejected)


def test_what_reads_both_is_asked_for_each_side_and_for_the_swap() -> None:
    made = variants([PAIR], ["swap", "longer"], pairwise=True)
    assert [(each.change, each.sides) for each in made] == [
        ("swap", ("chosen", "rejected")),
        ("longer", ("chosen",)),
        ("longer", ("rejected",)),
    ]
    assert made[0].pair.chosen == PAIR.rejected
    assert made[1].pair.rejected == PAIR.rejected and made[2].pair.chosen == PAIR.chosen
    equal = replace(PAIR, rejected=PAIR.chosen)
    assert variants([equal], ["swap"], pairwise=True) == []


@pytest.mark.parametrize("pairwise", [True, False])
def test_each_side_is_changed_alone(pairwise: bool) -> None:
    margin = float(len(PAIR.chosen) - len(PAIR.rejected))
    assert effects(PAIR, "longer", by_length, pairwise=pairwise) == {
        "chosen": Effect(FILLED, margin + FILLED),
        "rejected": Effect(FILLED, margin - FILLED),
    }
    assert effects(PAIR, "upper", by_length, pairwise=pairwise) == {"chosen": Effect(0.0, margin)}


def test_of_a_judge_the_other_response_counts_too() -> None:
    found = effects(PAIR, "longer", first_is_better, pairwise=True)
    assert found == {"chosen": Effect(0.0, 3.0), "rejected": Effect(1.0, 1.0)}


def test_a_swap_shows_what_the_place_is_worth() -> None:
    # The chosen response, which is longer, is worth 1.5 when read first and -0.5 when second.
    found = effects(PAIR, "swap", first_is_better, pairwise=True)
    assert found == {"chosen": Effect(-2.0, -1.0), "rejected": Effect(2.0, -1.0)}
    fair = effects(PAIR, "swap", by_length, pairwise=True)
    assert {effect.change for effect in fair.values()} == {0.0}


def test_a_missing_reward_has_no_effect() -> None:
    [variant] = variants([PAIR], ["upper"], pairwise=False)
    before = scored(PAIR, by_length)
    none = ScoredPair("", "", "", None, 8.0, 1, 1)
    assert effects_of(variant, before, none) == {"chosen": Effect(None, None)}
    assert effects_of(variant, none, before)["chosen"].change is None

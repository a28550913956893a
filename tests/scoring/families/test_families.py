"""Every family opens a scorer; the baselines, which need no model, are known to the last digit."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest
from transformers.utils import logging

from scoring.engine.scorer import TEXTS_A_PACK, facts
from scoring.errors import KnownError
from scoring.families import open_scorer
from scoring.limits import Step
from scoring.models.loading import report_loading
from scoring.spec import BASELINES, Family, ModelSpec, Pair, RunSettings, ScoredPair
from tests.support.judging import scored
from tests.support.small_models import PAIRS, llama, opened, save


def test_a_scorer_gives_a_reward_for_each_side_and_tells_how_it_loads(tmp_path: Path) -> None:
    folder, steps = save(tmp_path, llama()), list[Step]()
    with report_loading(steps.append):
        scorer = opened(folder)
    assert [step.done for step in steps] == [*range(len(steps))]
    assert {step.total for step in steps} == {len(steps) - 1}
    assert logging.set_tqdm_hook(None) is None
    prepared = scorer.prepare(PAIRS)
    assert [each.pair for each in prepared] == PAIRS
    rewards = scorer.rewards(prepared)
    assert len(rewards) == len(PAIRS)
    assert {type(reward) for pair in rewards for reward in pair} == {float}
    assert scorer.rewards(prepared) == rewards
    traits = scorer.traits
    assert (traits.device, traits.dtype, traits.max_length) == ("cpu", "float32", 200)
    assert traits.libraries == ("torch", "transformers")
    assert traits.template.startswith("own:")


@pytest.mark.parametrize(
    ("family", "given", "said"),
    [
        ("dpo", {"upstream_compatible": True}, "compatible is for .*family dpo. is not:"),
        ("judge", {"upstream_compatible": True}, "compatible is for .*family judge. is not:"),
        ("longer", {"beta": 0.1}, "--beta 0.1 is for models of family dpo, .*: leave it out"),
        (
            "judge",
            {"truncation_side": "right"},
            "right is for models that are not asked at",
        ),
        ("judge", {"max_tokens": 9}, "9 .* answers .* with a --judge-prompt such as upstream"),
        ("longer", {"max_tokens": 9}, "for judges and raters that write answers"),
        ("longer", {"judge_prompt": "atla"}, "for judges and raters that write answers"),
    ],
)
def test_a_setting_that_means_nothing_to_a_family_is_refused(
    family: Family, given: dict[str, Any], said: str
) -> None:
    with pytest.raises(KnownError, match=said):
        open_scorer(ModelSpec("m", "", "", family), RunSettings(**given))


def spec_of(family: Family) -> ModelSpec:
    return ModelSpec(f"baseline/{family}", "", "", family)


def baseline(family: Family, pairs: Sequence[Pair], seed: int = 0) -> dict[str, ScoredPair]:
    return scored(open_scorer(spec_of(family), RunSettings(seed=seed)), pairs, seed)


@pytest.mark.parametrize(
    ("family", "texts", "rewards"),
    [
        ("longer", ("🤔🤔", ""), (2.0, 0.0)),
        ("shorter", ("four", "ab"), (-4.0, -2.0)),
    ],
)
def test_length_is_the_reward(
    family: Family, texts: tuple[str, str], rewards: tuple[float, float]
) -> None:
    row = baseline(family, [Pair("s:1", "s", "a prompt", *texts)])["s:1"]
    assert (row.chosen_reward, row.rejected_reward) == rewards
    assert (row.chosen_tokens, row.rejected_tokens) == (0, 0)


def test_chance_is_of_the_texts_and_the_seed_alone(demo_pairs: list[Pair]) -> None:
    first = baseline("random", demo_pairs)
    elsewhere = [replace(pair, key=f"other {pair.key}") for pair in demo_pairs[::-1]]
    margins = {key: row.margin for key, row in baseline("random", elsewhere).items()}
    assert {f"other {key}": row.margin for key, row in first.items()} == margins
    for pair in demo_pairs[5:8]:
        assert baseline("random", [pair]) == {pair.key: first[pair.key]}
    second = baseline("random", demo_pairs, seed=1)
    assert 0.3 < fmean(row.outcome == second[key].outcome for key, row in first.items()) < 0.7


def test_what_a_baseline_rests_on_is_said() -> None:
    settings = RunSettings()
    told = [facts(open_scorer(spec_of(each), settings), settings, "demo", 5) for each in BASELINES]
    assert [each.model for each in told] == [f"baseline/{family}" for family in BASELINES]
    paths = {(each.path, each.budget, *each.versions) for each in told}
    assert paths == {("no model", TEXTS_A_PACK)}
    assert len({each.reading for each in told}) == 3

from typing import Any

import pytest
from transformers.utils import logging

from scoring import families
from scoring.errors import KnownError
from scoring.families import open_scorer
from scoring.limits import Step
from scoring.models.load_steps import loading_told
from scoring.spec import BASELINES, FAMILIES, Family, ModelSpec, RunSettings
from tests.scoring.families.test_classifier import CPU, PAIRS, llama, save


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> ModelSpec:
    return ModelSpec("small", str(save(tmp_path_factory.mktemp("small"), llama())), "test")


def test_every_family_has_what_makes_its_scorer() -> None:
    makers: dict[Family, Any] = {}
    for family in FAMILIES:
        makers[family] = families._maker(ModelSpec("m", "", "", family))
        assert all(hasattr(makers[family], name) for name in ("prepare", "rewards", "expect"))
    assert makers["dpo"] is makers["logprob-sum"] is makers["logprob-mean"]
    assert makers["judge"] is makers["rater"]
    assert len(set(makers.values())) == 6
    asked = families._maker(ModelSpec("m", "", "", "judge", url="http://host/v1"))
    assert asked is not makers["judge"]


def test_a_scorer_gives_a_reward_for_each_side(small: ModelSpec) -> None:
    scorer = open_scorer(small, CPU)
    assert scorer.spec == small
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


@pytest.mark.parametrize("family", BASELINES)
def test_a_baseline_needs_no_model(family: Family) -> None:
    scorer = open_scorer(ModelSpec(f"baseline/{family}", "", "", family), RunSettings())
    assert len(scorer.rewards(scorer.prepare(PAIRS))) == len(PAIRS)


@pytest.mark.parametrize("family", [name for name in FAMILIES if name != "classifier"])
def test_upstreams_tokens_are_a_matter_of_classifiers(family: Family) -> None:
    with pytest.raises(KnownError, match=f"is a {family}, which --upstream-compatible has no"):
        open_scorer(ModelSpec("m", "", "", family), RunSettings(upstream_compatible=True))


def test_beta_is_refused_where_it_means_nothing() -> None:
    with pytest.raises(KnownError, match="Beta is of family dpo"):
        open_scorer(ModelSpec("baseline/longer", "", "", "longer"), RunSettings(beta=0.1))


def test_a_loading_is_told_weight_by_weight(small: ModelSpec) -> None:
    steps: list[Step] = []
    with loading_told(steps.append):
        open_scorer(small, CPU)
    assert [step.done for step in steps] == [*range(len(steps))]
    assert {step.total for step in steps} == {len(steps) - 1}
    assert logging.set_tqdm_hook(None) is None

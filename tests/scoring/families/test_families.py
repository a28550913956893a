import copy
import json
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from scoring import families
from scoring.engine.scorer import Scorer
from scoring.errors import KnownError, Stopped
from scoring.families import WarmScorer, open_scorer
from scoring.limits import Step
from scoring.models.load_steps import loading_told
from scoring.models.memory import resident_bytes
from scoring.spec import BASELINES, FAMILIES, Family, ModelSpec, RunSettings
from tests.conftest import DEMO_MODEL
from tests.forks import Fork
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


def test_the_warm_model_is_loaded_once(small: ModelSpec) -> None:
    warm = WarmScorer()
    first = warm.get(small, CPU)
    assert warm.get(copy.deepcopy(small), RunSettings(device="cpu", dtype="float32")) is first


@pytest.mark.parametrize(
    ("spec", "settings"),
    [
        ({"revision": "another"}, {}),
        ({"reading": 0}, {}),
        ({}, {"dtype": "bfloat16"}),
        ({}, {"max_length": 50}),
        ({}, {"upstream_compatible": True}),
    ],
)
def test_another_model_or_setting_takes_the_warm_ones_place(
    spec: dict[str, Any], settings: dict[str, Any], small: ModelSpec
) -> None:
    warm = WarmScorer()
    other = replace(small, **spec), replace(CPU, **settings)
    first = warm.get(small, CPU)
    second = warm.get(*other)
    assert second is not first
    assert (second.spec, warm.get(*other)) == (other[0], second)
    assert warm.get(small, CPU) is not first


def test_the_warm_model_is_let_go_before_the_next_is_loaded(
    small: ModelSpec, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two that fit in memory only one at a time can follow each other."""
    warm = WarmScorer()
    warm.get(small, CPU)
    held: list[object] = []

    def opening(spec: ModelSpec, settings: RunSettings) -> Scorer:
        held.append(warm._kept)
        return open_scorer(spec, settings)

    monkeypatch.setattr(families, "open_scorer", opening)
    warm.get(replace(small, revision="another"), CPU)
    assert held == [None]


def test_a_model_that_fails_to_load_leaves_the_cache_usable(
    small: ModelSpec, tmp_path: Path
) -> None:
    warm = WarmScorer()
    first = warm.get(small, CPU)
    with pytest.raises(KnownError):
        warm.get(ModelSpec("broken", str(tmp_path), "x"), CPU)
    again = warm.get(small, CPU)
    assert again is not first
    assert torch.tensor(again.rewards(again.prepare(PAIRS))).isfinite().all()


def test_two_who_ask_at_once_get_one_model(
    small: ModelSpec, monkeypatch: pytest.MonkeyPatch
) -> None:
    warm, opened, got = WarmScorer(), [], []

    def opening(spec: ModelSpec, settings: RunSettings) -> Scorer:
        opened.append(spec)
        return open_scorer(spec, settings)

    monkeypatch.setattr(families, "open_scorer", opening)
    threads = [threading.Thread(target=lambda: got.append(warm.get(small, CPU))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(opened) == 1
    assert len(got) == 4
    assert len(set(map(id, got))) == 1


def test_beta_is_refused_where_it_means_nothing() -> None:
    with pytest.raises(KnownError, match="Beta is of family dpo"):
        open_scorer(ModelSpec("baseline/longer", "", "", "longer"), RunSettings(beta=0.1))


def test_a_loading_is_told_and_ends_at_the_next_weight(small: ModelSpec) -> None:
    warm, stop = WarmScorer(), threading.Event()
    steps: list[Step] = []

    def tell(step: Step) -> None:
        steps.append(step)
        if step.done == 3:
            stop.set()

    with pytest.raises(Stopped):
        warm.get(small, CPU, tell=tell, stop=stop)
    assert steps[0] == Step("loading")
    assert [step.done for step in steps[1:]] == [0, 1, 2, 3]
    assert len({step.total for step in steps[1:]}) == 1
    assert not warm.is_warm(small, CPU)
    with pytest.raises(Stopped):
        warm.get(small, CPU, stop=stop)
    stop.clear()
    steps.clear()
    warm.get(small, CPU, tell=steps.append, stop=stop)
    assert steps[-1].done == steps[-1].total
    assert warm.is_warm(small, CPU)


def test_the_bars_of_other_threads_are_left_alone(small: ModelSpec) -> None:
    from transformers.utils import logging

    with loading_told(lambda _: pytest.fail("it was told"), None):
        thread = threading.Thread(target=lambda: list(logging.tqdm([1, 2, 3])))
        thread.start()
        thread.join()
    assert logging.set_tqdm_hook(None) is None


def test_a_warm_model_serves_runs_of_any_seed(small: ModelSpec) -> None:
    warm = WarmScorer()
    first = warm.get(small, CPU)
    assert warm.is_warm(small, replace(CPU, seed=7))
    assert warm.get(small, replace(CPU, seed=7)) is first
    rule = ModelSpec("baseline/random", "", "", "random")
    warm.get(rule, CPU)
    assert not warm.is_warm(rule, replace(CPU, seed=7))


def test_a_model_that_is_let_go_is_warm_no_longer(small: ModelSpec) -> None:
    warm = WarmScorer()
    warm.release()
    warm.get(small, CPU)
    assert warm.is_warm(small, CPU)
    warm.release()
    assert not warm.is_warm(small, CPU)
    assert warm.held_bytes == 0


def load_ten_models() -> None:
    warm, spec, left, loaded = WarmScorer(), ModelSpec("demo", str(DEMO_MODEL), "0"), [], []
    for n in range(10):
        warm.get(replace(spec, revision=str(n)), RunSettings(device="cpu"))
        loaded.append(warm.held_bytes)
        warm.release()
        left.append(resident_bytes())
    print(json.dumps([left, loaded]))


@pytest.mark.slow
@pytest.mark.skipif(not resident_bytes(), reason="this system does not tell what a process holds")
def test_ten_models_in_a_row_leave_nothing_behind() -> None:
    process = Fork(load_ten_models)
    out, err = process.communicate()
    assert process.returncode == 0, err
    left, loaded = json.loads(out.splitlines()[-1])
    assert max(left) < 1.05 * left[0], left
    assert min(loaded[1:]) > 7_000_000  # 3.8 million weights in float32 are 15 MB

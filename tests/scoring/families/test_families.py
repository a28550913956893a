"""Every family opens a scorer; the baselines, which need no model, are known to the last digit."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest
from transformers.utils import logging

from scoring.errors import KnownError
from scoring.families import open_scorer
from scoring.limits import Step
from scoring.models.loading import report_loading
from scoring.spec import Family, ModelSpec, Pair, RunSettings, ScoredPair
from tests.support.judging import scored
from tests.support.small_models import llama, opened, save


def test_a_scorer_tells_how_far_it_is_loaded(tmp_path: Path) -> None:
    folder, steps = save(tmp_path, llama()), list[Step]()
    with report_loading(steps.append):
        traits = opened(folder).traits
    assert [step.done for step in steps] == [*range(len(steps))]
    assert {step.total for step in steps} == {len(steps) - 1}
    assert logging.set_tqdm_hook(None) is None
    assert (traits.device, traits.dtype, traits.max_length) == ("cpu", "float32", 200)
    assert traits.template.startswith("own:")


GREEDILY = {"judge_prompt": "upstream", "repeats": 3}


@pytest.mark.parametrize(
    ("family", "given", "said"),
    [
        ("dpo", {"upstream_compatible": True}, "compatible is for .*family dpo. is not:"),
        ("longer", {"beta": 0.1}, "--beta 0.1 is for models of family dpo, .*: leave it out"),
        ("judge", {"truncation_side": "right"}, "right is for models that are not asked at"),
        ("judge", {"max_tokens": 9}, "9 .* answers .* with a --judge-prompt such as upstream"),
        ("longer", {"judge_prompt": "atla"}, "for judges and raters that write answers"),
        ("longer", {"repeats": 3}, "--repeats 3 is for judges and raters that write answers"),
        ("judge", GREEDILY, r"--repeats 3 .* at temperature 0 .*--temperature above"),
    ],
)
def test_a_setting_that_means_nothing_to_a_family_is_refused(
    family: Family, given: dict[str, Any], said: str
) -> None:
    with pytest.raises(KnownError, match=said):
        open_scorer(ModelSpec("m", "", "", family), RunSettings(**given))


def baseline(family: Family, pairs: Sequence[Pair], seed: int = 0) -> dict[str, ScoredPair]:
    spec = ModelSpec(f"baseline/{family}", "", "", family)
    return scored(open_scorer(spec, RunSettings(seed=seed)), pairs, seed)


def test_length_is_a_reward_and_chance_is_of_the_texts_and_the_seed_alone(
    demo_pairs: list[Pair],
) -> None:
    pairs = [Pair("s:1", "s", "a prompt", "🤔🤔", "")]
    assert baseline("longer", pairs)["s:1"].all_rewards == (2.0, 0.0)
    assert baseline("shorter", pairs)["s:1"].all_rewards == (-2.0, 0.0)
    first = baseline("random", demo_pairs)
    elsewhere = [replace(pair, key=f"other {pair.key}") for pair in demo_pairs[::-1]]
    margins = {key: row.margin for key, row in baseline("random", elsewhere).items()}
    assert {f"other {key}": row.margin for key, row in first.items()} == margins
    for pair in demo_pairs[5:8]:
        assert baseline("random", [pair]) == {pair.key: first[pair.key]}
    second = baseline("random", demo_pairs, seed=1)
    assert 0.3 < fmean(row.outcome == second[key].outcome for key, row in first.items()) < 0.7

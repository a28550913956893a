"""LoRA adapters as PEFT leaves them, and as others do."""

import shutil
from pathlib import Path
from typing import Any

import pytest
import torch
from peft import LoraConfig, get_peft_model
from safetensors.torch import load_file, save_file
from transformers import (
    AutoConfig,
    AutoModel,
    AutoModelForCausalLM,
    AutoModelForSequenceClassification,
    AutoTokenizer,
)

from scoring.engine.scorer import facts
from scoring.families import open_scorer
from scoring.models.adapters import CONFIG
from scoring.models.finding import find, locate
from scoring.spec import Pair, RunSettings
from tests.conftest import DEMO_MODEL
from tests.support.folder_hub import FolderHub
from tests.support.refusals import refusal
from tests.support.small_models import CPU, OFFLINE, OPEN, edit_config

PAIR = Pair("a:1", "a", "Name a colour.", "Red, like wine.", "Blue, as the sea is at noon.")


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folders base (a language model), adapter (to a reward model of it) and merged."""
    folder = tmp_path_factory.mktemp("trained")
    tokenizer = AutoTokenizer.from_pretrained(DEMO_MODEL)
    config = AutoConfig.from_pretrained(DEMO_MODEL)
    config.update({"hidden_size": 32, "num_hidden_layers": 2, "head_dim": 16, "dtype": "float32"})
    config.layer_types = config.layer_types[:2]
    torch.manual_seed(0)
    base = AutoModelForCausalLM.from_config(config)
    base.save_pretrained(folder / "base")
    classifier = AutoModelForSequenceClassification.from_pretrained(folder / "base", num_labels=1)
    lora = LoraConfig(
        task_type="SEQ_CLS", r=4, target_modules="all-linear", init_lora_weights=False
    )
    trained: Any = get_peft_model(classifier, lora)
    trained.save_pretrained(folder / "adapter")
    trained.merge_and_unload().save_pretrained(folder / "merged")
    for each in ("base", "adapter", "merged"):
        tokenizer.save_pretrained(folder / each)
    return folder


@pytest.fixture
def adapter(trained: Path, tmp_path: Path) -> Path:
    """A copy of the adapter, to be broken."""
    return Path(shutil.copytree(trained / "adapter", tmp_path / "adapter"))


def edit_weights(adapter: Path, keep: str = "", **more: Any) -> None:
    path = adapter / "adapter_model.safetensors"
    weights = {name: each for name, each in load_file(path).items() if keep in name}
    save_file({**weights, **more}, path)


def rewards_of(folder: Path, **options: Any) -> tuple[float, ...]:
    scorer = open_scorer(locate(str(folder), OPEN, OFFLINE, **options), CPU)
    [rewards] = scorer.rewards(scorer.prepare([PAIR]))
    return rewards


def test_an_adapter_scores_as_its_merged_model(trained: Path) -> None:
    there = rewards_of(trained / "merged")
    assert rewards_of(trained / "adapter") == pytest.approx(there, abs=1e-5)
    scorer = open_scorer(locate(str(trained / "adapter"), OPEN, OFFLINE), CPU)
    assert f"{trained / 'base'}@" in str(facts(scorer, RunSettings(), "demo@1", 1))
    found = find(str(trained / "adapter"), OPEN, OFFLINE)
    base = trained / "base" / "model.safetensors"
    assert found.why == f"It is a LoRA adapter of {trained / 'base'}."
    assert found.memory_bytes("float32") > base.stat().st_size * 0.9
    assert found.architecture.startswith("Qwen3") and found.layers == 2


def test_a_base_may_be_given_in_place_of_the_named_one(trained: Path, adapter: Path) -> None:
    edit_config(adapter, CONFIG, base_model_name_or_path="/gone/base")
    said = refusal(rewards_of, adapter)
    assert "its base cannot be had: There is no base '/gone/base'" in said
    assert "Give the base that it was trained on (--ref-model" in said
    there = rewards_of(trained / "merged")
    for name in ("tokenizer.json", "tokenizer_config.json", "chat_template.jinja"):
        (adapter / name).unlink()  # that of its base is taken
    assert rewards_of(adapter, reference=str(trained / "base")) == pytest.approx(there, abs=1e-5)


def test_a_head_may_lie_in_a_file_of_its_own(trained: Path, adapter: Path) -> None:
    head, bias = torch.randn(1, 32), torch.tensor([0.5])
    edit_config(adapter, CONFIG, task_type="CAUSAL_LM", modules_to_save=None)
    edit_weights(adapter, keep="lora_")
    assert "lack score.weight, so its scores would be random" in refusal(rewards_of, adapter)
    save_file(
        {"v_head.summary.weight": head, "v_head.summary.bias": bias},
        adapter / "value_head.safetensors",
    )
    body = AutoModel.from_pretrained(trained / "merged")
    tokenizer = AutoTokenizer.from_pretrained(trained / "merged")
    for text, reward in zip((PAIR.chosen, PAIR.rejected), rewards_of(adapter), strict=True):
        turns = [{"role": "user", "content": PAIR.prompt}, {"role": "assistant", "content": text}]
        ids = tokenizer.apply_chat_template(turns, return_tensors="pt", return_dict=True)
        with torch.inference_mode():
            last = body(**ids).last_hidden_state[0, -1]
        assert reward == pytest.approx(float(head[0] @ last + bias), abs=1e-4)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"peft_type": "IA3"}, "is an adapter of kind 'IA3'; LoRA is read here"),
        ({"layer_replication": [[0, 1]]}, "sets 'layer_replication', which is not read here"),
        ({"base_model_name_or_path": None}, "cannot be had: Its adapter_config.json names none."),
        ({"r": -1}, "it has weights of rank 4, which its config does not have"),
        ({"r": [4]}, "does not fit its base: unhashable type"),
        ({"target_modules": r"(\w+\.?)+\.x!"}, None),
        ({"alpha_pattern": {"(a+)+": 2}}, "whose alpha_pattern has expressions"),
    ],
)
def test_an_adapter_that_cannot_be_merged_is_told_in_a_sentence(
    changes: dict[str, Any], said: str | None, trained: Path, adapter: Path
) -> None:
    """Where nothing is said, the config asks for what its weights do not have, and is not heard."""
    edit_config(adapter, CONFIG, **changes)
    if said is None:
        there = rewards_of(trained / "merged")
        assert rewards_of(adapter) == pytest.approx(there, abs=1e-5)
    else:
        assert said in refusal(rewards_of, adapter)


def test_half_an_adapter_or_one_of_another_base_is_told(adapter: Path) -> None:
    assert "does not fit its base" in refusal(rewards_of, adapter, reference=str(DEMO_MODEL))
    up_proj = "base_model.model.model.layers.7.mlp.up_proj.lora_A.weight"
    foreign: dict[str, Any] = {up_proj: torch.ones(4, 32)}
    edit_weights(adapter, **foreign)
    assert "does not fit its base: it has weights of '" in refusal(rewards_of, adapter)
    edit_weights(adapter, keep="layers.0")
    assert "does not fit its base: it lacks weights of '" in refusal(rewards_of, adapter)


def test_an_adapter_of_the_hub_opens_no_folder_of_this_machine(
    trained: Path, adapter: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(trained)
    for base in (str(trained / "base"), "./base", "demo"):
        edit_config(adapter, CONFIG, base_model_name_or_path=base)
        said = refusal(find, "org/adapter", OPEN, FolderHub(adapter))
        assert "is not a model that can be used here: give a Hub id" in said


def test_what_is_no_adapter_to_be_scored_is_refused(trained: Path, adapter: Path) -> None:
    assert "needs a whole model. Merge it into its base" in refusal(
        rewards_of, adapter, family="judge"
    )
    shutil.copy(trained / "merged" / "model.safetensors", adapter)
    shutil.copy(trained / "merged" / "config.json", adapter)
    assert "holds a whole model and the config of an adapter" in refusal(rewards_of, adapter)

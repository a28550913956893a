"""A model is loaded whole, in the settings of a run, or refused in a sentence."""

import json
import os
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

from scoring.errors import KnownError
from scoring.models.finding import locate
from scoring.models.loading import Loaded, load
from scoring.run import make_job
from scoring.spec import ModelSpec, Pair, RunSettings
from tests.conftest import DEMO_MODEL
from tests.support.named_rows import by_sentence
from tests.support.small_models import (
    CPU,
    OFFLINE,
    OPEN,
    config_of,
    edit_config,
    opened,
    save,
    tokenizer,
)

KIND = "AutoModelForSequenceClassification"
HEAD = "score.weight"
TOKENIZER = "tokenizer_config.json"
NOT_LOADED = "could not be loaded"


def loaded(folder: Path, settings: RunSettings = CPU) -> Loaded:
    return load(ModelSpec("small", str(folder), "test"), settings, KIND)


def failure(folder: Path) -> str:
    """What is said when a folder is located and then loaded."""
    with pytest.raises(KnownError) as caught:
        load(locate(str(folder), OPEN, OFFLINE), CPU, KIND)
    return str(caught.value)


def without_head(folder: Path) -> None:
    path = folder / "model.safetensors"
    held = load_file(path)
    del held[HEAD]
    save_file(held, path, {"format": "pt"})


def one_layer_more(folder: Path) -> None:
    layers = json.loads((folder / "config.json").read_text(encoding="utf-8"))["layer_types"]
    edit_config(folder, num_hidden_layers=len(layers) + 1, layer_types=[*layers, layers[0]])


QUANTIZED = {"quantization_config": {"quant_method": "no such method"}}


@pytest.mark.parametrize(
    ("harm", "said"),
    by_sentence(
        (without_head, f"is not a whole reward model: its weights lack {HEAD}"),
        (one_layer_more, "its weights lack model.layers.5."),
        (lambda folder: edit_config(folder, hidden_size=96), NOT_LOADED),
        (lambda folder: os.truncate(folder / "model.safetensors", 100_000), NOT_LOADED),
        (lambda folder: (folder / "tokenizer.json").write_text("{}"), NOT_LOADED),
        (lambda folder: (folder / "tokenizer.json").unlink(), NOT_LOADED),
        (lambda folder: edit_config(folder, TOKENIZER, model_max_length=7), "allows 7 tokens"),
        (lambda folder: edit_config(folder, vocab_size=10**6), "its config asks for 194,"),
        # Weights of several a byte may be so many times as many, and no more.
        (lambda folder: edit_config(folder, vocab_size=100_000, **QUANTIZED), NOT_LOADED),
        (lambda f: edit_config(f, vocab_size=10**6, **QUANTIZED), "weights, and its files"),
    ),
)
def test_what_is_not_whole_is_refused(harm: Callable[[Path], Any], said: str, folder: Path) -> None:
    harm(folder)
    assert said in failure(folder)


@pytest.mark.parametrize(
    "name", ["/dev/zero", "../other/model.safetensors", "missing.safetensors", "", "zero", None]
)
def test_an_index_that_names_what_is_not_beside_it_is_refused(name: object, folder: Path) -> None:
    shutil.copytree(folder, folder.parent / "other")
    (folder / "zero").symlink_to("/dev/zero")
    held = {HEAD: "part.safetensors", "model.norm.weight": name}
    index = {"metadata": {}, "weight_map": held}
    (folder / "model.safetensors").rename(folder / "part.safetensors")
    (folder / "model.safetensors.index.json").write_text(json.dumps(index), encoding="utf-8")
    assert "model.safetensors.index.json names" in (said := failure(folder))
    assert "not among its files" in said and len(said) < 400


def test_tokens_that_the_weights_do_not_know_are_refused_before_a_pack(tmp_path: Path) -> None:
    small = opened(save(tmp_path, config_of("llama", vocab_size=8)))
    with pytest.raises(KnownError, match="its weights know 8 tokens"):
        make_job([Pair("s:1", "s", "w5", "w6", "w9")], small, seed=0)


def test_a_device_that_is_not_there_is_told() -> None:
    for device, said in (("meta", "; auto, cpu"), ("cuda:99", " here: ")):
        with pytest.raises(KnownError, match=f"There is no device '{device}'{said}"):
            loaded(DEMO_MODEL, RunSettings(device=device))


def test_a_model_scores_and_does_not_learn_in_the_precision_that_is_asked_for() -> None:
    """What is saved in half precision is scored in full on a CPU."""
    assert load_file(DEMO_MODEL / "model.safetensors")[HEAD].dtype == torch.bfloat16
    model = loaded(DEMO_MODEL, RunSettings(device="cpu")).model
    assert model.dtype == torch.float32
    assert not model.training
    assert loaded(DEMO_MODEL, replace(CPU, dtype="float16")).model.dtype == torch.float16


def test_a_sequence_is_no_longer_than_there_are_positions(tmp_path: Path) -> None:
    """RoBERTa counts them from behind the padding."""
    made = tokenizer()
    made.model_max_length = 10**30
    for kind, limit in (("llama", 256), ("gpt2", 256), ("roberta", 254)):
        used = loaded(save(tmp_path / kind, config_of(kind), made))
        assert used.formatter(RunSettings()).max_length == limit
        with torch.inference_mode():
            used.model(input_ids=torch.full((1, limit), 5))


def test_memory_that_torch_keeps_from_earlier_work_is_free_for_packs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After a run that had filled a card, packs were as small as could be."""
    small = loaded(save(tmp_path, config_of("llama")))
    kept = ("config", "parameters", "get_input_embeddings")
    model = {name: getattr(small.model, name) for name in kept}
    on_card: Any = SimpleNamespace(device=torch.device("cuda"), dtype=torch.bfloat16, **model)
    memory = {"mem_get_info": (10**6, 80 * 10**9), "memory_reserved": 79 * 10**9}
    for name, n_bytes in {**memory, "memory_allocated": 10**9}.items():
        monkeypatch.setattr(f"torch.cuda.{name}", lambda _, n_bytes=n_bytes: n_bytes)
    assert replace(small, model=on_card).budget(RunSettings()) == 32_768
    assert small.budget(CPU) == 8192
    assert small.budget(RunSettings(budget=77)) == 77

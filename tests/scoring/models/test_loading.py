"""A model is loaded whole, in a run's settings, where it fits, or it is refused in a sentence."""

import json
import os
import shutil
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

from scoring.models import devices
from scoring.models.devices import Device, check_fits, chosen_dtype, placed, present_device
from scoring.models.finding import LocatedModel, locate
from scoring.models.loading import Loaded, load
from scoring.models.memory import system_memory
from scoring.run import make_job
from scoring.spec import ModelSpec, Pair, RunSettings
from tests.conftest import DEMO_MODEL
from tests.support.refusals import by_sentence, refusal
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
DEMO = ModelSpec("demo", str(DEMO_MODEL), "")
HEAD = "score.weight"
TOKENIZER = "tokenizer_config.json"
NOT_LOADED = "could not be loaded"


def loaded(folder: Path) -> Loaded:
    return load(ModelSpec("small", str(folder), "test"), CPU, KIND)


def load_found(folder: Path) -> Loaded:
    """A folder is located and then loaded."""
    return load(locate(str(folder), OPEN, OFFLINE), CPU, KIND)


def without_head(folder: Path) -> None:
    path = folder / "model.safetensors"
    held = load_file(path)
    del held[HEAD]
    save_file(held, path, {"format": "pt"})


def one_layer_more(folder: Path) -> None:
    layers = json.loads((folder / "config.json").read_text(encoding="utf-8"))["layer_types"]
    edit_config(folder, num_hidden_layers=len(layers) + 1, layer_types=[*layers, layers[0]])


QUANTIZED: dict[str, Any] = {"quantization_config": {"quant_method": "no such method"}}


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
def test_what_is_not_whole_is_refused(
    harm: Callable[[Path], Any], said: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    harm(folder)
    if "config asks for" in said:
        given = f"transformers.{KIND}.from_pretrained"
        monkeypatch.setattr(given, lambda *_, **__: pytest.fail("memory was taken"))
    assert said in refusal(load_found, folder)


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
    assert "model.safetensors.index.json names" in (said := refusal(load_found, folder))
    assert "not among its files" in said and len(said) < 400


def test_tokens_that_the_weights_do_not_know_are_refused_before_a_pack(tmp_path: Path) -> None:
    small = opened(save(tmp_path, config_of("llama", vocab_size=8)))
    pairs = [Pair("s:1", "s", "w5", "w6", "w9")]
    assert "its weights know 8 tokens" in refusal(make_job, pairs, small, seed=0)


def test_a_device_that_is_not_there_is_told() -> None:
    for device, said in (("meta", "; auto, cpu"), ("cuda:99", " here: ")):
        settings = RunSettings(device=device)
        assert f"There is no device '{device}'{said}" in refusal(load, DEMO, settings, KIND)


def test_a_model_scores_and_does_not_learn_in_the_precision_that_is_asked_for() -> None:
    """What is saved in half precision is scored in full on a CPU."""
    assert load_file(DEMO_MODEL / "model.safetensors")[HEAD].dtype == torch.bfloat16
    model = load(DEMO, RunSettings(device="cpu"), KIND).model
    assert model.dtype == torch.float32
    assert not model.training
    assert load(DEMO, replace(CPU, dtype="float16"), KIND).model.dtype == torch.float16


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


# The device that it is loaded on, and whether it fits there.

BILLION = 10**9
AUTO, SPREAD = RunSettings(), RunSettings(device="spread")
HALF, EIGHT = RunSettings(dtype="bfloat16"), RunSettings(dtype="8bit")
FOUR = RunSettings(dtype="4bit")


def model(billions: float, **more: Any) -> LocatedModel:
    spec = ModelSpec(f"org/{billions:g}b", "", "", more.pop("family", "classifier"))
    return LocatedModel(spec, parameters=int(billions * BILLION), **more)


def cpu(free: float) -> Device:
    return Device("x86", "cpu", int(free * BILLION))


def gpus(n: int, free: float) -> Device:
    each = int(free * BILLION)
    return Device("NVIDIA X", "cuda", each, n, True, n * each)


def test_the_device_is_the_one_that_models_are_loaded_on() -> None:
    device = present_device()
    loaded = load(DEMO, AUTO, KIND)
    assert loaded.model.device.type == device.kind
    assert str(loaded.model.dtype) == f"torch.{chosen_dtype('auto', has_bf16=device.has_bf16)}"
    assert device.free_bytes > 0 and device.n_gpus == torch.cuda.device_count()
    assert present_device("cpu").now(held=2**60).free_bytes == system_memory()[1]
    assert gpus(2, 5).now(held=10**8) == gpus(2, 5)


def fits(seen: LocatedModel, device: Device, settings: RunSettings = AUTO) -> bool:
    """True, or a `KnownError` says why not."""
    check_fits(seen, device, settings)
    return True


def test_a_model_that_does_not_fit_is_refused_with_sizes() -> None:
    assert refusal(fits, model(70.553), gpus(2, 60), SPREAD) == (
        "org/70.553b needs about 141 GB in bfloat16 for its weights, and 120 GB are free on all "
        "2 GPUs together. Choose a smaller model, or run this on a machine with more memory."
    )
    assert "needs about 0.015 GB in float32" in refusal(fits, model(0.0038), cpu(0.001))
    policy = model(7, family="dpo", reference=model(7))
    said = refusal(fits, policy, gpus(1, 27))
    assert said.startswith("org/7b with its reference org/7b needs about 28.0 GB")
    packed = model(70, is_quantized=True, sizes={"a.bin": BILLION})
    assert fits(policy, gpus(1, 29)) and fits(model(70), gpus(2, 79)) and fits(packed, cpu(14.2))
    assert fits(model(7), cpu(14.2), HALF)
    assert fits(model(70), cpu(0)), "nobody can tell what is free"


def test_weights_in_few_bits_need_a_card_and_a_package_and_take_less(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    said = refusal(load, DEMO, replace(CPU, dtype="4bit"), KIND)
    assert said.startswith("Weights in 4 bits need an NVIDIA GPU")
    assert "there is no such GPU here" in refusal(fits, model(1), cpu(14), EIGHT)
    monkeypatch.setattr(devices, "find_spec", lambda name: name == "bitsandbytes")
    assert fits(model(70), gpus(1, 79), EIGHT) and fits(model(70), gpus(1, 39), FOUR)
    monkeypatch.setattr(devices, "find_spec", lambda _: None)
    assert "there is no such package here" in refusal(fits, model(7), gpus(1, 79), EIGHT)


def test_a_model_is_spread_where_one_gpu_is_too_small() -> None:
    card, second = gpus(2, 79), RunSettings(device="cuda:1")
    assert placed(AUTO, model(70), card) == SPREAD
    assert placed(AUTO, model(8), card) == placed(AUTO, model(30, family="pairrm"), card) == AUTO
    assert placed(second, model(70), card) == second


def test_a_driver_that_is_too_old_is_told_of(monkeypatch: pytest.MonkeyPatch) -> None:
    def init() -> None:
        raise RuntimeError("The NVIDIA driver on your system is too old. Please update it.")

    monkeypatch.setattr("torch.version.cuda", "13.0")
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    monkeypatch.setattr("torch.cuda.init", init)
    said = present_device().words
    assert said.startswith("the CPU (its GPU cannot be used: The NVIDIA driver on your system is")
    assert present_device("cpu").words == "the CPU"


MACHINE = (30_000_000, 70_000_000)
V1 = ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")
V2 = ("memory.max", "memory.current", "inactive_file")
Group = tuple[tuple[str, str, str], str | int, int, int]
"""The names of its files and of a field, its limit, its use, and what the field says."""


def memory_in(root: Path, lines: str, groups: Mapping[str, Group]) -> tuple[int, int]:
    """What is free in the control groups below a folder. lines: by which they are known."""
    (root / "proc" / "self").mkdir(parents=True)
    (root / "proc" / "self" / "cgroup").write_text(lines, encoding="ascii")
    for name, ((limit_file, use_file, field), limit, used, inactive) in groups.items():
        folder = root / "sys" / "fs" / "cgroup" / name
        folder.mkdir(parents=True, exist_ok=True)
        (folder / limit_file).write_text(f"{limit}\n", encoding="ascii")
        (folder / use_file).write_text(f"{used}\n", encoding="ascii")
        (folder / "memory.stat").write_text(f"anon 1\n{field} {inactive}\n", encoding="ascii")
    return system_memory(root)


def test_a_container_allows_less_and_groups_that_are_odd_change_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    usage = SimpleNamespace(available=MACHINE[0], total=MACHINE[1])
    monkeypatch.setattr("psutil.virtual_memory", lambda: usage)
    assert system_memory(tmp_path / "no") == MACHINE
    inner: dict[str, Group] = {"a/b": (V2, "max", 900_000, 5)}
    outer: dict[str, Group] = {"a": (V2, 1_000_000, 900_000, 300_000)}
    assert memory_in(tmp_path / "v2", "0::/a/b\n", inner | outer) == (400_000, 1_000_000)
    lines, limit = "9:cpu:/x\n4:memory:/host/path\n0::/\n", (V1, 2_000_000, 700_000, 200_000)
    assert memory_in(tmp_path / "v1", lines, {"memory": limit}) == (1_500_000, 2_000_000)
    for n, lines in enumerate(("", "x", "0::/../../..", "::::\n\x00", "4:memory:/\n")):
        assert memory_in(tmp_path / f"{n}", lines, {"memory": (V1, 2**63, 700, 2)}) == MACHINE

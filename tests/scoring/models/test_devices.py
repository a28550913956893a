"""Where a model is loaded, and whether it fits there."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from scoring.errors import KnownError
from scoring.models import devices
from scoring.models.devices import Device, check_fits, chosen_dtype, placed, present_device
from scoring.models.finding import LocatedModel
from scoring.models.loading import load
from scoring.models.memory import system_memory
from scoring.spec import ModelSpec, RunSettings
from tests.conftest import DEMO_MODEL

BILLION = 10**9
AUTO, SPREAD = RunSettings(), RunSettings(device="spread")
HALF, EIGHT, FOUR = (
    RunSettings(dtype="bfloat16"),
    RunSettings(dtype="8bit"),
    RunSettings(dtype="4bit"),
)
CLASSIFIER = "AutoModelForSequenceClassification"
DEMO = ModelSpec("demo", str(DEMO_MODEL), "")


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
    loaded = load(DEMO, AUTO, CLASSIFIER)
    assert loaded.model.device.type == device.kind
    assert str(loaded.model.dtype) == f"torch.{chosen_dtype('auto', has_bf16=device.has_bf16)}"
    assert device.free_bytes > 0 and device.n_gpus == torch.cuda.device_count()
    assert present_device("cpu").now(held=2**60).free_bytes == system_memory()[1]
    assert gpus(2, 5).now(held=10**8) == gpus(2, 5)


def refusal(seen: LocatedModel, device: Device, settings: RunSettings = AUTO) -> str:
    """Why a model is not loaded there; "" where it fits."""
    try:
        check_fits(seen, device, settings)
    except KnownError as error:
        return str(error)
    return ""


def test_a_model_that_does_not_fit_is_refused_with_sizes() -> None:
    assert refusal(model(70.553), gpus(2, 60), SPREAD) == (
        "org/70.553b needs about 141 GB in bfloat16 for its weights, and 120 GB are free on all "
        "2 GPUs together. Choose a smaller model, or run this on a machine with more memory."
    )
    assert "needs about 0.015 GB in float32 for its weights" in refusal(model(0.0038), cpu(0.001))
    policy = model(7, family="dpo", reference=model(7))
    assert "org/7b with its reference org/7b needs about 28.0 GB" in refusal(policy, gpus(1, 27))
    assert refusal(policy, gpus(1, 29)) == refusal(model(70), gpus(2, 79)) == ""
    packed = model(70, is_quantized=True, sizes={"a.bin": BILLION})
    assert refusal(packed, cpu(14.2)) == refusal(model(7), cpu(14.2), HALF) == ""
    assert refusal(model(70), cpu(0)) == "", "nobody can tell what is free"


def test_weights_in_few_bits_need_a_card_and_a_package_and_take_less(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with pytest.raises(KnownError, match="Weights in 4 bits need an NVIDIA GPU"):
        load(DEMO, replace(FOUR, device="cpu"), CLASSIFIER)
    assert "there is no such GPU here" in refusal(model(1), cpu(14), EIGHT)
    monkeypatch.setattr(devices, "find_spec", lambda name: name == "bitsandbytes")
    assert refusal(model(70), gpus(1, 79), EIGHT) == refusal(model(70), gpus(1, 39), FOUR) == ""
    monkeypatch.setattr(devices, "find_spec", lambda _: None)
    assert "there is no such package here" in refusal(model(7), gpus(1, 79), EIGHT)


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

"""Where a model is loaded, and whether it fits there."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from scoring.errors import KnownError
from scoring.models import devices
from scoring.models.devices import Device, check_fits, chosen_dtype, placed, present_device
from scoring.models.finding import LocatedModel, find
from scoring.models.loading import load
from scoring.models.memory import system_memory
from scoring.spec import ModelSpec, RunSettings
from tests.conftest import DEMO_MODEL
from tests.support.small_models import OFFLINE, OPEN

BILLION = 10**9
KILO = 1024
MACHINE = (30_000 * KILO, 70_000 * KILO)


def model(billions: float, **more: Any) -> LocatedModel:
    spec = ModelSpec(f"org/{billions:g}b", "", "", more.pop("family", "classifier"))
    return LocatedModel(spec, parameters=int(billions * BILLION), **more)


def cpu(free: float) -> Device:
    return Device("x86", "cpu", int(free * BILLION))


def gpus(n: int, free: float) -> Device:
    each = int(free * BILLION)
    return Device("NVIDIA X", "cuda", each, n, True, n * each)


_CLASSIFIER = "AutoModelForSequenceClassification"


def test_the_device_is_the_one_that_models_are_loaded_on() -> None:
    device = present_device()
    loaded = load(ModelSpec("demo", str(DEMO_MODEL), ""), RunSettings(), _CLASSIFIER)
    assert loaded.model.device.type == device.kind
    assert str(loaded.model.dtype) == f"torch.{chosen_dtype('auto', has_bf16=device.has_bf16)}"
    assert device.free_bytes > 0 and device.n_gpus == torch.cuda.device_count()
    assert present_device("cpu").now(held=2**60).free_bytes == system_memory()[1]
    assert gpus(2, 5).now(held=10**8) == gpus(2, 5)


def test_a_model_that_does_not_fit_is_refused_with_sizes() -> None:
    with pytest.raises(KnownError) as caught:
        check_fits(model(70.553), gpus(2, 60), RunSettings(device="spread"))
    assert str(caught.value) == (
        "org/70.553b needs about 141 GB in bfloat16 for its weights, and 120 GB are free on all "
        "2 GPUs together. Choose a smaller model, or run this on a machine with more memory."
    )


def test_weights_in_eight_bits_need_a_card_and_take_a_byte_each(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with pytest.raises(KnownError, match="Weights in 4 bits need an NVIDIA GPU"):
        load(
            ModelSpec("demo", str(DEMO_MODEL), ""),
            RunSettings(device="cpu", dtype="4bit"),
            _CLASSIFIER,
        )
    with pytest.raises(KnownError, match="there is no such GPU here"):
        check_fits(model(1), cpu(14), RunSettings(dtype="8bit"))
    monkeypatch.setattr(devices, "find_spec", lambda name: name == "bitsandbytes")
    check_fits(model(70), gpus(1, 79), RunSettings(dtype="8bit"))
    check_fits(model(70), gpus(1, 39), RunSettings(dtype="4bit"))
    monkeypatch.setattr(devices, "find_spec", lambda _: None)
    with pytest.raises(KnownError, match="there is no such package here"):
        check_fits(model(7), gpus(1, 79), RunSettings(dtype="8bit"))


def test_what_fits_is_allowed_also_of_this_machines_folders() -> None:
    seen = find("demo", OPEN, OFFLINE)
    check_fits(seen, cpu(14.2), RunSettings())
    with pytest.raises(KnownError, match=r"demo needs about 0\.015 GB in float32 for its weights"):
        check_fits(seen, cpu(0.001), RunSettings())
    check_fits(model(7), cpu(14.2), RunSettings(dtype="bfloat16"))
    check_fits(model(70), gpus(2, 79), RunSettings())
    check_fits(model(70), cpu(0), RunSettings())  # nobody can tell what is free
    check_fits(model(70, is_quantized=True, sizes={"a.bin": 10**9}), cpu(14.2), RunSettings())


def test_a_reference_is_counted_with_its_policy() -> None:
    policy = model(7, family="dpo", reference=model(7))
    check_fits(policy, gpus(1, 29), RunSettings())
    with pytest.raises(KnownError, match=r"org/7b with its reference org/7b needs about 28\.0 GB"):
        check_fits(policy, gpus(1, 27), RunSettings())


def test_a_model_is_spread_where_one_gpu_is_too_small() -> None:
    cases: list[tuple[Device, float, Any, str]] = [
        (gpus(2, 79), 70, "classifier", "spread"),
        (gpus(2, 79), 8, "classifier", "auto"),
        (gpus(2, 79), 30, "pairrm", "auto"),
    ]
    for device, billions, family, expected in cases:
        assert placed(RunSettings(), model(billions, family=family), device).device == expected
        assert placed(RunSettings(device="cuda:1"), model(billions), device).device == "cuda:1"


def test_a_driver_that_is_too_old_is_told_of(monkeypatch: pytest.MonkeyPatch) -> None:
    def init() -> None:
        raise RuntimeError("The NVIDIA driver on your system is too old. Please update it.")

    monkeypatch.setattr("torch.version.cuda", "13.0")
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    monkeypatch.setattr("torch.cuda.init", init)
    said = present_device().words
    assert said.startswith("the CPU (its GPU cannot be used: The NVIDIA driver on your system is")
    assert present_device("cpu").words == "the CPU"


# How much memory a machine or a container has.


@pytest.fixture
def memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine with so much memory."""
    usage = SimpleNamespace(available=30_000 * KILO, total=70_000 * KILO)
    monkeypatch.setattr("psutil.virtual_memory", lambda: usage)


def system(root: Path, groups: str = "") -> Path:
    (root / "proc" / "self").mkdir(parents=True)
    (root / "proc" / "self" / "cgroup").write_text(groups, encoding="ascii")
    return root


def group(folder: Path, names: tuple[str, str], limit: str, used: int, files: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / names[0]).write_text(f"{limit}\n", encoding="ascii")
    (folder / names[1]).write_text(f"{used}\n", encoding="ascii")
    (folder / "memory.stat").write_text(f"anon 1\n{files}\n", encoding="ascii")


V2 = ("memory.max", "memory.current")
V1 = ("memory.limit_in_bytes", "memory.usage_in_bytes")


@pytest.mark.usefixtures("memory")
def test_a_container_allows_less(tmp_path: Path) -> None:
    root = system(tmp_path / "2", "0::/a/b\n")
    top = root / "sys" / "fs" / "cgroup"
    group(top / "a" / "b", V2, "max", 900_000, "inactive_file 5")
    group(top / "a", V2, "1000000", 900_000, "inactive_file 300000")
    assert system_memory(root) == (400_000, 1_000_000)
    root = system(tmp_path / "1", "9:cpu:/x\n4:memory:/host/path\n0::/\n")
    group(root / "sys/fs/cgroup/memory", V1, "2000000", 700_000, "total_inactive_file 200000")
    assert system_memory(root) == (1_500_000, 2_000_000)


@pytest.mark.usefixtures("memory")
def test_groups_that_cannot_be_read_or_allow_more_than_there_is_change_nothing(
    tmp_path: Path,
) -> None:
    assert system_memory(tmp_path / "no") == MACHINE
    for place, groups in enumerate(("", "x", "0::/../../..", "::::\n\x00", "4:memory:/\n")):
        root = system(tmp_path / str(place), groups)
        group(root / "sys/fs/cgroup/memory", V1, str(2**63), 700, "total_inactive_file 2")
        assert system_memory(root) == MACHINE

"""The device that models run on here, and whether one fits in its memory."""

import platform
from contextlib import suppress
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Literal

from scoring.errors import KnownError, first_line
from scoring.models.finding import LocatedModel
from scoring.models.memory import system_memory
from scoring.spec import QUANTIZED, Dtype, Family, RunSettings

DeviceKind = Literal["cuda", "mps", "cpu"]


@dataclass(frozen=True, slots=True)
class Device:
    """A device that models run on.

    name: as its maker calls it. n_gpus: GPUs of this machine; 0 off CUDA.
    free_bytes: what a model may take, with the warm one let go; 0 if unknown.
    has_bf16: whether it computes in bfloat16 at full speed.
    all_free_bytes: what is free on all GPUs together; `free_bytes` off CUDA.
    unused: why torch cannot use the NVIDIA GPU of this machine, in words; "" if it can or has none.
    """

    name: str
    kind: DeviceKind
    free_bytes: int
    n_gpus: int = 0
    has_bf16: bool = False
    all_free_bytes: int = 0
    unused: str = ""

    @property
    def words(self) -> str:
        """Its name within a sentence, such as "the NVIDIA H200" or "the CPU"."""
        if self.kind != "cpu":
            return f"the {self.name}"
        return f"the CPU ({self.unused})" if self.unused else "the CPU"

    def now(self, held: int = 0) -> "Device":
        """The CPU with what is free now, others as they are. held: bytes given back before."""
        if self.kind != "cpu":
            return self
        free, total = system_memory()
        free = min(free + held, total) if free else 0
        return replace(self, free_bytes=free, all_free_bytes=free)


def present_device(asked: str = "auto") -> Device:
    """The device that a run of this process would use. asked: as in `RunSettings.device`."""
    import torch

    if asked != "cpu" and torch.cuda.is_available():
        _, _, number = asked.partition(":")
        n_gpus: int = torch.cuda.device_count()
        own = min(int(number), n_gpus - 1) if number else torch.cuda.current_device()
        gpus = [
            torch.cuda.mem_get_info(gpu)[0] + torch.cuda.memory_reserved(gpu)
            for gpu in range(n_gpus)
        ]
        return Device(
            name=torch.cuda.get_device_name(own),
            kind="cuda",
            free_bytes=gpus[own],
            n_gpus=n_gpus,
            has_bf16=torch.cuda.is_bf16_supported(including_emulation=False),
            all_free_bytes=sum(gpus),
        )
    if asked != "cpu" and torch.backends.mps.is_available():
        free = system_memory()[0] + torch.mps.driver_allocated_memory()
        free = min(torch.mps.recommended_max_memory(), free)
        return Device(_chip(), "mps", free, all_free_bytes=free)
    unused = _unused_gpu() if asked != "cpu" else ""
    return Device(_chip(), "cpu", 0, unused=unused).now()


def _unused_gpu() -> str:
    # Most often the driver is too old, of which torch only warns.
    import torch

    try:
        if torch.version.cuda is not None:
            torch.cuda.init()  # type: ignore[no-untyped-call]
    except (RuntimeError, AssertionError) as error:
        why = first_line(error).partition(". ")[0]
        none = ("Found no NVIDIA driver", "No CUDA GPUs are available")
        return "" if why.startswith(none) else f"its GPU cannot be used: {why}"
    return ""


def chosen_dtype(
    dtype: Dtype, *, has_bf16: bool, family: Family | None = None
) -> Literal["float32", "bfloat16", "float16", "8bit", "4bit"]:
    """The dtype in which a model is held and computed.

    >>> chosen_dtype("auto", has_bf16=True), chosen_dtype("auto", has_bf16=False)
    ('bfloat16', 'float32')
    >>> chosen_dtype("bfloat16", has_bf16=True, family="pairrm")
    'float32'
    """
    if family == "pairrm":
        return "float32"
    if dtype != "auto":
        return dtype
    return "bfloat16" if has_bf16 else "float32"


def check_dtype(dtype: Dtype, kind: str) -> None:
    """Raise a `KnownError` if weights are to be packed where they cannot be."""
    if dtype not in QUANTIZED or (kind == "cuda" and find_spec("bitsandbytes")):
        return
    raise KnownError(
        f"Weights in {dtype.replace('bit', ' bits')} need an NVIDIA GPU and the bitsandbytes "
        f"package, and there is no {'such package' if kind == 'cuda' else 'such GPU'} here. Choose "
        "another dtype."
    )


def placed(settings: RunSettings, model: LocatedModel, device: Device) -> RunSettings:
    """The settings, with a model spread over all GPUs if one is too small for it."""
    dtype = chosen_dtype(settings.dtype, has_bf16=device.has_bf16, family=model.spec.family)
    too_small = device.free_bytes < model.memory_bytes(dtype) <= device.all_free_bytes
    can_spread = settings.device == "auto" and device.n_gpus > 1 and model.spec.family != "pairrm"
    return replace(settings, device="spread") if can_spread and too_small else settings


def check_fits(model: LocatedModel, device: Device, settings: RunSettings) -> None:
    """Raise a `KnownError` if a model's weights alone are more than the memory that is free."""
    check_dtype(settings.dtype, device.kind)
    spread = placed(settings, model, device).device == "spread"
    free = device.all_free_bytes if spread else device.free_bytes
    spec, reference = model.spec, model.reference
    dtype = chosen_dtype(settings.dtype, has_bf16=device.has_bf16, family=spec.family)
    needed = model.memory_bytes(dtype)
    if not free or needed <= free:
        return
    where = f"on all {device.n_gpus} GPUs together" if spread else f"on {device.words}"
    name = f"{spec.name} with its reference {reference.spec.name}" if reference else spec.name
    way_out = "Choose a smaller model, or run this on a machine with more memory."
    is_halved = dtype == "float32" and spec.family != "pairrm"
    if is_halved and model.memory_bytes("bfloat16") <= free:
        way_out = "Ask for the dtype bfloat16, which takes half of that."
    raise KnownError(
        f"{name} needs about {_gigabytes(needed)} in {dtype} for its weights, and "
        f"{_gigabytes(free)} are free {where}. {way_out}"
    )


def _gigabytes(n_bytes: int) -> str:
    size = n_bytes / 1e9
    return f"{size:,.0f} GB" if size >= 100 else f"{size:.1f} GB" if size >= 1 else f"{size:.2g} GB"


def _chip() -> str:
    with suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine() or "processor"

"""Whether another way of computing what a model gives is right: as near as rounding lets it be.

How far rounding moves a model's rewards is measured on the model: a few pairs are scored again one
sequence at a time, with what its layers give moved by the last bit at random, which moves tiny
random decoders in bfloat16 0.6 to 3 times as far as they are off float32. Source: D. S. Parker,
Monte Carlo Arithmetic (UCLA CSD-970002, 1997).
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch

from scoring.engine.scorer import Rewards

Numbers = Rewards | torch.Tensor

_TIMES = 2
"""That a few pairs are scored with other last bits, of which a quarter is moved."""
_NOISES = 3.0
"""How many times as far as these another right way may be off."""
_OF_SPREAD, _OF_SIZE = 1e-4, 1e-6
"""What it may be off besides: heads and sums are in float32, whatever the model."""


@dataclass(frozen=True, slots=True)
class Proof:
    """Numbers of a model as it is: what a few pairs score, or log-probabilities.

    tolerance: what another right way of computing them may differ by.
    """

    expected: torch.Tensor
    tolerance: float

    def mismatch(self, got: Numbers) -> str:
        """How far numbers computed in another way are off, in words; "" within the tolerance."""
        ours = torch.as_tensor(got, dtype=torch.float64)
        apart = (ours - self.expected).abs().nan_to_num(nan=0.0).max().item()
        if (ours.isnan() != self.expected.isnan()).any() or not apart <= self.tolerance:
            return f"differ by {apart:.2g} from one sequence at a time"
        return ""


def proof_of(model: Any, score: Callable[[], Numbers]) -> Proof:
    """Take a model's own numbers, and measure how far rounding moves them.

    score: computes them one sequence at a time, on the CPU in the end; called several times.
    """
    expected = torch.as_tensor(score(), dtype=torch.float64)
    known = expected[expected.isfinite()]
    if not len(known):
        return Proof(expected, 0.0)
    with _other_last_bits(model):
        again = [torch.as_tensor(score(), dtype=torch.float64) for _ in range(_TIMES)]
    noise = (torch.stack(again) - expected).abs().nan_to_num(nan=0.0, posinf=0.0).max().item()
    spread = (known.max() - known.min()).item()
    size = known.abs().max().item()
    return Proof(expected, _NOISES * noise + _OF_SPREAD * spread + _OF_SIZE * size)


@contextmanager
def _other_last_bits(model: Any) -> Iterator[None]:
    """Let each of a model's layers round otherwise at random."""
    generators: dict[torch.device, torch.Generator] = {}

    def moved(values: Any) -> Any:
        if not isinstance(values, torch.Tensor) or not values.is_floating_point():
            return values
        device, dtype = values.device, values.dtype
        if device not in generators:
            generators[device] = torch.Generator(device).manual_seed(0)
        given: dict[str, Any] = {"generator": generators[device], "device": device}
        dice = torch.randint(0, 8, values.shape, **given)
        signs = (dice == 0).to(dtype) - (dice == 1).to(dtype)
        return values * (1 + torch.finfo(dtype).eps * signs)

    def move(_: Any, __: Any, output: Any) -> Any:
        return (moved(output[0]), *output[1:]) if type(output) is tuple else moved(output)

    layers = {
        each for part in model.modules() if isinstance(part, torch.nn.ModuleList) for each in part
    }
    hooks = [layer.register_forward_hook(move) for layer in layers]
    try:
        yield
    finally:
        for hook in hooks:
            hook.remove()

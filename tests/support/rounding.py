"""How far apart two right ways of computing the same numbers may lie."""

import math
from collections.abc import Sequence
from typing import Any

import pytest
import torch

DEMO = {"layers": 5, "width": 192}
"""The shape of the demo model."""


def rounding(size: float, *, layers: int = 2, width: int = 32) -> float:
    """What two float32 computations may differ by that sum the same terms in another order.

    The rounding errors of a sum of `width` terms add up to about √width · eps of their size (Higham
    and Mary, SIAM J. Sci. Comput. 41, A2815, 2019). A layer is some eight such sums, each of what
    the one before it gave.

    Args:
        size: of the largest number in the sums that make the result, at least 1.
        layers: of the model.
        width: of its hidden states.
    """
    return 8 * layers * math.sqrt(width) * torch.finfo(torch.float32).eps * max(1.0, size)


def near(expected: Sequence[float] | torch.Tensor, **shape: Any) -> Any:
    """Equal to these but for `rounding`, which the largest of them tells the size of."""
    numbers = torch.as_tensor(expected)
    return pytest.approx(numbers.tolist(), rel=0, abs=rounding(largest(numbers), **shape))


def assert_near(got: torch.Tensor, expected: torch.Tensor, **shape: Any) -> None:
    """The same for tensors."""
    noise = rounding(largest(expected), **shape)
    torch.testing.assert_close(got, expected, atol=noise, rtol=0, check_dtype=False)


def largest(numbers: torch.Tensor) -> float:
    return numbers.abs().max().item()

"""What is known of a model's weights without reading them."""

import json
import math
from collections.abc import Iterable, Mapping
from pathlib import Path

_LONGEST_HEADER = 100_000_000
"""Bytes; the format allows no more."""
_DTYPES = {"BF16": "bfloat16", "F16": "float16", "F32": "float32", "F64": "float64"}
BYTES = {"float64": 8, "float32": 4, "bfloat16": 2, "float16": 2}
"""Dtype -> bytes of a number."""


def counted_weights(files: Iterable[Path]) -> dict[str, int]:
    """How many numbers of each dtype, such as "BF16", safetensors files say that they hold.

    Source: the format, https://huggingface.co/docs/safetensors: eight bytes for the length of a
    JSON header, then the header. Empty where a file is none of these, or broken.
    """
    found: dict[str, int] = {}
    try:
        for path in files:
            for dtype, shape in _tensors(path):
                found[dtype] = found.get(dtype, 0) + math.prod(shape)
    except (OSError, ValueError, TypeError, LookupError, AttributeError, RecursionError):
        return {}
    return found


def main_dtype(weights: Mapping[str, int]) -> str:
    """The dtype of most of the numbers, as torch calls it; "" where there are none.

    >>> main_dtype({"BF16": 8_000, "F32": 10}), main_dtype({"F8_E4M3": 1}), main_dtype({})
    ('bfloat16', 'f8_e4m3', '')
    """
    if not weights:
        return ""
    most = max(weights, key=lambda dtype: weights[dtype])
    return _DTYPES.get(most, most.lower())


def _tensors(path: Path) -> list[tuple[str, list[int]]]:
    with path.open("rb") as file:
        length = int.from_bytes(file.read(8), "little")
        if not 2 <= length <= min(_LONGEST_HEADER, path.stat().st_size):
            raise ValueError("no header")
        header = json.loads(file.read(length))
    tensors = [
        (str(told["dtype"]), [int(size) for size in told["shape"]])
        for name, told in header.items()
        if name != "__metadata__"
    ]
    if any(size < 0 for _, shape in tensors for size in shape):
        raise ValueError("no shape")
    return tensors

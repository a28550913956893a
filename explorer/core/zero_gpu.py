"""ZeroGPU: a GPU that a Space of Hugging Face is lent for one call at a time.

The app imports this first of all, since there `spaces` must come before anything that knows CUDA.
"""

import os
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

Function = TypeVar("Function", bound=Callable[..., Any])


def is_zero_gpu(environ: Mapping[str, str]) -> bool:
    """Whether an environment is that of a ZeroGPU Space.

    >>> is_zero_gpu({"SPACES_ZERO_GPU": "true"}), is_zero_gpu({})
    (True, False)
    """
    return environ.get("SPACES_ZERO_GPU", "").strip().lower() == "true"


_HERE = is_zero_gpu(os.environ)
if _HERE:
    import spaces


def on_gpu(duration: Callable[..., int]) -> Callable[[Function], Function]:
    """A decorator for functions and generators that need the GPU.

    There, a call runs in a process that has the GPU, forked for it or left from another call:
    arguments and results are pickled, and this process sees nothing else of what the call leaves
    behind. Elsewhere it is the same function.

    duration: gives the most seconds that a call may take, of the arguments of the call.
    """

    def decorate(function: Function) -> Function:
        if not _HERE:
            return function
        lent: Function = spaces.GPU(duration=duration)(function)
        return lent

    return decorate

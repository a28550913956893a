"""Whether compiling a model's layers repays.

Compiling takes 11 to 18 s once and spares 3 to 6 microseconds a token (0.6B and 8B, on one H200 and
one H100). Where code is kept in a folder, a process finds it there, but imports the compiler and
traces a layer again, which is about half of that.
"""

import os
from contextlib import suppress
from pathlib import Path

TOKENS, TOKENS_KEPT = 3_000_000, 2_000_000
"""Tokens of a process that repay compiling: anew, and where code is kept."""
_FOLDER = "TORCHINDUCTOR_CACHE_DIR"
"""What torch calls the folder that it keeps compiled code in."""


def keep_in(folder: Path) -> None:
    """Keep compiled code in a folder, unless the owner named another; made when it is needed.

    It is compiled in this process: torch would begin one for each core, which on 16 hold 3.9 GB,
    more than a worker of the app may take, for the few kernels of one layer.
    """
    os.environ.setdefault(_FOLDER, str(folder))
    os.environ.setdefault("TORCHINDUCTOR_COMPILE_THREADS", "1")


def is_compiling_repaid(tokens: int) -> bool:
    """Whether compiling repays for so many tokens of this process, past and to come."""
    is_kept = False
    with suppress(OSError, KeyError):
        is_kept = any(Path(os.environ[_FOLDER]).iterdir())
    return tokens >= (TOKENS_KEPT if is_kept else TOKENS)

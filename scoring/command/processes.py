"""Several processes at one run, started by torchrun or `accelerate launch` on any machines.

They share its packs; each writes its own part of the run to the one folder that all of them see.
"""

import datetime
import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self, TypeVar

from scoring.errors import KnownError

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Processes:
    """This process of n. rank: 0 to n - 1. place: its rank on this machine."""

    rank: int = 0
    n: int = 1
    place: int = 0

    @classmethod
    def join(cls) -> Self:
        """Meet the other processes, if a launcher started any."""
        n = int(os.environ.get("WORLD_SIZE", "1"))
        if n == 1:
            return cls()
        import torch.distributed

        # The first to finish waits for the last one.
        torch.distributed.init_process_group("gloo", timeout=datetime.timedelta(days=7))
        return cls(torch.distributed.get_rank(), n, int(os.environ.get("LOCAL_RANK", "0")))

    @property
    def first(self) -> bool:
        """Whether it speaks for all."""
        return self.rank == 0

    def device(self, asked: str) -> str:
        """Return the device of this process, or raise a `KnownError`: a GPU of its own if any."""
        if self.n > 1 and asked == "spread":
            raise KnownError(
                "Each of several processes has a GPU of its own: spread a model over all GPUs with "
                "one process, or give each process a whole model."
            )
        if self.n == 1 or asked not in ("auto", "cuda"):
            return asked
        import torch

        n_gpus = torch.cuda.device_count()
        return f"cuda:{self.place % n_gpus}" if n_gpus else asked

    def part(self) -> str:
        """Return the end of its file's name."""
        return "" if self.n == 1 else f"-{self.rank}"

    def first_says(self, find: Callable[[], T]) -> T:
        """Return the first process's result in all of them, or raise its `KnownError`."""
        if self.n == 1:
            return find()
        import torch.distributed

        results: list[Any] = [None]
        if self.first:
            try:
                results[0] = find()
            except KnownError as error:
                results[0] = error
        torch.distributed.broadcast_object_list(results, src=0)
        if isinstance(results[0], KnownError):
            raise results[0]
        return results[0]  # type: ignore[no-any-return]

    def wait(self) -> None:
        """Wait until all processes are here."""
        if self.n > 1:
            import torch.distributed

            torch.distributed.barrier()

    def leave(self) -> None:
        """Part from the others."""
        if self.n > 1:
            import torch.distributed

            torch.distributed.destroy_process_group()

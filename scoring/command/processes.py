"""Several processes at one run: started by torchrun or `accelerate launch`, on any machines.

They share the packs out among them, and each writes its own part of the run to the one folder that
all of them see.
"""

import datetime
import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self, TypeVar

from scoring.errors import KnownError

_PATIENCE = datetime.timedelta(days=7)
"""How long the first process to finish waits for the last one."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Processes:
    """This process among all. rank: 0 to n - 1; place: its rank on this machine."""

    rank: int = 0
    n: int = 1
    place: int = 0

    @classmethod
    def join(cls) -> Self:
        """Meet the other processes; alone where no launcher started any."""
        n = int(os.environ.get("WORLD_SIZE", "1"))
        if n == 1:
            return cls()
        import torch.distributed

        torch.distributed.init_process_group("gloo", timeout=_PATIENCE)
        return cls(torch.distributed.get_rank(), n, int(os.environ.get("LOCAL_RANK", "0")))

    @property
    def first(self) -> bool:
        """Whether this process speaks for all."""
        return self.rank == 0

    def device(self, asked: str) -> str:
        """The device of this process: one GPU each, where there are any.

        Raises:
            KnownError: several processes are to spread one model.
        """
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
        """What this process adds to the name of the file it writes."""
        return "" if self.n == 1 else f"-{self.rank}"

    def first_says(self, find: Callable[[], T]) -> T:
        """What the first process finds, or the `KnownError` that it raises, in all of them."""
        if self.n == 1:
            return find()
        import torch.distributed

        found: list[Any] = [None]
        if self.first:
            try:
                found[0] = find()
            except KnownError as error:
                found[0] = error
        torch.distributed.broadcast_object_list(found, src=0)
        if isinstance(found[0], KnownError):
            raise found[0]
        return found[0]  # type: ignore[no-any-return]

    def wait(self) -> None:
        """Go on when all processes are here."""
        if self.n > 1:
            import torch.distributed

            torch.distributed.barrier()

    def leave(self) -> None:
        """Part from the others."""
        if self.n > 1:
            import torch.distributed

            torch.distributed.destroy_process_group()

"""Whether compiling a model's layers repays, and what of it this machine kept.

Compiling takes 11 to 18 s once and spares 3 to 6 microseconds a token (0.6B and 8B, on one H200 and
one H100). A later process finds the code in a folder, but imports the compiler and traces a layer
again: about half of that, 9 of 18 s on the H100. No run is to pay alone for what all later ones
gain: layers are compiled when what all runs so far would have been spared reaches what it costs,
which is at most twice what it would have cost to know the future (A. Karlin et al., Algorithmica 3
(1988), on renting or buying). Where the code is kept, those are the runs of this process.
"""

import hashlib
import json
import os
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scoring.paths import atomic_write

if TYPE_CHECKING:
    import torch

SECONDS_ANEW, SECONDS_KEPT = 12.0, 8.0
SECONDS_A_TOKEN = 4e-6
_FOLDER = "TORCHINDUCTOR_CACHE_DIR"
"""What torch calls the folder that it keeps compiled code in."""


def keep_in(folder: Path) -> None:
    """Keep compiled code in a folder, unless the owner named another; made when it is needed.

    It is compiled in this process: torch would begin one for each core, which on 16 hold 3.9 GB,
    more than a worker of the app may take, for the few kernels of one layer.
    """
    os.environ.setdefault(_FOLDER, str(folder))
    os.environ.setdefault("TORCHINDUCTOR_COMPILE_THREADS", "1")


@dataclass(frozen=True, slots=True)
class LayerCode:
    """What is kept of one kind of layer. file: where that is told; None keeps nothing."""

    file: Path | None

    @classmethod
    def of(cls, layers: Any, dtype: "torch.dtype", device: "torch.device") -> "LayerCode":
        """That of a model's layers; the same for all of their shape, on one kind of device.

        layers: of which the first stands for all; None where they are not known.
        """
        folder = os.environ.get(_FOLDER)
        if folder is None or not layers:
            return cls(None)
        import torch
        import transformers

        name = torch.cuda.get_device_name(device) if device.type == "cuda" else device.type
        versions = torch.__version__, transformers.__version__
        words = repr((type(layers[0]).__module__, str(layers[0]), str(dtype), name, versions))
        digest = hashlib.sha256(words.encode()).hexdigest()[:16]
        return cls(Path(folder) / f"layers-{digest}.json")

    def repays(self, tokens: int, before: int = 0) -> bool:
        """Whether to compile for so many tokens; where not, they count for the next that ask.

        tokens: of this process alone: it is its time that compiling takes and spares.
        before: that went through its layers as they are.
        """
        is_kept, of_all = self._known()
        if is_kept:
            return (before + tokens) * SECONDS_A_TOKEN >= SECONDS_KEPT
        if (of_all + tokens) * SECONDS_A_TOKEN >= SECONDS_ANEW:
            return True
        self._tell(is_kept=False, tokens=of_all + tokens)
        return False

    def tried(self, *, is_kept: bool) -> None:
        """It was compiled; where that was given up, it is tried again when as much was spent."""
        self._tell(is_kept=is_kept, tokens=0)

    def _known(self) -> tuple[bool, int]:
        with suppress(OSError, ValueError, LookupError, TypeError):
            if self.file is not None:
                known = json.loads(self.file.read_text("utf-8"))
                return bool(known["is_kept"]), max(0, int(known["tokens"]))
        return False, 0

    def _tell(self, **known: object) -> None:
        with suppress(OSError):  # then it is compiled anew
            if self.file is not None:
                self.file.parent.mkdir(parents=True, exist_ok=True)
                with atomic_write(self.file) as part:
                    part.write_text(json.dumps(known), "utf-8")

"""Limits of a set of pairs, and the progress of loading pairs or a model."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from scoring.errors import KnownError

MEGABYTE = 1_000_000
UNPACKED = 8
"""How many times as large as the files' limit their text may be: Parquet packs text to a third."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of one set of pairs; None means no limit. Each check raises a `KnownError`.

    megabytes: of its files, in 10^6 bytes; the text in them may have `UNPACKED` times as many.
    """

    rows: int | None = None
    megabytes: float | None = None

    def check_files(self, n_bytes: int, name: str) -> None:
        """Refuse files that are too large."""
        if self.megabytes is not None and n_bytes > self.megabytes * MEGABYTE:
            raise KnownError(
                f"{name} is {n_bytes / MEGABYTE:,.1f} MB large; at most {self.megabytes:,g} MB are "
                "read here (EXPLORER_MAX_DATASET_MB)."
            )

    def check_text(self, n_bytes: int, name: str) -> None:
        """Refuse more text than files of the allowed size unpack to."""
        if self.megabytes is not None and n_bytes > self.megabytes * UNPACKED * MEGABYTE:
            raise KnownError(
                f"{name} unpacks to more than {self.megabytes * UNPACKED:,g} MB of text, "
                f"{UNPACKED} times what a file may have here (EXPLORER_MAX_DATASET_MB)."
            )

    def check_rows(self, n_rows: int, name: str, known: bool = False) -> None:
        """Refuse too many rows. known: whether `n_rows` are all of them."""
        if self.rows is not None and n_rows > self.rows:
            found = f"{n_rows:,}" if known else f"more than {self.rows:,}"
            raise KnownError(
                f"{name} has {found} rows; at most {self.rows:,} are read here (EXPLORER_MAX_ROWS)."
            )


NO_LIMITS = Limits()


@dataclass(frozen=True, slots=True)
class Step:
    """How far long work is; total: None if it is not known.

    In bytes while fetching, rows or files while reading, weights (as tensors) while loading, parts
    of the work while measuring.
    """

    doing: Literal["asking", "fetching", "reading", "loading", "measuring"]
    done: int = 0
    total: int | None = None


OnProgress = Callable[[Step], None]
"""Gets each step of long work; may be called from another thread, and often."""


def ignore_progress(_: Step) -> None:
    """The default where nobody looks at progress."""

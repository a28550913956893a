"""How large a set of pairs may be, and how its loading is told step by step."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

MEGABYTE = 1_000_000


@dataclass(frozen=True, slots=True)
class Limits:
    """What one set of pairs may be; None means no limit.

    rows: pairs.
    megabytes: of its files before they are fetched, and of its texts in UTF-8 as they are read;
        10^6 bytes each.
    """

    rows: int | None = None
    megabytes: float | None = None


NO_LIMITS = Limits()


@dataclass(frozen=True, slots=True)
class Step:
    """How far the loading of a set of pairs is.

    done, total: bytes while fetching, rows while reading; total None where it is not known.
    """

    doing: Literal["asking", "fetching", "reading"]
    done: int = 0
    total: int | None = None


Tell = Callable[[Step], None]
"""Is told each step; may be called from another thread, and often."""


def tell_nobody(_: Step) -> None:
    """For those who do not ask how far it is."""

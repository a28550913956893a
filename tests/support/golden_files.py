"""Outputs as readable files: a test compares, and `GOLDEN=write pytest PATH` writes them anew."""

import os
import re
from collections.abc import Mapping
from math import isclose
from pathlib import Path

FLOAT = re.compile(r"(?<![\w.])-?\d+\.\d+(e[-+]?\d+)?(?![\w.])")
WRITES = os.environ.get("GOLDEN") == "write"


def check_golden(path: Path, text: str, passing: Mapping[str, str] | None = None) -> None:
    """Whether an output is what its file holds. `git diff` shows what a new one changed.

    passing: expression -> word, of what differs each time, such as a date.
    """
    for each, word in (passing or {}).items():
        text = re.sub(each, word, text)
    if WRITES:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8", newline="")
    with path.open(encoding="utf-8", newline="") as file:
        assert is_same_text(text, file.read(), apart=1e-12), __doc__


def is_same_text(one: str, other: str, apart: float) -> bool:
    """Whether texts are equal but for how numbers with decimals are rounded.

    apart: what such numbers may differ by; of those above 1, a part of them. Sums of floats are
    more exact from Python 3.12 on, and float32 depends on the make of the processor.

    >>> is_same_text("p = 0.30000000000000004", "p = 0.3", 1e-12), is_same_text("0.31", "0.3", 1e-9)
    (True, False)
    """
    if FLOAT.sub("\0", one) != FLOAT.sub("\0", other):
        return False
    numbers = ([float(found[0]) for found in FLOAT.finditer(each)] for each in (one, other))
    return all(isclose(a, b, rel_tol=apart, abs_tol=apart) for a, b in zip(*numbers, strict=True))

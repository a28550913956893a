"""Outputs as readable files: a test compares, and `GOLDEN=write pytest PATH` writes them anew."""

import os
import re
from collections.abc import Mapping
from pathlib import Path

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
        assert text == file.read(), __doc__

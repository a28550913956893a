"""Whatever the code looks like, what people and programs get is what they got before."""

import difflib
from pathlib import Path
from typing import get_args

import pytest

from tests.conftest import REAL_DATA
from tests.golden.normal import differing, folder_of, golden_files, is_public, text_of
from tests.golden.outputs import Set

ADVICE = "`python -m tests.golden --write` and `git diff` show all of it; commit what is meant"
_MOST_LINES = 80


@pytest.mark.slow
@pytest.mark.parametrize("which", get_args(Set))
def test_what_is_shown_is_what_was_shown(which: Set, tmp_path: Path) -> None:
    if which == "real" and not REAL_DATA.is_dir():
        pytest.skip(f"the real data is not here: no folder {REAL_DATA}")
    files = golden_files(which, tmp_path)
    files = {name: text for name, text in files.items() if is_public(which, name)}
    lines: list[str] = []
    for name in differing(which, files):
        path = folder_of(which) / name
        before = text_of(path).splitlines() if path.exists() else []
        now = files.get(name, "").splitlines()
        lines += difflib.unified_diff(before, now, name, name, n=0, lineterm="")
    assert not lines, "\n".join([ADVICE, *lines[:_MOST_LINES]])

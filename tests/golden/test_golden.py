"""Whatever the code looks like, what people and programs get is what they got before."""

import difflib
from itertools import islice
from pathlib import Path

import pytest

from tests.golden.normal import differing, folder_of, golden_files, is_public, text_of
from tests.golden.outputs import Set

ADVICE = "`python -m tests.golden --write` and `git diff` show all of it; commit what is meant"
_MOST_LINES = 80


def changes(which: Set, home: Path) -> str:
    """What is not as it was, as lines of a diff; "" where all is."""
    files = golden_files(which, home)
    files = {name: text for name, text in files.items() if is_public(which, name)}
    lines: list[str] = []
    for name in differing(which, files):
        path = folder_of(which) / name
        before = text_of(path).splitlines() if path.exists() else []
        now = files.get(name, "").splitlines()
        lines += difflib.unified_diff(before, now, name, name, n=0, lineterm="")
    return "\n".join(islice(lines, _MOST_LINES))


@pytest.mark.slow
def test_what_the_demo_shows_is_what_it_showed(tmp_path: Path) -> None:
    assert not (diff := changes("demo", tmp_path)), f"{ADVICE}:\n{diff}"


@pytest.mark.slow
def test_what_the_real_data_shows_is_what_it_showed(tmp_path: Path, shared_data: Path) -> None:
    assert not (diff := changes("real", tmp_path)), f"{ADVICE}:\n{diff}"

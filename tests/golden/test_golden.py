"""Whatever the code looks like, what people and programs get is what they got before."""

import difflib
from itertools import islice
from pathlib import Path

import pytest

from tests.golden.normal import golden_files, is_same
from tests.golden.outputs import Set

ADVICE = "`python -m tests.golden --write` and `git diff` show all of it; commit what is meant"
_MOST_LINES = 80


def folder_of(which: Set) -> Path:
    """Where the files of a set lie."""
    return Path(__file__).parent / which


def is_public(which: Set, name: str) -> bool:
    """Whether a file may be part of the project: of the real data, figures alone."""
    is_board = name.startswith(("leaderboard", "compare", "link_tab=models"))
    return which == "demo" or (
        is_board and "panel=" not in name and not name.endswith(".links.txt")
    )


def differing(which: Set, files: dict[str, str]) -> list[str]:
    """The names of files that are not what they were, are gone, or are new."""
    before = {path.name: _text(path) for path in sorted(folder_of(which).glob("*.txt"))}
    names = sorted(before.keys() | files.keys())
    return [
        name
        for name in names
        if name not in before or name not in files or not is_same(before[name], files[name])
    ]


def changes(which: Set, home: Path) -> str:
    """What is not as it was, as lines of a diff; "" where all is."""
    files = golden_files(which, home)
    files = {name: text for name, text in files.items() if is_public(which, name)}
    lines: list[str] = []
    for name in differing(which, files):
        path = folder_of(which) / name
        before = _text(path).splitlines() if path.exists() else []
        now = files.get(name, "").splitlines()
        lines += difflib.unified_diff(before, now, name, name, n=0, lineterm="")
    return "\n".join(islice(lines, _MOST_LINES))


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8", errors="surrogatepass")


@pytest.mark.slow
def test_what_the_demo_shows_is_what_it_showed(tmp_path: Path) -> None:
    assert not (diff := changes("demo", tmp_path)), f"{ADVICE}:\n{diff}"


@pytest.mark.slow
def test_what_the_real_data_shows_is_what_it_showed(tmp_path: Path, shared_data: Path) -> None:
    assert not (diff := changes("real", tmp_path)), f"{ADVICE}:\n{diff}"

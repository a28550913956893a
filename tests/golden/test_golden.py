"""Whatever the code looks like, what people and programs get is what they got before."""

import json
from pathlib import Path

import pytest

from tests.golden.normal import contents, digest
from tests.golden.outputs import Set

DIGESTS = Path(__file__).parent / "digests.json"
ADVICE = "python -m tests.golden --out FOLDER, here and in a checkout of before, and diff them"


def known() -> dict[str, dict[str, str]]:
    """The digest of each output by its name, of each set."""
    read: dict[str, dict[str, str]] = json.loads(DIGESTS.read_text(encoding="utf-8"))
    return read


def differing(which: Set, home: Path) -> str:
    """The outputs of a set that are not what they were, are gone, or are new; "" for none."""
    before = known()[which]
    now = {name: digest(content) for name, content in contents(which, home).items()}
    names = sorted(before.keys() | now.keys())
    return "\n".join(name for name in names if before.get(name) != now.get(name))


@pytest.mark.slow
def test_what_the_demo_shows_is_what_it_showed(tmp_path: Path) -> None:
    names = differing("demo", tmp_path)
    assert not names, f"These differ ({ADVICE}):\n{names}"


@pytest.mark.slow
def test_what_the_real_data_shows_is_what_it_showed(tmp_path: Path, shared_data: Path) -> None:
    names = differing("real", tmp_path)
    assert not names, f"These differ ({ADVICE}):\n{names}"

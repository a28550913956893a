"""Threads that wait do not spin."""

import os
import subprocess
import sys

import pytest

from scoring import SPINS, wait_briefly
from tests.conftest import PATIENCE, ROOT
from tests.support.forks import environment

ASKED = """
import os, sys
from importlib.machinery import PathFinder

class Watch(PathFinder):
    def find_spec(fullname, path=None, target=None):
        if fullname == "torch":
            print(os.environ.get("GOMP_SPINCOUNT"))

sys.meta_path.insert(0, Watch)
from scoring.run import score
"""


@pytest.mark.parametrize(
    ("set_before", "then"),
    [
        ({}, SPINS),
        ({"GOMP_SPINCOUNT": "7"}, "7"),
        ({"OMP_WAIT_POLICY": "active"}, None),
    ],
)
def test_threads_wait_briefly_unless_the_owner_says_otherwise(
    set_before: dict[str, str], then: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("OMP_WAIT_POLICY", "GOMP_SPINCOUNT"):
        monkeypatch.setenv(name, "")  # so that it is as it was afterwards
        monkeypatch.delenv(name)
    for name, value in set_before.items():
        monkeypatch.setenv(name, value)
    wait_briefly()
    assert os.environ.get("GOMP_SPINCOUNT") == then


@pytest.mark.slow
def test_it_is_so_before_torch_is_imported_whoever_uses_this() -> None:
    kept = environment()
    for name in ("OMP_WAIT_POLICY", "GOMP_SPINCOUNT"):
        kept.pop(name, None)
    done = subprocess.run(
        [sys.executable, "-c", ASKED],
        cwd=ROOT,
        env=kept,
        capture_output=True,
        text=True,
        check=True,
        timeout=PATIENCE,
    )
    assert done.stdout.splitlines()[0] == SPINS

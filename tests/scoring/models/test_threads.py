import os
import subprocess
import sys
from pathlib import Path

import pytest

from scoring.models.threads import SPINS, wait_briefly
from tests.conftest import PATIENCE, ROOT
from tests.forks import environment

ASKED = """
import os, sys
from scoring.__main__ import main
try:
    main(["--model", "longer", "--pairs", "demo", "--limit", "1", "--out", sys.argv[1]])
finally:
    print(os.environ.get("GOMP_SPINCOUNT"), "torch" in sys.modules)
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
def test_the_command_line_says_so_before_it_imports_torch(tmp_path: Path) -> None:
    kept = environment()
    for name in ("OMP_WAIT_POLICY", "GOMP_SPINCOUNT"):
        kept.pop(name, None)
    done = subprocess.run(
        [sys.executable, "-c", ASKED, f"{tmp_path}/run"],
        cwd=ROOT,
        env=kept,
        capture_output=True,
        text=True,
        check=True,
        timeout=PATIENCE,
    )
    assert done.stdout.splitlines()[-1] == f"{SPINS} True"

"""What `make space` would upload: exactly what a Space needs, with the README's front matter."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from huggingface_hub import metadata_load

from tests.conftest import ROOT
from tests.shipping.clean_start import instructions
from tests.shipping.space import main, ship


@pytest.mark.parametrize(
    ("hardware", "wanted"),
    [("cpu-basic", ["gradio[oauth]=="]), ("zero-a10g", ["torch==2.11.0", "spaces"])],
)
def test_a_dry_run_lists_what_a_space_needs_and_no_more(
    hardware: str, wanted: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ship("org/name", hardware, tmp_path, is_dry=True)
    told = capsys.readouterr().out
    paths = (path for path in tmp_path.rglob("*") if path.is_file())
    files = {path.relative_to(tmp_path).as_posix() for path in paths}
    assert all(f"  {name}\n" in told for name in files)
    tops = "app.py LICENSE README.md requirements.txt explorer scoring assets".split()
    assert {name.split("/")[0] for name in files} == {*tops}
    assert "assets/demo/pairs.jsonl" in files
    assert not [name for name in files if "pictures" in name or "__pycache__" in name]
    assert metadata_load(tmp_path / "README.md") == metadata_load(ROOT / "README.md")
    lines = (tmp_path / "requirements.txt").read_text().splitlines()
    assert all(any(line.startswith(each) for line in lines) for each in wanted)


def test_a_space_without_an_owner_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["name", "--dry-run"]) == 1
    assert "must be of the form org/name" in capsys.readouterr().err


def test_the_dry_run_of_make_installs_and_runs_in_a_new_checkout(tmp_path: Path) -> None:
    for name in ("Makefile", "requirements.txt"):
        shutil.copy(ROOT / name, tmp_path / name)
    python = tmp_path / "python"  # a stand-in: "venv" copies it, and what it is asked it prints
    python.write_text(
        '#!/bin/sh\necho "$@"\n[ "$2" != venv ] || { mkdir -p "$3/bin" && cp "$0" "$3/bin"; }\n'
    )
    python.chmod(0o755)
    asked = ["make", "space", "REPO=org/name", "--dry-run", f"PYTHON={python}"]
    variables = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
    said = subprocess.check_output(asked, text=True, cwd=tmp_path, env=variables)
    assert "-r requirements.txt\n" in said
    assert said.endswith("-m tests.shipping.space org/name --dry-run\n")


def test_all_that_the_image_copies_is_there_and_it_does_not_run_as_root() -> None:
    steps = instructions((ROOT / "Dockerfile").read_text())
    copied = [each for name, rest in steps if name == "COPY" for each in rest.split()[:-1]]
    assert all((ROOT / each).exists() for each in copied)
    allowed = (ROOT / ".dockerignore").read_text().splitlines()
    assert {f"!{each}" for each in copied} == {each for each in allowed if each.startswith("!")}
    assert ("USER", "explorer") in steps[: [name for name, _ in steps].index("CMD")]

"""What `make space` would upload: exactly what a Space needs, with a head that the Hub takes."""

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
    told, folder = capsys.readouterr().out, tmp_path
    files = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
    assert all(f"  {name}\n" in told for name in files)
    assert {"app.py", "README.md", "requirements.txt", "assets/demo/pairs.jsonl"} <= files
    folders = {name.split("/")[0] for name in files if "/" in name}
    assert folders == {"explorer", "scoring", "assets"}
    assert not [name for name in files if "pictures" in name or "__pycache__" in name]
    assert metadata_load(folder / "README.md") == metadata_load(ROOT / "README.md")
    lines = (folder / "requirements.txt").read_text().splitlines()
    assert all(any(line.startswith(each) for line in lines) for each in wanted)


def test_a_space_has_an_owner(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["name", "--dry-run"]) == 1
    assert "must be of the form org/name" in capsys.readouterr().err


def test_a_dry_run_installs_what_it_needs_in_a_new_checkout(tmp_path: Path) -> None:
    for name in ("Makefile", "requirements.txt"):
        shutil.copy(ROOT / name, tmp_path / name)
    python = tmp_path / "python"  # makes "environments" of itself, and repeats what else it is told
    python.write_text(
        '#!/bin/sh\necho "$@"\n[ "$2" != venv ] || { mkdir -p "$3/bin" && cp "$0" "$3/bin"; }\n'
    )
    python.chmod(0o755)
    asked = ["make", "space", "REPO=org/name", "--dry-run", f"PYTHON={python}"]
    apart = {name: said for name, said in os.environ.items() if not name.startswith("MAKE")}
    said = subprocess.check_output(asked, text=True, cwd=tmp_path, env=apart)
    assert "-r requirements.txt\n" in said
    assert said.endswith("-m tests.shipping.space org/name --dry-run\n")


def test_every_file_that_the_image_copies_is_there_and_none_is_left_out() -> None:
    steps = instructions((ROOT / "Dockerfile").read_text())
    copied = [rest.split()[0] for name, rest in steps if name == "COPY"]
    assert all((ROOT / each).exists() for each in copied)
    allowed = (ROOT / ".dockerignore").read_text().splitlines()
    assert {f"!{each}" for each in copied} == {each for each in allowed if each.startswith("!")}
    assert ("USER", "explorer") in steps[: [name for name, _ in steps].index("CMD")]

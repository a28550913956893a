"""`make space REPO=org/name`: upload to a Space exactly what it needs. `--help` says how."""

import argparse
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

from huggingface_hub import HfApi, SpaceHardware, metadata_load

from scoring.errors import KnownError, first_line
from scoring.hub.access import parse_hub_id

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ("explorer", "scoring", "assets")
FILES = ("app.py", "LICENSE")
LEFT_OUT = ("__pycache__", "*.pyc", "*.pyi", "pictures", ".*")
ZERO_TORCH = "torch==2.11.0"
"""The newest that ZeroGPU takes."""


def requirements(lines: list[str], head: dict[str, Any], hardware: str) -> list[str]:
    """The requirements with the extras that the head and the hardware want.

    >>> requirements(["gradio==6.31.0", "torch>=2.11"], {"hf_oauth": True}, "zero-a10g")
    ['gradio[oauth]==6.31.0', 'torch==2.11.0', 'spaces']
    """
    if head.get("hf_oauth"):
        lines = [line.replace("gradio==", "gradio[oauth]==") for line in lines]
    if hardware.startswith("zero"):
        lines = [ZERO_TORCH if line.startswith("torch") else line for line in lines] + ["spaces"]
    return lines


def assemble(folder: Path, hardware: str) -> list[str]:
    """Put what a Space needs into a new folder; its files, as paths in it."""
    head = metadata_load(ROOT / "README.md") or {}
    for name in FOLDERS:
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns(*LEFT_OUT))
    for name in FILES:
        shutil.copy(ROOT / name, folder / name)
    lines = (ROOT / "requirements.txt").read_text(encoding="utf-8").splitlines()
    wanted = requirements(lines, head, hardware)
    (folder / "requirements.txt").write_text("\n".join(wanted) + "\n", encoding="utf-8")
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    told = readme.partition("\n## ")[0].partition("\n<picture>")[0].rstrip()
    (folder / "README.md").write_text(f"{told}\n", encoding="utf-8")
    files = (path.relative_to(folder) for path in folder.rglob("*") if path.is_file())
    return sorted(path.as_posix() for path in files)


def upload(folder: Path, repo: str, hardware: str) -> str:
    """Make the Space what the folder is; its address.

    Raises:
        KnownError: the Hub cannot be asked or refuses.
    """
    api = HfApi()
    space: dict[str, Any] = {"repo_id": repo, "repo_type": "space"}
    try:
        api.create_repo(**space, space_sdk="gradio", space_hardware=hardware, exist_ok=True)
        said = "RewardBench Explorer"
        api.upload_folder(**space, folder_path=folder, delete_patterns="*", commit_message=said)
    except Exception as error:  # the client lets its transport's errors through
        raise KnownError(
            f"{repo} could not be uploaded ({first_line(error)}). Is there a network, and are you "
            "signed in (hf auth login) with a token that may write there?"
        ) from error
    return f"https://huggingface.co/spaces/{repo}"


def ship(repo: str, hardware: str, folder: Path, *, is_dry: bool) -> None:
    hub_id = parse_hub_id(repo)
    if hub_id is None or hub_id.repo != repo:
        raise KnownError(f"{repo!r} is no Space: it must be of the form org/name.")
    files = assemble(folder, hardware)
    if not is_dry:
        print(upload(folder, repo, hardware))
        return
    sizes = {name: (folder / name).stat().st_size for name in files}
    for name, size in sizes.items():
        print(f"{size:>12,}  {name}")
    print(
        f"{len(files)} files, {sum(sizes.values()) / 1e6:.1f} MB, would make {repo} ({hardware}). "
        f"Its requirements.txt:\n{(folder / 'requirements.txt').read_text(encoding='utf-8')}",
        end="",
    )


def main(given: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.shipping.space", description=__doc__)
    parser.add_argument("repo", metavar="ORG/NAME")
    parser.add_argument("--dry-run", action="store_true", help="list what would be uploaded")
    hardware = [each.value for each in SpaceHardware]
    parser.add_argument("--hardware", choices=hardware, default="cpu-basic")
    asked = parser.parse_args(given)
    try:
        with tempfile.TemporaryDirectory() as made:
            ship(asked.repo, asked.hardware, Path(made), is_dry=asked.dry_run)
    except (KnownError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""`make space REPO=org/name`: upload to a Space exactly what it needs. `--help` says how."""

import argparse
import shutil
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, Literal

from huggingface_hub import SpaceHardware
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from scoring.errors import KnownError, first_line
from scoring.hub.access import parse_hub_id

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ("explorer", "scoring", "assets")
FILES = ("app.py", "LICENSE")
LEFT_OUT = ("__pycache__", "*.pyc", "*.pyi", "pictures", ".*")
HARDWARE = tuple(each.value for each in SpaceHardware)
ZERO_TORCH = "torch==2.11.0"
"""The newest that ZeroGPU takes."""
Colour = Literal["red", "yellow", "green", "blue", "indigo", "purple", "pink", "gray"]


class Head(BaseModel):
    """What may stand in the head of a Space's README, and what of it this app needs.

    Source: https://huggingface.co/docs/hub/spaces-config-reference
    """

    model_config = ConfigDict(extra="forbid", strict=True)

    title: str
    emoji: str
    sdk: Literal["gradio"]
    sdk_version: str
    python_version: str
    app_file: str
    license: str
    color_from: Annotated[Colour | None, Field(alias="colorFrom")] = None
    color_to: Annotated[Colour | None, Field(alias="colorTo")] = None
    short_description: Annotated[str, Field(max_length=60)] = ""
    full_width: Annotated[bool, Field(alias="fullWidth")] = True
    header: Literal["mini", "default"] = "default"
    suggested_hardware: Literal[HARDWARE] | None = None  # type: ignore[valid-type]
    suggested_storage: Literal["small", "medium", "large"] | None = None
    app_port: int | None = None
    base_path: str | None = None
    models: list[str] = []
    datasets: list[str] = []
    tags: list[str] = []
    thumbnail: str | None = None
    pinned: bool = False
    hf_oauth: bool = False
    hf_oauth_scopes: list[str] = []
    hf_oauth_expiration_minutes: int | None = None
    hf_oauth_authorized_org: str | list[str] | None = None
    disable_embedding: bool = False
    startup_duration_timeout: str | None = None
    custom_headers: dict[str, str] = {}
    preload_from_hub: list[str] = []


def checked_head(readme: Path) -> dict[str, Any]:
    """The head of a README.

    Raises:
        KnownError: it has none, or the Hub would not take it.
    """
    from huggingface_hub import metadata_load

    head: dict[str, Any] | None = metadata_load(readme)
    if head is None:
        raise KnownError(f"{readme} does not begin with a head between lines of three dashes.")
    try:
        Head.model_validate(head)
    except ValidationError as error:
        [first, *_] = error.errors()
        raise KnownError(
            f"The head of {readme.name} is not as the Hub wants it: "
            f"{'.'.join(map(str, first['loc']))}: {first['msg']}."
        ) from error
    return head


def requirements(lines: list[str], head: dict[str, Any], hardware: str) -> list[str]:
    """The requirements with the extras that the head and the hardware want.

    >>> requirements(["gradio==6.31.0", "torch>=2.11"], {"hf_oauth": True}, "zero-a10g")
    ['gradio[oauth]==6.31.0', 'torch==2.11.0', 'spaces']
    """
    wanted = []
    for line in lines:
        if line.startswith("gradio==") and head.get("hf_oauth"):
            wanted.append(line.replace("gradio==", "gradio[oauth]=="))
        elif line.startswith("torch") and hardware.startswith("zero"):
            wanted.append(ZERO_TORCH)
        else:
            wanted.append(line)
    if hardware.startswith("zero"):
        wanted.append("spaces")
    return wanted


def assemble(folder: Path, hardware: str, root: Path = ROOT) -> list[str]:
    """Put what a Space needs into a folder; its files, as paths in it.

    Raises:
        KnownError: the head of the README is not as the Hub wants it.
    """
    head = checked_head(root / "README.md")
    for name in FOLDERS:
        shutil.copytree(root / name, folder / name, ignore=shutil.ignore_patterns(*LEFT_OUT))
    for name in FILES:
        shutil.copy(root / name, folder / name)
    lines = (root / "requirements.txt").read_text(encoding="utf-8").splitlines()
    wanted = requirements(lines, head, hardware)
    (folder / "requirements.txt").write_text("\n".join(wanted) + "\n", encoding="utf-8")
    readme = (root / "README.md").read_text(encoding="utf-8")
    told = readme.partition("\n## ")[0].partition("\n<picture>")[0].rstrip()
    (folder / "README.md").write_text(f"{told}\n", encoding="utf-8")
    return sorted(
        path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()
    )


def upload(folder: Path, repo: str, hardware: str) -> str:
    """Make the Space what the folder is; its address.

    Raises:
        KnownError: the Hub cannot be asked or refuses.
    """
    from huggingface_hub import HfApi

    api = HfApi()
    try:
        api.create_repo(
            repo, repo_type="space", space_sdk="gradio", space_hardware=hardware, exist_ok=True
        )
        api.upload_folder(
            folder_path=folder,
            repo_id=repo,
            repo_type="space",
            delete_patterns="*",
            commit_message="RewardBench Explorer",
        )
    except Exception as error:  # the client lets its transport's errors through
        raise KnownError(
            f"{repo} could not be uploaded ({first_line(error)}). Is there a network, and are you "
            "signed in (hf auth login) with a token that may write there?"
        ) from error
    return f"https://huggingface.co/spaces/{repo}"


def main(given: list[str] | None = None) -> int:
    """Run the command line; its exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.shipping.space", description=__doc__)
    parser.add_argument("repo", metavar="ORG/NAME")
    parser.add_argument("--dry-run", action="store_true", help="list what would be uploaded")
    parser.add_argument("--hardware", choices=HARDWARE, default="cpu-basic")
    parser.add_argument("--to", type=Path, metavar="DIR", help="keep the folder there")
    arguments = parser.parse_args(given)
    hub_id = parse_hub_id(arguments.repo)
    try:
        if hub_id is None or hub_id.repo != arguments.repo:
            raise KnownError(f"{arguments.repo!r} is no Space: it must be of the form org/name.")
        with tempfile.TemporaryDirectory() as made:
            folder = Path(made) / "space"
            return _ship(arguments, folder if arguments.to is None else arguments.to)
    except (KnownError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1


def _ship(arguments: argparse.Namespace, folder: Path, tell: Callable[..., None] = print) -> int:
    folder.mkdir(parents=True, exist_ok=False)
    files = assemble(folder, arguments.hardware)
    if not arguments.dry_run:
        tell(upload(folder, arguments.repo, arguments.hardware))
        return 0
    sizes = {name: (folder / name).stat().st_size for name in files}
    for name, size in sizes.items():
        tell(f"{size:>12,}  {name}")
    tell(
        f"{len(files)} files, {sum(sizes.values()) / 1e6:.1f} MB, would make {arguments.repo} "
        f"({arguments.hardware}). Its requirements.txt:"
    )
    tell((folder / "requirements.txt").read_text(encoding="utf-8"), end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())

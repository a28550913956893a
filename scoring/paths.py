"""Paths that a person typed, whatever they are, and files that are written whole."""

import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from secrets import token_hex

HOME = "~/.cache/rewardbench-explorer"
"""The folder for what is kept, unless EXPLORER_HOME names another."""
COMPILED = "compiled"  # the folder there for compiled code

is_file, is_folder = os.path.isfile, os.path.isdir
"""Whether one lies there; False for a name that none can have, at which those of pathlib raise."""


@contextmanager
def atomic_write(path: Path) -> Iterator[Path]:
    """Yield a path for a file that replaces `path` at the end, unless something is raised."""
    part = path.with_name(f".{token_hex(8)}.part")
    try:
        yield part
        part.replace(path)
    finally:
        with suppress(OSError):
            part.unlink(missing_ok=True)


def typed_path(text: str) -> Path:
    """The path that was typed, with the home of a user for `~`, if there is such a user."""
    try:
        return Path(text).expanduser()
    except RuntimeError:
        return Path(text)


def file_digest(path: Path) -> str:
    """The first 12 hex digits of a file's sha256, or an OSError."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()[:12]

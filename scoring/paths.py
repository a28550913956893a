"""What a person typed, as a path, whatever it was."""

from pathlib import Path


def typed_path(text: str) -> Path:
    """The path that was typed, `~` filled in where there is such a user.

    >>> typed_path("~no-such-user/x").as_posix()
    '~no-such-user/x'
    """
    try:
        return Path(text).expanduser()
    except RuntimeError:
        return Path(text)


def is_file(path: Path) -> bool:
    """Whether a file lies there; False for a name that none can have."""
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False


def is_folder(path: Path) -> bool:
    """Whether a folder lies there; False for a name that none can have.

    >>> is_folder(Path("x" * 300))
    False
    """
    try:
        return path.is_dir()
    except (OSError, ValueError):
        return False

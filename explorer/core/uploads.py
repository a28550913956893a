"""Files that a page sent to Gradio's route of uploads."""

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from gradio.utils import get_upload_folder

from scoring.errors import KnownError
from scoring.paths import is_file

MOST_FILES = 200
"""That are sent at once."""


def uploaded_files(sent: str) -> list[Path]:
    """Uploaded files, wherever anybody said that they lie. sent: a JSON list of paths.

    Raises:
        KnownError: it is none, empty, longer than `MOST_FILES`, or names what is not in the
            folder of uploads.
    """
    try:
        paths = json.loads(sent)
        known = paths if isinstance(paths, list) and len(paths) <= MOST_FILES else []
        files = [Path(path).resolve() for path in known]
    except (OSError, ValueError, TypeError, RecursionError):  # no file can have such a name
        files = []
    folder = Path(get_upload_folder()).resolve()
    if not files or not all(each.is_relative_to(folder) and is_file(each) for each in files):
        raise KnownError("No file was uploaded. Choose one, and try again.")
    return files


@contextmanager
def deleted_after(files: Sequence[Path]) -> Iterator[None]:
    """Delete files once they were read, however that ended."""
    try:
        yield
    finally:
        for file in files:
            with suppress(OSError):
                file.unlink()

"""Files that a page sent to Gradio's route of uploads."""

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

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
def private_files(files: Sequence[Path]) -> Iterator[list[Path]]:
    """Uploaded files in a folder of their own, which is deleted once they were read.

    Equal files of two visitors have the same path, which the first one to read them takes.

    Raises:
        KnownError: another visitor's equal file was read first.
    """
    with TemporaryDirectory(dir=get_upload_folder()) as folder:
        places = {file: Path(folder, str(at), file.name) for at, file in enumerate(files)}
        try:
            for file, place in places.items():
                place.parent.mkdir()
                file.rename(place)
        except FileNotFoundError:
            raise KnownError("The uploaded file is gone. Choose it again.") from None
        yield [*places.values()]

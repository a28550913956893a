"""Files that visitors fetch: where they are written."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory


@contextmanager
def passing_folder() -> Iterator[Path]:
    """A folder for one download, which goes at the end: Gradio keeps a copy for a while."""
    with TemporaryDirectory(prefix="explorer-export-", ignore_cleanup_errors=True) as folder:
        yield Path(folder)

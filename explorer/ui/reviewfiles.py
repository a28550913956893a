"""The review's files on their way to and from a browser."""

import re
import shutil
import tempfile
import time
from pathlib import Path

from gradio.utils import get_upload_folder

from explorer.review import Decision, Review
from explorer.review_files import read_decisions
from explorer.text import text
from scoring.errors import KnownError

LARGEST_UPLOAD = 20_000_000
"""Bytes of a file of decisions."""
KEPT_SECONDS = 3600
"""How long an exported file lies ready to be fetched."""

_FOLDER = "rewardbench-review-"


def export_path(review: Review, ending: str) -> Path:
    """Where an export of a review is written: a fresh folder. Exports of long ago are removed."""
    for folder in Path(tempfile.gettempdir()).glob(f"{_FOLDER}*"):
        if _age(folder) > KEPT_SECONDS:
            shutil.rmtree(folder, ignore_errors=True)
    return Path(tempfile.mkdtemp(prefix=_FOLDER)) / f"{plain(review.subset)}-{ending}"


def _age(path: Path) -> float:
    try:
        return time.time() - path.stat().st_mtime
    except OSError:  # another visitor's export has removed it
        return 0


def plain(name: str) -> str:
    """A subset as the beginning of a file's name.

    >>> plain("hep-go"), plain("../<b>"), plain("日本")
    ('hep-go', 'b', 'review')
    """
    return re.sub("[^A-Za-z0-9_-]+", "-", name).strip("-")[:60] or "review"


def read_upload(upload: object) -> tuple[Decision, ...]:
    """The decisions of a file that was uploaded; it is deleted.

    upload: where Gradio says it lies; anybody may have sent it.

    Raises:
        KnownError: it lies elsewhere, is too large, or is no file of decisions.
    """
    path = Path(upload).resolve() if isinstance(upload, str) and "\0" not in upload else Path()
    inside = path.is_relative_to(Path(get_upload_folder()).resolve())
    if not inside or path.suffix.lower() != ".jsonl" or not path.is_file():
        raise KnownError(text("review.no_upload"))
    try:
        if path.stat().st_size > LARGEST_UPLOAD:
            raise KnownError(text("review.large_upload", most=f"{LARGEST_UPLOAD / 1e6:g}"))
        return tuple(read_decisions(path))
    finally:
        path.unlink(missing_ok=True)

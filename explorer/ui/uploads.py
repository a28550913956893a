"""Files that visitors sent: where they may lie."""

from pathlib import Path

from gradio.utils import get_upload_folder

from explorer.text import text
from scoring.errors import KnownError
from scoring.paths import is_file


def uploaded_file(sent: object) -> Path:
    """An uploaded file, wherever anybody said that it lies.

    Raises:
        KnownError: it is not in the folder of uploads.
    """
    try:
        path = Path(sent if isinstance(sent, str) else "").resolve()
    except (OSError, ValueError):  # no file can have such a name
        path = Path()
    if not path.is_relative_to(Path(get_upload_folder()).resolve()) or not is_file(path):
        raise KnownError(text("chooser.no_upload"))
    return path

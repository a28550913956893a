"""Files that visitors sent: where they may lie."""

from pathlib import Path

from gradio.utils import get_upload_folder

from explorer.text import text
from scoring.errors import KnownError


def uploaded_file(sent: object) -> Path:
    """An uploaded file, wherever anybody said that it lies.

    Raises:
        KnownError: it is not in the folder of uploads.
    """
    path = Path(sent).resolve() if isinstance(sent, str) and "\0" not in sent else Path()
    if not path.is_relative_to(Path(get_upload_folder()).resolve()) or not path.is_file():
        raise KnownError(text("chooser.no_upload"))
    return path

"""What the cache of the Hub's client on this machine holds, and how it fills."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from scoring.limits import Step, Tell

_EVERY_SECONDS = 0.3
"""Between two looks at how far a download is."""


def cache_folder(repo: str, repo_type: str) -> Path:
    """The folder in the Hub's cache for all that is here of a repository."""
    from huggingface_hub.constants import HF_HUB_CACHE
    from huggingface_hub.file_download import repo_folder_name

    folder: str = repo_folder_name(repo_id=repo, repo_type=repo_type)
    return Path(HF_HUB_CACHE) / folder


@contextmanager
def watched(cache: Path, size: int, tell: Tell) -> Iterator[None]:
    """Tell, while files are fetched, how many of their bytes have come into the cache.

    cache: as `cache_folder` gives it. size: of what is to come, in bytes; nothing is told of 0.
    """
    if not size:
        yield
        return
    blobs = cache / "blobs"
    before, done = _bytes_in(blobs), threading.Event()

    def watch() -> None:
        while not done.wait(_EVERY_SECONDS):
            tell(Step("fetching", min(size, max(0, _bytes_in(blobs) - before)), size))

    tell(Step("fetching", 0, size))
    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield
    finally:
        done.set()
        watcher.join()
    tell(Step("fetching", size, size))


def _bytes_in(folder: Path) -> int:
    """Bytes of its files, those that are still being written included."""
    total = 0
    for path in folder.glob("*"):
        with suppress(OSError):  # it was renamed since
            total += path.stat().st_size
    return total

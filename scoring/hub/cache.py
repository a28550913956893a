"""What the cache of the Hub's client on this machine holds, and how it fills."""

import glob
import shutil
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Literal

from scoring.limits import Step, Tell

SPARE_BYTES = 10_000_000
"""What may come more than is announced before it is told."""
_EVERY_SECONDS = 0.3
"""Between two looks at how far a download is."""
FETCHED = ".rewardbench-explorer-fetched"
"""A file beside what was fetched here; it was last used when that was last asked for."""
_RESTRICTED = ".rewardbench-explorer-restricted"
"""A file beside what not everybody may read."""


def cache_folder(repo: str, repo_type: str) -> Path:
    """The folder in the Hub's cache for all that is here of a repository."""
    from huggingface_hub.constants import HF_HUB_CACHE
    from huggingface_hub.file_download import repo_folder_name

    folder: str = repo_folder_name(repo_id=repo, repo_type=repo_type)
    return Path(HF_HUB_CACHE) / folder


def is_cached(repo: str) -> bool:
    """Whether anything of a model is on this machine."""
    return (cache_folder(repo, "model") / "snapshots").is_dir()


def restrict(cache: Path, *, restricted: bool) -> None:
    """Remember beside what is here of a repository whether not everybody may read it.

    cache: as `cache_folder` gives it; where it is not there, there is nothing to remember.

    Raises:
        OSError: that cannot be written.
    """
    mark = cache / _RESTRICTED
    if restricted and cache.is_dir():
        mark.touch()
    elif not restricted:
        mark.unlink(missing_ok=True)


def is_restricted(cache: Path) -> bool:
    """Whether not everybody may read what is here of a repository, as far as is remembered."""
    return (cache / _RESTRICTED).exists()


def remove_cached(cache: Path) -> None:
    """Remove all that is here of a repository, at any commit."""
    for folder in (cache, cache.parent / ".locks" / cache.name):
        shutil.rmtree(folder, ignore_errors=True)


def downloaded(
    repo: str,
    repo_type: str,
    revision: str | None,
    names: Sequence[str],
    *,
    token: str | Literal[False],
    local_only: bool,
) -> Path:
    """The folder with these files, fetched by the Hub's client where they are not here."""
    from huggingface_hub import snapshot_download

    return Path(
        snapshot_download(
            repo,
            repo_type=repo_type,
            revision=revision,
            allow_patterns=[glob.escape(name) for name in names],
            token=token,
            local_files_only=local_only,
        )
    )


def remove_unfinished(cache: Path, blobs: Iterable[str]) -> None:
    """Remove what is left of files whose download was ended; the Hub's client begins them anew.

    cache: as `cache_folder` gives it. blobs: what names the files' contents there.
    """
    for blob in blobs:
        for path in (cache / "blobs").glob(f"{glob.escape(blob)}.*.incomplete"):
            with suppress(OSError):
                path.unlink()


@contextmanager
def watched(cache: Path, size: int, tell: Tell) -> Iterator[None]:
    """Tell, while files are fetched, how many of their bytes have come into the cache.

    cache: as `cache_folder` gives it. size: of what is to come, in bytes; nothing is told of 0.
    """
    if not size:
        yield
        return
    blobs = cache / "blobs"
    before, done = bytes_in(blobs), threading.Event()

    def watch() -> None:
        while not done.wait(_EVERY_SECONDS):
            came = max(0, bytes_in(blobs) - before)
            tell(Step("fetching", came if came > size + SPARE_BYTES else min(size, came), size))

    tell(Step("fetching", 0, size))
    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield
    finally:
        done.set()
        watcher.join()
    tell(Step("fetching", size, size))


def bytes_in(folder: Path) -> int:
    """Bytes of all files in a folder, those still being written included; links are none."""
    total = 0
    for path in folder.rglob("*"):
        with suppress(OSError):  # it was renamed since
            total += path.lstat().st_size if path.is_file() and not path.is_symlink() else 0
    return total

"""The cache of the Hub's client on this machine: its folders, downloads in progress, a quota."""

import glob
import math
import os
import shutil
import threading
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from scoring.errors import KnownError
from scoring.limits import OnProgress, Step

SPARE_BYTES = 10_000_000  # that may come beyond the announced ones before they are reported
RECENT_SECONDS = 60.0  # for which a model that was asked for is taken to be in use
_EVERY_SECONDS = 0.3  # between two looks at how far a download is
FETCHED = ".rewardbench-explorer-fetched"
"""A file beside a model that was fetched here; its time is that of the model's last use."""


def cache_folder(repo: str, repo_type: str) -> Path:
    """The folder in the Hub's cache for all that is here of a repository."""
    from huggingface_hub.constants import HF_HUB_CACHE
    from huggingface_hub.file_download import repo_folder_name

    return Path(HF_HUB_CACHE, repo_folder_name(repo_id=repo, repo_type=repo_type))


def is_cached(repo: str) -> bool:
    """Whether anything of a model is on this machine."""
    return (cache_folder(repo, "model") / "snapshots").is_dir()


def remove_cached(cache: Path) -> None:
    """Remove all commits from a `cache_folder`; nobody may be fetching or reading it meanwhile."""
    for folder in (cache, cache.parent / ".locks" / cache.name):
        shutil.rmtree(folder, ignore_errors=True)


def remove_unfinished(cache: Path, blobs: Iterable[str]) -> None:
    """Remove what is left of downloads that were ended. blobs: as of `Listing.blobs`."""
    for blob in blobs:
        for path in (cache / "blobs").glob(f"{glob.escape(blob)}.*.incomplete"):
            with suppress(OSError):
                path.unlink()


@contextmanager
def report_download(cache: Path, size: int, tell: OnProgress) -> Iterator[None]:
    """Report how many bytes of files have come into the cache. size: of all; 0 is not reported."""
    if not size:
        yield
        return
    blobs = cache / "blobs"
    before, done = folder_bytes(blobs), threading.Event()

    def watch() -> None:
        while not done.wait(_EVERY_SECONDS):
            came = max(0, folder_bytes(blobs) - before)
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


def folder_bytes(folder: Path) -> int:
    """Bytes of all files in a folder, those still being written included; links are none."""
    total = 0
    for path in folder.rglob("*"):
        with suppress(OSError):  # it was renamed since
            total += path.lstat().st_size if path.is_file() and not path.is_symlink() else 0
    return total


class DiskQuota:
    """A bound on models fetched into the Hub's cache; the least recently used go first.

    Callable from any thread. Models that lay there before, and the owner's, are not counted and
    stay. gigabytes: 10^9 bytes; None means no limit. keep: repositories of the owner.
    """

    def __init__(self, gigabytes: float | None = None, keep: Iterable[str] = ()) -> None:
        self.gigabytes = gigabytes
        self.keep = frozenset(keep)
        self._lock = threading.Lock()
        self._in_use: Counter[Path] = Counter()
        self._pinned: frozenset[str] = frozenset()

    def __reduce__(self) -> tuple[type["DiskQuota"], tuple[object, ...]]:
        """The quota for a worker, which marks what it fetches and makes no room."""
        return DiskQuota, (None if self.gigabytes is None else math.inf, self.keep)

    @contextmanager
    def pinned(self, repos: Iterable[str]) -> Iterator[None]:
        """Keep models that one thread is about to fetch and load, until others were fetched."""
        before, new = self._pinned, frozenset(repos)
        self._pinned = before | new
        try:
            yield
        except BaseException:
            self._pinned = before
            raise
        self._pinned = new

    @contextmanager
    def fetching(self, repo: str, size: int) -> Iterator[None]:
        """As of `make_room`, for a model that is in use meanwhile and is the latest then."""
        if self.gigabytes is None or repo in self.keep:
            yield
            return
        folder = cache_folder(repo, "model")
        with self._lock:
            self._in_use[folder] += 1
        try:
            if size:
                self.make_room(size)
                if not is_cached(repo):  # what was here before is not counted
                    folder.mkdir(parents=True, exist_ok=True)
                    (folder / FETCHED).touch()
            yield
        finally:
            with self._lock:
                self._in_use[folder] -= 1
            with suppress(OSError):  # it is not one of those that are counted
                os.utime(folder / FETCHED)

    def make_room(self, size: int) -> None:
        """Remove the least recently used models for so many bytes, or raise a `KnownError`."""
        if self.gigabytes is None or self.gigabytes == math.inf:
            return
        with self._lock:
            kept = {cache_folder(repo, "model") for repo in self.keep}
            used: dict[Path, float] = {}
            for mark in cache_folder("a/b", "model").parent.glob(f"models--*/{FETCHED}"):
                with suppress(OSError):
                    used[mark.parent] = mark.stat().st_mtime
            sizes = {folder: folder_bytes(folder) for folder in used if folder not in kept}
            in_use = {cache_folder(repo, "model") for repo in self._pinned} | {*+self._in_use}
            over = sum(sizes.values()) + size - self.gigabytes * 1e9
            for folder in sorted(sizes, key=used.__getitem__):
                # The clock may have been set back.
                recent = abs(time.time() - used[folder]) < RECENT_SECONDS
                if over > 0 and not recent and folder not in in_use:
                    remove_cached(folder)
                    over -= sizes[folder]
        if over > 0:
            raise KnownError(
                f"There is no room for {size / 1e9:.1f} GB more of models: {self.gigabytes:g} GB "
                "are kept here (EXPLORER_MODELS_GB), and those that are here are in use. Try again "
                "in a few minutes, or choose a smaller model."
            )

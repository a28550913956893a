"""Outcomes and scores of result files, read once and then kept in one small file a source.

A file of results of each pair has 7 MB and more, nearly all of it texts. What the views need of
188 of them are a few MB, which open in a fraction of a second.
"""

import hashlib
import shutil
import threading
import time
from collections.abc import Generator
from pathlib import Path

from explorer.results.outcome_shelf import OutcomeShelf, changed
from explorer.results.rows import Read
from explorer.results.sources import Entry, Folder, Source
from explorer.stats.matrix import Outcomes
from scoring.errors import KnownError
from scoring.hub.access import first_line
from scoring.limits import Step
from scoring.results.files import LeftOut, printable
from scoring.results.pairs import read_pair_results

SAVED_EVERY_SECONDS = 10.0
"""Between two writes of what was read, in case the server is stopped."""
MOST_REFUSALS = 3
"""Files in a row that a source may refuse; then it is taken as gone."""
_WAIT_SECONDS = 0.5
"""Between two looks whether somebody else has read a file."""
_KEPT_ON_DISK = 12
_KEPT_IN_MEMORY = 6
_FORMAT = "4"
"""Changes when what is kept of the same file does."""


class OutcomeCache:
    """Reads result files of each pair, and remembers what it read: in memory, and on disk."""

    def __init__(self, home: Path) -> None:
        """home: what the settings call so."""
        self._folder = home / "outcomes"
        self._lock = threading.Lock()
        self._shelves: dict[str, OutcomeShelf] = {}

    def known(self, source: Source, folder: Folder = "eval-set-scores") -> Outcomes:
        """What was read before, without reading or fetching any result file."""
        shelf, entries, left_out = self._opened(source, folder)
        return _outcomes(shelf, entries, source.fixed, left_out)

    def unread(self, source: Source, folder: Folder = "eval-set-scores") -> int:
        """How many files were not read yet as they are now, well or ill."""
        shelf, entries, _ = self._opened(source, folder)
        return sum(not shelf.has(entry) for entry in entries)

    def refused(self, source: Source, folder: Folder = "eval-set-scores") -> list[LeftOut]:
        """Files that could not be had when they were last asked for, in the order of asking."""
        shelf, entries, _ = self._opened(source, folder)
        return _refused(shelf, entries)

    def read(
        self, source: Source, folder: Folder = "eval-set-scores"
    ) -> Generator[Step, None, Outcomes]:
        """Read the files that are not known yet, one by one, telling each step in files.

        Closing the generator stops between two files; what was read is kept. Several who ask at
        once share the work, and nobody else waits for it.

        Returns:
            All that can be read of the source. A file that cannot is listed with its reason.
        """
        shelf, entries, left_out = self._opened(source, folder)
        unread = [entry for entry in entries if not shelf.has(entry)]
        done, refused, saved = len(entries) - len(unread), 0, time.monotonic()
        yield Step("reading", done, len(entries))
        try:
            for entry in unread:
                why = f"not asked for, as {refused} files before it could not be had"
                if refused < MOST_REFUSALS:
                    claim = shelf.claim(entry)
                    while not claim.acquire(timeout=_WAIT_SECONDS):
                        yield Step("reading", done, len(entries))
                    try:
                        why = "" if shelf.has(entry) else _read(shelf, source, entry)
                    finally:
                        claim.release()
                    refused = refused + 1 if why else 0
                if why:
                    shelf.refused[entry.name] = why
                if time.monotonic() - saved > SAVED_EVERY_SECONDS:
                    shelf.save()
                    saved = time.monotonic()
                done += 1
                yield Step("reading", done, len(entries))
            shelf.tidy(entries, source.fixed)
        finally:
            shelf.save()
            self._forget_old()
        return _outcomes(shelf, entries, source.fixed, left_out)

    def _opened(
        self, source: Source, folder: Folder
    ) -> tuple[OutcomeShelf, list[Entry], list[LeftOut]]:
        """What is known of a source, and what it has now."""
        family, own = (_key(_FORMAT, name, folder) for name in (source.family, source.id))
        key = f"{family}-{own}"
        with self._lock:
            shelf = self._shelves.pop(key, None) or OutcomeShelf(self._folder / key)
            self._shelves[key] = shelf
            for oldest in list(self._shelves)[:-_KEPT_IN_MEMORY]:
                del self._shelves[oldest]
        shelf.load()
        entries, left_out = source.entries(folder)
        shelf.adopt(entries, self._folder.glob(f"{family}-*"))
        return shelf, entries, left_out

    def _forget_old(self) -> None:
        """Remove what was written longest ago: of other revisions, most likely."""
        folders = sorted(self._folder.glob("*/"), key=changed)
        for folder in folders[:-_KEPT_ON_DISK]:
            shutil.rmtree(folder, ignore_errors=True)


def _key(*names: str) -> str:
    written = "\n".join(names).encode("utf-8", "surrogateescape")
    return hashlib.sha256(written).hexdigest()[:32]


def _read(shelf: OutcomeShelf, source: Source, entry: Entry) -> str:
    """Read one file; why it could not be had this time, or "" where it was, well or ill."""
    try:
        path = source.path(entry.name)
        path.open("rb").close()
    except KnownError as error:
        return str(error)
    except (OSError, ValueError) as error:
        return f"it cannot be opened: {getattr(error, 'strerror', None) or first_line(error)}"
    try:
        shelf.put(Read(entry.name, entry.stamp, read_pair_results(path, entry.name)))
    except KnownError as error:
        shelf.put(Read(entry.name, entry.stamp, reason=str(error)))
    finally:
        source.release(entry.name)
    return ""


def _refused(shelf: OutcomeShelf, entries: list[Entry]) -> list[LeftOut]:
    asked = ((entry.name, shelf.refused.get(entry.name)) for entry in entries)
    return [LeftOut(printable(name), why) for name, why in asked if why is not None]


def _outcomes(
    shelf: OutcomeShelf, entries: list[Entry], fixed: bool, left_out: list[LeftOut]
) -> Outcomes:
    names = None if fixed else [entry.name for entry in entries if shelf.has(entry)]
    version, rows = shelf.read(names)
    broken = [LeftOut(row.file, row.reason) for row in rows if row.results is None]
    read = [(row.file, row.results) for row in rows if row.results is not None]
    others = [*left_out, *broken, *_refused(shelf, entries)]
    return Outcomes(
        files=tuple(file for file, _ in read),
        results=tuple(results for _, results in read),
        left_out=tuple(sorted(others, key=lambda item: item.file)),
        version=version,
    )

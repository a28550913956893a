"""Where result files of each pair lie: a folder here, or a dataset of the Hub.

What a source lists stays the same: whoever looks for newer results makes another of the same id.
"""

import time
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from explorer.core.caches import locked_cached_property
from scoring.errors import KnownError
from scoring.hub.access import Hub, Listing
from scoring.limits import MEGABYTE
from scoring.results.files import Omission, ResultFile, files_below, printable
from scoring.results.pairs import MOST_OUTCOMES_BYTES

_SUFFIXES = (".json", ".jsonl")
SCORES_FOLDER = "eval-set-scores"
"""Where upstream has results of each pair."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A file of a source. stamp: changes when its content does."""

    name: str
    stamp: str


Entries = tuple[list[Entry], list[Omission]]
"""The files of a source in the order of names, and what lies there besides."""


class FolderSource:
    """A folder of this machine in upstream's layout, or as its command line leaves one.

    id: names the source and its revision.
    family: the same for all revisions of it; of these, files of one name and stamp are the same.
    is_partial: whether it may have more files than are listed, which were read when it had them.
    dataset: the pairs that files without texts are of, as `PairOrder` has it; None if the owner
        did not say.
    """

    is_partial = False

    def __init__(self, root: Path, dataset: str | None = None) -> None:
        self._root = root
        self.dataset = dataset
        self._paths: dict[str, Path] = {}
        self.name = root.resolve().name
        self.id = self.family = f"folder {root.resolve()}"

    @locked_cached_property
    def entries(self) -> Entries:
        """A file is the same while its size and date are."""
        found, strays = self._files()
        entries = []
        for file in found:
            try:
                status = file.path.stat()
                stamp = f"{status.st_size}-{status.st_mtime_ns}"
            except (OSError, ValueError):
                stamp = "gone"  # reading it says why
            self._paths[file.name] = file.path
            entries.append(Entry(file.name, stamp))
        return entries, strays

    def _files(self) -> tuple[list[ResultFile], list[Omission]]:
        return files_below(self._root, SCORES_FOLDER)

    def path(self, name: str) -> Path:
        """Where a file lies."""
        return self._paths[name]

    def release(self) -> None:
        """Told that what was read of the files is kept."""


class OutputsSource(FolderSource):
    """A folder of such files, whatever they are called, or of other benchmarks' own outputs."""

    def _files(self) -> tuple[list[ResultFile], list[Omission]]:
        paths = sorted(each for each in self._root.glob("*") if each.suffix in _SUFFIXES)
        return [ResultFile(printable(each.name), each) for each in paths], []


class HubSource:
    """A dataset of the Hub at one commit. Each file is fetched when it is read, without a token.

    Files that were fetched for this alone are removed once what was read of them is kept.
    """

    def __init__(self, listing: Listing, hub: Hub, dataset: str | None = None) -> None:
        """listing: of the results, as `Hub.look` gave it. dataset: as of `FolderSource`."""
        self.dataset = dataset
        at_commit = replace(listing.hub_id, revision=listing.commit)
        self._listing = replace(listing, hub_id=at_commit)
        self._hub = hub
        self.is_partial = listing.local_only
        self._fetched: list[Path] = []
        self.family = f"hub {listing.hub_id.repo}"
        self.id = f"{self.family}@{listing.commit}"

    @locked_cached_property
    def entries(self) -> Entries:
        """A file is the same while its content is, at whatever commit."""
        entries: list[Entry] = []
        left_out: list[Omission] = []
        for name, size in sorted(self._listing.sizes.items()):
            if not name.startswith(f"{SCORES_FOLDER}/"):
                continue
            if not name.lower().endswith(".json"):
                left_out.append(Omission(name, "no JSON file"))
            elif size > MOST_OUTCOMES_BYTES:
                most = f"at most {MOST_OUTCOMES_BYTES / MEGABYTE:,.0f} MB are fetched"
                left_out.append(Omission(name, f"it is {size / MEGABYTE:,.0f} MB large; {most}"))
            else:
                entries.append(Entry(name, self._listing.blobs.get(name, self._listing.commit)))
        return entries, left_out

    def path(self, name: str) -> Path:
        """Where a file lies, fetched if need be.

        Raises:
            KnownError: it cannot be had.
        """
        started = time.time()
        path = self._hub.fetch(self._listing, [name], token=False) / name
        if not path.is_file():  # the Hub's client may give a folder without it
            raise KnownError("the Hub did not give it")
        if path.resolve().stat().st_ctime >= started:
            self._fetched.append(path)
        return path

    def release(self) -> None:
        """Remove the files that were not here before."""
        for path in [] if self._listing.local_only else self._fetched:
            with suppress(OSError):
                content = path.resolve()
                path.unlink()
                content.unlink(missing_ok=True)
        self._fetched = []


Source = FolderSource | HubSource

"""The runs of this server's disk: who may see them, what their owners do, which are under way.

While a run is used, a file of its folder is locked, which every process that shares the folder
sees; who looks asks for a share of that lock for a moment, which whoever wants to use the run waits
out. A process that dies lets go.
"""

import logging
import os
import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

from explorer.core.caches import LruCache
from explorer.core.settings import Settings
from explorer.runs.cards import RunCard, card_of, change_card
from explorer.runs.visitors import EVERYBODY, Visitor
from scoring.errors import KnownError, first_line
from scoring.record import LOCK_FILE, Run, damaged_runs, locked

try:
    import fcntl
except ImportError:  # Windows: nobody sees that a run is used
    fcntl = None  # type: ignore[assignment]

logger = logging.getLogger(__name__)

_TRUSTED_SECONDS = 1.0
"""In which a finished run, once looked at, is not looked at again: a thousand cost 0.1 s."""
_KEPT_SEEN = 64
"""Sets of runs, each of the visitors who see them."""
_Stamp = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class _Stored:
    """A run as its file was. version: changes when the file does."""

    version: _Stamp
    run: Run
    card: RunCard


@dataclass(frozen=True, slots=True)
class _CachedRuns:
    """Runs by their folders, as they were at a time, after so many changes of cards."""

    runs: Mapping[str, _Stored]
    seconds: float
    n_changes: int


@dataclass(frozen=True, eq=False)
class RunList:
    """Runs of one moment, newest first. cards: by their ids."""

    runs: tuple[Run, ...] = ()
    cards: Mapping[str, RunCard] = field(default_factory=dict)

    @classmethod
    def of(cls, runs: Sequence[tuple[Run, RunCard]]) -> "RunList":
        """Runs with their cards."""
        return cls(tuple(run for run, _ in runs), {run.id: card for run, card in runs})

    @cached_property
    def of_each_table(self) -> tuple[Run, ...]:
        """One run of each set of pairs."""
        of = {(run.facts.pairs, self.cards[run.id].typed): run for run in reversed(self.runs)}
        return tuple(reversed(of.values()))

    @cached_property
    def ended(self) -> "RunList":
        """Those that go on no more, of pairs that others may have scored, too."""
        with_cards = [(run, self.cards[run.id]) for run in self.runs]
        return RunList.of(
            [(run, card) for run, card in with_cards if run.status != "running" and not card.typed]
        )


class RunStore:
    """All stored runs. On one's own machine they are everybody's; elsewhere their owners'."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._killed = LruCache[int](4096)  # run and its size -> pairs scored
        self._kept = _CachedRuns({}, 0.0, 0)
        self._n_changes = 0
        self._seen = LruCache[RunList](_KEPT_SEEN)
        self.folder = settings.runs

    def visible(self, visitor: object) -> list[Run]:
        """The runs that a visitor may see, newest first: their own and the public ones."""
        return list(self.seen(visitor).runs)

    def every(self) -> list[Run]:
        """All runs of this machine as their files are, newest first; not to be shown."""
        return [stored.run for _, stored in self._stored()]

    def own(self, visitor: object) -> list[Run]:
        """The runs that a visitor may change, newest first."""
        found = self.seen(visitor)
        return [run for run in found.runs if self.is_own(found.cards[run.id], visitor)]

    def seen(self, visitor: object) -> "RunList":
        """The runs of `visible` with their cards: the same object while nothing of them changes."""
        seen, version = [], []
        for path, stored in self._stored():
            if self._may_see(stored.card, visitor):
                run = self._present(stored.run)
                n_bytes = run.n_bytes() if run.status == "running" else 0
                seen.append((run, stored.card))
                version.append((path, stored.version, run.status, run.n_scored, n_bytes))
        return self._seen.get_or_create(tuple(version), lambda: RunList.of(seen))

    def _stored(self) -> list[tuple[str, "_Stored"]]:
        """All runs with their folders, newest first; read again only where a file changed."""
        found, last = {}, self._kept
        n_changes, seconds = self._n_changes, time.monotonic()
        is_recent = n_changes == last.n_changes and seconds < last.seconds + _TRUSTED_SECONDS
        with suppress(OSError), os.scandir(self.folder) as entries:
            for entry in entries:
                kept = last.runs.get(entry.path)
                if kept is None or kept.run.status != "finished" or not is_recent:
                    kept = _reread(entry.path, kept)
                if kept is not None:
                    found[entry.path] = kept
        self._kept = _CachedRuns(found, last.seconds if is_recent else seconds, n_changes)
        return sorted(found.items(), key=lambda item: item[1].run.started, reverse=True)

    def damaged(self, visitor: object) -> list[str]:
        """The ids of runs that cannot be read, and so only be removed; whose they are is not known,
        so that they are nobody's of a public server.
        """
        if not self.is_owners(EVERYBODY, visitor):
            return []
        return [each.name for each in damaged_runs(self.folder) if not is_locked(each)]

    def open(self, run_id: object, visitor: object) -> Run:
        """A run that the visitor may see.

        Raises:
            KnownError: there is none of that name, or it is someone else's.
        """
        return self._found(run_id, lambda card: self._may_see(card, visitor))

    def opened_own(self, run_id: object, visitor: object) -> Run:
        """A run that the visitor may change.

        Raises:
            KnownError: there is none of that name, or it is someone else's.
        """
        return self._found(run_id, lambda card: self.is_own(card, visitor))

    def change(self, run_id: object, visitor: object, change: Callable[[RunCard], RunCard]) -> None:
        """Let the owner of a run change its card.

        Raises:
            KnownError: it is not theirs, its card cannot be read, or the disk does not take it;
                whatever `change` raises.
        """
        run = self.opened_own(run_id, visitor)
        try:
            change_card(run, change)
            self._n_changes += 1
        except OSError as error:
            raise KnownError(f"The disk does not take it: {first_line(error)}.") from error

    def delete(self, run_id: object, visitor: object) -> None:
        """Remove a run of the visitor's from the disk, damaged or not.

        Raises:
            KnownError: it is not theirs, it is under way, or the disk refuses.
        """
        if isinstance(run_id, str) and run_id in self.damaged(visitor):
            folder = self.folder / run_id
        else:
            folder = self.opened_own(run_id, visitor).folder
        with locked(folder):
            try:
                shutil.rmtree(folder)
            except OSError as error:
                raise KnownError(
                    f"The run could not be removed: {first_line(error)}. Try again, or delete its "
                    "folder."
                ) from error

    def is_own(self, card: RunCard, visitor: object) -> bool:
        """Whether a visitor may change a run: its owner; on one's own machine, everybody."""
        return self.is_owners(card.owner, visitor)

    def is_owners(self, owner: str, visitor: object) -> bool:
        """Whether what is an owner's is this visitor's; on one's own machine, it is everybody's."""
        if not self._settings.public:
            return True
        visits = visitor.owner if isinstance(visitor, Visitor) else EVERYBODY
        return visits != EVERYBODY and visits == owner

    def _may_see(self, card: RunCard, visitor: object) -> bool:
        return card.public or self.is_own(card, visitor)

    def _found(self, run_id: object, allowed: Callable[[RunCard], bool]) -> Run:
        try:
            if not isinstance(run_id, str) or Path(run_id).name != run_id:
                raise KnownError("A run's id is one name.")
            run = Run.open(self.folder / run_id)
            if not allowed(card_of(run)):
                raise KnownError("The run is someone else's.")
            return self._present(run)
        except KnownError as error:
            raise KnownError("There is no such run. It may have been deleted.") from error

    def _present(self, run: Run) -> Run:
        """A run as it stands now: one that goes on does so before it says "running" again, and one
        that says "running" but is not was killed.
        """
        if run.status == "finished":
            return run
        if is_locked(run.folder):
            return replace(run, status="running")
        with suppress(KnownError):
            run = Run.open(run.folder)  # it may have ended since: how is written before it is free
        if run.status != "running":
            return run
        n_scored = self._killed.get_or_create((run.id, run.n_bytes()), lambda: _n_scored(run))
        return replace(run, status="stopped", n_scored=n_scored)


def _n_scored(run: Run) -> int:
    try:
        return len(run.rows())
    except KnownError:
        logger.warning("run %s cannot be read", run.id[:15])
        return 0


def _reread(folder: str, kept: _Stored | None) -> _Stored | None:
    """A run as its file is, which is read where it changed; None where it cannot be."""
    try:
        now = os.stat(f"{folder}/run.json")  # noqa: PTH116 - of thousands of files, many times
        version = now.st_mtime_ns, now.st_ino, now.st_size
        if kept is not None and kept.version == version:
            return kept
        run = Run.open(Path(folder))
        return _Stored(version, run, card_of(run))
    except (OSError, ValueError, KnownError):
        return None


def is_locked(folder: Path) -> bool:
    """Whether a run's folder is used, by this process or another."""
    try:
        with (folder / LOCK_FILE).open("rb") as file:
            if fcntl is not None:
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        pass
    return False

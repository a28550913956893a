"""Which table to show: the owner's, the Hub's or the bundled one, with the reason for each choice.

`Sources` open at once on the best thing that lies on this machine, ask the network in the
background, and offer what arrives. What a session looks at stays beside it, until several newer
revisions have come.
"""

import logging
import math
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Generic, Protocol, TypeVar

from explorer.core.caches import LruCache
from explorer.core.settings import DEMO_PAIRS, Settings
from explorer.core.work import in_background
from explorer.data.table import PairTable
from scoring.errors import KnownError, first_line
from scoring.hub.access import DEFAULT_DATASET, Hub, HubId, parse_hub_id
from scoring.limits import OnProgress, Step
from scoring.pairs.opening import fetch_pairs, read_pairs
from scoring.pairs.rows import SUFFIXES
from scoring.paths import is_file, typed_path

logger = logging.getLogger(__name__)

DEFAULT_PAIRS = HubId(DEFAULT_DATASET, "filtered")
_LEAST_SECONDS = 10.0
"""Between two times that visitors have the network asked."""
MOST_SOURCES = 4
"""Revisions that stay in memory; what nobody looked at for longest makes room for a newer one."""
DEMO_ID = "demo"
"""What is typed to name the bundled demo pairs."""


class Sourced(Protocol):
    """What sources give: something that says where it came from.

    id: source and revision in one word. caption: with its size, in one line for the screen.
    remarks: what was left out or repaired on the way, a sentence each.
    """

    @property
    def id(self) -> str: ...  # noqa: D102

    @property
    def caption(self) -> str: ...  # noqa: D102

    @property
    def remarks(self) -> tuple[str, ...]: ...  # noqa: D102


T = TypeVar("T", bound=Sourced)


@dataclass(frozen=True, slots=True)
class Candidate(Generic[T]):
    """One place to read from.

    label: how the place is called on screen.
    local: reads what lies on this machine; raises `KnownError` where nothing does.
    remote: asks the network; None where there is nothing to ask.
    """

    label: str
    local: Callable[[], T]
    remote: Callable[[], T] | None = None


class Sources(Generic[T]):
    """Everything of one kind that can be shown, best first.

    best: the id of what a new session sees.
    passed_over: label -> why something that would be preferred is not shown.
    asked: when the network was last asked, in seconds since 1970; None where it never was.
    refused: why nothing newer could be had then; "" where it could.
    step: how far the rest of the best, or of what comes next, is read; None while nothing is.
    unread: why that could not be read; "" where it could. when_read: is called when it has ended.
    """

    def __init__(
        self,
        candidates: Sequence[Candidate[T]],
        hub: Hub,
        read_rest: Callable[[T, OnProgress], T] = lambda item, tell: item,
    ) -> None:
        """candidates: in order of preference; the last must always be readable.

        read_rest: reads in the background what takes longer, and tells each step.
        """
        self.passed_over: dict[str, str] = {}
        self.asked: float | None = None
        self.refused = ""
        self.step: Step | None = None
        self.unread = ""
        self.when_read: Callable[[], object] = lambda: None
        self._candidates = candidates
        self._read_rest = read_rest
        self._hub = hub
        self._lock = threading.Lock()
        self._items = LruCache[T](MOST_SOURCES)
        self._thread: threading.Thread | None = None
        self._last_retry = -math.inf
        self._rank = self._open()

    def _open(self) -> int:
        """Read the first candidate that lies on this machine; the place it has in the order."""
        for rank, candidate in enumerate(self._candidates):
            try:
                self._add(candidate.local())
                return rank
            except KnownError as error:
                self.passed_over[candidate.label] = str(error)
        raise KnownError("Nothing can be shown: " + " ".join(self.passed_over.values()))

    def _add(self, item: T) -> None:
        with self._lock:
            self._items[item.id] = item
            self.best = item.id

    @property
    def fetching(self) -> bool:
        """Whether the network is being asked right now."""
        return self._thread is not None and self._thread.is_alive()

    def all(self) -> list[T]:
        """Everything that is here, the best last."""
        with self._lock:
            best = self._items[self.best]
            return [*(item for item in self._items.snapshot() if item is not best), best]

    def find(self, item_id: object) -> T | None:
        """What has that id; None where nothing here has, or not any more."""
        return self._items.get(item_id) if isinstance(item_id, str) else None

    def get(self, item_id: object) -> T:
        """What a session is looking at; the best there is where its id is unknown."""
        item = self.find(item_id)
        if item is not None:
            return item
        with self._lock:
            return self._items[self.best]

    def fetch(self, again: bool = False, online: bool = True) -> None:
        """Read the rest of the best in the background, then ask the network for what is preferred
        to, or newer than, it.

        again: whether to read what the owner chose on this machine once more, too.
        online: whether there is a network to ask.
        """

        def work() -> None:
            self._add_with_rest(self.get(None))
            if online:
                self._fetch(again)

        with self._lock:
            if not self.fetching:
                self.step = Step("reading")
                self._thread = in_background(work)

    def retry(self, again: bool = False) -> None:
        """Ask the network again in the background, unless that was asked for just now.

        What is shown stays until its successor is whole. again: as of `fetch`.
        """
        now = time.monotonic()
        if now - self._last_retry > _LEAST_SECONDS:
            self._last_retry = now
            self._hub.retry()
            self.fetch(again)

    def wait(self, seconds: float) -> None:
        """Wait until all was read and the network was asked, at most so long."""
        if self._thread is not None:
            self._thread.join(seconds)

    def _add_with_rest(self, item: T) -> None:
        try:
            self.step = Step("reading")
            item, self.unread = self._read_rest(item, partial(setattr, self, "step")), ""
        except Exception as error:
            logger.exception("reading %s failed", item.caption)
            self.unread = f"They could not be read: {first_line(error)}"
        self._add(item)
        self.step = None
        try:
            self.when_read()
        except Exception:
            logger.exception("what follows the reading of %s failed", item.caption)

    def _fetch(self, again: bool) -> None:
        refused, passed_over = "", dict(self.passed_over)
        for rank, candidate in enumerate(self._candidates[: self._rank + 1]):
            read = candidate.remote or (candidate.local if again and rank == 0 else None)
            if read is None:
                continue
            try:
                item = read()
                if rank < self._rank:  # else what is shown stays until its successor is whole
                    self.step = Step("reading")
                    self._add(item)
                self._rank, refused = rank, ""
                self._add_with_rest(item)
                break
            except KnownError as error:
                refused = str(error)
            except Exception as error:
                logger.exception("reading %s failed", candidate.label)
                refused = f"it could not be read: {first_line(error)}"
            passed_over[candidate.label] = refused
        better = [candidate.label for candidate in self._candidates[: self._rank]]
        self.passed_over = {label: why for label, why in passed_over.items() if label in better}
        self.refused, self.asked = refused, time.time()


def pair_sources(settings: Settings, hub: Hub) -> Sources[PairTable]:
    """The tables of pairs: EXPLORER_PAIRS, else RewardBench from the Hub, else the demo.

    They are the owner's choice: no limit binds them.
    """
    candidates = [_hub_candidate(DEFAULT_PAIRS, hub), Candidate(DEMO_ID, read_demo)]
    if settings.pairs:
        candidates.insert(0, _owners_candidate(settings.pairs, hub))
    return Sources(candidates, hub)


def read_demo() -> PairTable:
    """The bundled demo pairs."""
    return PairTable(read_pairs(DEMO_PAIRS, kind="demo"))


def _owners_candidate(wanted: str, hub: Hub) -> Candidate[PairTable]:
    """What EXPLORER_PAIRS names: a file, a public Hub dataset, or the demo."""
    if wanted == DEMO_ID:
        return Candidate(DEMO_ID, read_demo)
    path, hub_id = typed_path(wanted), parse_hub_id(wanted)
    if hub_id and not is_file(path) and path.suffix.lower() not in SUFFIXES:
        return _hub_candidate(hub_id, hub)
    return Candidate(f"EXPLORER_PAIRS={wanted}", lambda: PairTable(read_pairs(path, on_disk=True)))


def _hub_candidate(hub_id: HubId, hub: Hub) -> Candidate[PairTable]:
    return Candidate(
        str(hub_id),
        lambda: PairTable(fetch_pairs(hub_id, hub, token=False, local_only=True, on_disk=True)),
        lambda: PairTable(fetch_pairs(hub_id, hub, token=False, on_disk=True)),
    )

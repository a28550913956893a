"""Runs that go on in this server, whoever looks: pages come and go, and look how far they are."""

import logging
import secrets
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial

from explorer.core.errors import BUG
from explorer.core.work import in_background
from explorer.runs.progress import Follow, Progress
from explorer.runs.store import RunStore
from explorer.runs.visitors import Visitor
from scoring.errors import KnownError, Stopped

MOST_ENDED = 100
"""Runs of which it is remembered how they ended, for pages that look afterwards."""

END_SECONDS = 3.0
"""How long the end of the server waits for that of its runs."""

logger = logging.getLogger(__name__)

Work = Callable[[Follow], None]
"""What a run does, telling how far it is."""


class LiveRun:
    """A run from before its turn until its end. Callable from any thread.

    id: by which its owner's pages know it; no other run ever has it.
    owner: as of `Visitor`.
    model: what was typed; "" for a stored run that goes on.
    stop: ends it after its present pack.
    progress: how far it is; at its end without the pairs, which are on disk.
    has_begun: set once it was.
    ended: set at its end.
    """

    def __init__(self, owner: str, model: str) -> None:
        self.id = secrets.token_hex(8)
        self.owner = owner
        self.model = model
        self.stop = threading.Event()
        self.has_begun = threading.Event()
        self.ended = threading.Event()
        self.progress = Progress("waiting", 0)

    @property
    def run_id(self) -> str | None:
        """Of the stored run; None for a new one whose model is not loaded yet."""
        return self.progress.run.id if self.progress.run else None

    def drive(self, work: Work) -> None:
        """Do what there is to be done, to its end; whatever goes wrong is the last that is told."""
        try:
            work(self._follow)
        except Stopped:
            pass
        except KnownError as error:
            self._refuse(str(error))
        except Exception:
            logger.exception("a run failed")
            self._refuse(BUG)
        finally:
            self.progress = replace(self.progress, scored=())
            self.has_begun.set()
            self.ended.set()

    def _follow(self, progress: Progress) -> None:
        self.progress = progress
        self.has_begun.set()
        if self.stop.is_set():
            raise Stopped("It was stopped.")

    def _refuse(self, message: str) -> None:
        self.progress = Progress("refused", 0, message=message)


class LiveRuns:
    """The runs under way in this process. Callable from any thread."""

    def __init__(self, store: RunStore) -> None:
        self._store = store
        self._lock = threading.Lock()
        self._runs: dict[str, LiveRun] = {}
        self._is_over = False

    def begin(self, visitor: Visitor, model: str, work: Work) -> LiveRun:
        """Let a run begin in a thread of its own; what is wrong with it is told by the run.

        model: what was typed; "" for a stored run.
        """
        live = LiveRun(visitor.owner, model)
        with self._lock:
            ended = [each.id for each in self._runs.values() if each.ended.is_set()]
            for each in ended[:-MOST_ENDED]:
                del self._runs[each]
            self._runs[live.id] = live
        in_background(partial(live.drive, _refuse if self._is_over else work))
        return live

    def end(self) -> None:
        """Let no more runs begin, and stop those under way, which keep what is scored."""
        with self._lock:
            self._is_over = True
            runs = list(self._runs.values())
        for run in runs:
            run.stop.set()
        deadline = time.monotonic() + END_SECONDS
        for run in runs:
            run.ended.wait(max(0.0, deadline - time.monotonic()))

    def of(self, visitor: Visitor) -> list[LiveRun]:
        """The runs under way that a visitor may stop, in the order in which they were begun."""
        return [each for each in self._known(visitor) if not each.ended.is_set()]

    def get(self, visitor: Visitor, live_id: object) -> LiveRun | None:
        """A run of the visitor's, ended or not; None where there is none, or not any more.

        live_id: of the run, or the `run_id` of which it is the last.
        """
        known = [each for each in self._known(visitor) if live_id in (each.id, each.run_id)]
        return known[-1] if known and live_id else None

    def _known(self, visitor: Visitor) -> list[LiveRun]:
        with self._lock:
            known = list(self._runs.values())
        return [each for each in known if self._store.is_owners(each.owner, visitor)]


def _refuse(_: Follow) -> None:
    raise KnownError("The server is shutting down. Try again when it is back.")

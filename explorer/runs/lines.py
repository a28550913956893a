"""The list of stored runs: what each came to, which are on the page, which one is open."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from explorer.core.caches import LruCache
from explorer.core.validation import whole_number
from explorer.runs.cards import RunCard, card_of
from explorer.runs.outcomes import rows_of
from explorer.runs.sections import total_interval
from explorer.runs.store import RunStore
from scoring.errors import KnownError, shown
from scoring.interval import Interval
from scoring.record import Run
from scoring.summary import Summary, summarise

PAGE = 25
_SUMMARIES = LruCache[Summary | None](400)
_INTERVALS = LruCache[Interval | None](400)


@dataclass(frozen=True, slots=True)
class RunsState:
    """What a person sees of the list. open_id: the run that is open; "" for none."""

    open_id: str = ""
    page: int = 0
    deleting: bool = False
    """Whether it was asked to delete the open run, and not yet said for sure."""


@dataclass(frozen=True, slots=True)
class RunLine:
    """A run in the list.

    own: whether who looks may change it. summary: None if unreadable. interval: of its accuracy, as
        `explorer.runs.sections` says; None without one.
    """

    run: Run
    card: RunCard
    own: bool
    summary: Summary | None
    interval: Interval | None

    @property
    def name(self) -> str:
        """What it is called: by its owner, else by its model."""
        return self.card.title or self.run.facts.model

    @property
    def n_scored(self) -> int:
        """Pairs that are on disk."""
        return sum(self.summary.total.counts.values()) if self.summary else 0

    @property
    def can_go_on(self) -> bool:
        """Whether pairs are left, and it is known how to score them."""
        return self.own and self.run.status in ("stopped", "failed") and self.card.order is not None


@dataclass(frozen=True, slots=True)
class RunsScene:
    """The list at a moment. lines: of the page; total: runs in all; open: the run that is open."""

    view: RunsState
    lines: tuple[RunLine, ...]
    total: int
    open: RunLine | None

    @property
    def pages(self) -> int:
        """At least 1."""
        return max(1, -(-self.total // PAGE))


def runs_scene(store: RunStore, visitor: object, view: RunsState) -> RunsScene:
    """What a person sees of their runs now; a run that is gone is not open."""
    runs = store.visible(visitor)
    pages = max(1, -(-len(runs) // PAGE))
    view = replace(view, page=min(view.page, pages - 1))
    shown_runs = runs[view.page * PAGE : (view.page + 1) * PAGE]
    lines = tuple(_line(run, store, visitor) for run in shown_runs)
    opened = next((_line(run, store, visitor) for run in runs if run.id == view.open_id), None)
    if opened is None:
        view = replace(view, open_id="", deleting=False)
    return RunsScene(view, lines, len(runs), opened)


def move_runs(
    store: RunStore, visitor: object, view: RunsState, act: str, sent: Mapping[str, Any]
) -> RunsState:
    """Do what was pressed, with the run it names.

    Acts: "open" (id), "close", "page" (value), "title" (id, value), "share" (id, value), "delete"
    and "keep" (id), "remove" (id).

    Raises:
        KnownError: no such act, or the run is not the visitor's to change.
    """
    run_id = sent.get("id")
    if act == "open":
        return replace(view, open_id=store.open(run_id, visitor).id, deleting=False)
    if act == "close":
        return replace(view, open_id="", deleting=False)
    if act == "page":
        return replace(view, page=whole_number("The page", sent.get("value"), 0, 10_000))
    if act == "title":
        store.change(run_id, visitor, lambda card: card.titled(sent.get("value")))
        return view
    if act == "share":
        public = sent.get("value") is True
        store.change(run_id, visitor, lambda card: replace(card, public=public))
        return view
    if act in ("delete", "keep"):
        return replace(view, deleting=act == "delete")
    if act == "remove":
        store.delete(run_id, visitor)
        return replace(view, open_id="", deleting=False)
    raise KnownError(f"There is nothing that is called {shown(act)} here.")


def _line(run: Run, store: RunStore, visitor: object) -> RunLine:
    card = card_of(run)
    summary = summary_of(run)
    interval = None
    if summary is not None:
        interval = _INTERVALS.get_or_create(
            (run.folder, run.n_bytes()), lambda: total_interval(rows_of(run), run.facts)
        )
    return RunLine(run, card, store.is_own(card, visitor), summary, interval)


def summary_of(run: Run) -> Summary | None:
    """What a run's pairs come to, as far as it is; None where they cannot be read."""
    return _SUMMARIES.get_or_create((run.folder, run.n_bytes()), lambda: _summary(run))


def _summary(run: Run) -> Summary | None:
    try:
        return summarise(rows_of(run), run.facts.family)
    except KnownError:
        return None

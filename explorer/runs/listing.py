"""The runs that a person sees, as a list."""

from dataclasses import dataclass

from explorer.runs.cards import RunCard, card_of
from explorer.runs.facts import began
from explorer.runs.outcomes import summary_of
from explorer.runs.store import RunStore
from scoring.interval import Interval
from scoring.record import Run
from scoring.summary import Summary

PAGE_RUNS = 25


@dataclass(frozen=True, slots=True)
class RunLine:
    """A run in the list.

    own: whether who looks may change it. summary: None if unreadable.
    """

    run: Run
    card: RunCard
    own: bool
    summary: Summary | None

    @property
    def name(self) -> str:
        """What it is called: by its owner, else by its model."""
        return self.card.title or self.run.facts.model

    @property
    def started(self) -> str:
        """When it began, by UTC."""
        return began(self.run)

    @property
    def n_scored(self) -> int:
        """Pairs that are on disk."""
        return sum(self.summary.total.counts.values()) if self.summary else 0

    @property
    def interval(self) -> Interval | None:
        """Of its accuracy, as of `scoring.summary.Intervals`; None without one."""
        return self.summary.total_interval if self.summary else None

    @property
    def can_go_on(self) -> bool:
        """Whether pairs are left, and it is known how to score them."""
        return self.own and self.run.status in ("stopped", "failed") and self.card.order is not None


@dataclass(frozen=True, slots=True)
class RunsList:
    """Some of the runs at a moment.

    page: which one, from 1, of `pages`. lines: of it. total: runs in all.
    open: the run that is open. damaged: ids of runs that cannot be read.
    """

    page: int
    pages: int
    lines: tuple[RunLine, ...]
    total: int
    open: RunLine | None
    damaged: tuple[str, ...] = ()


def listed_runs(
    store: RunStore, visitor: object, page: int = 1, open_id: str = "", search: str = ""
) -> RunsList:
    """What a person sees of their runs now; a run that is gone is not open.

    page: the last one where there are fewer. search: part of their names, "" for all.
    """
    runs = store.visible(visitor)
    if words := search.strip().casefold():
        runs = [
            run for run in runs if words in f"{card_of(run).title} {run.facts.model}".casefold()
        ]
    pages = max(1, -(-len(runs) // PAGE_RUNS))
    page = min(page, pages)
    on_page = runs[(page - 1) * PAGE_RUNS : page * PAGE_RUNS]
    lines = tuple(run_line(run, store, visitor) for run in on_page)
    opened = next((run_line(run, store, visitor) for run in runs if run.id == open_id), None)
    damaged = tuple(store.damaged(visitor)[:PAGE_RUNS])
    return RunsList(page, pages, lines, len(runs), opened, damaged)


def run_line(run: Run, store: RunStore, visitor: object) -> RunLine:
    """A run as a visitor sees it in the list."""
    card = card_of(run)
    return RunLine(run, card, store.is_own(card, visitor), summary_of(run))

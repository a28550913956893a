"""The list of stored runs: what each came to, which are on the page, which one is open."""

from dataclasses import dataclass

from explorer.core.caches import LruCache
from explorer.runs.cards import RunCard, card_of
from explorer.runs.outcomes import rows_of
from explorer.runs.sections import total_interval
from explorer.runs.store import RunStore
from scoring.errors import KnownError
from scoring.interval import Interval
from scoring.record import Run
from scoring.summary import Summary, summarise

PAGE = 25
_SUMMARIES = LruCache[Summary | None](400)
_INTERVALS = LruCache[Interval | None](400)


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
    """The list at a moment.

    page: which one, from 0. lines: of it; total: runs in all; open: the run that is open.
    """

    page: int
    lines: tuple[RunLine, ...]
    total: int
    open: RunLine | None

    @property
    def pages(self) -> int:
        """At least 1."""
        return max(1, -(-self.total // PAGE))


def runs_scene(store: RunStore, visitor: object, page: int = 0, open_id: str = "") -> RunsScene:
    """What a person sees of their runs now; a run that is gone is not open.

    page: the last one where there are fewer.
    """
    runs = store.visible(visitor)
    page = min(page, max(0, (len(runs) - 1) // PAGE))
    lines = tuple(_line(run, store, visitor) for run in runs[page * PAGE : (page + 1) * PAGE])
    opened = next((_line(run, store, visitor) for run in runs if run.id == open_id), None)
    return RunsScene(page, lines, len(runs), opened)


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

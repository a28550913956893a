"""The Failures tab: what a run did not win, worst margin first, each in the reader."""

import time
from dataclasses import dataclass
from random import randrange
from typing import Any, NamedTuple

import gradio as gr

from explorer.runs import Runs, failures
from explorer.sources import Shelf
from explorer.table import PairTable
from explorer.text import text
from explorer.ui.browse import EVENT, PagerView, build_grid, build_pager, neighbour
from explorer.ui.errors import guarded
from explorer.ui.grids import Column, Grid, cut, grid, page_holding, page_of
from explorer.ui.markup import note, signed
from explorer.ui.reader import ReaderView, build_reader, pair_html, position_html
from explorer.ui.report import facts_html
from explorer.ui.score import ScoreView
from scoring.record import Run
from scoring.spec import ScoredPair


@dataclass(frozen=True)
class FailuresView:
    """The tab's components and what a session remembers of it."""

    run: gr.Dropdown
    summary: gr.HTML
    grid: gr.Dataframe
    pager: PagerView
    reader: ReaderView
    facts: gr.HTML
    open_key: gr.State
    page: gr.State

    @property
    def outputs(self) -> list[gr.components.Component]:
        """The components that a `FailureList` fills."""
        listed = [self.summary, self.grid, self.pager.words, self.page]
        return [*listed, self.reader.position, self.reader.pair, self.open_key, self.facts]


class FailureList(NamedTuple):
    """What the list and the reader show, in the order of `FailuresView.outputs`."""

    summary: str
    grid: Grid
    page_words: str
    page: int
    position: str
    pair: str
    open_key: str | None
    facts: str


def build_failures() -> FailuresView:
    """Lay the tab out where it is called."""
    run = gr.Dropdown([], label=text("failures.run"), info=text("failures.run_info"), elem_id="run")
    summary = gr.HTML(note(text("failures.none")))
    table = build_grid("failures", ["20%", "10%", "12%", "12%", "46%"])
    pager = build_pager()
    reader = build_reader()
    facts = gr.HTML()
    return FailuresView(run, summary, table, pager, reader, facts, gr.State(None), gr.State(1))


@dataclass(frozen=True)
class Failures:
    """The tab's callbacks. `state` is (own runs, run id, key, page, diff)."""

    shelf: Shelf[PairTable]
    runs: Runs

    @guarded
    def choices(self, own: list[str], wanted: object, present: object) -> Any:
        """The runs to choose from; the wanted one chosen, else the present, else the newest."""
        runs = self.runs.visible(own)
        ids = [run.id for run in runs]
        chosen = next((run_id for run_id in (wanted, present) if run_id in ids), None)
        chosen = chosen or (ids[0] if ids else None)
        return gr.update(choices=[(_name(run), run.id) for run in runs], value=chosen)

    @guarded
    def show(self, *state: Any) -> FailureList:
        """The first page of a run, its worst failure open."""
        return self._listing(state, None, 1)

    @guarded
    def page_before(self, *state: Any) -> FailureList:
        """Turn one page back."""
        return self._listing(state, state[2], state[3] - 1)

    @guarded
    def page_after(self, *state: Any) -> FailureList:
        """Turn one page on."""
        return self._listing(state, state[2], state[3] + 1)

    @guarded
    def pair_before(self, *state: Any) -> FailureList:
        """Open the failure before the open one."""
        return self._stepped(state, -1)

    @guarded
    def pair_after(self, *state: Any) -> FailureList:
        """Open the failure after the open one."""
        return self._stepped(state, 1)

    @guarded
    def random_pair(self, *state: Any) -> FailureList:
        """Open any failure."""
        return self._stepped(state, randrange(1, 2**20))  # noqa: S311 - no secret

    @guarded
    def open_row(self, event: gr.SelectData, *state: Any) -> FailureList:
        """Open the failure of the row that was clicked."""
        return self._listing(state, event.row_value[0], state[3])

    @guarded
    def redraw(self, *state: Any) -> FailureList:
        """Show the same again, with or without the diff."""
        return self._listing(state, state[2], state[3])

    def _stepped(self, state: tuple[Any, ...], step: int) -> FailureList:
        lost = self._lost(state)[2]
        key, place = neighbour([pair.key for pair in lost], state[2], step)
        return self._listing(state, key, page_holding(place))

    def _lost(
        self, state: tuple[Any, ...]
    ) -> tuple[Run | None, list[ScoredPair], list[ScoredPair]]:
        """The run, all its pairs, and those that it did not win."""
        own, run_id = state[:2]
        if run_id is None:
            return None, [], []
        run = self.runs.open(run_id, own)
        scored = run.rows()
        return run, scored, failures(scored)

    def _listing(self, state: tuple[Any, ...], key: str | None, page: int) -> FailureList:
        run, scored, lost = self._lost(state)
        by_key = {pair.key: pair for pair in lost}
        keys = list(by_key)
        if key not in by_key:
            key = keys[0] if keys else None
        here = page_of(len(lost), page)
        open_pair = by_key[key] if key else None
        cells = self._cells_of(open_pair) if open_pair else None
        return FailureList(
            note(_summary(run, scored, lost), "count"),
            grid(_columns(), [self._row(pair) for pair in lost[here.start : here.stop]], key),
            note(here.words),
            here.number,
            position_html(keys, key),
            pair_html(cells, key, state[4], open_pair),
            key,
            facts_html(run) if run else "",
        )

    def _cells_of(self, pair: ScoredPair) -> dict[str, str] | None:
        """The very texts that were scored, from whatever table holds them; None where none does."""
        for table in self.shelf.all():
            row = table.row_of_hash.get(pair.text_hash)
            if row is not None:
                return table.cells(row)
        return None

    def _row(self, pair: ScoredPair) -> list[Any]:
        prompt = (self._cells_of(pair) or {}).get("prompt", "")
        return [pair.key, pair.margin, pair.chosen_reward, pair.rejected_reward, cut(prompt)]


def _summary(run: Run | None, scored: list[ScoredPair], lost: list[ScoredPair]) -> str:
    if run is None:
        return text("failures.none")
    if not lost:
        words = text("failures.all_won", model=run.facts.model, n=f"{len(scored):,}")
    else:
        ties = sum(pair.outcome == "tie" for pair in lost)
        words = text(
            "failures.summary",
            failures=f"{len(lost):,}",
            n=f"{len(scored):,}",
            model=run.facts.model,
            losses=f"{len(lost) - ties:,}",
            ties=f"{ties:,}",
        )
    return f"{words} {text('failures.running')}" if run.status == "running" else words


def _name(run: Run) -> str:
    when = time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(run.started))
    return text(
        "failures.choice",
        model=run.facts.model,
        status=text(f"status.{run.status}"),
        total=f"{run.facts.n_pairs:,}",
        when=when,
    )


def wire_failures(view: FailuresView, tab: Failures, score: ScoreView, opened: gr.Tab) -> None:
    """Connect the components; the tab is brought up to date when it is opened."""
    reader = view.reader
    state = [score.own_runs, view.run, view.open_key, view.page, reader.diff]
    runs = [score.own_runs, score.run_id, view.run]
    chosen = opened.select(tab.choices, runs, view.run, **EVENT)
    chosen.then(tab.show, state, view.outputs, **EVENT)
    for trigger, callback in (
        (view.run.input, tab.show),
        (view.pager.previous.click, tab.page_before),
        (view.pager.next.click, tab.page_after),
        (reader.previous.click, tab.pair_before),
        (reader.next.click, tab.pair_after),
        (reader.random.click, tab.random_pair),
        (reader.diff.input, tab.redraw),
        (view.grid.select, tab.open_row),
    ):
        trigger(callback, state, view.outputs, **EVENT)


def _columns() -> list[Column]:
    return [
        Column(text("list.key")),
        Column(text("list.margin"), signed),
        Column(text("list.chosen_reward"), signed),
        Column(text("list.rejected_reward"), signed),
        Column(text("list.prompt")),
    ]

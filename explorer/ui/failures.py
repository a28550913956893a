"""The Failures tab: what a run did not win, worst margin first, each in the reader."""

import time
from collections import Counter
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import gradio as gr

from explorer.library import Library
from explorer.reading import ListedKeys, Reading, read_on
from explorer.runs import Runs, failures
from explorer.search import EVERYTHING
from explorer.text import text
from explorer.ui.errors import guarded
from explorer.ui.listing import Column, excerpt, harm_css, list_html, reader_bar
from explorer.ui.markup import note, signed
from explorer.ui.reader import pair_html
from explorer.ui.relay import EVENT, Part, act_of, build_part, wire_part
from explorer.ui.report import facts_html, report_html
from explorer.ui.score import ScoreView
from scoring.record import Run
from scoring.spec import ScoredPair
from scoring.summary import summarise


@dataclass(frozen=True)
class FailuresView:
    """The tab's components."""

    part: Part
    run: gr.Dropdown
    summary: gr.HTML
    pairs: gr.HTML
    reader_bar: gr.HTML
    pair: gr.HTML
    facts: gr.HTML
    seen: gr.State
    reading: gr.State

    @property
    def outputs(self) -> list[gr.components.Component]:
        """What a turn of the list fills."""
        return [
            self.reading, self.summary, self.facts, self.pairs, self.reader_bar, self.pair,
        ]  # fmt: skip


def build_failures() -> FailuresView:
    """Lay the tab out where it is called."""
    run = gr.Dropdown(
        [],
        label=text("failures.run"),
        info=text("failures.run_info"),
        elem_id="run",
        filterable=False,
    )
    with build_part("failures") as part:
        summary = gr.HTML(note(text("failures.none")))
        pairs, reader, pair = gr.HTML(), gr.HTML(), gr.HTML(elem_classes="reader")
    return FailuresView(
        part, run, summary, pairs, reader, pair, gr.HTML(), gr.State(None), gr.State(Reading())
    )


class _Lost(NamedTuple):
    """A run with all its pairs, and those that it did not win, the worst first."""

    run: Run | None
    scored: list[ScoredPair]
    by_key: dict[str, ScoredPair]
    listed: ListedKeys


@dataclass(frozen=True)
class Failures:
    """The tab's callbacks."""

    library: Library
    runs: Runs

    @guarded
    def choices(
        self, own: object, scored: object, present: object, seen: object
    ) -> tuple[Any, object]:
        """The runs to choose from: one scored since the tab was last open, else the present one."""
        runs = self.runs.visible(own)
        ids = [run.id for run in runs]
        preferred = (scored, present) if scored != seen else (present, scored)
        chosen = next((run_id for run_id in (*preferred, *ids) if run_id in ids), None)
        return gr.update(choices=[(_name(run), run.id) for run in runs], value=chosen), scored

    @guarded
    def show(self, own: object, run_id: object, reading: Reading) -> tuple[Any, ...]:
        """A run's failures, the worst first; the open one stays where it is among them."""
        lost = self._lost(own, run_id)
        return self._shown(lost, reading.anew(lost.listed))

    @guarded
    def turn_to(self, own: object, run_id: object, reading: Reading) -> tuple[Any, ...]:
        """Another run, from its worst failure on."""
        lost = self._lost(own, run_id)
        return self._shown(lost, replace(reading, key="", page=1).settled(lost.listed))

    @guarded
    def act(
        self, event: gr.EventData, own: object, run_id: object, reading: Reading
    ) -> tuple[Any, ...]:
        """One step further in the list."""
        lost = self._lost(own, run_id)
        name, sent = act_of(event)
        now = reading.settled(lost.listed)
        return self._shown(lost, read_on(now, lost.listed, name, sent.get("value")))

    def _shown(self, lost: _Lost, reading: Reading) -> tuple[Any, ...]:
        """What the run came to, how it was made, the list and the reader."""
        run, scored, by_key, listed = lost
        words = note(_summary(run, scored, list(by_key.values())), "count")
        pair = self._pair(run, by_key.get(reading.key), reading)
        if run is None or not by_key:
            report = report_html(run, summarise(scored), scored) if run and scored else ""
            return (reading, report + words, facts_html(run) if run else "", "", "", pair)
        pairs = list_html(
            text("failures.label"),
            _columns(),
            listed,
            reading,
            lambda place: self._row(run, by_key[listed.key(place)]),
            css=lambda place: harm_css(by_key[listed.key(place)].subset),
        )
        report = report_html(run, summarise(scored), scored)
        return (reading, report + words, facts_html(run), pairs, reader_bar(listed, reading), pair)

    def _lost(self, own: object, run_id: object) -> _Lost:
        """What the run did not win; nothing where none was chosen."""
        run = None if run_id is None else self.runs.open(run_id, own)
        scored = run.rows() if run else []
        by_key = {pair.key: pair for pair in failures(scored)}
        return _Lost(run, scored, by_key, ListedKeys(list(by_key)))

    def _cells_of(self, run: Run, pair: ScoredPair) -> dict[str, Any] | None:
        """The very texts that were scored, from whatever table holds them; None where none does.

        An uploaded table is looked at by those alone whose run it was.
        """
        scored_on = self.library.find(run.facts.pairs)
        for table in ([scored_on] if scored_on else []) + self.library.all():
            row = table.row_of_hash.get(pair.text_hash)
            if row is not None:
                return table.cells(row)
        return None

    def _pair(self, run: Run | None, pair: ScoredPair | None, reading: Reading) -> str:
        look = reading.look(EVERYTHING)
        if run is None or pair is None:
            return pair_html(None, None, look)
        return pair_html(self._cells_of(run, pair), pair.key, look, pair)

    def _row(self, run: Run, pair: ScoredPair) -> list[str]:
        prompt = (self._cells_of(run, pair) or {}).get("prompt", "")
        rewards = (pair.margin, pair.chosen_reward, pair.rejected_reward)
        return [*(signed(each) for each in rewards), excerpt(prompt, EVERYTHING)]


def _summary(run: Run | None, scored: list[ScoredPair], lost: list[ScoredPair]) -> str:
    if run is None:
        return text("failures.none")
    if not scored:
        words = text("failures.nothing")
    elif not lost:
        words = text("failures.all_won", n=f"{len(scored):,}")
    else:
        counts = Counter(pair.outcome for pair in lost)
        words = text(
            "failures.summary",
            failures=f"{len(lost):,}",
            n=f"{len(scored):,}",
            losses=f"{counts['loss']:,}",
            ties=f"{counts['tie']:,}",
            missing=f"{counts['missing']:,}",
        )
    return f"{words} {text('failures.running')}" if run.status == "running" else words


def _name(run: Run) -> str:
    when = time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(run.started))
    return text(
        "failures.choice",
        model=run.facts.model,
        status=text(f"status.{run.status}"),
        done=f"{run.n_scored:,}" if run.status != "running" else "…",
        total=f"{run.facts.n_pairs:,}",
        selection=run.facts.selection,
        when=when,
    )


def _columns() -> list[Column]:
    return [
        Column(text("list.margin"), number=True),
        Column(text("list.chosen_reward"), number=True),
        Column(text("list.rejected_reward"), number=True),
        Column(text("list.prompt"), css="words"),
    ]


def wire_failures(view: FailuresView, tab: Failures, score: ScoreView, opened: gr.Tab) -> None:
    """Connect the components; the tab is brought up to date when it is opened."""
    state = [score.own_runs, view.run, view.reading]
    runs = [score.own_runs, score.run_id, view.run, view.seen]
    chosen = opened.select(tab.choices, runs, [view.run, view.seen], **EVENT)
    chosen.then(tab.show, state, view.outputs, **EVENT)
    view.run.input(tab.turn_to, state, view.outputs, **EVENT)
    wire_part(view.part, tab.act, state, view.outputs)

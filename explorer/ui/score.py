"""The Score tab: choose a model and pairs, watch the run, see what it came to."""

import logging
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import gradio as gr
import numpy as np
import pyarrow.compute as pc

from explorer.filters import matching_rows, rows_per_subset
from explorer.runs import Progress, Runs
from explorer.settings import Settings
from explorer.table import PairTable, Rows
from explorer.text import text
from explorer.ui.browse import Browse, BrowseView
from explorer.ui.errors import guarded
from explorer.ui.grids import build_grid
from explorer.ui.markup import note
from explorer.ui.relay import EVENT, unchanged
from explorer.ui.runview import RunShown, only_status, reopened, shown
from explorer.ui.searchbar import filter_words
from scoring.errors import KnownError
from scoring.models import DEMO

STORAGE = "rewardbench-explorer-runs"
"""Where a browser keeps the ids of its runs. They are their own secret: they cannot be guessed."""
BY_FILTER, BY_SUBSET = "filter", "subset"
MOST_PER_SUBSET = 1000

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class ScoreView:
    """The tab's components."""

    model: gr.Dropdown
    which: gr.Radio
    per_subset: gr.Number
    seed: gr.Number
    selected: gr.HTML
    start: gr.Button
    stop: gr.Button
    status: gr.HTML
    cards: gr.HTML
    sections: gr.HTML
    margins: gr.Plot
    rows: gr.Dataframe
    facts: gr.HTML
    inspect: gr.Button
    run_id: gr.State
    own_runs: gr.BrowserState

    @property
    def outputs(self) -> list[gr.components.Component]:
        """The components that a `RunShown` fills."""
        seen = [
            self.status,
            self.start,
            self.stop,
            self.cards,
            self.sections,
            self.margins,
            self.rows,
            self.facts,
        ]
        return [*seen, self.inspect, self.run_id, self.own_runs]


def remembered_runs() -> gr.BrowserState:
    """The runs of this browser. It must stand outside the tabs, which are filled when opened."""
    return gr.BrowserState([], storage_key=STORAGE, secret=STORAGE)


def build_score(settings: Settings, own_runs: gr.BrowserState) -> ScoreView:
    """Lay the tab out where it is called. own_runs: from `remembered_runs`."""
    with gr.Row(equal_height=False):
        with gr.Column(scale=1, min_width=290, elem_classes="side"):
            with gr.Group():
                model = gr.Dropdown(
                    [(text("score.model_demo"), DEMO)],
                    value=DEMO,
                    allow_custom_value=True,
                    label=text("score.model"),
                    info=text("score.model_info_space" if settings.public else "score.model_info"),
                    elem_id="model",
                )
                which = gr.Radio(
                    [
                        (text("score.by_subset"), BY_SUBSET),
                        (text("score.by_filter"), BY_FILTER),
                    ],
                    value=BY_SUBSET,
                    label=text("score.which"),
                    elem_id="which",
                )
                with gr.Row():
                    per_subset = gr.Number(
                        4,
                        label=text("score.per_subset"),
                        precision=0,
                        min_width=100,
                        elem_id="per-subset",
                    )
                    seed = gr.Number(
                        0, label=text("score.seed"), precision=0, min_width=100, elem_id="seed"
                    )
            selected = gr.HTML()
            with gr.Row():
                start = gr.Button(
                    text("score.start"), variant="primary", elem_id="start", min_width=120
                )
                stop = gr.Button(
                    text("score.stop"), elem_id="stop", min_width=80, interactive=False
                )
            facts = gr.HTML()
        with gr.Column(scale=4, min_width=420):
            with gr.Row(elem_classes="status-row"):
                status = gr.HTML(note(text("score.idle")), elem_id="status")
                inspect = gr.Button(
                    visible=False, variant="primary", elem_id="inspect", scale=0, min_width=210
                )
            cards = gr.HTML()
            with gr.Row(equal_height=False):
                sections = gr.HTML(min_width=360)
                with gr.Column(min_width=360):
                    margins = gr.Plot(show_label=False, visible=False)
                    rows = build_grid("scored", ["32%", "13%", "15%", "20%", "20%"], visible=False)
    return ScoreView(
        model, which, per_subset, seed, selected, start, stop, status, cards, sections, margins,
        rows, facts, inspect, gr.State(None), own_runs,
    )  # fmt: skip


class Selection(NamedTuple):
    """Rows of a table, and in words how they were chosen."""

    table: PairTable
    rows: Rows
    words: str


@dataclass(frozen=True)
class Score:
    """The tab's callbacks.

    `choice` is (what the Browse tab shows, which, pairs per subset, seed).
    """

    browse: Browse
    runs: Runs

    @guarded
    def count(self, *choice: Any) -> str:
        """How many pairs are chosen, and from where."""
        try:
            rows = self.chosen(*choice).rows
        except KnownError as error:
            return note(str(error), "wrong")
        if not len(rows):
            return note(text("score.none_selected"), "wrong")
        return note(text("score.selected", n=f"{len(rows):,}"))

    def start(
        self, request: gr.Request, model: object, own: object, *choice: Any
    ) -> Iterator[RunShown]:
        """Score, showing each pack as it comes; whatever goes wrong ends in a word on the page."""
        try:
            owner = request.session_hash or ""
            for progress in self.runs.start(owner, model, *self.chosen(*choice)):
                yield shown(progress, str(model), own)
        except KnownError as error:
            yield only_status(Progress("refused", 0, message=str(error)))
        except Exception:
            logger.exception("a run failed")
            yield only_status(Progress("refused", 0, message=text("error.bug")))

    def stop(self, request: gr.Request) -> tuple[str, Any]:
        """End this session's run after its present pack."""
        self.runs.stop(request.session_hash)
        return note(text("score.stopping")), gr.update(interactive=False)

    def leave(self, request: gr.Request) -> None:
        """End the run of a session whose page was closed; what it scored is kept."""
        self.runs.stop(request.session_hash)

    @guarded
    def reopen(self, own: object) -> RunShown:
        """After the page was opened: the last run of this browser, as it stands."""
        for run in self.runs.visible(own):
            if isinstance(own, list) and run.id in own:
                return shown(reopened(run), run.facts.model, own)
        return unchanged(RunShown)

    def chosen(self, *choice: Any) -> Selection:
        """What is to be scored.

        Raises:
            KnownError: pairs that are not here any more, or have further responses; a number that
                is none, or too small or large.
        """
        seen, which, per_subset, seed = choice
        table = self.browse.table(seen)
        if which == BY_FILTER:
            rows = matching_rows(table, seen.filters)
            words = ", ".join(filter_words(seen.filters)) or text("score.no_filter")
            return _whole_pairs(table, rows, text("score.selection_filter", filters=words))
        wanted = _whole(text("score.per_subset"), per_subset, 1, MOST_PER_SUBSET)
        seed = _whole(text("score.seed"), seed, 0, 2**32 - 1)
        words = text("score.selection_subset", n=wanted, seed=seed)
        return _whole_pairs(table, rows_per_subset(table, wanted, seed), words)


def _whole_pairs(table: PairTable, rows: Rows, words: str) -> Selection:
    """A selection in which every row is one pair."""
    for column in ("more_chosen", "more_rejected"):
        lengths = pc.list_value_length(table.arrow.column(column)).to_numpy()[rows]
        if lengths.any():
            raise KnownError(text("score.further", n=f"{np.count_nonzero(lengths):,}"))
    return Selection(table, rows, words)


def _whole(name: str, value: Any, low: int, high: int) -> int:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if is_number and low <= value <= high and float(value).is_integer():
        return int(value)
    given = "empty" if value is None else str(value)[:40]
    raise KnownError(f"{name} is {given}; it must be a whole number, {low} to {high:,}.")


def wire_score(view: ScoreView, score: Score, browse: BrowseView, tab: gr.Tab) -> None:
    """Connect the components; one run at a time uses the device."""
    numbers = [view.which, view.per_subset, view.seed]
    choice = [browse.seen, *numbers]
    for changed in (*(number.input for number in numbers), tab.select):
        changed(score.count, choice, view.selected, trigger_mode="always_last", **EVENT)
    view.start.click(
        score.start,
        [view.model, view.own_runs, *choice],
        view.outputs,
        trigger_mode="once",
        **EVENT,
    )
    view.stop.click(score.stop, None, [view.status, view.stop], queue=False, **EVENT)

"""The Score tab, laid out: form, report of a run and latest runs, or the list of all runs."""

from dataclasses import dataclass
from typing import get_args

import gradio as gr

from explorer.core.html import note, part
from explorer.core.parts import Part, Posted, build_menu, build_part, components
from explorer.core.settings import Settings
from explorer.core.text import text
from explorer.reader.fields_view import TypedFields, build_model, build_typed
from explorer.runs.orders import LARGEST, ModelOrder
from explorer.runs.selections import Choice
from explorer.tabs.score.exports import RUN_FORMATS, RunFormat
from explorer.tabs.score.publish_view import PublishParts, build_publish
from explorer.tabs.score.state import SCORE_PANELS, TAB, ScorePanel, ScoreState
from scoring.engine.templates import named_templates
from scoring.errors import KnownError, shown
from scoring.spec import FAMILIES, JudgePrompt
from scoring.sure import SureRule

POLL_SECONDS = 1.0
"""Between two questions of a page how far the run is that it follows."""


@dataclass(frozen=True)
class OrderParts:
    """Which model, and how it scores."""

    model: gr.Dropdown
    family: gr.Dropdown
    reference: gr.Textbox
    reading: gr.Textbox
    dtype: gr.Dropdown
    max_length: gr.Number
    chat_template: gr.Dropdown
    tokenizer: gr.Textbox
    url: gr.Textbox
    judge_prompt: gr.Dropdown
    max_tokens: gr.Number
    temperature: gr.Number
    card: gr.HTML

    @property
    def inputs(self) -> list[gr.components.Component]:
        """What is chosen here."""
        return [each for each in components(self) if each is not self.card]

    def order(self, posted: Posted) -> ModelOrder:
        """What is asked for.

        Raises:
            KnownError: of `ModelOrder.of`.
        """
        asked = {name: posted[each] for name, each in vars(self).items() if each is not self.card}
        return ModelOrder.of({**asked, "settings": asked})


@dataclass(frozen=True)
class FindParts:
    """The search for a model on the Hub."""

    words: gr.Textbox
    press: gr.Button
    found: gr.Dropdown
    said: gr.HTML


@dataclass(frozen=True)
class ChoiceParts:
    """Which pairs."""

    which: gr.Radio
    per_subset: gr.Number
    seed: gr.Number
    keys: gr.Textbox
    failed: gr.Dropdown
    typed: gr.Column
    texts: TypedFields
    selected: gr.HTML

    @property
    def inputs(self) -> list[gr.components.Component]:
        """What is chosen here."""
        return [self.which, self.per_subset, self.seed, self.keys, self.failed, *self.texts]

    @property
    def needed(self) -> dict[str, tuple[gr.blocks.Block, ...]]:
        """Way to choose pairs -> what is there for it alone."""
        return {
            "subset": (self.per_subset, self.seed),
            "keys": (self.keys,),
            "failed": (self.failed,),
            "typed": (self.typed,),
        }

    def choice(self, posted: Posted) -> Choice:
        """What is asked for."""
        return Choice(*(posted[each] for each in self.inputs))


@dataclass(frozen=True)
class SureParts:
    """When to stop."""

    on: gr.Checkbox
    number: gr.Dropdown
    width: gr.Number

    @property
    def inputs(self) -> list[gr.components.Component]:
        """What is chosen here."""
        return components(self)

    def rule(self, posted: Posted) -> SureRule | None:
        """What a run is to be sure of; None where it is to score all pairs. The width is in points.

        Raises:
            KnownError: of `SureRule`, or the width is no number.
        """
        if posted[self.on] is not True:
            return None
        width = posted[self.width]
        is_number = isinstance(width, int | float) and not isinstance(width, bool)
        if not is_number or not -LARGEST <= width <= LARGEST:
            raise KnownError(f"{text('sure.width')} must be a number, not {shown(width)}.")
        return SureRule(posted[self.number], width / 100)


@dataclass(frozen=True)
class ReportParts:
    """What a run shows.

    check: what is published of its model, beside it.
    latest: the runs that began last. box: holds the menu of its files, and file the one asked for.
    ended: the run that ended last on this page, "" where none began, and the id by which it was
        followed.
    """

    status: gr.HTML
    start: gr.Button
    stop: gr.Button
    cards: gr.HTML
    sections: gr.HTML
    margins: gr.HTML
    rows: gr.HTML
    facts: gr.HTML
    check: gr.HTML
    latest: gr.HTML
    box: gr.Column
    exports: dict[RunFormat, gr.Button]
    file: gr.DownloadButton
    ended: gr.State
    timer: gr.Timer


@dataclass(frozen=True)
class RunsParts:
    """The list of runs, and what can be done with the one that is open."""

    listed: gr.HTML
    publish: PublishParts


@dataclass(frozen=True)
class ScoreParts:
    """The tab's components. address: its query string."""

    part: Part
    panels: gr.HTML
    columns: dict[ScorePanel, gr.Row | gr.Column]
    order: OrderParts
    find: FindParts
    choice: ChoiceParts
    sure: SureParts
    report: ReportParts
    runs: RunsParts
    address: gr.Textbox

    @property
    def outputs(self) -> list[gr.blocks.Block]:
        """The components that `ScoreTab.act` fills."""
        return components(self.panels, self.columns, self.report, self.runs.listed, self.address)


def ways(n_listed: int, n: int) -> list[tuple[str, str]]:
    """The ways to choose pairs, in words: of n pairs, as many as the Pairs tab lists pass."""
    words = text("score.by_all", n=f"{n:,}")
    if n_listed != n:
        words = text("score.by_filter", n=f"{n_listed:,}")
    others = ("subset", "failed", "keys", "typed")
    return [(words, "filter"), *((text(f"score.by_{way}"), way) for way in others)]


def panels_html(state: ScoreState, link_base: str) -> str:
    """The form with the report of a run, or the list of all; and the link of what is open.

    link_base: where a copied link begins; "" for the page.
    """
    words: dict[str, str] = {panel: text(f"score.panel_{panel}") for panel in SCORE_PANELS}
    segments = part("segments", text("panel.label"), "panel", words, state.panel)
    return segments + part("copy_button", text("filter.copy_link"), "link", link_base)


def looking_html() -> str:
    """In place of a model's card, while it is looked at."""
    return part("looking", of="tabs/score/run.html")


def build_score(settings: Settings) -> ScoreParts:
    """Lay the tab out where it is called."""
    with build_part(TAB) as part:
        with gr.Row(elem_classes="pane-bar"):
            panels = gr.HTML(panels_html(ScoreState(), settings.link_base))
            box, exports, file = _build_exports()
        columns: dict[ScorePanel, gr.Row | gr.Column] = {
            "new": gr.Row(equal_height=False, elem_classes="panes"),
            "runs": gr.Column(visible=False),
        }
        with columns["new"]:
            with gr.Column(scale=1, min_width=0, elem_classes="form-pane"):
                with gr.Group():
                    model = build_model(settings, "model")
                card = gr.HTML(looking_html(), elem_id="model-card")
                choice = _build_choice(settings)
                sure = _build_sure()
                order = _build_order(settings, model, card)
                find = _build_find(settings)
                with gr.Row(elem_classes="score-buttons"):
                    start = gr.Button(
                        text("score.start"), variant="primary", elem_id="start", min_width=120
                    )
                    stop = gr.Button(
                        text("score.stop"), elem_id="stop", min_width=80, interactive=False
                    )
            with gr.Column(scale=4, min_width=0, elem_classes="report-pane"):
                status = gr.HTML(note(text("score.idle")), elem_id="status")
                cards = gr.HTML()
                with gr.Row(equal_height=False):
                    sections = gr.HTML(min_width=360, elem_id="by-section")
                    with gr.Column(min_width=360):
                        margins = gr.HTML(elem_id="margins")
                        rows = gr.HTML(elem_id="scored")
                check = gr.HTML(elem_id="published-check")
                facts = gr.HTML()
            with gr.Column(scale=1, min_width=0, elem_classes="runs-pane"):
                gr.HTML(_run_search())
                latest = gr.HTML(elem_id="latest-runs")
        with columns["runs"]:
            runs = RunsParts(gr.HTML(elem_id="runs-list"), build_publish(settings))
    report = ReportParts(
        status, start, stop, cards, sections, margins, rows, facts, check, latest,
        box, exports, file,
        gr.State(("", "")), gr.Timer(POLL_SECONDS, active=False),
    )  # fmt: skip
    return ScoreParts(
        part, panels, columns, order, find, choice, sure, report, runs, gr.Textbox(visible=False)
    )


def _run_search() -> str:
    return part("run_search", of="tabs/score/run.html")


def _build_exports() -> tuple[gr.Column, dict[RunFormat, gr.Button], gr.DownloadButton]:
    """Hidden until there is a run."""
    with build_menu(text("runs.export"), "run-exports") as box:
        exports = {
            each: gr.Button(text(f"runs.export_{each}"), elem_id=f"run-export-{each}")
            for each in RUN_FORMATS
        }
    # Outside: a hidden component in a column that is shown would be shown with it.
    return box, exports, gr.DownloadButton(visible="hidden", elem_id="run-file")


def _build_order(settings: Settings, model: gr.Dropdown, card: gr.HTML) -> OrderParts:
    with gr.Accordion(text("score.how"), open=False, elem_id="how-it-scores"):
        family = gr.Dropdown(
            [(text("score.family_auto"), ""), *((each, each) for each in FAMILIES)],
            value="",
            label=text("score.family"),
            info=text("score.family_info"),
            elem_id="family",
        )
        reference = gr.Textbox(
            label=text("score.reference"),
            info=text("score.reference_info"),
            elem_id="reference",
            max_lines=1,
        )
        reading = gr.Textbox(
            label=text("score.reading"),
            info=text("score.reading_info"),
            elem_id="reading",
            max_lines=1,
        )
        with gr.Row():
            dtype = gr.Dropdown(
                ["auto", "float32", "bfloat16", "float16"],
                value="auto",
                label=text("score.dtype"),
                min_width=110,
                elem_id="dtype",
            )
            max_length = gr.Number(
                None,
                label=text("score.max_length"),
                info=text("score.max_length_info"),
                precision=0,
                min_width=110,
                elem_id="max-length",
            )
        chat_template = gr.Dropdown(
            [(text("score.template_own"), ""), *((each, each) for each in named_templates())],
            value="",
            label=text("score.template"),
            info=text("score.template_info"),
            elem_id="chat-template",
        )
        tokenizer = gr.Textbox(
            label=text("score.tokenizer"),
            info=text("score.tokenizer_info"),
            elem_id="tokenizer",
            max_lines=1,
        )
        url = gr.Textbox(
            label=text("score.url"),
            info=text("score.url_info"),
            visible=bool(settings.servers),
            elem_id="url",
            max_lines=1,
        )
        with gr.Row():
            judge_prompt = gr.Dropdown(
                list(get_args(JudgePrompt)),
                value="probabilities",
                label=text("score.judge_prompt"),
                info=text("score.judge_prompt_info"),
                elem_id="judge-prompt",
            )
            max_tokens = gr.Number(
                None,
                label=text("score.max_tokens"),
                info=text("score.max_tokens_info"),
                precision=0,
                min_width=110,
                elem_id="max-tokens",
            )
            temperature = gr.Number(
                0, label=text("score.temperature"), min_width=110, elem_id="temperature"
            )
    return OrderParts(
        model, family, reference, reading, dtype, max_length, chat_template, tokenizer, url,
        judge_prompt, max_tokens, temperature, card,
    )  # fmt: skip


def _build_find(settings: Settings) -> FindParts:
    may = not settings.offline and not settings.models
    with gr.Accordion(text("score.find"), open=False, visible=may, elem_id="find-model"):
        words = gr.Textbox(label=text("score.find_words"), max_lines=1, elem_id="find-words")
        press = gr.Button(text("score.find_press"), size="md", elem_id="find-press")
        found = gr.Dropdown([], label=text("score.find_found"), visible=False, elem_id="find-found")
        said = gr.HTML()
    return FindParts(words, press, found, said)


def _build_choice(settings: Settings) -> ChoiceParts:
    first = "filter" if settings.max_pairs is None else "subset"
    with gr.Group():
        which = gr.Radio(
            ways(0, 0),
            value=first,
            label=text("score.which"),
            elem_id="which",
        )
        with gr.Row():
            per_subset = gr.Number(
                4, label=text("score.per_subset"), precision=0, min_width=100,
                elem_id="per-subset", visible=first == "subset",
            )  # fmt: skip
            seed = gr.Number(
                0, label=text("score.seed"), precision=0, min_width=100, elem_id="seed",
                visible=first == "subset",
            )  # fmt: skip
        failed = gr.Dropdown(
            [], label=text("score.failed_model"), visible=False, elem_id="failed-model"
        )
        keys = gr.Textbox(
            label=text("score.keys"),
            lines=4,
            max_lines=12,
            visible=False,
            elem_id="keys",
        )
        with gr.Column(visible=False) as typed:
            texts = build_typed(settings, "own")
    selected = gr.HTML(elem_id="selected")
    return ChoiceParts(which, per_subset, seed, keys, failed, typed, texts, selected)


def _build_sure() -> SureParts:
    with gr.Accordion(text("sure.title"), open=False, elem_id="stop-when-sure"):
        on = gr.Checkbox(label=text("sure.on"), info=text("sure.about"), elem_id="sure")
        with gr.Row():
            number = gr.Dropdown(
                [(text("sure.accuracy"), "accuracy"), (text("sure.score"), "score")],
                value="accuracy",
                label=text("sure.number"),
                min_width=120,
                elem_id="sure-number",
            )
            width = gr.Number(
                5, label=text("sure.width"), precision=1, min_width=100, elem_id="sure-width"
            )
    return SureParts(on, number, width)

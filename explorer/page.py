"""The whole page: header, the bar that says which data is shown, the tabs, and what joins them."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import gradio as gr
from markupsafe import Markup

from explorer.api.boards import BoardEndpoints, publish_boards
from explorer.api.pairs import PairEndpoints, publish_pairs
from explorer.api.scoring import ScoreEndpoints, publish_scoring
from explorer.core.html import help_html, render
from explorer.core.parts import (
    EVENT,
    Filling,
    Linked,
    Part,
    act_of,
    build_part,
    components,
    done,
    filling,
    guarded,
    wrote,
)
from explorer.core.settings import ASSETS
from explorer.core.text import text
from explorer.core.work import Latest
from explorer.reader.links import TABS, tab_of
from explorer.reader.scene import Scenes
from explorer.reader.session import Session
from explorer.reader.source_view import SourceBarParts, build_sourcebar, sourcebar
from explorer.reader.state import Tables
from explorer.results.boards import BoardMeasuring
from explorer.stores import Stores
from explorer.tabs.about.about_view import build_about
from explorer.tabs.about.chooser_view import Chooser, ChooserParts, build_chooser, wire_chooser
from explorer.tabs.models.acts_view import ModelsTab, linked_models, wire_models
from explorer.tabs.models.source_view import BoardSource, wire_boardsource
from explorer.tabs.models.view import ModelsParts, build_models
from explorer.tabs.pairs.acts_view import PairsTab, linked_pairs, wire_pairs
from explorer.tabs.pairs.notes_view import remembered_notes
from explorer.tabs.pairs.review.acts_view import ReviewTab, wire_review
from explorer.tabs.pairs.review.view import remembered_review
from explorer.tabs.pairs.view import PairsParts, build_pairs
from explorer.tabs.score.acts_view import ScoreTab, open_score, wire_score
from explorer.tabs.score.before_view import Find, offered_models, wire_find
from explorer.tabs.score.publish_view import Publish, wire_publish
from explorer.tabs.score.signin_view import SignIn, build_signin
from explorer.tabs.score.view import ScoreParts, build_score
from explorer.tabs.try_it.acts_view import TrialTab, wire_trial
from explorer.tabs.try_it.view import TrialParts, build_trial

POLL_SECONDS = 1.5
KEPT = (3600, 7200)
"""Files that were uploaded or exported are looked for so often, and kept so long, in seconds."""
LOGO: Path = ASSETS / "logo.svg"
READY = "() => { document.documentElement.dataset.explorer = 'ready'; return []; }"


@dataclass(frozen=True)
class PageParts:
    """All components of the page. tab: by its name."""

    session: gr.State
    bar: SourceBarParts
    secret: gr.BrowserState
    chooser: ChooserParts
    tabs: gr.Tabs
    pairs: PairsParts
    score: ScoreParts
    trial: TrialParts
    models: ModelsParts
    tab: dict[str, gr.Tab]
    timer: gr.Timer
    go: Part


@dataclass(frozen=True)
class Page:
    """The callbacks that join the tabs."""

    stores: Stores
    parts: PageParts

    @guarded
    def best_board(self, session: Session) -> None:
        """Turn to the newest published results."""
        session.results_id = self.stores.results.sources.best

    @guarded
    def bars(self, session: Session) -> Filling:
        """What both source bars say now; the timer runs while the network is being asked."""
        pairs, boards = self.stores.pairs, self.stores.results
        can_retry = not self.stores.settings.offline
        seen = pairs.find(session.table_id), boards.get(session.results_id)
        bars = self.parts.bar, self.parts.models.bar
        asking = pairs.sources.fetching or boards.sources.fetching
        return {
            **sourcebar(bars[0], pairs.sources, seen[0], can_retry),
            **sourcebar(bars[1], boards.sources, seen[1], can_retry),
            self.parts.timer: gr.Timer(active=asking),
        }

    @guarded
    def best_pairs(self) -> str:
        """The id of the pairs that arrived."""
        return self.stores.pairs.best

    @guarded
    def tab(self, query_string: object) -> gr.Tabs:
        """Open the tab that the address asks for."""
        return gr.Tabs(selected=tab_of(query_string))

    @guarded
    def asked(self, event: gr.EventData) -> str:
        """What a link on the page asks for."""
        return str(act_of(event)[1].get("query"))

    @guarded
    def retry(self) -> None:
        """Ask the network anew, for everything."""
        self.stores.pairs.sources.retry()
        self.stores.results.sources.fetch()


LOOK_SECONDS = 0.01
"""After which an idle queue looks for events again. Gradio's own 0.001 take 6 % of a core."""


def queued(page: gr.Blocks) -> gr.Blocks:
    """The page with its queue, ready to be launched."""
    page.queue(default_concurrency_limit=8, max_size=64)
    page._queue.sleep_when_free = LOOK_SECONDS
    return page


def build_page(stores: Stores) -> gr.Blocks:
    """The page, laid out and wired."""
    with gr.Blocks(
        title=text("app.title"), fill_width=True, analytics_enabled=False, delete_cache=KEPT
    ) as page:
        # First, so that no event of the page takes their names.
        publish_boards(BoardEndpoints(stores.boards, BoardMeasuring(stores.boards)))
        publish_pairs(PairEndpoints(stores.fields))
        publish_scoring(ScoreEndpoints(stores.runs, stores.pairs, stores.settings))
        _wire(_lay_out(stores), stores, page)
    return page


def _lay_out(stores: Stores) -> PageParts:
    settings = stores.settings
    gr.HTML(_header() + help_html())
    bar = build_sourcebar(text("source.show_pairs"))
    secret = build_signin(settings)
    chooser = build_chooser(settings)
    reviews, notes = remembered_review(), remembered_notes()
    with build_part("go") as go:
        pass
    with gr.Tabs(elem_id="tabs") as tabs:
        tab = {name: _tab(name) for name in TABS}
        with tab["pairs"]:
            pairs = build_pairs(stores.counter, reviews, notes)
        with tab["score"]:
            score = build_score(settings, offered_models(settings))
        with tab["try"]:
            trial = build_trial(settings, offered_models(settings))
        with tab["models"]:
            models = build_models()
        with tab["about"]:
            build_about()
    return PageParts(
        gr.State(Session()), bar, secret, chooser, tabs, pairs, score, trial, models, tab,
        gr.Timer(POLL_SECONDS, active=False), go,
    )  # fmt: skip


def _tab(name: str) -> gr.Tab:
    """A tab that the address names while it is open."""
    tab = gr.Tab(text(f"tab.{name}"), id=name)
    tab.select(None, None, None, js=f"() => window.explorer.turn({json.dumps(name)})")
    return tab


def _header() -> str:
    logo = Markup(LOGO.read_text(encoding="utf-8"))  # noqa: S704 - our own drawing
    return render("header.html", logo=logo)


def _wire(parts: PageParts, stores: Stores, page: gr.Blocks) -> None:
    joined, session, settings = Page(stores, parts), parts.session, stores.settings
    scenes = Scenes(Tables(stores.pairs, stores.counter), stores.fields)
    pairs = PairsTab(scenes, settings, parts.pairs)
    models = ModelsTab(stores.boards, stores.fields, settings, parts.models, stores.pairs.all)
    score = ScoreTab(scenes, stores.runs, stores.boards, settings, parts.score, session)
    trial = TrialTab(scenes, stores.runs, settings, Latest(), parts.trial)
    review = ReviewTab(stores.pairs, parts.pairs.review)
    publish = Publish(stores.runs, stores.pairs, stores.hub, settings, parts.score.runs.publish)
    wire_pairs(pairs, session, parts.tab["pairs"])
    wire_review(review, session, parts.pairs.table_id)
    wire_models(models, session, parts.tab["models"])
    wire_score(score, parts.tab["score"])
    wire_find(Find(stores.hub, parts.score.find), parts.score.order.model, session)
    wire_publish(publish, session)
    wire_trial(trial, session)
    opened = _wire_source(joined, pairs, page)
    known = opened.then(SignIn(settings).identify, [parts.secret, session], parts.secret, **EVENT)
    open_score(score, known)
    ready = _wire_results(joined, models, known)
    _wire_links(joined, ready, [linked_pairs(pairs, session), linked_models(models, session)])


def _wire_links(joined: Page, ready: gr.events.Dependency, tabs: Sequence[Linked]) -> None:
    """Let links on the page open these tabs, which the address it was opened with filled before."""
    go, asked = joined.parts.go, gr.State("")
    ready.then(None, None, None, js=READY)
    going = go.relay.act(joined.asked, None, asked, **EVENT)
    for tab in tabs:
        going = going.then(tab.open, [asked, *tab.inputs], tab.outputs, **EVENT)
        going = going.then(None, tab.address, None, js=wrote(tab.part))
    # Last, since a tab that is opened shows what it has by then.
    going.then(joined.tab, asked, joined.parts.tabs, **EVENT).then(None, None, None, js=done(go))


def _bars(joined: Page) -> dict[str, Any]:
    """The event that shows both source bars anew."""
    parts = joined.parts
    outputs = components(parts.bar, parts.models.bar, parts.timer)
    return {"fn": joined.bars, "inputs": parts.session, "outputs": outputs, **EVENT}


def _wire_source(joined: Page, pairs: PairsTab, page: gr.Blocks) -> gr.events.Dependency:
    """Show the pairs that the address asks for, and later those that arrive or are chosen.

    Gives the event after which there are pairs.
    """
    parts, shown = joined.parts, pairs.parts
    state = [parts.session, shown.notes]
    bars, chooser = _bars(joined), Chooser(joined.stores.pairs)
    here = {"js": "(address, ...others) => [window.location.search, ...others]"}
    opened = page.load(pairs.open, [shown.address, *state], shown.outputs, **here, **EVENT)
    opened.then(None, shown.address, None, js=filling(shown.part))
    page.load(joined.tab, shown.address, parts.tabs, **here, **EVENT)
    missing = opened.then(pairs.missing, shown.address, parts.chooser.missing, **here, **EVENT)
    fetched = missing.then(
        chooser.open, parts.chooser.missing, [parts.chooser.status, parts.chooser.opened], **EVENT
    )
    followed = fetched.success(
        pairs.follow,
        [parts.chooser.opened, shown.address, *state],
        shown.outputs,
        js="(opened, _, ...state) => [opened, window.location.search, ...state]",
        **EVENT,
    )
    followed.then(None, shown.address, None, js=wrote(shown.part)).then(**bars)
    best = parts.bar.show.click(joined.best_pairs, None, parts.chooser.opened, **EVENT)
    for source in (best, *wire_chooser(parts.chooser, chooser)):
        turned = source.success(
            pairs.turn_to, [parts.chooser.opened, *state], shown.outputs, **EVENT
        )
        turned.then(None, shown.address, None, js=wrote(shown.part)).then(**bars)
    parts.timer.tick(**bars)
    for bar in (parts.bar, parts.models.bar):
        bar.retry.click(joined.retry, **EVENT).then(**bars)
    return opened


def _wire_results(
    joined: Page, models: ModelsTab, known: gr.events.Dependency
) -> gr.events.Dependency:
    """Fill the Models tab once it is known who visits, and show what newer results there are.

    Gives the event after which there are results.
    """
    parts, session, bars = models.parts, joined.parts.session, _bars(joined)
    first = known.then(joined.best_board, session, None, **EVENT).then(
        models.open,
        [parts.address, session],
        parts.outputs,
        js="(address, session) => [window.location.search, session]",
        **EVENT,
    )
    first.then(None, parts.address, None, js=filling(parts.part))
    newest = parts.bar.show.click(joined.best_board, session, None, **EVENT)
    source = BoardSource(joined.stores.results, parts.source)
    for event in (newest, *wire_boardsource(source, session)):
        event.success(models.show, session, parts.outputs, **EVENT).then(**bars)
    return first.then(**bars)

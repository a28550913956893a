"""The whole page: header, the bar that says which data is shown, the tabs, and what joins them."""

import json
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import gradio as gr
from markupsafe import Markup
from starlette.routing import Route

from explorer.api.results import BoardEndpoints, PairEndpoints, publish_results
from explorer.api.running import RunEndpoints, publish_runs
from explorer.api.scoring import ScoreEndpoints, publish_scoring
from explorer.api.searching import SearchEndpoints, publish_search
from explorer.core.address_view import file_route
from explorer.core.html import help_html, render
from explorer.core.parts import (
    EVENT,
    Filling,
    components,
    guarded,
)
from explorer.core.served import LeanBlocks, queued
from explorer.core.settings import ASSETS, Settings
from explorer.core.text import text
from explorer.reader.links import TABS, read_pairs, tab_of
from explorer.reader.scene import Scenes
from explorer.reader.session import Session
from explorer.reader.source_view import SourceBarParts, build_sourcebar, sourcebar
from explorer.runs.visitors import Visitor
from explorer.stores import Stores
from explorer.tabs.about.view import (
    FOLLOW,
    Chooser,
    ChooserParts,
    about_html,
    build_chooser,
    offer_of,
    wire_chooser,
)
from explorer.tabs.models.source_view import BoardSource, BoardSourceParts, wire_boardsource
from explorer.tabs.models.view import ModelsView, build_models
from explorer.tabs.pairs.view import PairsView, build_pairs
from explorer.tabs.score.publish_html import Publishing
from explorer.tabs.score.signin_view import build_signin, identify, visitor_of
from explorer.tabs.score.view import ScoreView, build_score
from explorer.tabs.try_it.view import TryView, build_try

_POLL_SECONDS = 1.5
FILES_SECONDS = (3600, 7200)
"""Files that were uploaded or exported are looked for so often, and kept so long, in seconds."""
LOGO: Path = ASSETS / "logo.svg"
_STORAGE = "rewardbench-explorer-typed"
"""Where a browser kept what was typed before assets/kept.js did."""
ADDRESS = "(_, ...others) => [window.location.search, ...others]"
"""Script that passes the address of the page on as the first input."""
_NOTES = "rewardbench-explorer-notes"
"""Where a browser kept notes on pairs before assets/notes.js did, as Gradio keeps them."""
_SEEN = "(_, session) => [window.explorerViews.get('pairs').shown(), session]"
"""Script that passes the address of the Pairs tab on as the first input."""


@dataclass(frozen=True)
class Views:
    """What the server shows of each tab, to everybody who has the page open."""

    pairs: PairsView
    models: ModelsView
    score: ScoreView
    trial: TryView


@dataclass(frozen=True)
class PageParts:
    """All components of the page. tab: by its name.

    source: id of the pairs that the Pairs tab shows.
    asked: what carries the page's address, or that of the Pairs tab.
    typed, notes: what the browser once kept of texts and of notes.
    """

    session: gr.State
    bar: SourceBarParts
    secret: gr.BrowserState
    chooser: ChooserParts
    tabs: gr.Tabs
    pairs: gr.HTML
    source: gr.State
    results: BoardSourceParts
    about: gr.HTML
    tab: dict[str, gr.Tab]
    timer: gr.Timer
    asked: gr.Textbox
    typed: gr.BrowserState
    notes: gr.BrowserState


@dataclass(frozen=True)
class Page:
    """The callbacks that join the tabs."""

    stores: Stores
    parts: PageParts
    scenes: Scenes

    @guarded
    def open(  # noqa: PLR0917 - Gradio gives them by position
        self,
        request: gr.Request,
        profile: gr.OAuthProfile | None,
        token: gr.OAuthToken | None,
        query_string: object,
        secret: object,
        session: Session,
    ) -> Filling:
        """The page as its address asks for it; tabs fill when they are first seen."""
        parts, settings = self.parts, self.stores.settings
        kept = identify(request, profile, token, secret, session, settings=settings)
        session.show(self.scenes.shown(read_pairs(query_string)[0], session.visitor).scene.state)
        tab = tab_of(query_string)
        frame: Filling = {parts.secret: kept, **self.bars(session, is_opening=True)}
        if tab != TABS[0]:  # else whoever turned to another tab meanwhile stays there
            frame[parts.tabs] = gr.Tabs(selected=tab)
        return frame

    @guarded
    def see(self, query_string: object, session: Session) -> str:
        """What the Pairs tab shows now, for the tabs that score it; gives which pairs."""
        state, _ = read_pairs(query_string)
        session.show(state)
        return state.source

    @guarded
    def bars(self, session: Session, *, is_opening: bool = False) -> Filling:
        """What is told of the data, and the menu of pairs; the timer runs while the Hub is asked.

        is_opening: whether nothing is told yet; then the best pairs are told of where those on
            screen are not here.
        """
        pairs, boards = self.stores.pairs, self.stores.results
        can_retry = not self.stores.settings.offline
        table = (pairs.get if is_opening else pairs.find)(session.table_id)
        asking = pairs.sources.fetching or boards.sources.fetching
        chosen = {self.parts.chooser.offer: offer_of(table, pairs.sources.best)} if table else {}
        return {
            **chosen,
            **sourcebar(self.parts.bar, (pairs.sources, table), boards.sources, can_retry),
            self.parts.timer: gr.Timer(active=asking),
        }

    @guarded
    def best_pairs(self) -> str:
        """The id of the pairs that arrived."""
        return self.stores.pairs.sources.best

    @guarded
    def retry(self) -> None:
        """Ask the network anew, for everything."""
        self.stores.pairs.sources.retry()
        self.stores.results.sources.retry()


def build_page(stores: Stores) -> tuple[gr.Blocks, list[Route]]:
    """The page with its queue, laid out and wired, and the routes of its files."""
    views = views_of(stores)
    with LeanBlocks(
        title=text("app.title"),
        fill_width=True,
        fill_height=True,
        analytics_enabled=False,
        delete_cache=FILES_SECONDS,
    ) as page:
        # First, so that no event of the page takes their names.
        boards = BoardEndpoints(stores.boards, stores.measuring)
        publish_results(boards, PairEndpoints(stores.fields, stores.settings))
        publish_search(SearchEndpoints(stores.pairs))
        publish_scoring(ScoreEndpoints(stores.runs, stores.pairs, stores.settings))
        publish_runs(RunEndpoints(stores.runs, stores.pairs, stores.settings))
        _wire(callbacks_of(stores, _lay_out(stores, views)), page)
    shown = [each.as_view() for each in (views.pairs, views.models, views.score, views.trial)]
    routes = [file_route(view, partial(identified, stores.settings)) for view in shown]
    return queued(page, stores.settings), routes


def _lay_out(stores: Stores, views: Views) -> PageParts:
    settings = stores.settings
    with gr.Row(elem_id="header"):
        gr.HTML(_header() + help_html())
        caption = gr.HTML(elem_id="dataset-caption")
        gr.HTML(render("tools.html"))
    bar = build_sourcebar(caption)
    secret = build_signin(settings)
    with gr.Column(elem_id="dataset", elem_classes="popover"):
        chooser = build_chooser(settings)
    identity = partial(identified, settings)
    typed = gr.BrowserState([], storage_key=_STORAGE, secret=_STORAGE)
    notes = gr.BrowserState({}, storage_key=_NOTES, secret=_NOTES)
    with gr.Tabs(elem_id="tabs") as tabs:
        tab = {name: _tab(name) for name in TABS}
        with tab["pairs"]:
            pairs = build_pairs(views.pairs, identity)
            gr.HTML(render("welcome.html"), elem_id="welcome")
        with tab["score"]:
            build_score(views.score, identity)
        with tab["try"]:
            build_try(views.trial, identity)
        with tab["models"]:
            results = build_models(views.models, identity)
        with tab["about"]:
            about = gr.HTML()
    return PageParts(
        gr.State(Session()), bar, secret, chooser, tabs,
        pairs, gr.State(""), results, about, tab,
        gr.Timer(_POLL_SECONDS, active=False),
        gr.Textbox(visible=False), typed, notes,
    )  # fmt: skip


def _tab(name: str) -> gr.Tab:
    """A tab that the address names while it is open."""
    tab = gr.Tab(text(f"tab.{name}"), id=name)
    tab.select(None, None, None, js=f"() => window.explorer.turn({json.dumps(name)})")
    return tab


def _header() -> str:
    logo = Markup(LOGO.read_text(encoding="utf-8"))  # noqa: S704 - our own drawing
    return render("header.html", logo=logo)


def callbacks_of(stores: Stores, parts: PageParts) -> Page:
    """The callbacks of a page that was laid out."""
    return Page(stores, parts, scenes_of(stores))


def scenes_of(stores: Stores) -> Scenes:
    """What makes the scenes of pairs."""
    return Scenes(stores.pairs, stores.counter, stores.fields)


def views_of(stores: Stores) -> Views:
    """The views of all tabs."""
    return Views(pairs_view(stores), models_view(stores), score_view(stores), try_view(stores))


def models_view(stores: Stores) -> ModelsView:
    """What the server shows of the Models tab."""
    tables = stores.pairs.all
    return ModelsView(stores.boards, stores.measuring, stores.fields, stores.settings, tables)


def pairs_view(stores: Stores) -> PairsView:
    """What the server shows of the Pairs tab."""
    return PairsView(scenes_of(stores), stores.measuring, stores.settings)


def score_view(stores: Stores) -> ScoreView:
    """What the server shows of the Score tab."""
    publishing = Publishing(stores.runs, stores.pairs, stores.hub, stores.settings)
    shown = scenes_of(stores), stores.runs, stores.boards, stores.hub, stores.settings
    return ScoreView(*shown, publishing)


def try_view(stores: Stores) -> TryView:
    """What the server shows of the Try tab."""
    return TryView(scenes_of(stores), stores.runs, stores.hub, stores.settings)


def identified(
    settings: Settings,
    request: gr.Request,
    profile: gr.OAuthProfile | None,
    token: gr.OAuthToken | None,
    secret: str,
) -> Visitor:
    """Who asks for the regions of a view."""
    return visitor_of(request, profile, token, secret, settings=settings)


def _wire(callbacks: Page, page: gr.Blocks) -> None:
    parts = callbacks.parts
    parts.pairs.shown(callbacks.see, [parts.asked, parts.session], parts.source, js=_SEEN, **EVENT)
    # Long, and the same each time: what is told once the tab is seen.
    parts.tab["about"].select(about_html, None, parts.about, **EVENT)
    _wire_typed(parts, page)
    _wire_opening(callbacks, page)
    _wire_sources(callbacks)


def _wire_typed(parts: PageParts, page: gr.Blocks) -> None:
    """Hand what the browser once kept of texts and notes to the scripts that keep them now."""
    kept = "(typed) => [window.explorer.takeTyped(typed) ? [] : typed]"
    page.load(None, parts.typed, parts.typed, js=kept, **EVENT)
    taken = "(notes) => [window.explorer.addNotes(Object.entries(notes ?? {})) ? {} : notes]"
    page.load(None, parts.notes, parts.notes, js=taken, **EVENT)


def _wire_opening(callbacks: Page, page: gr.Blocks) -> None:
    """Open the tab that the address asks for, and say whose page it is."""
    parts = callbacks.parts
    asked = [parts.asked, parts.secret, parts.session]
    frame = components(parts.tabs, parts.secret, *_bars(callbacks)["outputs"])
    opened = page.load(callbacks.open, asked, frame, js=ADDRESS, **EVENT)
    opened.then(None, parts.secret, None, js="(secret) => window.explorer.opened(secret)")


def _bars(callbacks: Page) -> dict[str, Any]:
    """The event that tells anew of the data on screen."""
    parts = callbacks.parts
    outputs = components(parts.bar, parts.timer, parts.chooser.offer)
    return {"fn": callbacks.bars, "inputs": parts.session, "outputs": outputs, **EVENT}


def _wire_sources(callbacks: Page) -> None:
    """Show pairs and results that arrive, or are chosen or asked for by the address."""
    parts, bars = callbacks.parts, _bars(callbacks)
    wire_chooser(parts.chooser, Chooser(callbacks.stores.pairs, parts.chooser), parts.pairs)
    best = parts.bar.pairs.show.click(callbacks.best_pairs, None, parts.chooser.opened, **EVENT)
    best.success(None, parts.chooser.opened, None, js=FOLLOW)
    parts.source.change(**bars)
    wire_boardsource(BoardSource(callbacks.stores.results, parts.results), parts.session)
    parts.timer.tick(**bars)
    parts.bar.retry.click(callbacks.retry, **EVENT).then(**bars)

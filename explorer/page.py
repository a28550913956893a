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
    Part,
    act_of,
    build_part,
    components,
    filling,
    guarded,
    joined_fillings,
    went,
    wire_stop,
    wrote,
)
from explorer.core.served import LeanBlocks, queued
from explorer.core.settings import ASSETS, Settings
from explorer.core.text import text
from explorer.core.work import Latest
from explorer.reader.links import TABS, tab_of
from explorer.reader.scene import Scenes
from explorer.reader.session import Session
from explorer.reader.source_view import SourceBarParts, build_sourcebar, sourcebar
from explorer.runs.visitors import Visitor
from explorer.stores import Stores
from explorer.tabs.about.view import (
    Chooser,
    ChooserParts,
    about_html,
    build_chooser,
    offer_of,
    wire_chooser,
)
from explorer.tabs.models.source_view import BoardSource, BoardSourceParts, wire_boardsource
from explorer.tabs.models.view import ModelsView, build_models
from explorer.tabs.pairs.acts_view import PairsTab, wire_pairs
from explorer.tabs.pairs.review.acts_view import ReviewTab, wire_review
from explorer.tabs.pairs.review.view import remembered_review
from explorer.tabs.pairs.view import PairsParts, build_pairs, remembered_notes
from explorer.tabs.score.acts_view import ScoreTab, wire_score
from explorer.tabs.score.before_view import Find, offered_models, wire_find
from explorer.tabs.score.publish_view import Publish, wire_publish
from explorer.tabs.score.signin_view import build_signin, identify, visitor_of
from explorer.tabs.score.view import ScoreParts, build_score
from explorer.tabs.try_it.acts_view import TrialTab, wire_trial
from explorer.tabs.try_it.view import TrialParts, build_trial

_POLL_SECONDS = 1.5
FILES_SECONDS = (3600, 7200)
"""Files that were uploaded or exported are looked for so often, and kept so long, in seconds."""
LOGO: Path = ASSETS / "logo.svg"
_STORAGE = "rewardbench-explorer-typed"
"""Where a browser keeps what was typed."""
ADDRESS = "(_, ...others) => [window.location.search, ...others]"
"""Script that passes the address of the page on as the first input."""


@dataclass(frozen=True)
class PageParts:
    """All components of the page. tab: by its name. asked: what carries the page's address.

    typed: what the browser keeps of what was typed.
    """

    session: gr.State
    bar: SourceBarParts
    secret: gr.BrowserState
    chooser: ChooserParts
    tabs: gr.Tabs
    pairs: PairsParts
    score: ScoreParts
    trial: TrialParts
    results: BoardSourceParts
    about: gr.HTML
    tab: dict[str, gr.Tab]
    timer: gr.Timer
    go: Part
    asked: gr.Textbox
    typed: gr.BrowserState


@dataclass(frozen=True)
class Page:
    """The callbacks that join the tabs."""

    stores: Stores
    parts: PageParts
    pairs: PairsTab
    score: ScoreTab

    @guarded
    def open(  # noqa: PLR0917 - Gradio gives them by position
        self,
        request: gr.Request,
        profile: gr.OAuthProfile | None,
        token: gr.OAuthToken | None,
        query_string: object,
        secret: object,
        session: Session,
        notes: object,
    ) -> Filling:
        """The page as its address asks for it: the pairs, and the tab that is open.

        The other tabs are filled when they are first seen.
        """
        parts, settings = self.parts, self.stores.settings
        kept = identify(request, profile, token, secret, session, settings=settings)
        session.is_open = True
        tab = tab_of(query_string)
        filling = [
            partial(self._tab, each, query_string, session, notes)
            for each in dict.fromkeys((TABS[0], tab))
        ]
        shown = joined_fillings(*filling)
        missing = self.pairs.missing(query_string)
        frame: Filling = {parts.secret: kept, **self.bars(session, is_opening=True)}
        if tab != TABS[0]:  # else whoever turned to another tab meanwhile stays there
            frame[parts.tabs] = gr.Tabs(selected=tab)
        return {**shown, **frame, parts.chooser.missing: missing}

    @guarded
    def go(self, event: gr.EventData, session: Session, notes: object) -> Filling:
        """What a link on the page asks for."""
        query_string = str(act_of(event)[1].get("query"))
        tab = tab_of(query_string)
        filled = self._tab(tab, query_string, session, notes)
        return filled | {self.parts.tabs: gr.Tabs(selected=tab)}

    def _tab(self, tab: str, query_string: object, session: Session, notes: object) -> Filling:
        """What a link asks for of a tab."""
        if tab == "pairs":
            return self.pairs.open(query_string, session, notes)
        if tab == "score":
            return self.score.open(query_string, session)
        return {}

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


def build_page(stores: Stores) -> gr.Blocks:
    """The page with its queue, laid out and wired."""
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
        _wire(callbacks_of(stores, _lay_out(stores)), page)
    return queued(page, stores.settings)


def _lay_out(stores: Stores) -> PageParts:
    settings = stores.settings
    with gr.Row(elem_id="header"):
        gr.HTML(_header() + help_html())
        caption = gr.HTML(elem_id="dataset-caption")
        gr.HTML(render("tools.html"))
    bar = build_sourcebar(caption)
    secret = build_signin(settings)
    with gr.Column(elem_id="dataset", elem_classes="popover"):
        chooser = build_chooser(settings)
    reviews, notes = remembered_review(), remembered_notes()
    typed = gr.BrowserState([], storage_key=_STORAGE, secret=_STORAGE)
    with build_part("go") as go:
        pass
    with gr.Tabs(elem_id="tabs") as tabs:
        tab = {name: _tab(name) for name in TABS}
        with tab["pairs"]:
            pairs = build_pairs(stores.counter, reviews, notes)
            gr.HTML(render("welcome.html"), elem_id="welcome")
        with tab["score"]:
            score = build_score(settings)
        with tab["try"]:
            trial = build_trial(settings)
        with tab["models"]:
            results = build_models(models_view(stores), partial(identified, settings))
        with tab["about"]:
            about = gr.HTML()
    return PageParts(
        gr.State(Session(is_open=False)), bar, secret, chooser, tabs,
        pairs, score, trial, results, about, tab,
        gr.Timer(_POLL_SECONDS, active=False), go,
        gr.Textbox(visible=False), typed,
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
    settings = stores.settings
    scenes = Scenes(stores.pairs, stores.counter, stores.fields)
    pairs = PairsTab(scenes, settings, parts.pairs)
    score = ScoreTab(scenes, stores.runs, stores.boards, settings, parts.score, parts.session)
    return Page(stores, parts, pairs, score)


def models_view(stores: Stores) -> ModelsView:
    """What the server shows of the Models tab."""
    tables = stores.pairs.all
    return ModelsView(stores.boards, stores.measuring, stores.fields, stores.settings, tables)


def file_routes(stores: Stores) -> list[Route]:
    """The routes of files to take away."""
    return [file_route(models_view(stores).as_view(), partial(identified, stores.settings))]


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
    parts, stores = callbacks.parts, callbacks.stores
    session, settings = parts.session, stores.settings
    trial = TrialTab(callbacks.pairs.scenes, stores.runs, settings, Latest(), parts.trial)
    review = ReviewTab(callbacks.pairs.scenes, parts.pairs.review)
    publish = Publish(stores.runs, stores.pairs, stores.hub, settings, parts.score.runs.publish)
    wire_pairs(callbacks.pairs, session)
    wire_review(review, session, parts.pairs.table_id, parts.pairs.listed)
    wire_score(callbacks.score, parts.tab["score"])
    wire_find(Find(stores.hub, parts.score.find), parts.score.order.model, session)
    wire_publish(publish, session)
    wire_trial(trial, session)
    # Long, and the same each time: what is told once the tab is seen.

    def menu() -> Any:
        return gr.update(choices=offered_models(settings, stores.hub))

    for name, shown, telling in (
        ("score", parts.score.order.model, menu),
        ("try", parts.trial.model, menu),
        ("about", parts.about, about_html),
    ):
        parts.tab[name].select(telling, None, shown, **EVENT)
    _wire_typed(parts, page)
    _wire_links(callbacks, page)
    _wire_sources(callbacks)


def _wire_typed(parts: PageParts, page: gr.Blocks) -> None:
    """Keep what is typed in the browser, and show it again when the page is opened."""
    fields = [parts.score.choice.per_subset, *parts.trial.texts]
    shown = "(kept, ...fields) => kept?.length ? kept : fields"
    page.load(None, [parts.typed, *fields], fields, js=shown, **EVENT)
    changed = [each.change for each in fields]
    gr.on(changed, None, fields, parts.typed, js="(...fields) => [fields]", **EVENT)


def _wire_links(callbacks: Page, page: gr.Blocks) -> None:
    """Open what the address asks for, and later what links on the page do: one call each."""
    parts, session = callbacks.parts, callbacks.parts.session
    pairs, score = parts.pairs, parts.score
    linked = pairs.part, score.part
    addresses = [pairs.address, score.address]
    shown = [parts.tabs, *pairs.outputs, *score.outputs]
    asked = [parts.asked, parts.secret, session, pairs.notes]
    frame = components(parts.secret, parts.chooser.missing, *_bars(callbacks)["outputs"])
    opened = page.load(callbacks.open, asked, [*shown, *frame], js=ADDRESS, **EVENT)
    opened.then(None, [*addresses, parts.secret], None, js=filling(*linked))
    going = parts.go.relay.act(callbacks.go, [session, pairs.notes], shown, **EVENT)
    going.then(None, addresses, None, js=went(parts.go, *linked))


def _bars(callbacks: Page) -> dict[str, Any]:
    """The event that tells anew of the data on screen."""
    parts = callbacks.parts
    outputs = components(parts.bar, parts.timer, parts.chooser.offer)
    return {"fn": callbacks.bars, "inputs": parts.session, "outputs": outputs, **EVENT}


def _wire_sources(callbacks: Page) -> None:
    """Show pairs and results that arrive, or are chosen or asked for by the address."""
    parts, pairs, bars = callbacks.parts, callbacks.pairs, _bars(callbacks)
    state, chooser = (
        [parts.session, parts.pairs.notes],
        Chooser(callbacks.stores.pairs, parts.chooser),
    )
    choosing = parts.chooser
    fetched = choosing.missing.change(chooser.open, choosing.missing, choosing.filled, **EVENT)
    wire_stop(choosing.stop, choosing.status, [fetched], choosing.open, choosing.upload)
    followed = fetched.success(
        pairs.follow,
        [parts.asked, parts.chooser.opened, *state],
        parts.pairs.outputs,
        js=ADDRESS,
        **EVENT,
    )
    best = parts.bar.pairs.show.click(callbacks.best_pairs, None, parts.chooser.opened, **EVENT)
    turned = [
        each.success(pairs.turn_to, [parts.chooser.opened, *state], parts.pairs.outputs, **EVENT)
        for each in (best, *wire_chooser(parts.chooser, chooser))
    ]
    for each in (followed, *turned):
        each.then(None, parts.pairs.address, None, js=wrote(parts.pairs.part)).then(**bars)
    wire_boardsource(BoardSource(callbacks.stores.results, parts.results), parts.session)
    parts.timer.tick(**bars)
    parts.bar.retry.click(callbacks.retry, **EVENT).then(**bars)

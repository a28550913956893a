"""The whole page: header, the bar that says which data is shown, the tabs, and what joins them."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

import gradio as gr

from explorer.api.boards import BoardEndpoints, publish_boards
from explorer.api.pairs import PairEndpoints, publish_pairs
from explorer.api.scoring import ScoreEndpoints, publish_scoring
from explorer.core.html import help_html, tag
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
from explorer.reader.session import Session
from explorer.reader.source_view import SourceBarParts, build_sourcebar, sourcebar
from explorer.reader.state import Tables
from explorer.results.boards import BoardMeasuring
from explorer.stores import Stores
from explorer.tabs.about.about_view import build_about
from explorer.tabs.about.chooser_view import Chooser, ChooserParts, build_chooser, wire_chooser
from explorer.tabs.models.board_view import (
    LeaderboardParts,
    LeaderboardTab,
    build_leaderboard_tab,
    wire_leaderboard,
)
from explorer.tabs.models.compare_view import (
    Compare,
    CompareParts,
    build_compare,
    linked_compare,
    wire_compare,
)
from explorer.tabs.models.source_view import BoardSource, wire_boardsource
from explorer.tabs.pairs.browse_view import Browse, BrowseParts, build_browse, wire_browse
from explorer.tabs.pairs.fail_parts_view import FailuresParts, build_failures
from explorer.tabs.pairs.fail_state import FailView
from explorer.tabs.pairs.fails_view import Failures, linked_failures, wire_failures
from explorer.tabs.pairs.notes_view import remembered_notes
from explorer.tabs.pairs.review.acts_view import ReviewTab, wire_review
from explorer.tabs.pairs.review.view import remembered_review
from explorer.tabs.score.acts_view import Score, wire_score
from explorer.tabs.score.before_view import Find, offered_models, wire_find
from explorer.tabs.score.checked import RunChecked
from explorer.tabs.score.publish_view import Publish, wire_publish
from explorer.tabs.score.runs_view import RunsParts, RunsTab, build_runs, showing, wire_runs
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
    browse: BrowseParts
    score: ScoreParts
    runs: RunsParts
    trial: TrialParts
    failures: FailuresParts
    compare: CompareParts
    leaderboard: LeaderboardParts
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
        bars = self.parts.bar, self.parts.leaderboard.bar
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

    def to_failures(self) -> gr.Tabs:
        """Open the Failures tab."""
        return gr.Tabs(selected="failures")

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
        with tab["browse"]:
            browse = build_browse(stores.counter, reviews)
        with tab["score"]:
            score = build_score(settings, offered_models(settings))
        with tab["runs"]:
            runs = build_runs(settings)
        with tab["try"]:
            trial = build_trial(settings, offered_models(settings))
        with tab["failures"]:
            failures = build_failures(notes)
        with tab["compare"]:
            compare = build_compare()
        with tab["leaderboard"]:
            leaderboard = build_leaderboard_tab()
        with tab["about"]:
            build_about()
    return PageParts(
        gr.State(Session()), bar, secret, chooser, tabs, browse, score, runs, trial, failures,
        compare, leaderboard, tab, gr.Timer(POLL_SECONDS, active=False), go,
    )  # fmt: skip


def _tab(name: str) -> gr.Tab:
    """A tab that the address names while it is open."""
    tab = gr.Tab(text(f"tab.{name}"), id=name)
    tab.select(None, None, None, js=f"() => window.explorer.turn({json.dumps(name)})")
    return tab


def _header() -> str:
    words = tag("h1", escape(text("app.title"))) + tag("p", escape(text("app.subtitle")))
    button = tag(
        "button",
        escape(text("app.theme_button")),
        type="button",
        id="theme-button",
        aria_label=text("app.theme_label"),
    )
    return tag("div", LOGO.read_text(encoding="utf-8") + tag("div", words) + button, css="header")


def _wire(parts: PageParts, stores: Stores, page: gr.Blocks) -> None:
    joined, session, settings = Page(stores, parts), parts.session, stores.settings
    tables = Tables(stores.pairs, stores.counter)
    browse = Browse(tables, settings, parts.browse)
    failures = Failures(stores.fields, settings, parts.failures)
    compare = Compare(stores.fields, settings, parts.compare)
    board = LeaderboardTab(stores.boards, parts.leaderboard, stores.pairs.all)
    score = Score(tables, stores.fields, stores.runs, parts.score, session)
    runs = RunsTab(stores.runs, stores.fields, settings, parts.runs)
    trial = TrialTab(
        tables, stores.fields, stores.runs, settings, Latest(), parts.trial,
        failed_of=lambda session: session.seen(FailView),
    )  # fmt: skip
    review = ReviewTab(stores.pairs, parts.browse.review)
    publish = Publish(stores.runs, stores.pairs, stores.hub, settings, parts.runs.publish)
    wire_browse(browse, session)
    wire_review(review, session, parts.browse.table_id)
    wire_failures(failures, session, parts.tab["failures"])
    wire_compare(compare, session, parts.tab["compare"])
    wire_leaderboard(board, session, parts.tab["leaderboard"])
    wire_score(score, RunChecked(stores.runs, stores.fields, stores.boards), tab=parts.tab["score"])
    wire_find(Find(stores.hub, parts.score.find), parts.score.order.model, session)
    wire_runs(runs, session, parts.tab["runs"])
    wire_publish(publish, session)
    wire_trial(trial, session)
    opened = _wire_pairs(joined, browse, page)
    known = opened.then(SignIn(settings).identify, [parts.secret, session], parts.secret, **EVENT)
    report = parts.score.report
    known.then(score.reopen, session, components(report), **EVENT)
    known.then(**showing(runs, session))  # a link opens the tab before it is known who
    ready = _wire_results(joined, board, known)
    linked = [linked_failures(failures, session), linked_compare(compare, session)]
    _wire_links(joined, ready, linked)
    asked = parts.runs.asked
    asked.change(runs.turn, None, parts.tabs, **EVENT)
    asked.change(score.resume, [asked, session], components(report), **EVENT)
    inspected = report.inspect.click(
        failures.turn_to, [session, parts.failures.notes], parts.failures.outputs, **EVENT
    )
    inspected.then(None, parts.failures.address, None, js=wrote(parts.failures.part)).then(
        joined.to_failures, None, parts.tabs, **EVENT
    )


def _wire_links(joined: Page, ready: gr.events.Dependency, tabs: Sequence[Linked]) -> None:
    """Let the address that the page was opened with, and links on it, open these tabs."""
    go, asked = joined.parts.go, gr.State("")
    for tab in tabs:
        ready = ready.then(
            tab.open,
            [tab.address, *tab.inputs],
            tab.outputs,
            js="(address, ...others) => [window.location.search, ...others]",
            **EVENT,
        ).then(None, tab.address, None, js=filling(tab.part))
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
    outputs = components(parts.bar, parts.leaderboard.bar, parts.timer)
    return {"fn": joined.bars, "inputs": parts.session, "outputs": outputs, **EVENT}


def _wire_pairs(joined: Page, browse: Browse, page: gr.Blocks) -> gr.events.Dependency:
    """Show the pairs that the address asks for, and later those that arrive or are chosen.

    Gives the event after which there are pairs.
    """
    parts, shown, session = joined.parts, browse.parts, joined.parts.session
    bars, chooser = _bars(joined), Chooser(joined.stores.pairs)
    here = {"js": "(address, ...others) => [window.location.search, ...others]"}
    opened = page.load(browse.open, [shown.address, session], shown.outputs, **here, **EVENT)
    opened.then(None, shown.address, None, js=filling(shown.part))
    page.load(joined.tab, shown.address, parts.tabs, **here, **EVENT)
    missing = opened.then(browse.missing, shown.address, parts.chooser.missing, **here, **EVENT)
    fetched = missing.then(
        chooser.open, parts.chooser.missing, [parts.chooser.status, parts.chooser.opened], **EVENT
    )
    followed = fetched.success(
        browse.follow,
        [parts.chooser.opened, shown.address, session],
        shown.outputs,
        js="(opened, _, session) => [opened, window.location.search, session]",
        **EVENT,
    )
    followed.then(None, shown.address, None, js=wrote(shown.part)).then(**bars)
    best = parts.bar.show.click(joined.best_pairs, None, parts.chooser.opened, **EVENT)
    for source in (best, *wire_chooser(parts.chooser, chooser)):
        turned = source.success(
            browse.turn_to, [parts.chooser.opened, session], shown.outputs, **EVENT
        )
        turned.then(None, shown.address, None, js=wrote(shown.part)).then(**bars)
    parts.timer.tick(**bars)
    for bar in (parts.bar, parts.leaderboard.bar):
        bar.retry.click(joined.retry, **EVENT).then(**bars)
    return opened


def _wire_results(
    joined: Page, board: LeaderboardTab, known: gr.events.Dependency
) -> gr.events.Dependency:
    """Fill the leaderboard once it is known who visits, and show what newer results there are.

    Gives the event after which there are results.
    """
    parts, session, bars = board.parts, joined.parts.session, _bars(joined)
    first = known.then(joined.best_board, session, None, **EVENT).then(
        board.open,
        [parts.address, session],
        parts.outputs,
        js="(address, session) => [window.location.search, session]",
        **EVENT,
    )
    first.then(None, parts.address, None, js=filling(parts.part))
    newest = parts.bar.show.click(joined.best_board, session, None, **EVENT)
    source = BoardSource(joined.stores.results, parts.source)
    for event in (newest, *wire_boardsource(source, session)):
        event.success(board.show, session, parts.outputs, **EVENT).then(**bars)
    return first.then(**bars)

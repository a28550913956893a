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
    Linked,
    Part,
    act_of,
    build_part,
    done,
    filling,
    guarded,
    wrote,
)
from explorer.core.settings import ASSETS
from explorer.core.text import text
from explorer.core.work import Latest
from explorer.reader.links import tab_of
from explorer.reader.source_view import SourceBarView, build_sourcebar, sourcebar
from explorer.reader.state import Tables
from explorer.results.board_measuring import BoardMeasuring
from explorer.stores import Stores
from explorer.tabs.about.about_view import build_about
from explorer.tabs.about.chooser_view import Chooser, ChooserView, build_chooser, wire_chooser
from explorer.tabs.models.board_view import (
    LeaderboardTab,
    LeaderboardView,
    build_leaderboard_tab,
    showing,
    wire_leaderboard,
)
from explorer.tabs.models.compare_view import (
    Compare,
    CompareTabView,
    build_compare,
    linked_compare,
    wire_compare,
)
from explorer.tabs.models.source_view import BoardSource, wire_boardsource
from explorer.tabs.pairs.browse_view import Browse, BrowseView, build_browse, wire_browse
from explorer.tabs.pairs.fail_parts_view import FailuresView, build_failures
from explorer.tabs.pairs.fails_view import Failures, linked_failures, wire_failures
from explorer.tabs.pairs.notes_view import remembered_notes
from explorer.tabs.pairs.review.acts_view import ReviewTab, wire_review
from explorer.tabs.pairs.review.view import remembered_review
from explorer.tabs.score.acts_view import Score, wire_score
from explorer.tabs.score.before_view import Find, offered_models, wire_find
from explorer.tabs.score.checked import RunChecked
from explorer.tabs.score.publish_view import Publish, wire_publish
from explorer.tabs.score.runs_view import RunsTab, RunsTabView, build_runs, wire_runs
from explorer.tabs.score.signin_view import SignIn, SignInView, build_signin
from explorer.tabs.score.view import ScoreView, build_score
from explorer.tabs.try_it.acts_view import TrialTab, wire_trial
from explorer.tabs.try_it.view import TrialView, build_trial

POLL_SECONDS = 1.5
KEPT = (3600, 7200)
"""Files that were uploaded or exported are looked for so often, and kept so long, in seconds."""
LOGO: Path = ASSETS / "logo.svg"
READY = "() => { document.documentElement.dataset.explorer = 'ready'; return []; }"


@dataclass(frozen=True)
class PageView:
    """All components of the page."""

    bar: SourceBarView
    signin: SignInView
    chooser: ChooserView
    tabs: gr.Tabs
    browse: BrowseView
    score: ScoreView
    runs: RunsTabView
    trial: TrialView
    failures: FailuresView
    compare: CompareTabView
    leaderboard: LeaderboardView
    score_tab: gr.Tab
    runs_tab: gr.Tab
    failures_tab: gr.Tab
    compare_tab: gr.Tab
    leaderboard_tab: gr.Tab
    timer: gr.Timer
    go: Part


@dataclass(frozen=True)
class Page:
    """The callbacks that join the tabs."""

    stores: Stores

    @guarded
    def best_board(self) -> str:
        """The id of the leaderboard to show."""
        return self.stores.boards.shelf.best

    @guarded
    def bars(self, table_id: object, board_id: object) -> tuple[Any, ...]:
        """What both source bars say now; the timer runs while the network is being asked."""
        pairs, boards = self.stores.pairs.shelf, self.stores.boards
        can_retry = not self.stores.settings.offline
        asking = pairs.fetching or boards.shelf.fetching
        return (
            *sourcebar(pairs, self.stores.pairs.find(table_id), can_retry),
            *sourcebar(boards.shelf, boards.get(board_id), can_retry),
            gr.Timer(active=asking),
        )

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
        self.stores.pairs.shelf.retry()
        self.stores.boards.shelf.fetch()


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
        publish_boards(BoardEndpoints(stores.room, BoardMeasuring(stores.room)))
        publish_pairs(PairEndpoints(stores.fields))
        publish_scoring(ScoreEndpoints(stores.runs, stores.pairs, stores.settings))
        _wire(_lay_out(stores), stores, page)
    return page


def _lay_out(stores: Stores) -> PageView:
    gr.HTML(_header() + help_html())
    bar = build_sourcebar(text("source.show_pairs"))
    signin = build_signin(stores.settings)
    chooser = build_chooser(stores.settings)
    reviews, notes = remembered_review(), remembered_notes()
    with build_part("go") as go:
        pass
    with gr.Tabs(elem_id="tabs") as tabs:
        with _tab("browse"):
            browse = build_browse(stores.counter, reviews)
        with _tab("score") as score_tab:
            score = build_score(stores.settings, offered_models(stores.settings))
        with _tab("runs") as runs_tab:
            runs = build_runs(stores.settings)
        with _tab("try"):
            trial = build_trial(stores.settings, offered_models(stores.settings))
        with _tab("failures") as failures_tab:
            failures = build_failures(notes)
        with _tab("compare") as compare_tab:
            compare = build_compare()
        with _tab("leaderboard") as leaderboard_tab:
            leaderboard = build_leaderboard_tab()
        with _tab("about"):
            build_about()
    return PageView(
        bar, signin, chooser, tabs, browse, score, runs, trial, failures, compare, leaderboard,
        score_tab, runs_tab, failures_tab, compare_tab, leaderboard_tab,
        gr.Timer(POLL_SECONDS, active=False), go,
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


def _wire(view: PageView, stores: Stores, page: gr.Blocks) -> None:
    browse = Browse(stores.pairs, stores.counter, stores.settings)
    tables = Tables(stores.pairs, stores.counter)
    score = Score(tables, stores.fields, stores.runs)
    failures = Failures(stores.fields, stores.settings)
    wire_browse(view.browse, browse)
    wire_review(view.browse.review, ReviewTab(stores.pairs), view.browse.table_id)
    where = [view.leaderboard.board_id, view.browse.table_id, view.signin.who]
    check = RunChecked(stores.runs, stores.fields, stores.room)
    wire_score(view.score, score, view.browse.seen, check, where, tab=view.score_tab)
    wire_find(view.score.find, Find(stores.hub), view.score.order, view.signin.who)
    run_list = RunsTab(stores.runs, stores.fields, stores.settings)
    wire_runs(view.runs, run_list, where, view.runs_tab)
    publish = Publish(stores.runs, stores.pairs, stores.hub, stores.settings)
    wire_publish(view.runs.publish, publish, view.runs.seen, view.signin.who)
    report = view.score.report
    view.runs.part.relay.act(run_list.asked, None, view.runs.asked, **EVENT)
    view.runs.asked.change(run_list.turn, None, view.tabs, **EVENT)
    asked = [view.runs.asked, view.signin.who]
    view.runs.asked.change(score.resume, asked, report.outputs, **EVENT)
    with_notes = [*where, view.failures.notes]
    wire_failures(view.failures, failures, with_notes, report.run_id, view.failures_tab)
    wire_trial(
        view.trial,
        TrialTab(tables, stores.fields, stores.runs, stores.settings, Latest()),
        who=view.signin.who,
        browsed=view.browse.seen,
        failed=view.failures.seen,
        where=where,
    )
    compare = Compare(stores.fields, stores.settings)
    wire_compare(view.compare, compare, where, view.compare_tab)
    ready = _wire_sources(view, stores, browse, score, page)
    linked = [
        linked_failures(view.failures, failures, with_notes, report.run_id),
        linked_compare(view.compare, compare, where),
    ]
    _wire_links(view, ready, Page(stores), linked)
    inspected = report.inspect.click(
        failures.turn_to,
        [report.run_id, view.failures.seen, *with_notes],
        view.failures.outputs,
        **EVENT,
    )
    inspected.then(None, view.failures.address, None, js=wrote(view.failures.part)).then(
        Page(stores).to_failures, None, view.tabs, **EVENT
    )
    page.unload(score.leave)


def _wire_links(
    view: PageView, ready: gr.events.Dependency, joined: Page, tabs: Sequence[Linked]
) -> None:
    """Let the address that the page was opened with, and links on it, open these tabs."""
    asked = gr.State("")
    for tab in tabs:
        ready = ready.then(
            tab.open,
            [tab.address, *tab.inputs],
            tab.outputs,
            js="(address, ...others) => [window.location.search, ...others]",
            **EVENT,
        ).then(None, tab.address, None, js=filling(tab.part))
    ready.then(None, None, None, js=READY)
    going = view.go.relay.act(joined.asked, None, asked, **EVENT)
    for tab in tabs:
        going = going.then(tab.open, [asked, *tab.inputs], tab.outputs, **EVENT)
        going = going.then(None, tab.address, None, js=wrote(tab.part))
    # Last, since a tab that is opened shows what it has by then.
    going.then(joined.tab, asked, view.tabs, **EVENT).then(None, None, None, js=done(view.go))


def _wire_sources(
    view: PageView, stores: Stores, browse: Browse, score: Score, page: gr.Blocks
) -> gr.events.Dependency:
    """Fill the page when it is opened; show what arrives when asked for, and what is chosen.

    Gives the event after which both the pairs and the leaderboard are there.
    """
    joined, chooser = Page(stores), Chooser(stores.pairs)
    board_tab = LeaderboardTab(stores.room, stores.pairs.all)
    shown, board_id = view.browse, view.leaderboard.board_id
    who, secret = view.signin.who, view.signin.secret
    show_board = showing(view.leaderboard, board_tab, who)
    wire_leaderboard(view.leaderboard, board_tab, who, view.leaderboard_tab)
    bars = {
        "fn": joined.bars,
        "inputs": [shown.table_id, board_id],
        "outputs": [*view.bar.outputs, *view.leaderboard.bar.outputs, view.timer],
        **EVENT,
    }
    here = {"js": "() => window.location.search"}
    opened = page.load(browse.open, shown.address, shown.outputs, **here, **EVENT)
    opened.then(None, shown.address, None, js=filling(shown.part))
    page.load(joined.tab, shown.address, view.tabs, **here, **EVENT)
    missing = opened.then(browse.missing, shown.address, view.chooser.missing, **here, **EVENT)
    fetched = missing.then(
        chooser.open, view.chooser.missing, [view.chooser.status, view.chooser.opened], **EVENT
    )
    followed = fetched.success(
        browse.follow,
        [view.chooser.opened, shown.address],
        shown.outputs,
        js="(opened) => [opened, window.location.search]",
        **EVENT,
    )
    followed.then(None, shown.address, None, js=wrote(shown.part)).then(**bars)
    known = opened.then(SignIn(stores.settings).identify, secret, [secret, who], **EVENT)
    known.then(score.reopen, who, view.score.report.outputs, **EVENT)
    board = known.then(joined.best_board, None, board_id, **EVENT).then(
        board_tab.open,
        [view.leaderboard.address, board_id, who],
        view.leaderboard.outputs,
        js="(address, id, own) => [window.location.search, id, own]",
        **EVENT,
    )
    board.then(None, view.leaderboard.address, None, js=filling(view.leaderboard.part))
    ready = board.then(**bars)

    view.timer.tick(**bars)
    best = view.bar.show.click(joined.best_pairs, None, view.chooser.opened, **EVENT)
    newest = view.leaderboard.bar.show.click(joined.best_board, None, board_id, **EVENT)
    moved = wire_boardsource(view.leaderboard.source, BoardSource(stores.boards), board_id)
    for event in (newest, *moved):
        event.success(**show_board).then(**bars)
    chosen = wire_chooser(view.chooser, chooser)
    for source in (best, *chosen):
        turned = source.success(
            browse.turn_to, [view.chooser.opened, shown.seen], shown.outputs, **EVENT
        )
        turned.then(None, shown.address, None, js=wrote(shown.part)).then(**bars)
    for bar in (view.bar, view.leaderboard.bar):
        bar.retry.click(joined.retry, **EVENT).then(**bars)
    return ready

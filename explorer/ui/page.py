"""The whole page: header, the bar that says which data is shown, the tabs, and what joins them."""

from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

import gradio as gr

from explorer.outcomes import Leaderboard
from explorer.runs import Runs
from explorer.settings import ASSETS, Settings
from explorer.sources import Shelf
from explorer.table import PairTable
from explorer.text import text
from explorer.ui.browse import Browse, BrowseView, build_browse, refreshing, wire_browse
from explorer.ui.errors import guarded
from explorer.ui.failures import Failures, FailuresView, build_failures, wire_failures
from explorer.ui.leaderboard import (
    LeaderboardTab,
    LeaderboardView,
    build_leaderboard_tab,
    showing,
)
from explorer.ui.listing import EVENT
from explorer.ui.markup import tag
from explorer.ui.score import Score, ScoreView, build_score, remembered_runs, wire_score
from explorer.ui.sourcebar import SourceBarView, build_sourcebar, sourcebar

POLL_SECONDS = 1.5
LOGO: Path = ASSETS / "logo.svg"
READY = "() => { document.documentElement.dataset.explorer = 'ready'; return []; }"


@dataclass(frozen=True)
class Stores:
    """What the app holds for all sessions."""

    settings: Settings
    pairs: Shelf[PairTable]
    boards: Shelf[Leaderboard]
    runs: Runs


@dataclass(frozen=True)
class PageView:
    """All components of the page."""

    bar: SourceBarView
    tabs: gr.Tabs
    browse: BrowseView
    score: ScoreView
    failures: FailuresView
    leaderboard: LeaderboardView
    score_tab: gr.Tab
    failures_tab: gr.Tab
    timer: gr.Timer


@dataclass(frozen=True)
class Page:
    """The callbacks that join the tabs."""

    stores: Stores

    @guarded
    def open(self) -> tuple[str, str]:
        """A new session looks at the best there is: the ids of its pairs and its leaderboard."""
        return self.stores.pairs.best, self.stores.boards.best

    @guarded
    def bars(self, table_id: object, board_id: object) -> tuple[Any, ...]:
        """What both source bars say now; the timer runs while the network is being asked."""
        pairs, boards = self.stores.pairs, self.stores.boards
        can_retry = not self.stores.settings.offline
        asking = pairs.fetching or boards.fetching
        return (
            *sourcebar(pairs, table_id, can_retry),
            *sourcebar(boards, board_id, can_retry),
            gr.Timer(active=asking),
        )

    @guarded
    def best_pairs(self) -> str:
        """The id of the pairs that arrived."""
        return self.stores.pairs.best

    @guarded
    def best_board(self) -> str:
        """The id of the leaderboard that arrived."""
        return self.stores.boards.best

    def to_failures(self) -> gr.Tabs:
        """Open the Failures tab."""
        return gr.Tabs(selected="failures")

    @guarded
    def retry(self) -> None:
        """Ask the network anew, for everything."""
        self.stores.pairs.retry()
        self.stores.boards.fetch()


def build_page(stores: Stores) -> gr.Blocks:
    """The page, laid out and wired."""
    with gr.Blocks(title=text("app.title"), fill_width=True, analytics_enabled=False) as page:
        _wire(_lay_out(stores), stores, page)
    return page


def _lay_out(stores: Stores) -> PageView:
    gr.HTML(_header())
    bar = build_sourcebar(text("source.show_pairs"))
    own_runs = remembered_runs()
    with gr.Tabs(elem_id="tabs") as tabs:
        with gr.Tab(text("tab.browse"), id="browse"):
            browse = build_browse()
        with gr.Tab(text("tab.score"), id="score") as score_tab:
            score = build_score(stores.settings, own_runs)
        with gr.Tab(text("tab.failures"), id="failures") as failures_tab:
            failures = build_failures()
        with gr.Tab(text("tab.leaderboard"), id="leaderboard"):
            leaderboard = build_leaderboard_tab()
    return PageView(
        bar, tabs, browse, score, failures, leaderboard, score_tab, failures_tab,
        gr.Timer(POLL_SECONDS, active=False),
    )  # fmt: skip


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
    joined, browse = Page(stores), Browse(stores.pairs)
    score, failures = Score(browse, stores.runs), Failures(stores.pairs, stores.runs)
    leaderboard = LeaderboardTab(stores.boards)
    wire_browse(view.browse, browse)
    wire_score(view.score, score, view.browse, view.score_tab)
    wire_failures(view.failures, failures, view.score, view.failures_tab)
    _wire_sources(view, joined, browse, leaderboard, page)
    view.score.inspect.click(joined.to_failures, None, view.tabs, **EVENT)
    page.unload(score.leave)
    page.load(score.reopen, view.score.own_runs, view.score.outputs, **EVENT)


def _wire_sources(
    view: PageView, joined: Page, browse: Browse, leaderboard: LeaderboardTab, page: gr.Blocks
) -> None:
    """Fill the page when it is opened; offer what arrives, show it when asked for, and retry."""
    table_id, board_id = view.browse.table_id, view.leaderboard.board_id
    choices = {"fn": browse.choices, "inputs": table_id, "outputs": view.browse.filters.inputs}
    refresh, show_board = refreshing(view.browse, browse), showing(view.leaderboard, leaderboard)
    bars = {
        "fn": joined.bars,
        "inputs": [table_id, board_id],
        "outputs": [*view.bar.outputs, *view.leaderboard.bar.outputs, view.timer],
        **EVENT,
    }
    opened = page.load(joined.open, None, [table_id, board_id], **EVENT)
    opened.then(**show_board)
    filled = opened.then(**choices, **EVENT).then(**refresh).then(**bars)
    filled.then(None, None, None, js=READY)

    view.timer.tick(**bars)
    shown = view.bar.show.click(joined.best_pairs, None, table_id, **EVENT)
    shown.then(**choices, **EVENT).then(**refresh).then(**bars)
    board = view.leaderboard.bar.show.click(joined.best_board, None, board_id, **EVENT)
    board.then(**show_board).then(**bars)
    for bar in (view.bar, view.leaderboard.bar):
        bar.retry.click(joined.retry, **EVENT).then(**bars)

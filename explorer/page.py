"""The whole page: its head, its tabs, the endpoints of programs, and the routes of files."""

import json
from dataclasses import dataclass
from functools import partial

import gradio as gr
from starlette.routing import Route

from explorer.api.results import BoardEndpoints, PairEndpoints, publish_results
from explorer.api.running import RunEndpoints, publish_runs
from explorer.api.scoring import ScoreEndpoints, publish_scoring
from explorer.api.searching import SearchEndpoints, publish_search
from explorer.core.address_view import EVENT, build_view, file_route
from explorer.core.html import help_html
from explorer.core.served import MOST_EVENTS
from explorer.core.settings import Settings
from explorer.reader.links import TABS
from explorer.reader.scene import Scenes
from explorer.runs.visitors import Visitor
from explorer.stores import Stores
from explorer.tabs.about.view import ABOUT, ABOUT_SKELETON
from explorer.tabs.data.view import DataView, head_skeleton
from explorer.tabs.models.view import ModelsView, build_models
from explorer.tabs.pairs.view import PairsView, build_pairs
from explorer.tabs.score.publish_html import Publishing
from explorer.tabs.score.signin_view import build_signin, visitor_of
from explorer.tabs.score.view import ScoreView, build_score
from explorer.tabs.try_it.view import TryView, build_try

FILES_SECONDS = (3600, 7200)
"""Files that were uploaded are looked for so often, and kept so long, in seconds."""
_FORMER: dict[str, object] = {"typed": [], "notes": {}}
"""What a browser once kept as Gradio keeps it, under "rewardbench-explorer-" and these names."""


@dataclass(frozen=True)
class Views:
    """What the server shows of the head and of each tab, to everybody who has the page open."""

    data: DataView
    pairs: PairsView
    models: ModelsView
    score: ScoreView
    trial: TryView


def build_page(stores: Stores) -> tuple[gr.Blocks, list[Route]]:
    """The page with its queue, laid out and wired, and the routes of its files."""
    views = views_of(stores)
    with gr.Blocks(
        title="RewardBench Explorer",
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
        _lay_out(views, stores.settings, page)
    shown = [each.as_view() for each in (views.pairs, views.models, views.score, views.trial)]
    routes = [file_route(view, partial(identified, stores.settings)) for view in shown]
    return page.queue(default_concurrency_limit=8, max_size=MOST_EVENTS, api_open=False), routes


def views_of(stores: Stores) -> Views:
    """The views of the head and of all tabs."""
    settings, scenes = stores.settings, scenes_of(stores)
    publishing = Publishing(stores.runs, stores.pairs, stores.hub, settings)
    boards = stores.boards, stores.measuring, stores.fields, settings, stores.pairs.all
    return Views(
        DataView(stores.pairs, stores.results, settings),
        PairsView(scenes, settings),
        ModelsView(*boards),
        ScoreView(scenes, stores.runs, stores.boards, stores.hub, settings, publishing),
        TryView(scenes, stores.runs, stores.hub, settings),
    )


def scenes_of(stores: Stores) -> Scenes:
    """What makes the scenes of pairs."""
    return Scenes(stores.pairs, stores.counter, stores.fields)


def identified(
    settings: Settings,
    request: gr.Request,
    profile: gr.OAuthProfile | None,
    token: gr.OAuthToken | None,
    secret: str,
) -> Visitor:
    """Who asks for the regions of a view."""
    return visitor_of(request, profile, token, secret, settings=settings)


def _lay_out(views: Views, settings: Settings, page: gr.Blocks) -> None:
    identity = partial(identified, settings)
    build_view(views.data.as_view(), head_skeleton() + help_html(), identity)
    former = build_signin(settings)
    with gr.Tabs(elem_id="tabs"):
        tab = {name: _tab(name) for name in TABS}
        with tab["pairs"]:
            build_pairs(views.pairs, identity)
        with tab["models"]:
            build_models(views.models, identity)
        with tab["score"]:
            build_score(views.score, identity)
        with tab["try"]:
            build_try(views.trial, identity)
        with tab["about"]:
            build_view(ABOUT, ABOUT_SKELETON, identity)
    _hand_over(former, page)


def _tab(name: str) -> gr.Tab:
    """A tab that the address names while it is open."""
    tab = gr.Tab("About the data" if name == "about" else name.capitalize(), id=name)
    tab.select(None, None, None, js=f"() => window.explorer.turn({json.dumps(name)})")
    return tab


def _hand_over(secret: gr.BrowserState, page: gr.Blocks) -> None:
    """Open the page's scripts, with what an earlier version kept in the browser."""
    page.load(None, secret, None, js="(secret) => window.explorer.opened(secret)", **EVENT)
    for name, nothing in _FORMER.items():
        key = f"rewardbench-explorer-{name}"
        kept = gr.BrowserState(nothing, storage_key=key, secret=key)
        is_taken = f"window.explorer.takeOver({json.dumps(name)}, kept)"
        taken = f"(kept) => [{is_taken} ? {json.dumps(nothing)} : kept]"
        page.load(None, kept, kept, js=taken, **EVENT)

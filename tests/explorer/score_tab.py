"""The callbacks of the Score tab on a page of their own."""

from dataclasses import replace

import gradio as gr

from explorer.data.library import Library
from explorer.stores import Stores
from explorer.tabs.score.acts_view import ScoreTab
from explorer.tabs.score.view import build_score
from tests.explorer.browsing import scenes_on
from tests.explorer.filling import laid_out


def score_tab(stores: Stores, library: Library | None = None) -> ScoreTab:
    """The tab where these tables are at hand; None for those of the stores."""
    parts, session = laid_out(lambda: (build_score(stores.settings), gr.State()))
    scenes = scenes_on(replace(stores, pairs=library or stores.pairs))
    return ScoreTab(scenes, stores.runs, stores.boards, stores.settings, parts, session)

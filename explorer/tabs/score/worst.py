"""The clearest failures of a run, each to be opened while the run goes on."""

import heapq
from collections.abc import Sequence
from html import escape

from explorer.core.html import go_link, signed, tag
from explorer.core.text import text
from explorer.reader.reading import Reading
from explorer.reader.state import View
from explorer.reader.tab_links import failures_query
from explorer.results.own import own_name
from scoring.record import Run
from scoring.spec import ScoredPair

WORST = 5


def worst_html(run: Run, scored: Sequence[ScoredPair]) -> str:
    """Links to the losses with the widest margins so far; nothing where none is lost."""
    margins = ((pair.margin, pair.key) for pair in scored)
    lost = ((margin, key) for margin, key in margins if margin is not None and margin < 0)
    worst = heapq.nsmallest(WORST, lost)
    if not worst:
        return ""
    name = own_name(run)
    items = "".join(tag("li", _link(name, key, margin)) for margin, key in worst)
    title = tag("b", escape(text("score.live_worst")))
    return tag("div", title + tag("ul", items), "live-worst")


def _link(name: str, key: str, margin: float) -> str:
    query = failures_query(name, View(reading=Reading(key=key)))
    words = tag("bdi", escape(key)) + " " + tag("small", escape(signed(margin)))
    return go_link(words, "failures", query)

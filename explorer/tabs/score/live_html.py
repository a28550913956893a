"""A run under way as HTML that is cheap to send.

Accuracies as bars with whiskers, margins as a histogram, the clearest failures, how sure it is.
"""

import heapq
from collections.abc import Sequence
from html import escape

from explorer.core.html import go_link, percent, signed, tag
from explorer.core.text import text
from explorer.reader.links import failures_query
from explorer.reader.reading import Reading
from explorer.reader.state import PairsState
from explorer.runs.sections import SectionNow
from explorer.stats.margins import MarginHistogram
from scoring.interval import Interval
from scoring.spec import ScoredPair
from scoring.sure import SureInterval

HEIGHT = 90
"""Of the histogram, in units of its drawing; a bin is 10 wide."""
WORST = 5
"""Pairs that are lost most clearly, which are listed."""


def bar_html(share: float | None, interval: Interval | None) -> str:
    """A bar from 0 to 100 %, with a whisker from end to end of its interval.

    >>> bar_html(0.5, Interval(0.25, 0.75)).count("style")
    2
    """
    if share is None:
        return tag("span", "", "live-bar")
    inside = tag("i", style=f"width:{100 * share:.1f}%")
    if interval is not None:
        left, wide = 100 * interval.low, 100 * (interval.high - interval.low)
        inside += tag("b", style=f"left:{left:.1f}%;width:{wide:.1f}%")
    return tag("span", inside, "live-bar")


def bars_html(sections: Sequence[SectionNow]) -> str:
    """A line for all pairs and for each section: name, bar, accuracy with its interval, pairs."""
    rows = "".join(_line(each) for each in sections)
    return tag("table", tag("tbody", rows), "live-bars", aria_label=text("score.live_bars"))


def _line(now: SectionNow) -> str:
    name = now.name or text("score.live_all")
    ends = ""
    if now.interval is not None:
        low, high = percent(now.interval.low), percent(now.interval.high)
        ends = text("score.live_ends", low=low, high=high)
    if now.n == 1:
        pairs = text("score.live_pairs_one", n=1)
    else:
        pairs = text("score.live_weighted" if now.name else "score.live_pairs", n=f"{now.n:,}")
    cells = (
        tag("td", bar_html(now.accuracy, now.interval), "wide")
        + tag("td", tag("b", escape(percent(now.accuracy))), "number")
        + tag("td", escape(ends), "number quiet")
        + tag("td", escape(pairs), "number quiet")
    )
    return tag("tr", tag("th", escape(name), scope="row") + cells)


def margins_html(histogram: MarginHistogram) -> str:
    """How many pairs have each margin: losses left of the line in the middle, wins right of it."""
    if not histogram.counts:
        return ""
    n_bins, most = len(histogram.counts), max(histogram.counts)
    bars = ""
    for place, n in enumerate(histogram.counts):
        if not n:
            continue
        high = max(1.0, HEIGHT * n / most)
        low, end = (signed(each) for each in histogram.edges[place : place + 2])
        words = tag("title", escape(text("score.live_bin", n=f"{n:,}", low=low, high=end)))
        bars += tag(
            "rect", words, "won" if place >= n_bins // 2 else "lost",
            x=f"{10 * place + 0.5}", y=f"{HEIGHT - high:.1f}", width="9", height=f"{high:.1f}",
        )  # fmt: skip
    middle = f"{5 * n_bins}"
    line = tag("line", "", x1=middle, x2=middle, y1="0", y2=f"{HEIGHT}")
    words = text("score.live_margins", wins=f"{histogram.wins:,}",
                 others=f"{histogram.losses + histogram.ties:,}")  # fmt: skip
    drawing = tag("svg", bars + line, viewBox=f"0 0 {10 * n_bins} {HEIGHT}", role="img",
                  aria_label=words, preserveAspectRatio="none")  # fmt: skip
    ends = (signed(histogram.edges[0]), "0", signed(histogram.edges[-1]))
    axis = tag("div", "".join(tag("span", escape(each)) for each in ends), "axis")
    return tag("figure", tag("figcaption", escape(words)) + drawing + axis, "live-margins")


def worst_html(name: str, scored: Sequence[ScoredPair]) -> str:
    """Links to the losses with the widest margins so far; nothing where none is lost.

    name: what the run is called among models.
    """
    margins = ((pair.margin, pair.key) for pair in scored)
    lost = ((margin, key) for margin, key in margins if margin is not None and margin < 0)
    worst = heapq.nsmallest(WORST, lost)
    if not worst:
        return ""
    items = "".join(tag("li", _link(name, key, margin)) for margin, key in worst)
    title = tag("b", escape(text("score.live_worst")))
    return tag("div", title + tag("ul", items), "live-worst")


def _link(name: str, key: str, margin: float) -> str:
    query = failures_query(name, PairsState(reading=Reading(key=key)))
    words = tag("bdi", escape(key)) + " " + tag("small", escape(signed(margin)))
    return go_link(words, "pairs", query)


def sure_words(sure: SureInterval, ended: bool) -> str:
    """What is sure since the last look, what was asked, and when the next look is.

    ended: whether the run was stopped, be it because it is sure.
    """
    number = text(f"sure.{sure.rule.number}")
    if sure.estimate is None:
        return text("sure.waiting", number=number, n=f"{sure.following or 0:,}")
    words = text(
        "sure.now",
        number=number,
        estimate=percent(sure.estimate),
        low=percent(sure.low),
        high=percent(sure.high),
        width=f"{100 * sure.width:.1f}",
        wanted=f"{100 * sure.rule.width:.1f}",
        n=f"{sure.n:,}",
    )
    if sure.is_enough:
        return f"{text('sure.enough')} {words}" if ended else words
    if sure.following is None:
        return words
    return f"{words} " + text("sure.following", n=f"{sure.following:,}")

"""Ensembles of models with rewards, as HTML: members, way, and how they score."""

from collections.abc import Mapping, Sequence
from html import escape

from explorer.core.html import go_link, note, p_words, percent, points, scroll_table, table_row, tag
from explorer.core.parts import acting, segments
from explorer.core.text import text
from explorer.data.filters import LONGEST_NAME
from explorer.reader.links import failures_query
from explorer.results.ensemble_field import (
    Ensembles,
    EnsembleScore,
    ensemble_name,
    ensembles_of,
    with_rewards,
)
from explorer.results.ensembles import LEAST_MEMBERS, WAYS
from explorer.tabs.models.scene import Compared
from explorer.tabs.models.state import MOST_MEMBERS
from scoring.errors import KnownError

MOST_OFFERED = 60
"""Models that can be ticked, beside those that are."""


def ensembles_html(now: Compared) -> str:
    """The members to choose from, and what they come to together."""
    state, offered = now.state, with_rewards(now.field)
    if len(offered) < LEAST_MEMBERS:
        return note(text("compare.few_rewards", n=len(offered)))
    ways: dict[str, str] = {way: text(f"compare.way_{way}") for way in WAYS}
    way = segments(text("compare.way"), "way", ways, state.way)
    html = _members(now, offered) + tag("div", way, "line")
    html += note(text(f"compare.about_{state.way}"))
    if len(state.members) < LEAST_MEMBERS:
        return html + note(text("compare.pick_members", most=MOST_MEMBERS))
    try:
        return html + _scores(ensembles_of(now.field, state.members, state.way))
    except KnownError as error:
        return html + note(str(error), "wrong")


def _members(now: Compared, offered: Sequence[str]) -> str:
    members = now.state.members
    shown = list(dict.fromkeys([*members, *now.sought(offered)[:MOST_OFFERED]]))
    shown.sort(key=lambda model: offered.index(model) if model in offered else len(offered))
    boxes = "".join(
        tag(
            "label",
            tag(
                "input", type="checkbox", value=model, **acting("pick", {"facet": "members"}),
                **({"checked": "checked"} if model in members else {}),
            )
            + escape(model),
            "tick",
        )
        for model in shown
    )  # fmt: skip
    legend = tag("legend", escape(text("compare.members", n=len(offered))), "legend")
    return tag("fieldset", legend + tag("div", boxes, "line"), "facet group members")


def _scores(found: Ensembles) -> str:
    n = f"{found.n:,}"
    html = note(text("compare.ensemble_rule" if found.by_rule else "compare.ensemble_plain", n=n))
    if found.missing:
        html += note(text("compare.ensemble_missing", n=f"{found.missing:,}"))
    number = {model: place for place, model in enumerate(found.whole.members, start=1)}
    rows = _row(_joined(found.whole, number), found.whole, "", "")
    for model, each in zip(number, found.alone, strict=True):
        test = each.test
        low, high = test.interval or (None, None)
        ends = text("figure.ends", low=points(low), high=points(high))
        name = f"{number[model]}: {model}"
        rows += _row(name, each.own, f"{points(test.difference)} ({ends})", p_words(test.p))
    title, names = text("compare.ensemble"), ("members", "way", "score", "failures")
    heads = [text(f"compare.head_{name}") for name in names]
    further = [text("compare.head_ensemble_minus"), text("compare.head_p_each")]
    html += tag("h2", escape(title)) + scroll_table(title, [*heads, *further], rows)
    title = text("compare.ranked")
    said = text("compare.ranked_about", tried=f"{found.tried:,}", n=len(found.ranked))
    rows = "".join(_row(_joined(each, number), each) for each in found.ranked)
    html += tag("h2", escape(title)) + note(said) + scroll_table(title, heads, rows)
    return tag("div", html, "duel")


def _row(name: str, each: EnsembleScore, *further: str) -> str:
    way = text(f"compare.way_{each.way}") if each.way else text("compare.alone_way")
    cells = (way, percent(each.score), f"{each.failures:,}", *further)
    model = ensemble_name(each.members, each.way) if each.way else each.members[0]
    words = tag("bdi", escape(name))
    if len(model) <= LONGEST_NAME:
        words = go_link(words, "pairs", failures_query(model))
    return table_row(words, *cells)


def _joined(each: EnsembleScore, number: Mapping[str, int]) -> str:
    return " + ".join(str(number[model]) for model in each.members)

"""Ensembles of models with rewards, as HTML: members, way, and how they score."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from explorer.core.html import note, p_words, percent, points, render
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


@dataclass(frozen=True, slots=True)
class _Row:
    """An ensemble, or one model. query: a link to its failures; "" where its name is too long."""

    name: str
    query: str
    cells: Sequence[str]


def ensembles_html(now: Compared) -> str:
    """The members to choose from, and what they come to together."""
    state, offered = now.state, with_rewards(now.field)
    if len(offered) < LEAST_MEMBERS:
        return note(text("compare.few_rewards", n=len(offered)))
    said, said_css, scores = "", "", {"found": None}
    if len(state.members) < LEAST_MEMBERS:
        said = text("compare.pick_members", most=MOST_MEMBERS)
    else:
        try:
            scores = _scores(ensembles_of(now.field, state.members, state.way))
        except KnownError as error:
            said, said_css = str(error), "wrong"
    shown = list(dict.fromkeys([*state.members, *now.sought(offered)[:MOST_OFFERED]]))
    shown.sort(key=lambda model: offered.index(model) if model in offered else len(offered))
    return render(
        "tabs/models/ensembles.html",
        n_offered=len(offered),
        offered=shown,
        members=state.members,
        ways={way: text(f"compare.way_{way}") for way in WAYS},
        way=state.way,
        said=said,
        said_css=said_css,
        **scores,
    )


def _scores(found: Ensembles) -> dict[str, Any]:
    number = {model: place for place, model in enumerate(found.whole.members, start=1)}
    rows = [_row(_joined(found.whole, number), found.whole, "", "")]
    for model, each in zip(number, found.alone, strict=True):
        test = each.test
        low, high = test.interval or (None, None)
        ends = text("figure.ends", low=points(low), high=points(high))
        difference = f"{points(test.difference)} ({ends})"
        rows.append(_row(f"{number[model]}: {model}", each.own, difference, p_words(test.p)))
    return {
        "found": found,
        "heads": [text(f"compare.head_{name}") for name in ("members", "way", "score", "failures")],
        "rows": rows,
        "ranked": [_row(_joined(each, number), each) for each in found.ranked],
    }


def _row(name: str, each: EnsembleScore, *further: str) -> _Row:
    way = text(f"compare.way_{each.way}") if each.way else text("compare.alone_way")
    model = ensemble_name(each.members, each.way) if each.way else each.members[0]
    query = failures_query(model) if len(model) <= LONGEST_NAME else ""
    return _Row(name, query, (way, percent(each.score), f"{each.failures:,}", *further))


def _joined(each: EnsembleScore, number: Mapping[str, int]) -> str:
    return " + ".join(str(number[model]) for model in each.members)

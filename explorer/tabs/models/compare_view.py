"""Models beside each other: on which pairs, who wins more and where, ensembles, who is alike."""

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any

import gradio as gr
import numpy as np

from explorer.core.html import note, p_words, percent, points, render
from explorer.core.parts import Filling
from explorer.core.text import text
from explorer.core.theme import painted
from explorer.data.filters import LONGEST_NAME
from explorer.data.search import EVERYTHING
from explorer.reader.filter_html import model_names
from explorer.reader.links import failures_query
from explorer.reader.listing import reader_bar
from explorer.reader.reader import pair_html
from explorer.results.ensembles import (
    LEAST_MEMBERS,
    WAYS,
    Ensembles,
    EnsembleScore,
    ensemble_name,
    ensembles_of,
    with_rewards,
)
from explorer.results.field import MAJORITY, Field
from explorer.stats.duels import Duel
from explorer.stats.paired import holm
from explorer.tabs.models.compared import (
    MarginPoints,
    change_of,
    compared_query,
    each_headline,
    first_duel,
    is_whole,
    likenesses,
    margin_points,
    standings,
)
from explorer.tabs.models.figures import margin_points_figure
from explorer.tabs.models.scene import Compared, in_section, subsets_in
from explorer.tabs.models.state import LETTERS, MOST_MEMBERS, MOST_MODELS, WHOSE_PAIRS
from scoring.errors import KnownError

_MOST_LISTED = 400
_MOST_OFFERED = 60
"""Models that can be ticked, beside those that are."""
_MOST_BUTTONS = 12
_OF_TWO = ("models", "pairs", "difference", "interval", "p", "first", "second")
_OF_SUBSETS = (
    "subset", "pairs", "a", "b", "a_minus_b", "interval", "only_a", "only_b", "p", "change",
)  # fmt: skip


def compare_head_html(now: Compared, fields: Sequence[Field]) -> str:
    """Fields for the model, for what it is compared with, and for further ones."""
    state = now.state
    return render(
        "tabs/models/compare_head.html",
        state=state,
        names=model_names(fields),
        others=model_names([now.field]),
        named="" if state.b == MAJORITY else state.b,
        further=list(zip(LETTERS[2:], state.more, strict=False)),
        may_add=len(state.named) < MOST_MODELS,
    )


def compare_bar_html(now: Compared, dropped: Iterable[str]) -> str:
    """On how many pairs they are compared, and what to know. dropped: left out of a link."""
    state = now.state
    said: list[tuple[str, str]] = [(text("filter.dropped", what=what), "") for what in dropped]
    if not state.a or state.panel == "ensembles":
        return render("tabs/models/compare_bar.html", shared=None, said=said)
    shared = int(now.shared.sum())
    known = (~np.isnan(now.outcomes)).sum(axis=1).tolist()
    if state.b == MAJORITY:
        split, others = known[0] - shared, now.field.is_other(state.a).any()
        said.insert(0, (text("compare.about_majority" if others else "compare.alone"), ""))
        said += [(text("compare.split", n=f"{split:,}"), "")] if split and others else []
    elif set(known) != {shared}:
        each = ", ".join(f"{letter} {n:,}" for letter, n in zip(LETTERS, known, strict=False))
        said.insert(0, (text("compare.different", known=each), ""))
    if not now.field.has_texts:
        said.append((f"{text('fails.no_texts')} {now.field.match_description()}".rstrip(), "wrong"))
    there = [each for each in WHOSE_PAIRS if in_section(now.field, each).any()]
    if len(there) < 2:
        there = []  # there is no choice
    return render(
        "tabs/models/compare_bar.html",
        shared=shared,
        sections={each: each or text("compare.all_pairs") for each in there},
        section=state.section,
        said=said,
    )


def differing_html(now: Compared) -> str:
    """Steps through the pairs in which they differ; nothing where no pair is shown."""
    if not _has_reader(now):
        return ""
    title = render("tabs/models/differing.html", n=len(now.listed))
    return title + reader_bar(now.listed, now.state.reading)


def differing_pair_html(now: Compared) -> str:
    """The open pair with the rewards and outcomes of all compared models."""
    if not _has_reader(now):
        return ""
    reading, field = now.state.reading, now.field
    row = field.table.row_of(reading.key) if reading.key else None
    if row is None:
        return pair_html(None, None, reading.display(EVERYTHING))
    verdicts = [field.verdict(model, row) for model in now.state.named]
    cells = field.table.cells(row) if field.has_texts else None
    return pair_html(
        cells, reading.key, reading.display(EVERYTHING), verdicts, source=field.table.source
    )


def _has_reader(now: Compared) -> bool:
    return bool(now.state.a) and now.state.panel in ("compare", "scatter")


def _table(now: Compared, *, tied: bool) -> str:
    """Who wins more, where, and how sure that is; every count leads to its pairs."""
    found = first_duel(now)
    if not found.all_pairs.n:
        return note(text("compare.no_pairs"), "wrong")
    return render(
        "tabs/models/duel.html",
        found=found,
        is_whole=is_whole(now, 2),
        several=_several(now) if now.state.more else None,
        chosen_section=now.state.section,
        query=partial(compared_query, now),
        change_of=change_of,
        tied=tied,
        **_subsets(now, found),
    )


def _several(now: Compared) -> dict[str, Any]:
    """Accuracies of three or four models side by side, and each two of them."""
    names, found = now.state.named, each_headline(now)
    *parts, by_rule = standings(now)
    counted = [each for each in parts if each.n]
    heads = [text("compare.head_model")]
    for each in counted:
        name = each.section or text("compare.all_pairs")
        heads.append(text("compare.head_with_pairs", name=name, n=f"{each.n:,}"))
    heads.append(text("compare.score" if is_whole(now, len(names)) else "compare.score_part"))
    letter = dict(zip(names, LETTERS, strict=False))
    scores = [each.scores for each in (*counted, by_rule)]
    rows = [
        (f"{letter[name]}: {name}", [each[place] for each in scores])
        for place, name in enumerate(names)
    ]
    adjusted = holm([each.test.p for _, _, each in found]).tolist()
    pairwise = [
        (f"{letter[a]} − {letter[b]}", each, p)
        for (a, b, each), p in zip(found, adjusted, strict=True)
    ]
    pairwise_heads = [text(f"compare.head_{name}") for name in _OF_TWO]
    return {"heads": heads, "rows": rows, "pairwise": pairwise, "pairwise_heads": pairwise_heads}


def _subsets(now: Compared, found: Duel) -> dict[str, Any]:
    named = dict(zip(now.field.matrix.pairs.names, found.subsets, strict=True))
    changes = [change_of(part) for part in named.values() if part.n]
    better, worse = changes.count("improved"), changes.count("regressed")
    if better or worse:
        words = text("compare.subsets_about", n=len(changes), improved=better, regressed=worse)
    else:
        words = text("compare.subsets_alike", n=len(changes))
    shown = {name: named[name] for name in subsets_in(now.field, now.state.section)}
    return {
        "changes": words,
        "subsets": {name: part for name, part in shown.items() if part.n},
        "subset_heads": [text(f"compare.head_{name}") for name in _OF_SUBSETS],
    }


def _ensembles(now: Compared) -> str:
    """The members to choose from, and what they come to together."""
    state, offered = now.state, with_rewards(now.field)
    if len(offered) < LEAST_MEMBERS:
        return _no_rewards(text("compare.few_rewards", n=len(offered)))
    said, said_css, found = "", "", {"found": None}
    if len(state.members) < LEAST_MEMBERS:
        said = text("compare.pick_members", most=MOST_MEMBERS)
    else:
        try:
            found = _found(ensembles_of(now.field, state.members, state.way))
        except KnownError as error:
            said, said_css = str(error), "wrong"
    shown = list(dict.fromkeys([*state.members, *now.sought(offered)[:_MOST_OFFERED]]))
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
        **found,
    )


def _found(found: Ensembles) -> dict[str, Any]:
    number = {model: place for place, model in enumerate(found.whole.members, start=1)}
    rows = [_row(_joined(found.whole, number), found.whole, "", "")]
    for model, (alone, test) in zip(number, found.alone, strict=True):
        low, high = test.interval or (None, None)
        ends = text("figure.ends", low=points(low), high=points(high))
        difference = f"{points(test.difference)} ({ends})"
        rows.append(_row(f"{number[model]}: {model}", alone, difference, p_words(test.p)))
    return {
        "found": found,
        "heads": [text(f"compare.head_{name}") for name in ("members", "way", "score", "failures")],
        "rows": rows,
        "ranked": [_row(_joined(each, number), each) for each in found.ranked],
    }


def _row(name: str, each: EnsembleScore, *further: str) -> dict[str, Any]:
    way = text(f"compare.way_{each.way}") if each.way else text("compare.alone_way")
    model = ensemble_name(each.members, each.way) if each.way else each.members[0]
    query = failures_query(model) if len(model) <= LONGEST_NAME else ""
    cells = (way, percent(each.score), f"{each.failures:,}", *further)
    return {"name": name, "query": query, "cells": cells}


def _joined(each: EnsembleScore, number: Mapping[str, int]) -> str:
    return " + ".join(str(number[model]) for model in each.members)


def _likeness(now: Compared) -> str:
    """The other models of the field, the most alike first."""
    found = likenesses(now)
    if not found:
        return note(text("compare.alone"))
    names = ("model", "correlation", "same", "won", "pairs")
    heads = [text(f"compare.head_{name}") for name in names]
    sought = set(now.sought([each["model"] for each in found]))
    found = [each for each in found if each["model"] in sought]
    return render(
        "tabs/models/alike.html",
        heads=heads,
        models=found[:_MOST_LISTED],
        b=now.state.b,
        n_more=max(0, len(found) - _MOST_LISTED),
    )


def compared_shown(words: gr.HTML, plot: gr.Plot, now: Compared, *, tied: bool = False) -> Filling:
    """The panel that a state asks for; nothing where it asks for a model first.

    tied: whether the two are in one tie group of their board.
    """
    hidden = gr.update(visible=False)
    if not now.state.a and now.state.panel in ("compare", "agreement"):
        return {words: "", plot: hidden}
    if now.state.panel == "compare":
        return {words: _table(now, tied=tied), plot: hidden}
    if now.state.panel == "agreement":
        return {words: _likeness(now), plot: hidden}
    if now.state.panel == "ensembles":
        return {words: _ensembles(now), plot: hidden}
    found = margin_points(now)
    said = _margins_words(now, found)
    if found is None or not found.n:
        return {words: said, plot: hidden}
    keys = [now.field.table.key_of(row) for row in found.rows.tolist()]
    figure = painted(margin_points_figure(found, keys), 520)
    return {words: said, plot: gr.update(value=figure, visible=True)}


def _no_margins(now: Compared) -> str:
    """Why no two models have rewards, and those that could be chosen."""
    state, field = now.state, now.field
    rewarded = with_rewards(field)
    if len(rewarded) < 2:
        if not field.matrix.models:
            return ""  # the head says so
        return _no_rewards(text("compare.scatter_few", n=len(rewarded)))
    without = [each for each in state.named[:2] if not field.has_rewards(each)]
    if without:
        said = text("compare.scatter_missing", models=", ".join(without))
    else:
        said = text("compare.scatter_majority" if state.a else "compare.scatter_choose")
    offered = [each for each in now.sought(rewarded) if each not in state.named]
    letter = "b" if state.a and state.a not in without else "a"
    return _no_rewards(said, offered[:_MOST_BUTTONS], letter)


def _no_rewards(said: str, offered: Sequence[str] = (), letter: str = "") -> str:
    return render("tabs/models/no_rewards.html", said=said, offered=offered, letter=letter)


def _margins_words(now: Compared, found: MarginPoints | None) -> str:
    """What is drawn, or why nothing is. found: of the scene."""
    if found is None:
        return _no_margins(now)
    if not found.n:
        return note(text("compare.scatter_none"))
    html = note(text("compare.scatter_about"))
    if len(found.rows) < found.n:
        n, of = f"{len(found.rows):,}", f"{found.n:,}"
        html += note(text("compare.scatter_cut", n=n, of=of))
    return html

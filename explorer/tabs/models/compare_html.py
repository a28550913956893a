"""Models beside each other: on which pairs, who wins more and where, ensembles, who is alike."""

from collections.abc import Mapping, Sequence
from functools import partial
from math import ceil
from types import MappingProxyType
from typing import Any

import numpy as np

from explorer.core.figures import short_name
from explorer.core.html import minus, note, p_words, part, percent, points, render
from explorer.core.theme import figure_json
from explorer.data.filters import LONGEST_NAME
from explorer.reader.filter_html import model_names
from explorer.reader.links import failures_query
from explorer.reader.scene import NO_TEXTS
from explorer.reader.state import PairsState
from explorer.results.ensembles import (
    LEAST_MEMBERS,
    Ensembles,
    EnsembleScore,
    Way,
    check_rule,
    ensemble_name,
    ensembles_of,
    with_rewards,
)
from explorer.results.field import MAJORITY, Field
from explorer.results.published import Results
from explorer.stats.duels import Duel, DuelPart
from explorer.stats.paired import holm
from explorer.tabs.models.board_html import COMPARISONS
from explorer.tabs.models.compared import (
    Compared,
    cell_href,
    change_of,
    each_headline,
    first_duel,
    in_section,
    is_whole,
    likenesses,
    margin_points,
    pair_href,
    standings,
    subsets_in,
)
from explorer.tabs.models.figures import margin_points_figure
from explorer.tabs.models.state import LETTERS, MOST_MEMBERS, MOST_MODELS
from scoring.errors import KnownError, counted

_MOST_LISTED = 400
_MOST_OFFERED = 60
"""Models that can be ticked, beside those that are."""
_MOST_BUTTONS = 12
_REFRESH_MILLISECONDS = 2000
"""Between two looks at a run that goes on."""
_OF_TWO = (
    "Models",
    "Pairs",
    "Difference, points",
    "95 %",
    "p, corrected",
    "First alone",
    "Second alone",
)
_WAYS: dict[Way, str] = {"mean": "mean", "worst": "worst", "mean_minus_std": "mean − sd"}
_STANDARDISED = (
    "Rewards are standardised per model (mean 0, standard deviation 1). The ensemble's reward is "
)
_ABOUT_WAYS: dict[Way, str] = {
    "mean": "the mean of its members.",
    "worst": "the lowest of its members.",
    "mean_minus_std": "the mean minus the standard deviation of its members.",
}


def compare_bar_html(
    now: Compared, fields: Sequence[Field], dropped: Sequence[str], results: Results, link_base: str
) -> str:
    """Panels, the models that are compared, on how many pairs, and notes.

    fields: those that a first model can be chosen from. dropped: notes on the address.
    link_base: where a copied link begins; "" for the page.
    """
    state = now.state
    known = (~np.isnan(now.outcomes)).sum(axis=1).tolist()
    shared, is_alone = int(now.shared.sum()), state.b == MAJORITY
    counts = [f"{letter} {n:,}" for letter, n in zip(LETTERS, known, strict=False)]
    is_on_pairs = bool(state.a) and state.panel != "ensembles"
    has_others = bool(state.a) and bool(now.field.is_other(state.a).any())
    names = {"": "All pairs"} | {each: each for each in now.field.rule.benchmark.groups}
    sections = {each: names[each] for each in names if in_section(now.field, each).any()}
    match = now.field.match_description() if not now.field.has_texts else ""
    return render(
        "tabs/models/compare_bar.html",
        state=state,
        panels=COMPARISONS,
        link_base=link_base,
        results=results,
        names=model_names(fields),
        others=model_names([now.field]),
        is_alone=is_alone,
        has_others=has_others,
        further=list(zip(LETTERS[2:], state.more, strict=False)),
        may_add=len(state.named) < MOST_MODELS,
        dropped=dropped,
        is_on_pairs=is_on_pairs,
        shared=shared,
        n_split=known[0] - shared if known and is_alone and has_others else 0,
        known="" if is_alone or set(known) == {shared} else ", ".join(counts),
        no_texts="" if now.field.has_texts else NO_TEXTS,
        match=match,
        sections=sections if len(sections) > 1 else {},
    )


def _table(now: Compared, *, tied: bool) -> str:
    """Who wins more, where, and how sure that is; every count leads to its pairs."""
    found = first_duel(now)
    if not found.all_pairs.n:
        words = "These models have no results for the same pairs. Choose another model."
        if now.state.b == MAJORITY:
            words = "No other model has results on these pairs. Score them with another model."
        return note(words, "wrong")
    return render(
        "tabs/models/duel.html",
        state=now.state,
        found=found,
        names=_names(now.state.a, now.state.b),
        head={part.name: part for part in found.sections}.get(now.state.section, found.headline),
        benchmark=now.field.rule.title,
        of=now.field.rule.benchmark,
        score_words=_score_words(now, 2),
        several=_several(now) if now.state.more else None,
        chosen_section=now.state.section,
        href=partial(cell_href, now),
        change_of=change_of,
        tied=tied,
        **_subsets(now, found),
    )


def _names(a: str, b: str) -> dict[str, str]:
    """What two models are called in a sentence -> their whole names."""
    rival = "the majority vote" if b == MAJORITY else b
    short = {short_name(each): each for each in (a, rival)}
    return short if len(short) > 1 else {a: a, rival: rival}


def _score_words(now: Compared, n: int) -> str:
    """What the score of the first n models is called."""
    if is_whole(now, n):
        return f"{now.field.rule.title} score"
    return f"By {now.field.rule.title}'s rule, over these pairs only"


def _several(now: Compared) -> dict[str, Any]:
    """Accuracies of three or four models side by side, and each two of them."""
    names, found = now.state.named, each_headline(now)
    *parts, by_rule = standings(now)
    counted = [each for each in parts if each.n]
    heads = ["Model"]
    for each in counted:
        name = each.section or "All pairs"
        heads.append(f"{name} ({each.n:,})")
    heads.append(_score_words(now, len(names)))
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
    return {"heads": heads, "rows": rows, "pairwise": pairwise, "pairwise_heads": _OF_TWO}


def _subsets(now: Compared, found: Duel) -> dict[str, Any]:
    """Subsets of the state's section by section, and how far their plot reaches, in points."""
    named = dict(zip(now.field.matrix.pairs.names, found.subsets, strict=True))
    groups: dict[str, dict[str, DuelPart]] = {}
    shown = [each for each in subsets_in(now.field, now.state.section) if named[each].n]
    for section in (*now.field.rule.benchmark.groups, ""):
        members = [each for each in shown if each in subsets_in(now.field, section)]
        if members:
            groups[section] = {each: named[each] for each in members}
            shown = [each for each in shown if each not in members]
    parts = [part for group in groups.values() for part in group.values()]
    changes = [*map(change_of, parts)]
    ends = [abs(end) for part in parts for end in (part.interval or (part.difference or 0.0,))]
    return {
        "n_subsets": len(parts),
        "n_higher": changes.count("improved"),
        "n_lower": changes.count("regressed"),
        "groups": groups,
        "by_section": {part.name: part for part in found.sections if part.n},
        "reach": min(1.0, ceil(20 * max(0.05, *ends)) / 20) if ends else 1.0,
    }


def _ensembles(now: Compared) -> str:
    """The members to choose from, and what they come to together."""
    state, offered = now.state, with_rewards(now.field)
    if len(offered) < LEAST_MEMBERS:
        return _no_rewards(
            "An ensemble combines the rewards of two or more models. Models with rewards for "
            f"these pairs: {len(offered)}. Score the pairs with several models, or add result "
            "files with rewards."
        )
    said, said_css, found = f"Choose 2 to {MOST_MEMBERS} models.", "", {"found": None}
    try:
        check_rule(now.field)
        if len(state.members) >= LEAST_MEMBERS:
            said = ""
            found = _found(ensembles_of(now.field, state.members, state.way), state.results)
    except KnownError as error:
        said, said_css = str(error), "wrong"
    about = _STANDARDISED + _ABOUT_WAYS[state.way]
    if now.field.rule.benchmark.rule.reads_several:
        about += " Of several wrong responses each member's best one counts; they may differ."
    shown = list(dict.fromkeys([*state.members, *now.searched(offered)[:_MOST_OFFERED]]))
    shown.sort(key=lambda model: offered.index(model) if model in offered else len(offered))
    return render(
        "tabs/models/ensembles.html",
        state=state,
        n_offered=len(offered),
        offered=shown,
        ways=_WAYS,
        benchmark=now.field.rule.title,
        about=about,
        said=said,
        said_css=said_css,
        **found,
    )


def _found(found: Ensembles, results: str) -> dict[str, Any]:
    row = partial(_row, PairsState(results=results))
    number = {model: place for place, model in enumerate(found.whole.members, start=1)}
    best = max(found.alone, key=lambda each: each[0].score or 0.0)
    rows = [row(_joined(found.whole, number), found.whole, "", "")]
    for model, (alone, test) in zip(number, found.alone, strict=True):
        low, high = test.interval or (None, None)
        ends = f"{points(low)} to {points(high)}"
        difference = f"{points(test.difference)} ({ends})"
        rows.append(row(f"{number[model]}: {model}", alone, difference, p_words(test.p)))
    return {
        "found": found,
        "best": best,
        "heads": ["Members", "Combined by", "Score", "Failures"],
        "rows": rows,
        "ranked": [row(_joined(each, number), each) for each in found.ranked],
    }


def _row(pairs: PairsState, name: str, each: EnsembleScore, *further: str) -> dict[str, Any]:
    way = _WAYS[each.way] if each.way else "alone"
    model = ensemble_name(each.members, each.way) if each.way else each.members[0]
    query = failures_query(model, pairs) if len(model) <= LONGEST_NAME else ""
    cells = (way, percent(each.score), f"{each.failures:,}", *further)
    return {"name": name, "query": query, "cells": cells}


def _joined(each: EnsembleScore, number: Mapping[str, int]) -> str:
    return " + ".join(str(number[model]) for model in each.members)


def _likeness(now: Compared) -> str:
    """The other models of the field, the most alike first."""
    found = likenesses(now)
    if not found:
        return note(
            "No other model has results on these pairs. Score them with another model, or add "
            "result files."
        )
    most, sought = found[0], set(now.searched([each["model"] for each in found]))
    found = [each for each in found if each["model"] in sought]
    return render(
        "tabs/models/alike.html",
        state=now.state,
        heads=("Model", "Correlation", "Same outcome", "A's lead (points)", "Pairs"),
        most=most,
        models=found[:_MOST_LISTED],
        n_more=max(0, len(found) - _MOST_LISTED),
    )


def compared_html(now: Compared, *, tied: bool = False) -> str:
    """The panel that a state asks for; "" if it asks for a model first.

    tied: whether the first two are in one tie group of their board.
    """
    panel = now.state.panel
    if not now.field.matrix.models:
        html = _no_rewards("No per-pair results yet. Score some pairs, or add result files.")
    elif not now.state.a and panel in ("compare", "agreement"):
        html = note("Choose a model to compare with others, or with their majority vote.")
    elif panel == "compare":
        html = _table(now, tied=tied)
    elif panel == "agreement":
        html = _likeness(now)
    elif panel == "ensembles":
        html = _ensembles(now)
    else:
        html = _margins(now)
    is_running = any(map(now.field.is_running, now.state.named))
    return f'<div data-refresh="{_REFRESH_MILLISECONDS}">{html}</div>' if is_running else html


def _margins(now: Compared) -> str:
    """The margins of the first two models, or why nothing is drawn."""
    found = margin_points(now)
    if found is None:
        return _no_margins(now)
    if not found.n:
        return note("No pair here has known margins by both models. Choose another model.")
    r = "unknown" if found.correlation is None else minus(f"{found.correlation:.2f}")
    pairs = counted(found.n, "pair", "pairs")
    html = part("verdict", f"Correlation of the margins of A and B: {r}, on {pairs}") + note(
        "Each point is a pair: margin (chosen − rejected reward) of A on the X axis, of B on the Y "
        "axis. A wins to the right of the vertical line, B above the horizontal line. Click a "
        "point to open its pair. Rewards of different models have no common unit."
    )
    if len(found.rows) < found.n:
        html += note(
            f"Showing {len(found.rows):,} of {pairs}: those where the models differ first, and a "
            "sample of the rest."
        )
    keys = [now.field.table.key_of(row) for row in found.rows.tolist()]
    figure = figure_json(margin_points_figure(found, keys), 520)
    return html + part(
        "figure_of", figure, "pairs-plot", "pair", pair_href(now), of="core/links.html"
    )


def _no_margins(now: Compared) -> str:
    """Why no two models have rewards, and those that could be chosen."""
    state, field = now.state, now.field
    rewarded = with_rewards(field)
    if len(rewarded) < 2:
        return _no_rewards(
            "Margins need rewards from both models; most published results have only outcomes. "
            f"Models with rewards for these pairs: {len(rewarded)}. Score the pairs, or add result "
            "files with rewards."
        )
    without = [each for each in state.named[:2] if not field.has_rewards(each)]
    if without:
        said = (
            f"Margins need rewards from both models. No rewards: {', '.join(without)}. Score the "
            "pairs, add result files with rewards, or choose another model:"
        )
    elif state.a:
        said = "The majority vote has no rewards. Choose a model:"
    else:
        said = "Choose a first model with rewards:"
    offered = [each for each in now.searched(rewarded) if each not in state.named]
    letter = "b" if state.a and state.a not in without else "a"
    return _no_rewards(
        said, {each: state.href(**{letter: each}) for each in offered[:_MOST_BUTTONS]}
    )


def _no_rewards(said: str, links: Mapping[str, str] = MappingProxyType({})) -> str:
    """links: of models that have rewards."""
    return render("tabs/models/no_rewards.html", said=said, links=links)

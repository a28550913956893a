"""A run against what is published of its model, in the page.

The rule is that of `scoring.results.reproduction`.
"""

from dataclasses import dataclass

import numpy as np

from explorer.core.html import render
from explorer.data.table import Rows
from explorer.reader.links import cell_query, compare_query
from explorer.reader.state import PairsState
from explorer.results.board import Board
from explorer.results.field import Doubles, Field
from explorer.results.own import Match, find_published
from explorer.runs.facts import tie_words
from explorer.stats.duels import Cell, duel
from scoring.record import Run
from scoring.results.reproduction import (
    NOT_KNOWN,
    BoardSettings,
    Check,
    PublishedCheck,
    board_settings,
    check_sections,
    settings_of,
)
from scoring.summary import tie_worth

NARROWEST = 0.2
"""Of a run's margins, the share that is called narrow."""


@dataclass(frozen=True, slots=True)
class RunCheck:
    """What there is to compare a run with.

    own: the run's name in the field; "" where it is not in it.
    match: what is published of its model.
    check: None where nothing is.
    """

    run: Run
    own: str
    match: Match
    check: PublishedCheck | None


def check_run(run: Run, field: Field, board: Board | None = None) -> RunCheck:
    """A run against published results of the same model: pair by pair where they are known.

    Args:
        run: with some pairs.
        field: the one that the run is in, as of `explorer.results.fields.Fields`.
        board: of published scores, which may have models that the field has not.

    Raises:
        KnownError: the run cannot be read.
    """
    own = next((name for name, each in field.runs.items() if each.id == run.id), "")
    by_pairs = [model for model in field.matrix.models if model not in field.own]
    published = board.table.index[~board.table["own"]] if board else ()
    match = find_published(run.facts, {*by_pairs, *published})
    known = board_settings(match.model)
    check = None
    if own and match.model in by_pairs:
        check = check_pairs(field, own, match.model, known)
    elif board and match.model in published:
        sections = board.counted[match.model].sections
        check = check_sections(run.facts, run.rows(), match.model, sections, known)
    return RunCheck(run, own, match, check)


def published_html(found: RunCheck) -> str:
    """Whether the run is what is published of its model; what differs, and what may be why."""
    ties = tie_words(tie_worth(found.run.facts.family, found.run.facts.benchmark))
    links = {"query": changed_query, "compare": compare_query}
    return render("tabs/score/published.html", found=found, ties=ties, **links)


def check_pairs(
    field: Field, own: str, model: str, board: BoardSettings = NOT_KNOWN
) -> PublishedCheck:
    """A run against published results of each pair, on the pairs that both have.

    Args:
        field: has both.
        own: the run's name in it.
        model: the published one's.
        board: what the published was made with.

    Raises:
        KnownError: the field has not both, or the run cannot be read.
        KeyError: `own` is no run.
    """
    here, there = field.outcomes(own), field.outcomes(model)
    run, pairs = field.runs[own], field.matrix.pairs
    found = duel(here, there, pairs, field.rule)
    of_all = found.headline
    parts = [
        Check(part.name, part.n, part.a, part.b, part.n_differing, part.interval, part)
        for part in (of_all, *found.sections)
        if part.n or part is of_all
    ]
    changed = np.flatnonzero(~np.isnan(here - there) & (here != there))
    won, lost = changed[here[changed] == 1], changed[there[changed] == 1]
    tied = changed[(here[changed] < 1) & (there[changed] < 1)]
    return PublishedCheck(
        model=model,
        basis="pairs",
        parts=tuple(parts),
        settings=settings_of(run.facts, run.rows(), board),
        won=_keys(field, won),
        lost=_keys(field, lost),
        tied=_keys(field, tied),
        n=found.all_pairs.n,
        near=_near(field.margins(own), changed),
    )


def changed_query(own: str, model: str, cell: Cell, section: str = "") -> str:
    """What the Pairs tab is asked for to list pairs that one of the two alone wins.

    cell: "only_a" for those won here alone. section: "" for all.

    >>> changed_query("mine", "org/rm", "only_a", "Chat Hard")
    'model=mine&show=all&against=org/rm&cell=only_a&section=Chat+Hard'
    """
    return cell_query(own, model, cell, PairsState(section=(section,) if section else ()))


def _keys(field: Field, rows: Rows) -> tuple[str, ...]:
    return tuple(field.table.key_of(int(row)) for row in rows)


def _near(margins: Doubles, changed: Rows) -> float | None:
    """The share of changed pairs whose margins are among the narrowest."""
    sizes = abs(margins)
    of_changed = sizes[changed]
    if np.isnan(of_changed).all():
        return None
    narrow = np.nanquantile(sizes, NARROWEST)
    return float((of_changed[~np.isnan(of_changed)] <= narrow).mean())

"""A run against what is published of the same model: how far apart, and whether settings say why.

The same model on the same pairs leaves nothing to chance: each pair that changed did so because
something was done otherwise. What is known of how far that goes, of RewardBench:

- A doubled BOS is reported to change scores by about one point (threads 164 and 166 of upstream's
  repository), and the number type to change rewards (thread 163) without a figure. Of 2,985 pairs,
  52 (1.7 %) change for the bundled demo model with bfloat16 in place of float32, all of them among
  the tenth with the narrowest margins, and none with upstream's tokens.
- Batches of 2 and 3 in place of 1 changed the accuracy of beaver-7b-v1.0-cost on UltraFeedback's
  pairs from .429 to .476 and .480 (thread 137): by 5.1 points. What larger ones do is not told.
  Here rewards do not depend on the batch, as if it were 1.
- A longest sequence of 512 in place of 2,048 tokens, the defaults of upstream's command line and of
  its run_rm.py, changes truncated pairs alone: 93 of the demo model's pairs (3 %), and no section
  by more than 1.4 points. Of 8-bit weights, upstream's default for most models, no figure is known.
- GPM-Gemma-2B's own file and the leaderboard differ by 7.0 points in Chat, 3.5 in Chat Hard, 3.1
  in Safety and 5.0 in Reasoning.
- reward-model-deberta-v3-large-v2 in the paper's second version (arXiv 2403.13787v2) and on the
  leaderboard differs by 22.4 points in Chat Hard, and by 6.1, 2.5 and 4.5 in the others; why is
  not told. The 46 other models that both have are equal to the last digit that is printed.

From these the rule, of the score and of each section: up to `SMALL`, with at most `FEW_CHANGED` of
the pairs changed, is what number type and a BOS are known to do. Up to `LARGEST` is what another
evaluation of the same model has done; another template, length, reference model or 8-bit weights
may explain it, and up to `BATCH` another batch size, but only where one of them is not known to be
the same. Beyond that, nothing known does.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from explorer.core.html import render
from explorer.data.filters import NO_FILTERS
from explorer.data.table import Rows
from explorer.reader.links import cell_query, compare_query
from explorer.reader.state import PairsState
from explorer.results.board import Board
from explorer.results.field import Doubles, Field
from explorer.results.own import Match, find_published
from explorer.runs.facts import tie_words
from explorer.stats.duels import Cell, DuelPart, duel
from explorer.stats.rules import V1
from explorer.tabs.score.published_settings import (
    NOT_KNOWN,
    BoardSettings,
    Setting,
    board_settings,
    settings_of,
)
from scoring.benchmark import COUNTS, SECTIONS, overall_score
from scoring.interval import wilson
from scoring.record import Run
from scoring.spec import RunFacts, ScoredPair
from scoring.summary import Summary, summarise, tie_worth

SMALL = 0.01
"""A difference of scores, 0 to 1."""
FEW_CHANGED = 0.05
"""Of the pairs."""
NARROWEST = 0.2
"""Of a run's margins, the share that is called narrow."""

CheckBasis = Literal["pairs", "sections"]
CheckVerdict = Literal["same", "small", "few", "settings", "unknown", "unexplained", "nothing"]
"""same: no pair changed. small: see `SMALL`. few: more than that, but of so few pairs that it may
be no more. settings: more, and a setting that can do it differs. unknown: more, and such a setting
is not known. unexplained: more, and they are the same, or more than any is known to do. nothing:
there is nothing to compare."""


@dataclass(frozen=True, slots=True)
class Check:
    """One number on both sides.

    section: "" for the score (of pairs that are none of RewardBench's, the accuracy).
    n: pairs of the run that count in it; where single pairs are known, of both.
    here, there: 0 to 1; None where it is not known, or not of the same pairs.
    pairs: who wins which; None where only scores are published.
    """

    section: str
    n: int
    here: float | None
    there: float | None
    pairs: DuelPart | None = None

    @property
    def difference(self) -> float | None:
        """Here minus there, -1 to 1."""
        return None if self.here is None or self.there is None else self.here - self.there


@dataclass(frozen=True, slots=True)
class PublishedCheck:
    """A run beside what is published of its model.

    model: its published name.
    basis: "pairs" where results of each pair are published: both numbers are of the same pairs.
        "sections" where only scores are: sections that the run has whole are compared.
    parts: the score, then the sections, of which both sides are known or the run has pairs.
    settings: those of which both sides may matter.
    won, lost, tied: keys of pairs that are won here and not there, the other way round, and tied
        on one side alone and lost on the other, in the table's order; () where single pairs are
        not known.
    n: pairs that are compared; 0 where only scores are.
    near: of the changed pairs, the share whose margin is among the run's narrowest (`NARROWEST`);
        None where none changed or there are no margins.
    query: what the Models tab is asked for to show the two; "" where single pairs are not known.
    """

    model: str
    basis: CheckBasis
    parts: tuple[Check, ...]
    settings: tuple[Setting, ...]
    won: tuple[str, ...] = ()
    lost: tuple[str, ...] = ()
    tied: tuple[str, ...] = ()
    n: int = 0
    near: float | None = None
    query: str = ""

    @property
    def largest(self) -> Check | None:
        """The section, or the score, that differs most; None where none is known on both sides."""
        return max(self._known, key=lambda part: abs(part.difference or 0.0), default=None)

    @property
    def suspects(self) -> list[Setting]:
        """Settings that may explain the differences: each has made as large ones, and is not known
        to be the same on both sides.
        """
        return [
            each
            for each in self.settings
            if each.largest
            and each.differs is not False
            and not any(_differs_surely(part, each.largest) for part in self._known)
        ]

    @property
    def verdict(self) -> CheckVerdict:
        """What that says, see `CheckVerdict`."""
        if not self._known:
            return "nothing"
        if all(part.pairs and not part.pairs.n_differing for part in self._known):
            return "same"
        if not any(map(_is_beyond, self._known)):
            return "small"
        if not any(map(_is_surely_beyond, self._known)):
            return "few"
        suspects = [each.differs for each in self.suspects]
        return "settings" if True in suspects else "unknown" if suspects else "unexplained"

    @property
    def _known(self) -> list[Check]:
        return [part for part in self.parts if part.difference is not None]


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
    ties = tie_words(tie_worth(found.run.facts.family))
    return render("tabs/score/published.html", found=found, ties=ties, query=changed_query)


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
    found = duel(here, there, pairs, V1)
    of_all = found.headline
    parts = [
        Check(part.name, part.n, part.a, part.b, part)
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
        query=compare_query(own, model),
    )


def check_sections(
    facts: RunFacts,
    scored: Sequence[ScoredPair],
    model: str,
    sections: Mapping[str, float | None],
    board: BoardSettings = NOT_KNOWN,
) -> PublishedCheck:
    """A run against published section scores: those sections of which it has every pair.

    Args:
        facts: the run's.
        scored: its pairs.
        model: the published name.
        sections: published scores by section, 0 to 1; None where one is not known.
        board: what the published was made with.
    """
    summary = summarise(scored, facts.family)
    there = {section: _published(summary, section, sections) for section in SECTIONS}
    parts = [
        Check(section, tally.n, summary.sections[section], there[section])
        for section in SECTIONS
        if (tally := summary.section_tallies.get(section))
    ]
    if None not in there.values():
        parts.insert(0, Check("", summary.total.n, summary.score, overall_score(there)))
    return PublishedCheck(model, "sections", tuple(parts), settings_of(facts, scored, board))


def changed_query(own: str, model: str, cell: Cell, section: str = "") -> str:
    """What the Pairs tab is asked for to list pairs that one of the two alone wins.

    cell: "only_a" for those won here alone. section: "" for all.

    >>> changed_query("mine", "org/rm", "only_a", "Chat Hard")
    'model=mine&show=all&against=org/rm&cell=only_a&section=Chat+Hard'
    """
    filters = NO_FILTERS.picking("section", [section]) if section else NO_FILTERS
    return cell_query(own, model, cell, PairsState(filters=filters))


def _published(
    summary: Summary, section: str, sections: Mapping[str, float | None]
) -> float | None:
    """A published section score, where the run has every pair of the section."""
    tallies = [(summary.subsets.get(each), COUNTS[each]) for each in SECTIONS[section]]
    whole = all(tally and sum(tally.counts.values()) == n for tally, n in tallies)
    return sections.get(section) if whole else None


def _is_beyond(part: Check) -> bool:
    """Whether more changed than number type and the like are known to change; one pair may."""
    if part.pairs is None:
        return abs(part.difference or 0.0) > SMALL
    changed = part.pairs.n_differing
    if changed <= 1:
        return False
    return abs(part.difference or 0.0) > SMALL or changed > FEW_CHANGED * part.pairs.n


def _is_surely_beyond(part: Check) -> bool:
    """Whether it would be so of all pairs of the part, too."""
    if not _is_beyond(part) or part.pairs is None or _is_whole(part):
        return _is_beyond(part)
    changed = wilson(part.pairs.n_differing, part.pairs.n)
    return _differs_surely(part, SMALL) or (changed is not None and changed.low > FEW_CHANGED)


def _differs_surely(part: Check, limit: float) -> bool:
    """Whether the difference is larger; of some of a part's pairs, by its 95 % interval."""
    ends = None if part.pairs is None or _is_whole(part) else part.pairs.test.interval
    if ends is None:
        return abs(part.difference or 0.0) > limit
    return ends[0] > limit or ends[1] < -limit


def _is_whole(part: Check) -> bool:
    """Whether these are all pairs that RewardBench has of the section."""
    subsets = SECTIONS.get(part.section, COUNTS)
    return part.n >= sum(COUNTS[subset] for subset in subsets)


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

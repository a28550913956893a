"""What a run comes to so far: in all and section by section, with how sure that is."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from explorer.core.caches import LruCache
from explorer.runs.outcomes import scored_rows
from explorer.stats.intervals import score_intervals
from explorer.stats.matrix import clusters_of
from explorer.stats.rules import RULES
from explorer.stats.strata import one_stratum
from explorer.stats.uncertainty import strata_by
from scoring.benchmarks import benchmark_of
from scoring.errors import KnownError
from scoring.interval import Interval
from scoring.record import Run
from scoring.results.pairs import results_of_rows
from scoring.spec import RunFacts, ScoredPair
from scoring.summary import Summary, summarise_run

_SUMMARIES = LruCache[Summary | None](400)
_INTERVALS = LruCache[Interval | None](400)


@dataclass(frozen=True, slots=True)
class RunIntervals:
    """95 % intervals of a run's numbers, over other prompts like these; None where no pair counts.

    They hold for one look, not for all together.

    total: of the accuracy of all pairs, unweighted.
    score: of the mean of the sections known.
    sections: of each section of the benchmark, and of all other pairs as "". Of RewardBench 2 each
        subset is a section; *Ties* has none, and the score's takes each row alone.
    subsets: of each subset that there are pairs of, unweighted.
    """

    total: Interval | None
    score: Interval | None
    sections: dict[str, Interval | None]
    subsets: dict[str, Interval | None]


def run_intervals(scored: Sequence[ScoredPair], facts: RunFacts) -> RunIntervals:
    """How sure the numbers of a run are, by `explorer.stats.intervals.score_intervals`, as on the
    board.

    Pairs of one prompt are taken together as far as `clusters_of` knows them without
    texts: HumanEval's problems always, all others where the whole benchmark was scored.
    """
    found = results_of_rows(scored, facts)
    names, codes = found.order.names, found.order.codes
    benchmark = benchmark_of(names, facts.benchmark)
    rule = RULES[benchmark.key]
    groups = strata_by(rule, found.order)
    unweighted = partial(_unweighted, found.results, groups.clusters)
    total = unweighted(np.full(len(scored), True))
    subsets = {name: unweighted(codes == code) for code, name in enumerate(names)}
    others = [code for code, name in enumerate(names) if benchmark.section_of(name) is None]
    other_pairs = unweighted(np.isin(codes, others))
    if not benchmark.weighs_subsets:
        alone = summarise_run(scored, facts)
        of_section = {name: alone.section_interval(name) for name in alone.sections}
        return RunIntervals(total, alone.interval, {**of_section, "": other_pairs}, subsets)
    score, *of_sections = (
        score_intervals(found.results[None], each)[0]
        for each in (groups, *map(groups.only, range(len(rule.sections))))
    )
    sections = {**dict(zip(rule.sections, of_sections, strict=True)), "": other_pairs}
    return RunIntervals(total, score, sections, subsets)


def summary_of(run: Run) -> Summary | None:
    """What a run's pairs come to, as far as it is; None where they cannot be read."""
    return _SUMMARIES.get_or_create((run.folder, run.n_bytes()), lambda: _summary(run))


def _summary(run: Run) -> Summary | None:
    try:
        return summarise_run(scored_rows(run), run.facts)
    except KnownError:
        return None


def total_interval(run: Run) -> Interval | None:
    """The `total` of `run_intervals` alone, as far as the run is; None without one.

    Raises:
        KnownError: of `Run.rows`.
    """
    return _INTERVALS.get_or_create((run.folder, run.n_bytes()), lambda: _total_interval(run))


def _total_interval(run: Run) -> Interval | None:
    scored = scored_rows(run)
    found = results_of_rows(scored, run.facts)
    return _unweighted(found.results, clusters_of(found.order), np.full(len(scored), True))


def _unweighted(
    outcomes: NDArray[np.float32], clusters: NDArray[np.intp] | None, at: NDArray[np.bool_]
) -> Interval | None:
    of_pairs = None if clusters is None else clusters[at]
    return score_intervals(outcomes[None, at], one_stratum(int(at.sum()), of_pairs))[0]

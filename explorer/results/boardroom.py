"""Boards of every source of results, as sure as what was read of it makes them."""

from collections.abc import Generator
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

from explorer.core.caches import Kept
from explorer.results.boards import Board, Ranking, benchmark_of, build_board
from explorer.results.cache import OutcomeCache
from explorer.results.library import ResultsLibrary
from explorer.results.outcomes import Results
from explorer.results.own import OwnRows, own_name, own_names, with_runs
from explorer.results.sources import Source, listing_digest
from explorer.results.uploads import with_uploaded
from explorer.runs.cards import card_of
from explorer.runs.running import Runs
from explorer.stats.matrix import (
    OutcomeMatrix,
    Outcomes,
    of_benchmark,
    of_models,
    outcome_matrix,
    usual_order,
)
from explorer.stats.rules import RULES
from explorer.stats.ties import composites
from explorer.stats.uncertainty import Measuring, Uncertainty
from explorer.stats.uncertainty_cache import Uncertainties
from scoring.limits import Step
from scoring.record import Run
from scoring.results.accuracies import Benchmark
from scoring.results.files import LeftOut

KEPT = 16
"""Boards and matrices that stay in memory, of each."""

T = TypeVar("T")


@dataclass(frozen=True)
class _Measured:
    """What is known of each pair: the matrix, and which models are the person's own."""

    found: Outcomes
    matrix: OutcomeMatrix
    own: tuple[str, ...]
    key: tuple[object, ...]

    @cached_property
    def published(self) -> OutcomeMatrix:
        """What is measured: the models that are not the person's own, if there are any.

        What is said of them is thereby the same for everybody, and known to everybody at once.
        """
        published = set(self.matrix.models).difference(self.own)
        return of_models(self.matrix, published) if published else self.matrix


class BoardRoom:
    """Builds boards, and remembers the last ones. Callable from any thread."""

    def __init__(
        self, library: ResultsLibrary, cache: OutcomeCache, sure: Uncertainties, runs: Runs
    ) -> None:
        """library: where results come from."""
        self.library = library
        self._cache = cache
        self._sure = sure
        self._runs = runs
        self._kept, self._rows = Kept(KEPT), OwnRows()

    def board(self, results_id: object, ranking: Ranking, own: object = ()) -> Board:
        """The board of a ranking, with what was read and measured so far.

        own: the ids of the runs of the person who looks, as `Runs.visible` takes them.
        """
        results = self._results(results_id, ranking)
        measured = self._measured(results, ranking, own)
        rule = RULES[ranking.rule]
        if measured is None:
            return self._kept.once(
                ("bare", results.id, rule.name),
                lambda: build_board(results, rule.name, own=results.own_models),
            )
        ties, missing = ranking.ties, ranking.missing
        key = (*measured.key, rule.name, ties, missing)

        def build(sure: Uncertainty | None = None) -> Board:
            return build_board(
                results,
                rule.name,
                outcomes=measured.matrix,
                uncertainty=sure,
                ties=ties,
                missing=missing,
                own=measured.own,
                composites=composites(measured.found, missing),
            )

        board = self._kept.once(("board", *key), build)
        sure = self._known(measured, ranking, board)
        return board if sure is None else self._kept.once(("sure", *key), lambda: build(sure))

    def is_measured(self, results_id: object, ranking: Ranking, own: object = ()) -> bool:
        """Whether it is known how sure a board is, as far as its results were read."""
        measured = self._measured(self._results(results_id, ranking), ranking, own)
        if measured is None:
            return True
        return self._known(measured, ranking, self.board(results_id, ranking, own)) is not None

    def outcomes(
        self, results_id: object, ranking: Ranking, own: object = ()
    ) -> OutcomeMatrix | None:
        """What each model did on each pair, as far as it was read; None where nothing was."""
        measured = self._measured(self._results(results_id, ranking), ranking, own)
        return None if measured is None else measured.matrix

    def unread(self, results_id: object, ranking: Ranking) -> int:
        """How many files of each pair were not read yet."""
        source = self._source(results_id, ranking)
        return 0 if source is None else self._cache.unread(source)

    def refused(self, results_id: object, ranking: Ranking) -> list[LeftOut]:
        """Those that could not be had when they were last asked for."""
        source = self._source(results_id, ranking)
        return [] if source is None else self._cache.refused(source)

    def left_out(
        self, results_id: object, ranking: Ranking, own: object = ()
    ) -> tuple[LeftOut, ...]:
        """Files of each pair that are not used, and what of the others is not."""
        measured = self._measured(self._results(results_id, ranking), ranking, own)
        if measured is not None:
            return measured.matrix.left_out
        source = self._source(results_id, ranking)
        return () if source is None else self._cache.known(source).left_out

    def measuring(
        self, results_id: object, ranking: Ranking, own: object = ()
    ) -> Generator[Step | Measuring, None, None]:
        """Read what was not read yet, then measure how sure the board is, telling each step.

        Closing the generator stops; what was read is kept.
        """
        results = self._results(results_id, ranking)
        source = self._source(results_id, ranking)
        if source is not None and self._cache.unread(source):
            yield from self._cache.read(source)
        measured = self._measured(results, ranking, own)
        if measured is not None:
            board = self.board(results_id, ranking, own)
            yield from self._sure.measured(
                measured.published,
                RULES[ranking.rule],
                ties=ranking.ties,
                missing=ranking.missing,
                ranked=board.comparable,
            )

    def _known(self, measured: _Measured, ranking: Ranking, board: Board) -> Uncertainty | None:
        return self._sure.known(
            measured.published,
            RULES[ranking.rule],
            ties=ranking.ties,
            missing=ranking.missing,
            ranked=board.comparable,
        )

    def _results(self, results_id: object, ranking: Ranking) -> Results:
        """What is looked at, a visitor's files among it where their own models are asked for."""
        return self.library.get(results_id) if ranking.own else self.library.without(results_id)

    def _source(self, results_id: object, ranking: Ranking) -> Source | None:
        """What is to be read for a ranking; None where there is nothing.

        A source with accuracies, but none of the benchmark, is not read for it.
        """
        results, benchmark = self.library.without(results_id), _benchmark(ranking)
        known = results.benchmarks()
        wanted = benchmark != "prior" and (benchmark in known or not known)
        return results.pairs_of(benchmark) if wanted else None

    def _measured(self, results: Results, ranking: Ranking, own: object) -> _Measured | None:
        """What is known of each pair; None where nothing is."""
        benchmark = _benchmark(ranking)
        if benchmark == "prior":
            return None
        runs = self._own_runs(own) if ranking.own and benchmark == "v1" else []
        source = results.pairs_of(benchmark)
        published = self._cache.known(source) if source is not None else Outcomes()
        listed = "" if source is None else listing_digest(source, "eval-set-scores")
        read = (published.version, results.id, listed, benchmark)
        key = (*read, *((run.id, own_name(run), run.n_scored) for run in runs))

        def measured() -> _Measured:
            found = of_benchmark(with_uploaded(published, results.uploaded), benchmark)
            pairs = usual_order(of_benchmark(published, benchmark))
            if pairs is None:  # the person's own are all that there is
                found, own = with_runs(
                    found, own_names(runs, (result.model for result in found.results))
                )
                matrix = outcome_matrix(found)
            else:
                matrix = self._kept.once(("read", *read), lambda: outcome_matrix(found, pairs))
                named = own_names(runs, (result.model for result in found.results))
                matrix, own = self._rows.over(matrix, named, pairs)
            return _Measured(found, matrix, (*results.own_models, *own), key)

        made = self._kept.once(("matrix", *key), measured)
        return made if made.matrix.models else None

    def _own_runs(self, own: object) -> list[Run]:
        """Those that have ended, of pairs that other models may have been scored on too."""
        runs = self._runs.visible(own)
        return [run for run in runs if run.status != "running" and card_of(run).typed is None]


def _benchmark(ranking: Ranking) -> Benchmark:
    return benchmark_of(RULES[ranking.rule])

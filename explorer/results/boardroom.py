"""Boards of every source of results, as sure as what was read of it makes them."""

from collections.abc import Generator
from typing import Any

from explorer.core.caches import LruCache
from explorer.results.boards import Board, Ranking, benchmark_of, build_board
from explorer.results.field import Field
from explorer.results.fields import Fields
from explorer.results.outcomes import Results
from explorer.results.sources import Source
from explorer.runs.cards import card_of
from explorer.stats.aggregate import Counted
from explorer.stats.matrix import OutcomeMatrix
from explorer.stats.rules import RULES
from explorer.stats.ties import composites
from explorer.stats.uncertainty import Measuring, Uncertainty
from explorer.stats.uncertainty_cache import Uncertainties
from scoring.limits import Step
from scoring.results.accuracies import Benchmark
from scoring.results.files import LeftOut

KEPT = 16
"""Boards that stay in memory."""


class BoardRoom:
    """Builds boards, and remembers the last ones. Callable from any thread."""

    def __init__(self, fields: Fields, sure: Uncertainties) -> None:
        """fields: what the models on them did on each pair, and where results come from."""
        self.library = fields.results
        self._fields = fields
        self._sure = sure
        self._kept = LruCache[Board](KEPT)

    def board(self, results_id: object, ranking: Ranking, own: object = ()) -> Board:
        """The board of a ranking, with what was read and measured so far.

        own: the ids of the runs of the person who looks, as `Runs.visible` takes them.
        """
        results = self._results(results_id, ranking)
        field = self._field(results, ranking, own)
        key = (results.id, field and field.key, ranking.rule, ranking.ties, ranking.missing)
        if field is None:
            return self._kept.get_or_create(
                key, lambda: build_board(results, ranking.rule, own=results.own_models)
            )
        matrix, runs = field.matrix, field.runs

        def build(sure: Uncertainty | None = None) -> Board:
            return build_board(
                results,
                ranking.rule,
                outcomes=matrix,
                uncertainty=sure,
                ties=ranking.ties,
                missing=ranking.missing,
                own=(*results.own_models, *runs),
                composites=self._composites(results, ranking),
            )

        measured = self._kept.get((*key, "measured"))
        if measured is not None:
            return measured
        board = self._kept.get_or_create(key, build)
        sure = self._sure.known(**_asked(field, ranking, board))
        if sure is None:
            return board
        return self._kept.get_or_create((*key, "measured"), lambda: build(sure))

    def is_measured(self, results_id: object, ranking: Ranking, own: object = ()) -> bool:
        """Whether it is known how sure a board is, as far as its results were read."""
        field = self._field(self._results(results_id, ranking), ranking, own)
        board = self.board(results_id, ranking, own)
        return field is None or self._sure.known(**_asked(field, ranking, board)) is not None

    def outcomes(
        self, results_id: object, ranking: Ranking, own: object = ()
    ) -> OutcomeMatrix | None:
        """What each model did on each pair, as far as it was read; None where nothing was."""
        field = self._field(self._results(results_id, ranking), ranking, own)
        return None if field is None else field.matrix

    def unread(self, results_id: object, ranking: Ranking) -> int:
        """How many files of each pair were not read yet."""
        return self._fields.cache.unread(self._source(results_id, ranking))

    def refused(self, results_id: object, ranking: Ranking) -> list[LeftOut]:
        """Those that could not be had when they were last asked for."""
        return self._fields.cache.refused(self._source(results_id, ranking))

    def left_out(
        self, results_id: object, ranking: Ranking, own: object = ()
    ) -> tuple[LeftOut, ...]:
        """Files of each pair that are not used, and what of the others is not."""
        field = self._field(self._results(results_id, ranking), ranking, own)
        if field is not None:
            return field.matrix.left_out
        return self._fields.cache.known(self._source(results_id, ranking)).left_out

    def measuring(
        self, results_id: object, ranking: Ranking, own: object = ()
    ) -> Generator[Step | Measuring, None, None]:
        """Read what was not read yet, then measure how sure the board is, telling each step.

        Closing the generator stops; what was read is kept.
        """
        results, source = self._results(results_id, ranking), self._source(results_id, ranking)
        if self._fields.cache.unread(source):
            yield from self._fields.cache.read(source)
        field = self._field(results, ranking, own)
        if field is not None:
            board = self.board(results_id, ranking, own)
            yield from self._sure.measured(**_asked(field, ranking, board))

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

    def _field(self, results: Results, ranking: Ranking, own: object) -> Field | None:
        """What is known of each pair; None where nothing is.

        Of the person's runs, those that have ended, of pairs that other models may have been scored
        on too.
        """
        benchmark = _benchmark(ranking)
        if benchmark == "prior":
            return None
        runs = self._fields.runs.visible(own) if ranking.own and benchmark == "v1" else []
        ended = [run for run in runs if run.status != "running" and card_of(run).typed is None]
        return self._fields.usual(results, benchmark, ended)

    def _composites(self, results: Results, ranking: Ranking) -> dict[str, dict[str, Counted]]:
        found = self._fields.cache.known(results.pairs_of(_benchmark(ranking)))
        if results.uploaded is not None:
            found += results.uploaded.outcomes
        return composites(found.of_benchmark(_benchmark(ranking)), ranking.missing)


def _asked(field: Field, ranking: Ranking, board: Board) -> dict[str, Any]:
    """What is measured, as arguments of `Uncertainties`."""
    return {
        "outcomes": field.published,
        "rule": RULES[ranking.rule],
        "ties": ranking.ties,
        "missing": ranking.missing,
        "ranked": board.comparable,
    }


def _benchmark(ranking: Ranking) -> Benchmark:
    return benchmark_of(RULES[ranking.rule])

"""Boards of every source of results, as sure as what was read of it makes them."""

import threading
from collections import OrderedDict
from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import TypeVar

from explorer.boards import Board, benchmark_of, build_board
from explorer.boardview import BoardView, rule_of
from explorer.composites import composites
from explorer.outcome_cache import OutcomeCache
from explorer.outcome_matrix import OutcomeMatrix, Outcomes, outcome_matrix
from explorer.outcomes import Results
from explorer.own_results import with_runs
from explorer.rules import RULES
from explorer.runs import Runs
from explorer.sources import Shelf
from explorer.uncertainty import Measuring
from explorer.uncertainty_cache import Uncertainties
from scoring.limits import Step
from scoring.record import Run
from scoring.results import Benchmark

KEPT = 16
"""Boards and matrices that stay in memory, of each."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Unread:
    """Files with results of each pair that were not read yet."""

    files: int


@dataclass(frozen=True, slots=True)
class _Measured:
    """What is known of each pair: the matrix, and which models are the person's own."""

    found: Outcomes
    matrix: OutcomeMatrix
    own: tuple[str, ...]
    key: tuple[object, ...]


class BoardRoom:
    """Builds boards, and remembers the last ones. Callable from any thread."""

    def __init__(
        self, shelf: Shelf[Results], cache: OutcomeCache, sure: Uncertainties, runs: Runs
    ) -> None:
        """shelf: where results come from."""
        self.shelf = shelf
        self._cache = cache
        self._sure = sure
        self._runs = runs
        self._lock = threading.Lock()
        self._kept: OrderedDict[tuple[object, ...], object] = OrderedDict()

    def board(self, results_id: object, view: BoardView, own: object = ()) -> Board:
        """The board of a view, with what was read and measured so far.

        own: the ids of the runs of the person who looks, as `Runs.visible` takes them.
        """
        results = self.shelf.get(results_id)
        measured = self._measured(results, view, own)
        rule = RULES[rule_of(view)]
        if measured is None:
            key: tuple[object, ...] = ("bare", results.id, rule.name)
            return self._once(key, lambda: build_board(results, rule.name))
        ties, missing = view.ties, view.missing
        key = ("board", *measured.key, rule.name, ties, missing)

        def bare() -> Board:
            return build_board(
                results,
                rule.name,
                outcomes=measured.matrix,
                ties=ties,
                missing=missing,
                own=measured.own,
                composites=composites(measured.found, missing),
            )

        board = self._once(key, bare)
        sure = self._sure.known(
            measured.matrix, rule, ties=ties, missing=missing, ranked=board.comparable
        )
        if sure is None:
            return board
        return self._once(
            ("sure", *key[1:]),
            lambda: build_board(
                results,
                rule.name,
                outcomes=measured.matrix,
                uncertainty=sure,
                ties=ties,
                missing=missing,
                own=measured.own,
                composites=composites(measured.found, missing),
            ),
        )

    def unread(self, results_id: object, view: BoardView) -> Unread:
        """How many files of each pair were not read yet."""
        results = self.shelf.get(results_id)
        source = results.pairs_of(_benchmark(view))
        if source is None or _benchmark(view) == "prior":
            return Unread(0)
        entries, _ = source.entries("eval-set-scores")
        return Unread(max(0, len(entries) - len(self._cache.known(source).files)))

    def measuring(
        self, results_id: object, view: BoardView, own: object = ()
    ) -> Generator[Step | Measuring, None, None]:
        """Read what was not read yet, then measure how sure the board is, telling each step.

        Closing the generator stops; what was read is kept.
        """
        results = self.shelf.get(results_id)
        source = results.pairs_of(_benchmark(view))
        if source is not None:
            yield from self._cache.read(source)
            with self._lock:
                self._kept.clear()
        measured = self._measured(results, view, own)
        if measured is not None:
            board = self.board(results_id, view, own)
            yield from self._sure.measured(
                measured.matrix,
                RULES[rule_of(view)],
                ties=view.ties,
                missing=view.missing,
                ranked=board.comparable,
            )

    def _measured(self, results: Results, view: BoardView, own: object) -> _Measured | None:
        """What is known of each pair; None where nothing is."""
        benchmark = _benchmark(view)
        source = results.pairs_of(benchmark)
        if benchmark == "prior":
            return None
        runs = self._own_runs(own) if view.own and benchmark == "v1" else []
        key = (results.id, benchmark, *((run.id, run.n_scored) for run in runs))
        return self._once(("matrix", *key), lambda: self._aligned(source, runs, key))

    def _aligned(
        self, source: object, runs: list[Run], key: tuple[object, ...]
    ) -> _Measured | None:
        found = self._cache.known(source) if source is not None else Outcomes()  # type: ignore[arg-type]
        published = outcome_matrix(found)
        with_own, names = with_runs(found, runs)
        matrix = outcome_matrix(with_own, published.pairs if len(published.pairs) else None)
        return _Measured(with_own, matrix, names, key) if matrix.models else None

    def _own_runs(self, own: object) -> list[Run]:
        return [run for run in self._runs.visible(own) if run.status != "running"]

    def _once(self, key: tuple[object, ...], make: Callable[[], T]) -> T:
        """What was made for a key before, or is made now."""
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
                return self._kept[key]  # type: ignore[return-value]
        made = make()
        with self._lock:
            self._kept[key] = made
            while len(self._kept) > KEPT:
                self._kept.popitem(last=False)
        return made


def _benchmark(view: BoardView) -> Benchmark:
    return benchmark_of(RULES[rule_of(view)])

"""Boards of every source of results, as sure as what was read of it makes them.

Those that everybody sees are also measured in the background, one at a time, whoever asks.
"""

import logging
import math
import threading
import time
from collections.abc import Generator
from dataclasses import dataclass
from typing import Any

from explorer.core.caches import LruCache
from explorer.core.work import in_background
from explorer.results.board import Board, Ranking, benchmark_of, build_board
from explorer.results.field import Field
from explorer.results.fields import Fields
from explorer.results.published import Results
from explorer.results.sources import Source
from explorer.runs.cards import card_of
from explorer.stats.matrix import OutcomeMatrix
from explorer.stats.rules import RULES
from explorer.stats.ties import composites
from explorer.stats.uncertainty import Uncertainties
from scoring.errors import KnownError
from scoring.hub.access import first_line
from scoring.limits import Step
from scoring.results.accuracies import Benchmark
from scoring.results.files import LeftOut

_KEPT = 16
"""Boards that stay in memory."""
_PATIENCE_SECONDS = 10.0
"""So long who asks waits; 188 models are measured in half of it once their results are read."""
_AGAIN_SECONDS = 60.0
"""After which what could not be read or measured is tried again, if somebody asks."""
_SHORTEST, _LONGEST = 2, 60
"""Seconds after which one is told to ask again."""

logger = logging.getLogger(__name__)


class Boards:
    """Builds boards, and remembers the last ones. Callable from any thread."""

    def __init__(self, fields: Fields, sure: Uncertainties) -> None:
        """fields: what the models on them did on each pair, and where results come from."""
        self.library = fields.results
        self._fields = fields
        self._sure = sure
        self._kept = LruCache[Board](_KEPT)

    def board(self, results_id: object, ranking: Ranking, own: object = ()) -> Board:
        """The board of a ranking, with what was read and measured so far.

        own: the ids of the runs of the person who looks, as `RunStore.visible` takes them.
        """
        results = self._results(results_id, ranking)
        field = self._field(results_id, ranking, own)
        key = (results.id, field and field.key, ranking.rule, ranking.ties, ranking.missing)
        measured = self._kept.get((*key, "measured"))
        if measured is not None:
            return measured
        board = self._kept.get_or_create(key, lambda: self._build(results, field, ranking))
        sure = None if field is None else self._sure.known(**_asked(field, ranking, board))
        if sure is None:
            return board
        return self._kept.get_or_create((*key, "measured"), lambda: board.measured(sure))

    def _build(self, results: Results, field: Field | None, ranking: Ranking) -> Board:
        if field is None:
            return build_board(results, ranking.rule, own=results.own_models)
        benchmark = _benchmark(ranking)
        found = self._fields.cache.known(results.pairs_of(benchmark))
        if results.uploaded is not None:
            found += results.uploaded.outcomes
        return build_board(
            results,
            ranking.rule,
            outcomes=field.matrix,
            ties=ranking.ties,
            missing=ranking.missing,
            own=(*results.own_models, *field.runs),
            composites=composites(found.of_benchmark(benchmark), ranking.missing),
        )

    def is_measured(self, results_id: object, ranking: Ranking) -> bool:
        """Whether it is known how sure a board is, as far as its results were read."""
        field = self._field(results_id, ranking, ())
        board = self.board(results_id, ranking)
        return field is None or self._sure.known(**_asked(field, ranking, board)) is not None

    def outcomes(
        self, results_id: object, ranking: Ranking, own: object = ()
    ) -> OutcomeMatrix | None:
        """What each model did on each pair, as far as it was read; None where nothing was."""
        field = self._field(results_id, ranking, own)
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
        field = self._field(results_id, ranking, own)
        if field is not None:
            return field.matrix.left_out
        return self._fields.cache.known(self._source(results_id, ranking)).left_out

    def measuring(
        self, results_id: object, ranking: Ranking, own: object = ()
    ) -> Generator[Step, None, None]:
        """Read what was not read yet, then measure how sure the board is, telling each step.

        Closing the generator stops; what was read is kept.
        """
        source = self._source(results_id, ranking)
        if self._fields.cache.unread(source):
            yield from self._fields.cache.read(source)
        field = self._field(results_id, ranking, own)
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

    def _field(self, results_id: object, ranking: Ranking, own: object) -> Field | None:
        """What is known of each pair; None where nothing is.

        Of the person's runs, those that have ended, of pairs that other models may have been scored
        on too.
        """
        benchmark = _benchmark(ranking)
        if benchmark == "prior":
            return None
        runs = self._fields.runs.store.visible(own) if ranking.own and benchmark == "v1" else []
        ended = [run for run in runs if run.status != "running" and card_of(run).typed is None]
        return self._fields.usual(self._results(results_id, ranking), benchmark, ended)


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


@dataclass(frozen=True, slots=True)
class _Tried:
    """That a ranking of some results was measured, or why it could not be."""

    results_id: str
    when: float
    refused: str


class BoardMeasuring:
    """Measures published boards, none of a visitor's own. Callable from any thread."""

    def __init__(self, boards: Boards, patience: float = _PATIENCE_SECONDS) -> None:
        """patience: seconds that who asks waits at most."""
        self._boards = boards
        self._patience = patience
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._tried: dict[Ranking, _Tried] = {}
        self._since = self._share = 0.0

    def measured(self, ranking: Ranking) -> int | None:
        """Have a board measured, and wait for it as long as patience lasts.

        ranking: of published results; there are few of them to ask for, as each is kept.

        Returns:
            About how many seconds it takes still; None where it is done, or failed just now.
        """
        until = time.monotonic() + self._patience
        while self._is_wanted(ranking):
            self._go_on(ranking, max(0.0, until - time.monotonic()))
            if time.monotonic() >= until and self._is_wanted(ranking):
                return self._seconds_left()
        return None

    def refused(self, ranking: Ranking) -> str:
        """Why not all of a board could be measured when that was tried last; "" where it could."""
        tried = self._tried.get(ranking)
        return "" if tried is None else tried.refused

    def _is_wanted(self, ranking: Ranking) -> bool:
        if self._was_tried(ranking):
            return False
        boards = self._boards
        return boards.unread(None, ranking) > 0 or not boards.is_measured(None, ranking)

    def _was_tried(self, ranking: Ranking) -> bool:
        """Whether it was measured just now, as well as it could be."""
        tried = self._tried.get(ranking)
        if tried is None or tried.results_id != self._boards.library.get(None).id:
            return False
        return time.monotonic() - tried.when < _AGAIN_SECONDS

    def _go_on(self, ranking: Ranking, seconds: float) -> None:
        """Wait for what is under way, be it of another ranking; where nothing is, begin."""
        with self._lock:
            thread = self._thread
            if (thread is None or not thread.is_alive()) and not self._was_tried(ranking):
                self._since, self._share = time.monotonic(), 0.0
                thread = self._thread = in_background(lambda: self._measure(ranking))
        if thread is not None:
            thread.join(seconds)

    def _measure(self, ranking: Ranking) -> None:
        results_id, refused = self._boards.library.get(None).id, ""
        doing = "reading"
        try:
            for step in self._boards.measuring(None, ranking):
                if step.doing != doing:
                    doing, self._since = step.doing, time.monotonic()
                self._share = step.done / step.total if step.total else 0.0
            refused = "; ".join(map(str, self._boards.refused(None, ranking)[:1]))
        except KnownError as error:
            refused = str(error)
        except Exception as error:
            logger.exception("a board was not measured")
            refused = f"it could not be measured: {first_line(error)}"
        self._tried[ranking] = _Tried(results_id, time.monotonic(), refused)

    def _seconds_left(self) -> int:
        """By how long the present part took so far."""
        spent, share = time.monotonic() - self._since, self._share
        left = spent * (1 - share) / share if share else _LONGEST
        return min(max(math.ceil(left), _SHORTEST), _LONGEST)

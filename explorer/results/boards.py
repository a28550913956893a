"""Boards of every source of results, as sure as what was read of it makes them.

They are measured in the background from the start, one at a time, whoever asks.
"""

import logging
import math
import threading
import time
from collections.abc import Generator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from explorer.core.caches import LruCache
from explorer.core.work import in_background
from explorer.results.board import Board, Ranking, benchmark_of, build_board
from explorer.results.field import Field
from explorer.results.fields import Fields
from explorer.results.own import outcomes_of
from explorer.results.published import Results
from explorer.results.sources import Source
from explorer.runs.store import RunList
from explorer.stats.aggregate import composites
from explorer.stats.matrix import OutcomeMatrix, Outcomes
from explorer.stats.rules import RULES, RuleName
from explorer.stats.uncertainty import Uncertainties
from scoring.errors import KnownError
from scoring.hub.access import first_line
from scoring.limits import Step
from scoring.record import Run
from scoring.results.accuracies import Benchmark
from scoring.results.files import Omission

_KEPT = 16
"""Boards that stay in memory."""
_PATIENCE_SECONDS = 10.0
"""So long who asks waits; 188 models are measured in half of it once their results are read."""
_AGAIN_SECONDS = 60.0
"""After which what could not be read or measured is tried again, if somebody asks."""
_SHORTEST, _LONGEST = 2, 60
"""Seconds after which one is told to ask again."""
_LONGEST_FETCH = 600.0
"""So long the start waits for the network."""
_FIRST = Step("measuring", 0, 100)
_FIRST_RULES: tuple[RuleName, ...] = ("v1", "v2")
"""What is measured from the start."""
_KEPT_TRIED = 64

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, eq=False)
class BoardView:
    """A board as a person sees it.

    outcomes: what each model did on each pair, as far as it was read; None where nothing was.
    unread: how many files of each pair were not read yet.
    left_out: files of each pair that are not used, and what of the others is not.
    apart: the person's runs of other pairs by their names, newest first.
    """

    board: Board
    outcomes: OutcomeMatrix | None = None
    unread: int = 0
    left_out: tuple[Omission, ...] = ()
    apart: Mapping[str, Run] = field(default_factory=dict)


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
        return self.seen(results_id, ranking, own).board

    def seen(self, results_id: object, ranking: Ranking, own: object = ()) -> "BoardView":
        """The same with what is known of each pair."""
        field, apart = self._field(results_id, ranking, own)
        board = self._board(self._results(results_id, ranking), field, ranking)
        source = self._source(results_id, ranking)
        unread = self._fields.cache.unread(source)
        if field is None:
            return BoardView(board, None, unread, self._fields.cache.known(source).left_out, apart)
        return BoardView(board, field.matrix, unread, field.matrix.left_out, apart)

    def _board(self, results: Results, field: Field | None, ranking: Ranking) -> Board:
        key = (results.id, field and field.key, ranking.rule, ranking.ties, ranking.missing)
        measured = self._kept.get((*key, "measured"))
        if measured is not None:
            return measured
        board = self._kept.get_or_create_once(key, lambda: self._build(results, field, ranking))
        sure = None if field is None else self._sure.known(**_asked(field, ranking, board))
        if sure is None:
            return board
        return self._kept.get_or_create((*key, "measured"), lambda: board.measured(sure))

    def _build(self, results: Results, field: Field | None, ranking: Ranking) -> Board:
        if field is None:
            return build_board(results, ranking.rule, own=results.own_models)
        benchmark = _benchmark(ranking)
        found = self._fields.cache.known(results.pairs_of(benchmark))
        files = Outcomes()
        if results.uploaded is not None:
            found, files = found + results.uploaded.outcomes, results.uploaded.openable
        if benchmark == "v2":
            found = sum((outcomes_of(run, name) for name, run in field.runs.items()), found)
        return build_board(
            results,
            ranking.rule,
            outcomes=field.matrix,
            ties=ranking.ties,
            missing=ranking.missing,
            own=(*results.own_models, *field.runs),
            opened=(*field.runs, *files.of_benchmark("v2").models),
            composites=composites(found.of_benchmark(benchmark), ranking.missing),
        )

    def has_published(self, results_id: object, ranking: Ranking) -> bool:
        """Whether published results of each pair were read, or are to be."""
        if self.unread(results_id, ranking):
            return True
        field, _ = self._field(results_id, ranking, ())
        return field is not None and not field.own.issuperset(field.matrix.models)

    def is_measured(self, results_id: object, ranking: Ranking, own: object = ()) -> bool:
        """Whether it is known how sure a board is, as far as its results were read."""
        field, _ = self._field(results_id, ranking, own)
        board = self.board(results_id, ranking, own)
        return field is None or self._sure.known(**_asked(field, ranking, board)) is not None

    def unread(self, results_id: object, ranking: Ranking) -> int:
        """How many files of each pair were not read yet."""
        return self._fields.cache.unread(self._source(results_id, ranking))

    def refused(self, results_id: object, ranking: Ranking) -> list[Omission]:
        """Those that could not be had when they were last asked for."""
        return self._fields.cache.refused(self._source(results_id, ranking))

    def measuring(
        self, results_id: object, ranking: Ranking, own: object = ()
    ) -> Generator[Step, None, None]:
        """Read what was not read yet, then measure how sure the board is, telling each step.

        Closing the generator stops; what was read is kept.
        """
        source = self._source(results_id, ranking)
        if self._fields.cache.unread(source):
            yield from self._fields.cache.read(source)
        field, _ = self._field(results_id, ranking, own)
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

    def _field(
        self, results_id: object, ranking: Ranking, own: object
    ) -> tuple[Field | None, Mapping[str, Run]]:
        """What is known of each pair, None where nothing is, and the runs of other pairs by name.

        Of the person's runs, those that have ended, of pairs that other models may have been scored
        on too.
        """
        benchmark = _benchmark(ranking)
        if benchmark == "prior":
            return None, {}
        runs = RunList()
        if ranking.own:
            runs = self._fields.runs.store.seen(own).ended
        return self._fields.usual(self._results(results_id, ranking), benchmark, runs)


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
class _Asked:
    """What is measured: a board, and whose runs are on it."""

    results_id: str
    ranking: Ranking
    own: object = ()


@dataclass(frozen=True, slots=True)
class _Tried:
    """When a board was measured, and why not all of it could be."""

    when: float
    refused: str


class BoardMeasuring:
    """Measures boards in the background, one at a time, each once for all who look at it.

    What is published is measured alike whoever's own models stand beside it. Callable from any
    thread.
    """

    def __init__(self, boards: Boards, patience: float = _PATIENCE_SECONDS) -> None:
        """patience: seconds that who asks by `measured` waits at most."""
        self._boards = boards
        self._patience = patience
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._tried = LruCache[_Tried](_KEPT_TRIED)
        self._since = 0.0
        self._step = _FIRST

    def start(self) -> None:
        """Measure what everybody sees first: what is here, then what the network has."""
        in_background(self._from_start)

    def _from_start(self) -> None:
        sources = self._boards.library.sources
        for seconds in (0.0, _LONGEST_FETCH):
            sources.wait(seconds)
            for rule in _FIRST_RULES:
                asked = self._asked(None, Ranking(rule, own=False))
                while self._is_wanted(asked):
                    self._go_on(asked, _LONGEST)

    def begin(self, results_id: object, ranking: Ranking, own: object = ()) -> Step | None:
        """Have a board measured, without waiting for it.

        results_id, ranking, own: as of `Boards.board`.

        Returns:
            How far it is, or what is measured before it; None where it is done, or failed just now.
        """
        asked = self._asked(results_id, ranking, own)
        if not self._is_wanted(asked):
            return None
        self._go_on(asked, 0.0)
        return self._step

    def restart_measuring(self, results_id: object, ranking: Ranking, own: object = ()) -> None:
        """The same, though it failed just now."""
        self._tried.discard(self._asked(results_id, ranking, own))
        self.begin(results_id, ranking, own)

    def measured(self, ranking: Ranking) -> int | None:
        """Have a board measured, and wait for it as long as patience lasts.

        ranking: of published results; there are few of them to ask for, as each is kept.

        Returns:
            About how many seconds it takes still; None where it is done, or failed just now.
        """
        until, asked = time.monotonic() + self._patience, self._asked(None, ranking)
        while self._is_wanted(asked):
            self._go_on(asked, max(0.0, until - time.monotonic()))
            if time.monotonic() >= until and self._is_wanted(asked):
                return self._seconds_left()
        return None

    def refused(self, ranking: Ranking, results_id: object = None, own: object = ()) -> str:
        """Why not all of a board could be measured when that was tried last; "" where it could."""
        tried = self._tried.get(self._asked(results_id, ranking, own))
        return "" if tried is None else tried.refused

    def _asked(self, results_id: object, ranking: Ranking, own: object = ()) -> _Asked:
        """What is measured for it: the board without own models, where it has others."""
        library = self._boards.library
        shared = _Asked(library.without(results_id).id, replace(ranking, own=False))
        if not ranking.own or self._boards.has_published(shared.results_id, shared.ranking):
            return shared
        return _Asked(library.get(results_id).id, ranking, own)

    def _is_wanted(self, asked: _Asked) -> bool:
        if self._was_tried(asked):
            return False
        boards, where = self._boards, (asked.results_id, asked.ranking)
        return boards.unread(*where) > 0 or not boards.is_measured(*where, asked.own)

    def _was_tried(self, asked: _Asked) -> bool:
        """Whether it was measured just now, as well as it could be."""
        tried = self._tried.get(asked)
        return tried is not None and time.monotonic() - tried.when < _AGAIN_SECONDS

    def _go_on(self, asked: _Asked, seconds: float) -> None:
        """Wait for what is under way, be it of another board; where nothing is, begin."""
        with self._lock:
            thread = self._thread
            if (thread is None or not thread.is_alive()) and not self._was_tried(asked):
                self._since, self._step = time.monotonic(), _FIRST
                thread = self._thread = in_background(lambda: self._measure(asked))
        if thread is not None:
            thread.join(seconds)

    def _measure(self, asked: _Asked) -> None:
        refused, where = "", (asked.results_id, asked.ranking)
        try:
            for step in self._boards.measuring(*where, asked.own):
                if step.doing != self._step.doing:
                    self._since = time.monotonic()
                self._step = step
            refused = "; ".join(map(str, self._boards.refused(*where)[:1]))
        except KnownError as error:
            refused = str(error)
        except Exception as error:
            logger.exception("a board was not measured")
            refused = f"it could not be measured: {first_line(error)}"
        self._tried[asked] = _Tried(time.monotonic(), refused)

    def _seconds_left(self) -> int:
        """By how long the present part took so far."""
        step, spent = self._step, time.monotonic() - self._since
        share = step.done / step.total if step.total else 0.0
        left = spent * (1 - share) / share if share else _LONGEST
        return min(max(math.ceil(left), _SHORTEST), _LONGEST)

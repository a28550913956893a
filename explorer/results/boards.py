"""Boards of every source of results, as sure as the results of each pair make them.

They are measured in the background from the start, one at a time, whoever asks.
"""

import math
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, NamedTuple

from explorer.core.caches import LruCache
from explorer.core.work import EVERY_SECONDS, Jobs
from explorer.data.table import PairTable
from explorer.results.board import Board, Ranking, build_board
from explorer.results.field import Field
from explorer.results.fields import Fields
from explorer.results.own import outcomes_of
from explorer.results.published import Results
from explorer.runs.store import RunList
from explorer.stats.aggregate import by_language, composites
from explorer.stats.matrix import OutcomeMatrix, Outcomes
from explorer.stats.rules import PRIOR_KEY, RULES, V1, V2
from explorer.stats.uncertainty import Uncertainties, strata_by
from scoring.errors import KnownError
from scoring.limits import OnProgress, Step, ignore_progress
from scoring.record import Run
from scoring.results.accuracies import Benchmark
from scoring.results.files import Omission
from scoring.strata import score_intervals, score_models

_KEPT = 16
"""Boards that stay in memory."""
_PATIENCE_SECONDS = 10.0
"""So long who asks waits; 188 models are measured in half of it once their results are read."""
_SHORTEST, _LONGEST = 2, 60
"""Seconds after which one is told to ask again."""
_FIRST = Step("measuring", 0, 100)
_FIRST_RULES: tuple[str, ...] = (V1.name, V2.name)
"""What is measured from the start."""
_MOST_WAITING = 64


@dataclass(frozen=True, slots=True, eq=False)
class BoardView:
    """A board as a person sees it.

    outcomes: what each model did on each pair; None where nothing is known.
    is_read: whether the results of each pair were read.
    left_out: files of each pair that are not used, and what of the others is not.
    apart: the person's runs of other pairs by their names, newest first.
    tables: of the benchmark's pairs that are open, with their texts.
    """

    board: Board
    outcomes: OutcomeMatrix | None = None
    is_read: bool = True
    left_out: tuple[Omission, ...] = ()
    apart: Mapping[str, Run] = field(default_factory=dict)
    tables: tuple[PairTable, ...] = ()


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
        results = self._results(results_id, ranking)
        board = self._board(results, field, ranking)
        outcomes = None if field is None else field.matrix
        benchmark, known = _benchmark(ranking), results.benchmarks()
        said = () if outcomes is None else outcomes.left_out
        if outcomes is None and benchmark != PRIOR_KEY and (benchmark in known or not known):
            said = results.outcomes_of(benchmark).left_out
        runs = self._fields.runs.store.seen(own) if ranking.own else RunList()
        tables = self._fields.tables_of(benchmark, runs)
        return BoardView(board, outcomes, results.is_read, said, apart, tuple(tables))

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
        found = results.outcomes_of(benchmark)
        files = Outcomes()
        if results.uploaded is not None:
            found, files = found + results.uploaded.outcomes, results.uploaded.openable
        if RULES[ranking.rule].has_composites:
            found = sum((outcomes_of(run, name) for name, run in field.runs.items()), found)
        return build_board(
            results,
            ranking.rule,
            outcomes=field.matrix,
            ties=ranking.ties,
            missing=ranking.missing,
            own=(*results.own_models, *field.runs),
            opened=(*field.runs, *files.of_benchmark(benchmark).models),
            composites=composites(found.of_benchmark(benchmark), ranking.missing),
            parts={model: _part_scores(field, model) for model in field.matrix.models}
            if field.rule.parts
            else {},
        )

    def has_published(self, results_id: object, ranking: Ranking) -> bool:
        """Whether there are published results of each pair."""
        field, _ = self._field(results_id, ranking, ())
        return field is not None and not field.own.issuperset(field.matrix.models)

    def is_measured(self, results_id: object, ranking: Ranking, own: object = ()) -> bool:
        """Whether it is known how sure a board is."""
        field, _ = self._field(results_id, ranking, own)
        board = self.board(results_id, ranking, own)
        return field is None or self._sure.known(**_asked(field, ranking, board)) is not None

    def measure(
        self,
        results_id: object,
        ranking: Ranking,
        own: object = (),
        tell: OnProgress = ignore_progress,
    ) -> None:
        """Measure how sure a board is."""
        field, _ = self._field(results_id, ranking, own)
        if field is not None:
            board = self.board(results_id, ranking, own)
            self._sure.measured(tell=tell, **_asked(field, ranking, board))

    def _results(self, results_id: object, ranking: Ranking) -> Results:
        """What is looked at, a visitor's files among it where their own models are asked for."""
        return self.library.get(results_id) if ranking.own else self.library.without(results_id)

    def _field(
        self, results_id: object, ranking: Ranking, own: object
    ) -> tuple[Field | None, Mapping[str, Run]]:
        """What is known of each pair, None where nothing is, and the runs of other pairs by name.

        Of the person's runs, those that have ended, of pairs that other models may have been scored
        on too.
        """
        benchmark = _benchmark(ranking)
        if benchmark == PRIOR_KEY:
            return None, {}
        runs = RunList()
        if ranking.own:
            runs = self._fields.runs.store.seen(own).ended
        return self._fields.of_board(self._results(results_id, ranking), benchmark, runs)


def _part_scores(field: Field, model: str) -> dict[str, float]:
    """A model's score in each part of the benchmark's rule, with its 95 % interval, as columns."""
    rule, pairs = field.rule, field.matrix.pairs
    of_rows = field.part_credits(model)
    credits_ = by_language(rule, pairs, field.outcomes(model)) if of_rows is None else of_rows.T
    groups, columns = strata_by(rule, pairs), dict[str, float]()
    scores, intervals = score_models(credits_, groups), score_intervals(credits_, groups)
    for part, score, interval in zip(rule.parts, scores.tolist(), intervals, strict=True):
        if interval is not None:
            columns |= {part: score, f"{part}_low": interval.low, f"{part}_high": interval.high}
            columns[f"{part}_paired"] = 1.0
    return columns


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
    return RULES[ranking.rule].benchmark.key


class _Asked(NamedTuple):
    """What is measured: a board, and whose runs are on it."""

    results_id: str
    ranking: Ranking
    own: object = ()


class BoardMeasuring:
    """Measures boards in the background, one at a time, each once for all who look at it.

    What is published is measured alike whoever's own models stand beside it. Callable from any
    thread.
    """

    def __init__(self, boards: Boards, patience: float = _PATIENCE_SECONDS) -> None:
        """patience: seconds that who asks by `measured` waits at most."""
        self._boards = boards
        self._patience = patience
        self._jobs = Jobs[Step, None](_MOST_WAITING)
        self._turn = threading.Lock()
        self._since = 0.0

    def start(self) -> None:
        """Measure what everybody sees first, once it is read, and what is newer when it is."""
        self._boards.library.sources.when_read = self._begin_first
        self._begin_first()

    def _begin_first(self) -> None:
        for rule in _FIRST_RULES:
            first = Ranking(rule, own=False)
            self._jobs.forget(self._asked(None, first))  # it may have failed
            self.begin(None, first)

    def begin(self, results_id: object, ranking: Ranking, own: object = ()) -> Step | None:
        """Have a board measured once its results are read, without waiting for it.

        results_id, ranking, own: as of `Boards.board`.

        Returns:
            How far it is read or measured; None where it is measured, or could not be.
        """
        library = self._boards.library
        if not library.get(results_id).is_read:
            return library.sources.step
        asked = self._asked(results_id, ranking, own)
        job = self._jobs.of(asked)
        if self._boards.is_measured(*asked) or (job is not None and job.refused):
            return None
        with suppress(KnownError):  # too many wait already
            self._jobs.begin(asked, partial(self._measure, asked))
        job = self._jobs.of(asked)
        return (job and job.step) or _FIRST

    def restart_measuring(self, results_id: object, ranking: Ranking, own: object = ()) -> None:
        """The same, though it failed; files that could not be had are asked for again."""
        self._jobs.forget(self._asked(results_id, ranking, own))
        self._boards.library.sources.retry(again=True)
        self.begin(results_id, ranking, own)

    def measured(self, ranking: Ranking) -> int | None:
        """Have a board measured, and wait for it as long as patience lasts.

        ranking: of published results; there are few of them to ask for, as each is kept.

        Returns:
            About how many seconds it takes still; None where it is measured, or could not be.
        """
        until = time.monotonic() + self._patience
        while (step := self.begin(None, ranking)) is not None:
            if time.monotonic() >= until:
                return self._seconds_left(step)
            time.sleep(EVERY_SECONDS)
        return None

    def refused(self, ranking: Ranking, results_id: object = None, own: object = ()) -> str:
        """Why not all of a board could be measured when that was tried last; "" where it could."""
        job = self._jobs.of(self._asked(results_id, ranking, own))
        if job is not None and job.refused:
            return job.refused
        return self._boards.library.refused(results_id, _benchmark(ranking))

    def _asked(self, results_id: object, ranking: Ranking, own: object = ()) -> _Asked:
        """What is measured for it: the board without own models, where it has others."""
        library = self._boards.library
        shared = _Asked(library.without(results_id).id, replace(ranking, own=False))
        if not ranking.own or self._boards.has_published(shared.results_id, shared.ranking):
            return shared
        return _Asked(library.get(results_id).id, ranking, own)

    def _measure(self, asked: _Asked, tell: OnProgress) -> None:
        with self._turn:
            self._since = time.monotonic()
            self._boards.measure(*asked, tell)

    def _seconds_left(self, step: Step) -> int:
        """By how long it took so far."""
        if step.doing != "measuring":
            return _LONGEST
        share = step.done / step.total if step.total else 0.0
        spent = time.monotonic() - self._since
        left = spent * (1 - share) / share if share else _LONGEST
        return min(max(math.ceil(left), _SHORTEST), _LONGEST)

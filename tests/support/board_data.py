"""Boards for tests: made up, and of the real models."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache, lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from explorer.core.settings import read_settings
from explorer.results.board import Board, BoardRow
from explorer.results.outcome_files import read_source
from explorer.results.own import outcomes_of
from explorer.results.published import Results, ResultsSource, read_results_folder
from explorer.stats.matrix import OutcomeMatrix, Outcomes, outcome_matrix
from scoring.benchmark import SUBSETS
from scoring.interval import Interval
from scoring.record import Run, new_folder
from scoring.results.accuracies import Aggregate, Benchmark
from scoring.results.order import FILTERED, PairOrder, filtered_split
from scoring.spec import Plan, RunFacts, ScoredPack, ScoredPair

T = TypeVar("T")
OF_DEMO = read_settings({"EXPLORER_RESULTS_OF": "demo"}).results_of
"""What the owner of made-up results of the demo pairs says that they are of."""
FOUR = ("mt-bench-easy", "mt-bench-hard", "donotanswer", "hep-go")
"""A subset of each section."""
EVERY = (*FOUR, *(subset for subset in SUBSETS if subset not in FOUR))
"""Those first, then all others: what a model needs for a rank."""
SOURCE = ResultsSource("folder", "made up", "", "2024-01-01")


def results_of(
    accuracies: Mapping[str, float | Mapping[str, float]], benchmark: Benchmark = "v1"
) -> Results:
    """Results of models that have one accuracy in all subsets, or those that are given."""
    found = []
    for model, given in accuracies.items():
        of_all = dict.fromkeys(SUBSETS, given) if isinstance(given, float) else dict(given)
        found.append(Aggregate(model, "DPO", of_all, benchmark))
    return Results(SOURCE, tuple(found))


NOTHING = Results(SOURCE, ())


def rows_in(board: Board) -> list[Any]:
    """The rows of a board by name: those of its table, and what belongs together in one."""
    return [_row_in(board, row) for row in board.rows.values()]


def row_in(board: Board, model: str) -> Any:
    """The row of a model that is there."""
    return _row_in(board, board.rows[model])


class _RowIn(SimpleNamespace):
    def interval_of(self, name: str) -> Interval | None:
        ends = vars(self)[f"{name}_low"], vars(self)[f"{name}_high"]
        return None if None in ends else Interval(*ends)


def _row_in(board: Board, row: BoardRow) -> _RowIn:
    found, sections = _RowIn(**row), tuple(board.rule.sections)
    found.counted = board.counted[row["model"]]
    found.sections = {name: row[name] for name in sections}
    found.interval = found.interval_of("score")
    found.section_intervals = {name: found.interval_of(name) for name in sections}
    found.section_groups = {name: row[f"{name}_group"] for name in sections}
    found.paired_sections = {name for name in sections if row[f"{name}_paired"]}
    return found


def order_of(subsets: Sequence[str]) -> PairOrder:
    """Pairs of these subsets, with their places as ids."""
    names = tuple(dict.fromkeys(subsets))
    codes = np.array([names.index(each) for each in subsets], np.int32)
    return PairOrder(names, codes, [str(place) for place in range(len(subsets))])


def matrix_of(
    outcomes: Mapping[str, Sequence[float]],
    subsets: Sequence[str],
    equal: NDArray[np.bool_] | None = None,
    dataset: str | None = None,
) -> OutcomeMatrix:
    """An outcome matrix. equal: (models, pairs). dataset: as of `PairOrder`."""
    values = np.array([*outcomes.values()], np.float32).reshape(len(outcomes), len(subsets))
    nothing = np.full_like(values, np.nan)
    return OutcomeMatrix(
        models=tuple(outcomes),
        model_types=("Seq. Classifier",) * len(outcomes),
        files=tuple(outcomes),
        pairs=replace(order_of(subsets), dataset=dataset),
        outcomes=values,
        held=~np.isnan(values),
        known_equal=np.zeros(values.shape, np.bool_) if equal is None else equal,
        chosen=nothing,
        rejected=nothing,
    )


def with_runs(found: Outcomes, runs: Mapping[str, Run]) -> Outcomes:
    """Outcomes with those of runs, by the names of their models."""
    return sum((outcomes_of(run, name) for name, run in runs.items()), found)


@cache
def filtered_texts() -> dict[str, str]:
    """Key -> `text_hash`, of RewardBench's pairs."""
    split = filtered_split()
    assert split.ids is not None and split.hashes is not None
    subsets = [split.names[code] for code in split.codes]
    keys = (f"{subset}:{id_}" for subset, id_ in zip(subsets, split.ids, strict=True))
    return dict(zip(keys, split.hashes, strict=True))


@lru_cache(maxsize=1)
def real_results(shared_data: Path) -> tuple[Results, Outcomes, OutcomeMatrix]:
    """The 66 real models."""
    results = read_results_folder(shared_data / "reward-bench-results")
    assert results.pairs is not None
    with TemporaryDirectory() as home:
        found = read_source(results.pairs, Path(home))
    return results, found, outcome_matrix(found)


def coin_flips(share: float, n_pairs: int = 92, seed: int = 0) -> list[float]:
    """Outcomes of a model that wins about this share of pairs."""
    return [*(np.random.default_rng(seed).random(n_pairs) < share).astype(float)]


def write_results(
    root: Path, outcomes: Mapping[str, Sequence[float]], subsets: Sequence[str] = EVERY
) -> Path:
    """A folder in upstream's layout: accuracies and results of each pair.

    Files have numbers for names, as a model's name may be none of a file.

    subsets: of the pairs, again and again.
    """
    for number, (model, results) in enumerate(outcomes.items()):
        about = {"model": model, "model_type": "Seq. Classifier"}
        of_pair = [subsets[place % len(subsets)] for place in range(len(results))]
        means = {
            name: float(
                np.mean([won for won, of in zip(results, of_pair, strict=True) if of == name])
            )
            for name in dict.fromkeys(of_pair)
        }
        ids = [*range(len(results))]
        of_pairs = {"results": [*results], "subset": of_pair, "id": ids}
        for folder, values in (("eval-set", means), ("eval-set-scores", of_pairs)):
            path = root / folder / "org" / f"{number:04}.json"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(json.dumps(about | values), encoding="utf-8")
    return root


OWN_FACTS = RunFacts(
    "org/<b>mine</b>", "", "classifier", "cpu", "float32", 2048, "left", "", FILTERED, 4, 0
)


def own_run(home: Path, rewards: dict[str, tuple[float | None, float | None]]) -> Run:
    """A finished run; its pairs were scored in another order than they were given."""
    keys, texts = list(rewards), filtered_texts()
    order = tuple(reversed(range(len(keys))))
    run = Run.create(new_folder(home), OWN_FACTS, Plan((order,)), keys)
    rows = tuple(
        ScoredPair(
            keys[at],
            keys[at].rpartition(":")[0],
            texts.get(keys[at], f"hash-{at}"),
            *rewards[keys[at]],
            1,
            1,
        )
        for at in order
    )
    list(run.record([ScoredPack(0, rows, 1)]))
    return run.mark_ended("finished")

"""Boards for tests: made up, and of the real models."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache, lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import NDArray

from explorer.core.settings import read_settings
from explorer.results.outcome_files import read_source
from explorer.results.own import outcomes_of
from explorer.results.published import Results, ResultsSource, read_results_folder
from explorer.stats.matrix import OutcomeMatrix, Outcomes, outcome_matrix
from scoring.benchmark import SECTIONS, SUBSETS, WEIGHTS
from scoring.clusters import clusters_of
from scoring.record import Run
from scoring.results.accuracies import Aggregate
from scoring.results.order import FILTERED, PairOrder, filtered_split
from scoring.spec import RunFacts, ScoredPair
from scoring.strata import Strata, benchmark_strata
from tests.support.files import write_json
from tests.support.run_facts import recorded_run

OF_DEMO = read_settings({"EXPLORER_RESULTS_OF": "demo"}).results_of
"""What the owner of made-up results of the demo pairs says that they are of."""
FOUR = ("mt-bench-easy", "mt-bench-hard", "donotanswer", "hep-go")
"""A subset of each section."""
EVERY = (*FOUR, *(subset for subset in SUBSETS if subset not in FOUR))
"""Those first, then all others: what a model needs for a rank."""
SOURCE = ResultsSource("folder", "made up", "", "2024-01-01")


def results_of(accuracies: Mapping[str, float | Mapping[str, float]]) -> Results:
    """Results of models that have one accuracy in all subsets, or those that are given."""
    found = []
    for model, given in accuracies.items():
        of_all = dict.fromkeys(SUBSETS, given) if isinstance(given, float) else dict(given)
        found.append(Aggregate(model, "DPO", of_all, "v1"))
    return Results(SOURCE, tuple(found))


NOTHING = Results(SOURCE, ())


def order_of(subsets: Sequence[str]) -> PairOrder:
    """Pairs of these subsets, with their places as ids."""
    names = tuple(dict.fromkeys(subsets))
    codes = np.array([names.index(each) for each in subsets], np.int32)
    return PairOrder(names, codes, [str(place) for place in range(len(subsets))])


def v1_strata(subsets: Sequence[str]) -> Strata:
    """RewardBench's rule: counts as weights, but math-prm as all code; sections alike."""
    pairs = order_of(subsets)
    weights = {
        section: {subset: WEIGHTS[subset] for subset in of_section}
        for section, of_section in SECTIONS.items()
    }
    clusters = clusters_of(replace(pairs, ids=None))
    return benchmark_strata(pairs.names, pairs.codes, weights, dict.fromkeys(SECTIONS, 1), clusters)


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
    """A folder of results of models. subsets: of the pairs, again and again.

    Files have numbers for names, as a model's name may be none of a file.
    """
    for number, (model, results) in enumerate(outcomes.items()):
        of_pair = [subsets[place % len(subsets)] for place in range(len(results))]
        pairs = {"subset": of_pair, "id": [*range(len(results))]}
        about = {"model": model, "model_type": "Seq. Classifier"}
        write_model(root, f"org/{number:04}", about, {"results": [*results], **pairs})
    return root


def write_model(
    root: Path, name: str, about: Mapping[str, object], of_pairs: Mapping[str, Any]
) -> None:
    """A model's files in upstream's layout: its accuracies, and its results of each pair."""
    by_subset: dict[str, list[float]] = {}
    for subset, result in zip(of_pairs["subset"], of_pairs["results"], strict=True):
        by_subset.setdefault(subset, []).append(result)
    means = {
        subset: float(np.mean(each)) for subset, each in by_subset.items() if subset in SUBSETS
    }
    write_json(root / "eval-set" / f"{name}.json", {**about, **(means or {"hep-go": 0.5})})
    write_json(root / "eval-set-scores" / f"{name}.json", {**about, **of_pairs})


OWN_FACTS = RunFacts(
    "org/<b>mine</b>", "", "classifier", "cpu", "float32", 2048, "left", "", FILTERED, 4, 0
)


def own_run(home: Path, rewards: Mapping[str, tuple[float | None, float | None]]) -> Run:
    """A finished run of pairs of RewardBench, and of others. rewards: by their keys."""
    texts = filtered_texts()
    rows = [
        ScoredPair(key, key.rpartition(":")[0], texts.get(key, f"hash-{at}"), *both, 1, 1)
        for at, (key, both) in enumerate(rewards.items())
    ]
    return recorded_run(home, OWN_FACTS, rows)

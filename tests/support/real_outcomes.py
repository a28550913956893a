"""The outcomes of the real models, and strata that say RewardBench's rule."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from scoring.benchmark import SECTIONS, WEIGHTS
from scoring.clusters import clusters_of
from scoring.results.order import PairOrder
from scoring.strata import Strata, benchmark_strata
from tests.support.board_data import real_results


@dataclass(frozen=True)
class RealOutcomes:
    """names: of the models. matrix: (models, pairs). subsets: of the pairs."""

    names: list[str]
    matrix: NDArray[np.float32]
    subsets: list[str]

    @property
    def groups(self) -> Strata:
        return v1_strata(self.subsets)


def v1_strata(subsets: Sequence[str]) -> Strata:
    """RewardBench's rule: counts as weights, but math-prm as all code; sections alike."""
    names = list(dict.fromkeys(subsets))
    codes = np.array([names.index(subset) for subset in subsets], dtype=np.int32)
    weights = {
        section: {subset: WEIGHTS[subset] for subset in of_section}
        for section, of_section in SECTIONS.items()
    }
    clusters = clusters_of(PairOrder(tuple(names), codes))
    return benchmark_strata(names, codes, weights, dict.fromkeys(SECTIONS, 1), clusters)


def read_real_outcomes(shared_data: Path) -> RealOutcomes:
    _, _, matrix = real_results(shared_data)
    subsets = [matrix.pairs.names[code] for code in matrix.pairs.codes]
    return RealOutcomes([*matrix.models], matrix.outcomes, subsets)

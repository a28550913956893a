"""The outcomes of the real models, and strata that say RewardBench's rule."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from explorer.strata import Strata, strata
from scoring.benchmark import SECTIONS, SUBSETS, WEIGHTS, section_of


@dataclass(frozen=True)
class RealOutcomes:
    """names: of the models, sorted by path. matrix: (models, pairs). subsets: of the pairs."""

    names: list[str]
    matrix: NDArray[np.float32]
    subsets: list[str]

    @property
    def groups(self) -> Strata:
        return v1_strata(self.subsets)


def v1_strata(subsets: Sequence[str]) -> Strata:
    """The rule of RewardBench: counts as weights, but math-prm as all code; sections alike."""
    sections = list(SECTIONS)
    return strata(
        [SUBSETS.index(subset) for subset in subsets],
        [WEIGHTS[subset] for subset in SUBSETS],
        [sections.index(section_of(subset) or "") for subset in SUBSETS],
        [1, 1, 1, 1],
    )


@lru_cache(maxsize=1)
def read_real_outcomes(shared_data: Path) -> RealOutcomes:
    names, rows, subsets = [], [], []
    for path in sorted((shared_data / "reward-bench-results" / "eval-set-scores").rglob("*.json")):
        values = json.loads(path.read_text(encoding="utf-8"))
        names.append(values["model"])
        rows.append(values["results"])
        subsets = values["subset"]
    if not rows:
        pytest.skip(f"no outcomes of real models below {shared_data}")
    return RealOutcomes(names, np.array(rows, dtype=np.float32), subsets)

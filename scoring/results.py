"""Result files in upstream's layout: `eval-set/<org>/<model>.json` holds a model's accuracies."""

import json
import math
from dataclasses import dataclass
from pathlib import Path

from scoring.benchmark import SUBSETS
from scoring.hub import first_line


@dataclass(frozen=True, slots=True)
class SubsetResults:
    """One model's accuracy on each subset.

    model_type: upstream's word for it ("Seq. Classifier", "DPO", ...), None where unknown.
    accuracies: subset -> 0 to 1, for the subsets of RewardBench that the file has.
    """

    model: str
    model_type: str | None
    accuracies: dict[str, float]


def read_eval_set(folder: Path) -> tuple[list[SubsetResults], list[str]]:
    """Read every aggregate file below `folder/eval-set`, however deep, in the order of paths.

    Returns:
        The results, and one sentence for each file that was left out.
    """
    results: list[SubsetResults] = []
    left_out: list[str] = []
    for path in sorted((folder / "eval-set").rglob("*.json")):
        name = path.relative_to(folder).as_posix()
        try:
            results.append(_parse(json.loads(path.read_text(encoding="utf-8"))))
        except (OSError, ValueError, RecursionError) as error:
            left_out.append(f"{name}: {first_line(error)}")
    return results, left_out


def _parse(values: object) -> SubsetResults:
    if not isinstance(values, dict):
        raise ValueError("not an object of accuracies")
    model, model_type = values.get("model"), values.get("model_type")
    if not isinstance(model, str) or not model.strip():
        raise ValueError("it names no model")
    accuracies = {}
    for subset in SUBSETS:
        value = values.get(subset)
        if value is None:
            continue
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise ValueError(f"{subset} is no number")
        if isinstance(value, float) and math.isnan(value):
            continue  # upstream writes NaN for what was not measured
        if not 0 <= value <= 1:
            raise ValueError(f"{subset} is {str(value)[:20]}, not between 0 and 1")
        accuracies[subset] = float(value)
    if not accuracies:
        raise ValueError("it has none of RewardBench's subsets")
    return SubsetResults(model, model_type if isinstance(model_type, str) else None, accuracies)

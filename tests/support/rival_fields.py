"""Two small fields of models to compare: one with rewards, and one of other pairs."""

import numpy as np

from explorer.results.field import Field
from explorer.stats.matrix import OutcomeMatrix, order_of
from scoring.errors import KnownError
from tests.support.tables import row, small_table

NAN = float("nan")
SUBSETS = ["hep-go"] * 3 + ["donotanswer"] * 2 + ["mt-bench-easy"] * 2 + ["own"]
HOSTILE = "org/<img src=x onerror=alert(1)>\"'&#x3c;"
MARGINS: dict[str, list[float]] = {
    "org/a": [1, 1, -1, 2, -2, 1, -1, 1],
    "org/b": [1, -1, 1, 2, -2, -1, 1, NAN],
    HOSTILE: [-1, 1, 1, -2, 2, 1, 1, 1],
}
"""Of the models with rewards; rejected rewards are 0. Then there is "half", with four outcomes."""


def rivals() -> Field:
    """Eight pairs, the last of a subset that RewardBench does not have."""
    pairs = [row(id=str(at), subset=subset, prompt=f"p{at}") for at, subset in enumerate(SUBSETS)]
    chosen = np.array([*MARGINS.values(), [NAN] * 8], np.float32)
    outcomes = np.where(np.isnan(chosen), NAN, chosen > 0).astype(np.float32)
    outcomes[3, :4] = [1, 1, 0, 0]
    return _field([*MARGINS, "half"], pairs, outcomes, chosen)


def elsewhere() -> Field:
    """One model, "elsewhere", on two pairs of its own."""
    pairs = [row(id=str(at), subset="own", prompt=f"q{at}") for at in range(2)]
    return _field(["elsewhere"], pairs, np.ones((1, 2), np.float32), np.full((1, 2), NAN))


def field_of(model: str) -> Field:
    """The field that a model is in, of "" any; as the tab Models asks for it."""
    for field in (rivals(), elsewhere()):
        if not model or model in field.place_of:
            return field
    raise KnownError(f"no results of {model!r}")


def _field(
    models: list[str], pairs: list[dict[str, object]], outcomes: np.ndarray, chosen: np.ndarray
) -> Field:
    table = small_table(*pairs)
    rejected = np.where(np.isnan(chosen), NAN, 0.0).astype(np.float32)
    matrix = OutcomeMatrix(
        tuple(models), (None,) * len(models), tuple(models), order_of(table),
        outcomes, ~np.isnan(outcomes), np.zeros(outcomes.shape, np.bool_),
        chosen.astype(np.float32), rejected,
    )  # fmt: skip
    return Field(table, matrix, {}, (models[0],))

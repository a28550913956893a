"""Small fields of models: two to compare, and one whose texts attack the files made of them."""

from dataclasses import replace

import numpy as np

from explorer.results.field import Field
from explorer.results.fields import _textless
from explorer.stats.matrix import OutcomeMatrix, order_of
from tests.support.hostile import CELL, NAME
from tests.support.tables import row, small_table

NAN = float("nan")
SUBSETS = ["hep-go"] * 3 + ["donotanswer"] * 2 + ["mt-bench-easy"] * 2 + ["own"]
MODEL = "org/a|b_<script>"
"""Has rewards; loses rows 3 and 2, ties row 7, has no outcome of row 6."""
CHOSEN = [2.0, 1.0, 0.0, -3.0, 5.0, 1.0, NAN, 0.0]
"""Rewards of the model, against rejected ones of 0.5, but for the last, of 0."""
MARGINS: dict[str, list[float]] = {
    "org/a": [1, 1, -1, 2, -2, 1, -1, 1],
    "org/b": [1, -1, 1, 2, -2, -1, 1, NAN],
    NAME: [-1, 1, 1, -2, 2, 1, 1, 1],
}
"""Of the models with rewards; rejected rewards are 0. Then there is "half", with four outcomes."""


def rivals() -> Field:
    """Eight pairs, the last of a subset that RewardBench does not have."""
    pairs = [row(id=str(at), subset=subset, prompt=f"p{at}") for at, subset in enumerate(SUBSETS)]
    chosen = np.array([*MARGINS.values(), [NAN] * 8], np.float32)
    outcomes = np.where(np.isnan(chosen), NAN, chosen > 0).astype(np.float32)
    outcomes[3, :4] = [1, 1, 0, 0]
    rejected = np.where(np.isnan(chosen), NAN, 0.0).astype(np.float32)
    models, table = (*MARGINS, "half"), small_table(*pairs)
    matrix = OutcomeMatrix(
        models, (None,) * 4, models, order_of(table), outcomes, ~np.isnan(outcomes),
        np.zeros(outcomes.shape, np.bool_), chosen, rejected,
    )  # fmt: skip
    return Field(table, matrix, {}, (models[0],))


def small_field(*, has_texts: bool = True) -> Field:
    """Eight pairs; `MODEL`, "b" with a judge's half in row 4, and "half" with the first four."""
    table = small_table(
        *(
            row(
                id=str(at), subset=["hep-go", "donotanswer"][at // 4], prompt=f"p{at}{CELL}",
                chosen=f"c{at}{CELL}", rejected=CELL, chosen_model="=1+1",
            )
            for at in range(8)
        )
    )  # fmt: skip
    shape = (3, 8)
    chosen, rejected = np.full(shape, NAN, np.float32), np.full(shape, NAN, np.float32)
    chosen[0], rejected[0] = CHOSEN, [0.5] * 7 + [0.0]
    first = np.where(np.isnan(chosen[0]), NAN, chosen[0] > rejected[0])
    others = [1, 0, 1, 1, 0.5, 1, 0, 1], [1, 1, 1, 1, *[NAN] * 4]
    held, equal = np.ones(shape, np.bool_), np.zeros(shape, np.bool_)
    held[2, 4:], equal[0, 7] = False, True
    matrix = OutcomeMatrix(
        (MODEL, "b", "half"), ("DPO", None, None), ("1", "2", "3"), order_of(table),
        np.array([first, *others], np.float32), held, equal, chosen, rejected,
    )  # fmt: skip
    field = Field(table, matrix, {}, ("key",))
    return field if has_texts else replace(field, table=_textless(matrix.pairs), has_texts=False)

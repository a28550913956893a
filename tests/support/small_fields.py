"""A small field of models, whose names and texts attack the files that are made of them."""

from dataclasses import replace

import numpy as np

from explorer.results.field import Field
from explorer.results.fields import _textless
from explorer.stats.matrix import OutcomeMatrix, order_of
from tests.support.tables import row, small_table

NAN = float("nan")
HOSTILE = "=HYPERLINK(1)|<script>\n```\n# heading\n````\n\x1b[1m"
MODEL = "org/a|b_<script>"
"""Has rewards; loses rows 3 and 2, ties row 7, has no outcome of row 6."""
CHOSEN = [2.0, 1.0, 0.0, -3.0, 5.0, 1.0, NAN, 0.0]
"""Rewards of the model, against rejected ones of 0.5, but for the last, of 0."""


def small_field(*, has_texts: bool = True) -> Field:
    """Eight pairs; `MODEL`, "b" with a judge's half in row 4, and "half" with the first four."""
    table = small_table(
        *(
            row(
                id=str(at), subset=["hep-go", "donotanswer"][at // 4], prompt=f"p{at}{HOSTILE}",
                chosen=f"c{at}{HOSTILE}", rejected=HOSTILE, chosen_model="=1+1",
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

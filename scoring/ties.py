"""The score of RewardBench 2's Ties subset, which has no outcome per row.

Each prompt comes twice: as `ref:N` with one correct answer, as `tied:N` with several. A model
should put every correct answer above every wrong one, and set correct answers apart by less than
it sets them apart from wrong ones. Source: `process_single_model` in upstream's
rewardbench/utils.py:1010-1108.
"""

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import add
from statistics import fmean
from typing import Literal, NamedTuple

import numpy as np

_WEIGHTS = (0.30, 0.30, 0.20, 0.20, 0.01)
"""Weights of tied_accuracy, ref_accuracy, preferred, preferred_hard and margin."""

_ID = re.compile(r"(ref|tied):(\d{1,18})", re.ASCII)


class TiesRow(NamedTuple):
    """One row's scores. id: `ref:N` or `tied:N`. scores: the `n_correct` correct ones first."""

    id: str
    n_correct: int
    scores: Sequence[float | None]


@dataclass(frozen=True, slots=True)
class TiesScore:
    """The composite and its terms, each a mean; None where there is nothing to take it of.

    score: 0.30 tied_accuracy + 0.30 ref_accuracy + 0.20 preferred + 0.20 preferred_hard
        + 0.01 margin, -0.01 to 1.01; None where a term is.
    tied_accuracy, ref_accuracy: share of rows of each kind whose correct answers all score above
        all wrong ones.
    preferred: share of prompts with both rows whose gap between correct and wrong, in the tied row,
        is wider than the spread of its correct answers. preferred_hard: by the smaller gap of both.
    margin: tanh(smaller gap / spread - 1), over the same prompts; -1 to 1.
    n_tied, n_ref, n_both: rows of each kind and prompts with both, as they were counted.
    accurate, inaccurate: rows of either kind, of those with all their scores.
    missing: rows that lack a score or a sort of answer, or whose id is no such one or came before.
    """

    score: float | None
    tied_accuracy: float | None
    ref_accuracy: float | None
    preferred: float | None
    preferred_hard: float | None
    margin: float | None
    n_tied: int
    n_ref: int
    n_both: int
    accurate: int
    inaccurate: int
    missing: int


def ties_score(
    rows: Iterable[TiesRow], missing: Literal["left out", "loss"] = "left out"
) -> TiesScore:
    """The composite of a model's rows, in any order.

    rows: with ids of the dataset, if it is at hand: many result files have wrong ones.
    missing: whether a row that lacks a score is left out, or fails every comparison as NaN does.

    >>> rows = [TiesRow("ref:1", 1, [2, 0.5, 0.1]), TiesRow("tied:1", 3, [2, 1.8, 1.9, 0.5, 0.1])]
    >>> ties_score(rows).score
    1.009999665971563
    >>> ties_score(rows[:1]).score is None
    True
    """
    read: dict[str, dict[int, tuple[float, float | None]]] = {"tied": {}, "ref": {}}
    n_missing = 0
    for row in rows:
        scores, n = np.array(row.scores, np.float64), max(row.n_correct, 0)
        correct, wrong, named = scores[:n], scores[n:], _ID.fullmatch(row.id)
        if not (len(correct) and len(wrong) and named) or int(named[2]) in read[named[1]]:
            n_missing += 1
            continue
        gap = float(correct.min()) - float(wrong.max())
        lacks = math.isnan(gap)
        n_missing += lacks
        if not lacks or missing == "loss":
            is_single = len(correct) == 1 and not lacks
            spread = None if is_single else float(correct.max()) - float(correct.min())
            read[named[1]][int(named[2])] = gap, spread
    tied, ref = read["tied"], read["ref"]
    both = [
        (gap, float(np.minimum(gap, ref[prompt][0])), spread)
        for prompt, (gap, spread) in tied.items()
        if prompt in ref and spread is not None
    ]
    gaps = [gap for gap, _ in (*tied.values(), *ref.values())]
    terms = (
        _mean([gap > 0 for gap, _ in tied.values()]),
        _mean([gap > 0 for gap, _ in ref.values()]),
        _mean([gap > spread for gap, _, spread in both]),
        _mean([smaller > spread for _, smaller, spread in both]),
        _mean([_margin(smaller, spread) for _, smaller, spread in both]),
    )
    known = [term for term in terms if term is not None]
    weighed = [weight * term for weight, term in zip(_WEIGHTS, known, strict=False)]
    score = reduce(add, weighed) if len(known) == len(terms) else None
    accurate, inaccurate = sum(gap > 0 for gap in gaps), sum(gap <= 0 for gap in gaps)
    return TiesScore(score, *terms, len(tied), len(ref), len(both), accurate, inaccurate, n_missing)


def _margin(gap: float, spread: float) -> float:
    """0 where it is undefined: a NaN, or 0 of 0; the other quotients by 0 are infinite.

    >>> _margin(1.0, 0.0), _margin(0.0, 0.0), _margin(-1.0, 0.0)
    (1.0, 0.0, -1.0)
    """
    if spread == 0:
        return float((gap > 0) - (gap < 0))
    value = math.tanh(gap / spread - 1)
    return 0.0 if math.isnan(value) else value


def _mean(values: Sequence[float]) -> float | None:
    return fmean(values) if values else None

"""How sure the rows of a board are: from `Uncertainty` where it is of the same numbers."""

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from explorer.stats.aggregate import Aggregated, aggregate
from explorer.stats.intervals import unpaired_interval
from explorer.stats.rules import COMPOSITES, Rule
from explorer.stats.uncertainty import Uncertainty
from scoring.interval import Interval, wilson
from scoring.strata import strata

if TYPE_CHECKING:
    import pandas as pd

_EQUAL = 1e-9
"""Scores that differ by less are the same number."""
RANKS = ("best_rank", "worst_rank", "tie_group")


def rivals(table: "pd.DataFrame") -> "pd.DataFrame":
    """The rows that ranks are counted among: the published, or the person's own where none are.

    What is said of published models is thereby the same for everybody. table: of a
    `explorer.results.board.Board`.
    """
    ranked = table[table["rank"].notna()]
    published = ranked[~ranked["own"]]
    return published if len(published) else ranked


def comparable(table: "pd.DataFrame") -> "pd.DataFrame":
    """Those that can be ranked by their outcomes: to be measured against each other."""
    return rivals(table[table["by_pairs"]])


def frame_of(
    rows: Sequence[Mapping[str, Any]], columns: Iterable[str], kinds: Mapping[str, str]
) -> "pd.DataFrame":
    """Rows as a frame. kinds: of the columns that are no numbers."""
    import pandas as pd

    frame = pd.DataFrame(rows, columns=[*columns], dtype=object)
    numbers = frame[frame.columns.difference([*kinds])].astype("float64")
    return numbers.join(frame[[*kinds]].astype(kinds))


def certainties(
    table: "pd.DataFrame",
    counted: Mapping[str, Aggregated],
    rule: Rule,
    uncertainty: Uncertainty | None,
    alone: Uncertainty | None,
) -> "pd.DataFrame":
    """How sure each row is, as the columns that `explorer.results.board.Board` tells of.

    What was measured is used where it is of the very score that the row has. Ranks and groups
    are used where all `comparable` rows were, and no others; rivals that have accuracies
    alone then widen the intervals of ranks, as far as their own unpaired intervals overlap.

    uncertainty: measured among the comparable. alone: intervals of others.
    """
    import pandas as pd

    measured = {
        model: (known, place)
        for known in (alone, uncertainty)
        if known is not None
        for place, model in enumerate(known.models)
    }
    compared = set(comparable(table).index)
    fits = uncertainty is not None and compared == {
        model for model, yes in zip(uncertainty.models, uncertainty.ranked, strict=True) if yes
    }
    unpaired = _Unpaired(rule)
    rows = [
        _certainty(
            counted[model],
            measured.get(model) if by_pairs else None,
            unpaired,
            fits and model in compared,
        )
        for model, by_pairs in zip(table["model"], table["by_pairs"], strict=True)
    ]
    columns = _certainty(aggregate(rule, {}, {}), None, unpaired, False)
    kinds = dict.fromkeys((*RANKS, *(f"{name}_group" for name in rule.sections)), "Int64")
    kinds |= dict.fromkeys(("paired", *(f"{name}_paired" for name in rule.sections)), "bool")
    found = frame_of(rows, columns, kinds).set_axis(table.index)
    if not found.loc[list(compared), "paired"].all():
        return found.assign(**dict.fromkeys(RANKS, pd.Series(pd.NA, found.index, "Int64")))
    others = found.loc[rivals(table).index]
    others = others[others["best_rank"].isna() & others["score_low"].notna()]
    return _among(found, others["score_low"], others["score_high"])


def _certainty(
    found: Aggregated, of: tuple[Uncertainty, int] | None, unpaired: "_Unpaired", compared: bool
) -> dict[str, Any]:
    """Of one row, by column. of: where its outcomes were measured; None where they were not."""
    overall, intervals = unpaired.of(found)
    row: dict[str, Any] = {"paired": False, **dict.fromkeys(RANKS)}
    for name in found.sections:
        row |= {f"{name}_paired": False, f"{name}_group": None}
    if of is not None:
        sure, place = of
        known = dict(zip(sure.sections, sure.section_score[:, place], strict=True))
        for at, name in enumerate(sure.sections):
            if name in found.sections and _equal(known[name], found.sections[name]):
                ends = sure.section_low[at, place], sure.section_high[at, place]
                group = int(sure.section_group[at, place]) or None
                intervals[name] = Interval(*ends)
                row |= {f"{name}_paired": True, f"{name}_group": group if compared else None}
        lacking = any(
            score is not None and np.isnan(known.get(name, np.nan))
            for name, score in found.sections.items()
        )
        if not lacking and _equal(sure.score[place], found.score):
            row["paired"], overall = True, Interval(sure.low[place], sure.high[place])
            if compared:
                ranks = (sure.best[place], sure.worst[place], sure.group[place])
                row |= {name: int(each) or None for name, each in zip(RANKS, ranks, strict=True)}
    for name, interval in {"score": overall, **intervals}.items():
        row[f"{name}_low"], row[f"{name}_high"] = interval or (None, None)
    return row


def _among(found: "pd.DataFrame", lows: Any, highs: Any) -> "pd.DataFrame":
    """Rank intervals with the rows that were not measured, of which these are the ends.

    >>> import pandas as pd
    >>> ranks = {"best_rank": [1], "worst_rank": [2], "score_low": [0.4], "score_high": [0.6]}
    >>> found = _among(pd.DataFrame(ranks), [0.7, 0.5, 0.1], [0.8, 0.7, 0.2])
    >>> found[["best_rank", "worst_rank"]].values.tolist()
    [[2, 4]]
    """
    better = len(lows) - np.searchsorted(np.sort(lows), found["score_high"], side="right")
    rivals = len(highs) - np.searchsorted(np.sort(highs), found["score_low"], side="right")
    return found.assign(
        best_rank=found["best_rank"] + better, worst_rank=found["worst_rank"] + rivals
    )


class _Unpaired:
    """Intervals from accuracies and counts alone."""

    def __init__(self, rule: Rule) -> None:
        self._rule = rule
        groups = strata(
            [],
            [weight for of in rule.sections.values() for weight in of.values()],
            [place for place, of in enumerate(rule.sections.values()) for _ in of],
            [rule.weights.get(section, 0) for section in rule.sections],
        )
        self._groups = {name: groups.only(place) for place, name in enumerate(rule.sections)}
        self._groups[""] = groups
        self._interval = cache(self._compute)

    def of(self, found: Aggregated) -> tuple[Interval | None, dict[str, Interval | None]]:
        """Of the overall score and of each section; a composite is no proportion."""
        counts = tuple(
            0
            if found.accuracies[subset] is None
            else found.counts[subset].n
            if subset in found.counts
            else self._rule.pairs[subset]
            for subset in self._rule.subsets
        )
        sections = {
            name: None
            if COMPOSITES & set(of)
            else self._interval(found.sections[name], name, counts)
            for name, of in self._rule.sections.items()
        }
        return self._interval(found.score, "", counts), sections

    def _compute(
        self, score: float | None, section: str, counts: tuple[int, ...]
    ) -> Interval | None:
        if score is None:
            return None
        if self._rule.is_of_rows:  # these count alike, however many of a section are there
            of = self._rule.sections.get(section, self._rule.subsets)
            n = sum(n for name, n in zip(self._rule.subsets, counts, strict=True) if name in of)
            return wilson(score * n, n)
        return unpaired_interval(min(max(score, 0.0), 1.0), self._groups[section], counts)


def _equal(measured: float, score: float | None) -> bool:
    return score is not None and bool(abs(measured - score) < _EQUAL)

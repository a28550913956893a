"""Outcomes of each pair or a file's accuracies: which of them a board's row is made of."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np

from explorer.core.text import text
from explorer.stats.aggregate import Aggregated, Counted, Missing, Ties, accuracies_of
from explorer.stats.matrix import OutcomeMatrix
from explorer.stats.rules import Rule
from explorer.stats.uncertainty import COMPOSITES, subsets_by

ENOUGH = 0.9
"""What part of each section's pairs must have outcomes for a model to be ranked by them."""
_SAME = 1e-4
"""Accuracies in files are rounded to four decimals at worst."""
_FEW_NAMES = 3

Accuracies = Mapping[str, float | None]


@dataclass(frozen=True, slots=True)
class ModelCounts:
    """What the outcomes say of a model.

    counts: of the rule's subsets, as ties and missing outcomes are to count.
    official: accuracies with missing outcomes left out, and with them as losses.
    enough: whether each section that there are pairs of has outcomes for most of them.
    complete: whether no outcome is missing.
    """

    counts: dict[str, Counted]
    official: tuple[Accuracies, Accuracies]
    enough: bool
    complete: bool
    model_type: str | None


@dataclass(slots=True)
class Noticed:
    """What is to be told of a board, noticed while it is built: models, and a difference."""

    differ: list[str] = field(default_factory=list)
    incomplete: list[str] = field(default_factory=list)
    not_whole: list[str] = field(default_factory=list)
    most: float = 0.0

    def said(self) -> list[str]:
        """A sentence for each."""
        said = []
        if self.not_whole:
            n, share = f"{len(self.not_whole):,}", f"{100 * ENOUGH:.0f}"
            said.append(text("board.not_whole", n=n, share=share))
        if self.differ:
            n, most = f"{len(self.differ):,}", f"{100 * self.most:.2f}"
            said.append(text("board.differ", n=n, most=most, names=_few(self.differ)))
        if self.incomplete:
            n, names = f"{len(self.incomplete):,}", _few(self.incomplete)
            said.append(text("board.incomplete", n=n, names=names))
        return said


def counts_of(
    outcomes: OutcomeMatrix, rule: Rule, ties: Ties, missing: Missing
) -> dict[str, ModelCounts]:
    """Model -> what its outcomes say; models without an outcome of the rule's subsets are left out.

    Of composites (`explorer.stats.uncertainty.COMPOSITES`) outcomes say nothing.
    """
    subsets = subsets_by(rule, outcomes.pairs)
    place = {name: code for code, name in enumerate(subsets.names)}
    sections = [
        np.isin(subsets.codes, [place[each] for each in of if each in place])
        for of in rule.sections.values()
    ]
    columns = [column for column in sections if column.any()]
    wanted = set(rule.subsets) - COMPOSITES
    found: dict[str, ModelCounts] = {}
    for row, model in enumerate(outcomes.models):
        values, equal = outcomes.outcomes[row], outcomes.known_equal[row]
        known = ~np.isnan(values)

        def counted(ties: Ties = "official", missing: Missing = "left out") -> dict[str, Counted]:
            every = accuracies_of(values, subsets, equal, ties, missing)  # noqa: B023 - used here
            return {name: each for name, each in every.items() if name in wanted and each.n}

        counts = counted(ties, missing)
        if not any(_known(each) for each in counts.values()):
            continue
        official = (_accuracies(counted()), _accuracies(counted(missing="loss")))
        enough = all(known[column].mean() >= ENOUGH for column in columns)
        kind = outcomes.model_types[row]
        found[model] = ModelCounts(counts, official, enough, bool(known.all()), kind)
    return found


def taken(
    model: str, says: ModelCounts | None, accuracies: Mapping[str, float], noticed: Noticed
) -> dict[str, Counted]:
    """The counts to go by; none where the file's accuracies are better: see `Noticed`."""
    if says is None:
        return {}
    off = min(_difference(official, accuracies) for official in says.official)
    if off > _SAME and not says.complete:
        noticed.incomplete.append(model)
        return {}
    if off > _SAME:
        noticed.differ.append(model)
        noticed.most = max(noticed.most, off)
    return dict(says.counts)


def covers(found: Aggregated) -> bool:
    """Whether the pairs are about as many as the benchmark has, in each subset that counts."""
    rule = found.rule
    needed = (
        subset
        for section, subsets in rule.sections.items()
        if section not in rule.zero_is_missing or len(rule.sections) == 1
        for subset in subsets
        if subset not in COMPOSITES
    )
    return all(
        subset in found.counts and _known(found.counts[subset]) >= ENOUGH * rule.pairs[subset]
        for subset in needed
    )


def _known(counted: Counted) -> int:
    return counted.wins + counted.halves + counted.losses


def _accuracies(counts: Mapping[str, Counted]) -> Accuracies:
    return {name: each.accuracy for name, each in counts.items()}


def _difference(one: Accuracies, other: Mapping[str, float]) -> float:
    """The largest, over what both know."""
    return max(
        (
            abs(accuracy - other[name])
            for name, accuracy in one.items()
            if accuracy is not None and name in other
        ),
        default=0.0,
    )


def _few(names: Iterable[str]) -> str:
    cut = [name if len(name) <= 80 else f"{name[:80]}…" for name in names]
    more = f" + {len(cut) - _FEW_NAMES:,}" if len(cut) > _FEW_NAMES else ""
    return ", ".join(cut[:_FEW_NAMES]) + more

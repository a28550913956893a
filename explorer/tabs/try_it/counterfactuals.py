"""Pairs of which one thing was changed, and what that did to their rewards."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, get_args

from scoring.probing.edits import EDITS, EditName, edited, swapped
from scoring.spec import Family, Pair, ScoredPair, margin_of

Side = Literal["chosen", "rejected"]
SIDES: tuple[Side, ...] = get_args(Side)
Change = EditName | Literal["swap"]
CHANGES: tuple[Change, ...] = ("swap", *EDITS)
PAIRWISE: tuple[Family, ...] = ("judge", "pairrm")
"""Families that read both responses at once, so that a reward depends on the other response."""


@dataclass(frozen=True, slots=True)
class Variant:
    """A pair of which something was changed.

    place: of the pair it was made of, in the list that was given.
    sides: whose response was edited; of a swap, both.
    """

    place: int
    change: Change
    sides: tuple[Side, ...]
    pair: Pair


@dataclass(frozen=True, slots=True)
class Effect:
    """What a change did to one response.

    change: its reward then, minus its reward before; None where either is missing.
    margin: the chosen text's reward minus the rejected text's, with this response alone changed;
        of a swap, with each in the other's place. None where a reward is missing.
    """

    change: float | None
    margin: float | None


def is_pairwise(family: str) -> bool:
    """Whether a family's rewards depend on both responses and their order."""
    return family in PAIRWISE


def variants(pairs: Sequence[Pair], changes: Sequence[Change], *, pairwise: bool) -> list[Variant]:
    """Every change of every pair that it applies to.

    Args:
        pairs: that are changed.
        changes: some of `CHANGES`.
        pairwise: as of `is_pairwise`. Then each response is edited by itself, else both at once,
            which is as good and half the work; and only then a swap can change anything.

    >>> pair = Pair("k", "s", "p", "Yes, it is.", "3")
    >>> [(each.change, each.sides) for each in variants([pair], CHANGES[:2], pairwise=False)]
    []
    >>> [(each.change, each.sides) for each in variants([pair], ["upper"], pairwise=False)]
    [('upper', ('chosen',))]
    """
    return [
        variant
        for place, pair in enumerate(pairs)
        for change in changes
        for variant in _of_pair(place, pair, change, pairwise)
    ]


def effects_of(variant: Variant, before: ScoredPair, after: ScoredPair) -> dict[Side, Effect]:
    """What a change did to the responses that it changed. after: the variant's own rewards."""
    old = {"chosen": before.chosen_reward, "rejected": before.rejected_reward}
    new = {"chosen": after.chosen_reward, "rejected": after.rejected_reward}
    if variant.change == "swap":
        new = {"chosen": after.rejected_reward, "rejected": after.chosen_reward}
        margin = margin_of(new["chosen"], new["rejected"])
        return {side: Effect(margin_of(new[side], old[side]), margin) for side in SIDES}
    found: dict[Side, Effect] = {}
    for side in variant.sides:
        # Of a pairwise model the other response, which was not edited, has another reward too.
        now = new if len(variant.sides) == 1 else {**old, side: new[side]}
        margin = margin_of(now["chosen"], now["rejected"])
        found[side] = Effect(margin_of(new[side], old[side]), margin)
    return found


def _of_pair(place: int, pair: Pair, change: Change, pairwise: bool) -> list[Variant]:
    if change == "swap":
        other = swapped(pair) if pairwise else None
        return [] if other is None else [_variant(place, change, SIDES, other)]
    texts = {side: edited(change, getattr(pair, side)) for side in SIDES}
    edits = tuple(side for side in SIDES if texts[side] is not None)
    at_once = [(side,) for side in edits] if pairwise else [edits] if edits else []
    return [
        _variant(place, change, sides, _with(pair, {side: texts[side] for side in sides}))
        for sides in at_once
    ]


def _with(pair: Pair, texts: Mapping[Side, str | None]) -> Pair:
    chosen, rejected = (texts.get(side) for side in SIDES)
    return replace(pair, chosen=chosen or pair.chosen, rejected=rejected or pair.rejected)


def _variant(place: int, change: Change, sides: tuple[Side, ...], pair: Pair) -> Variant:
    key = f"{place}:{change}:{'+'.join(sides)}"
    return Variant(place, change, sides, replace(pair, key=key))

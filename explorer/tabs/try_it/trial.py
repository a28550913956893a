"""A pair that is tried out: its rewards, how they moved, and what each one-click edit would do."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, get_args

from explorer.core.validation import one_of
from explorer.data.typed import Texts
from explorer.runs.orders import ModelOrder
from explorer.runs.running import Rewarded
from scoring.errors import KnownError
from scoring.probing.edits import EDITS, EditName, edited, swapped
from scoring.spec import Family, Pair, RunFacts, ScoredPair, margin_of

Side = Literal["chosen", "rejected"]
SIDES: tuple[Side, ...] = get_args(Side)
Change = EditName | Literal["swap"]
CHANGES: tuple[Change, ...] = ("swap", *EDITS)
EDIT_NAMES: dict[Change, str] = {
    "swap": "Swap",
    "cut": "Drop last sentence",
    "plain": "Strip Markdown",
    "polite": "Polite opening",
    "refusal": "Add a refusal",
    "longer": "Longer with filler",
    "upper": "Upper-case",
}
PAIRWISE: tuple[Family, ...] = ("judge", "pairrm")
"""Families that read both responses at once, so that a reward depends on the other response."""
_ROUNDING = 5e-5
"""Smaller changes of a reward are noise: it depends on the texts computed beside it."""
EDITS_SECONDS = 6.0
"""After so long no further edit is scored unless it is asked for: the model is a slow one."""

_RewardsOf = Callable[[Sequence[Pair]], Rewarded]
"""Scores a few pairs at once."""


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


def variants(pairs: Sequence[Pair], changes: Sequence[Change], *, pairwise: bool) -> list[Variant]:
    """Every change of every pair that it applies to.

    pairwise: whether rewards depend on both responses and their order. Then each response is
        edited by itself, else both at once, which is as good and half the work; and only then a
        swap can change anything.
    """
    return [
        Variant(place, change, sides, replace(made, key=f"{place}:{change}:{'+'.join(sides)}"))
        for place, pair in enumerate(pairs)
        for change in changes
        for sides, made in _changed(pair, change, pairwise)
    ]


def _changed(pair: Pair, change: Change, pairwise: bool) -> Iterator[tuple[tuple[Side, ...], Pair]]:
    """The pair with a change, and the sides that are edited in it."""
    if change == "swap":
        if pairwise and (other := swapped(pair)) is not None:
            yield SIDES, other
        return
    texts = {side: edited(change, getattr(pair, side)) for side in SIDES}
    applies: dict[Side, Any] = {side: made for side, made in texts.items() if made is not None}
    at_once = [{side: made} for side, made in applies.items()] if pairwise else [applies]
    for some in filter(None, at_once):
        yield tuple(some), replace(pair, **some)


def effects_of(variant: Variant, before: ScoredPair, after: ScoredPair) -> dict[Side, Effect]:
    """What a change did to the responses that it changed. after: the variant's own rewards."""
    old = {"chosen": before.chosen_reward, "rejected": before.rejected_reward}
    new = {"chosen": after.chosen_reward, "rejected": after.rejected_reward}
    if variant.change == "swap":
        new = {"chosen": after.rejected_reward, "rejected": after.chosen_reward}
    found: dict[Side, Effect] = {}
    for side in variant.sides:
        # Of a pairwise model the other response has another reward too, be it edited or not.
        alone = len(variant.sides) == 1 or variant.change == "swap"
        now = new if alone else {**old, side: new[side]}
        margin = margin_of(now["chosen"], now["rejected"])
        found[side] = Effect(margin_of(new[side], old[side]), margin)
    return found


@dataclass(frozen=True, slots=True)
class Trial:
    """What is known of a pair that is tried out.

    order: of the model that scored it.
    start: the rewards that later ones are compared with: those of the pair when Score was pressed.
    applies: which responses each change does anything to.
    effects: what it does, as far as it is scored.
    """

    order: ModelOrder
    pair: Pair
    scored: ScoredPair
    facts: RunFacts
    start: ScoredPair
    applies: frozenset[tuple[Change, Side]]
    effects: Mapping[tuple[Change, Side], Effect] = field(default_factory=dict)

    @property
    def is_whole(self) -> bool:
        """Whether every edit that applies is scored."""
        return self.applies <= set(self.effects)

    @property
    def swapped_margin(self) -> float | None:
        """The margin with the responses in each other's place; None where it is not known."""
        if self.facts.family not in PAIRWISE:
            return margin_of(self.scored.rejected_reward, self.scored.chosen_reward)
        effect = self.effects.get(("swap", "chosen"))
        return None if effect is None else margin_of(0.0, effect.margin)

    def reward(self, side: Side) -> float | None:
        """Of a response."""
        return self.scored.chosen_reward if side == "chosen" else self.scored.rejected_reward

    def moved(self, side: Side) -> float | None:
        """By how much a reward moved since the start; None where it is not known."""
        before = self.start.chosen_reward if side == "chosen" else self.start.rejected_reward
        return _moved(self.reward(side), before)

    @property
    def margin_moved(self) -> float | None:
        """By how much the margin moved since the start; None where it is not known."""
        return _moved(self.scored.margin, self.start.margin)


def _moved(now: float | None, before: float | None) -> float | None:
    change = margin_of(now, before)
    return 0.0 if change is not None and abs(change) < _ROUNDING else change


def trying(
    order: ModelOrder,
    pair: Pair,
    rewards: _RewardsOf,
    tell: Callable[[Trial], None],
    *,
    first: _RewardsOf | None = None,
    former: Trial | None = None,
    seconds: float | None = EDITS_SECONDS,
) -> None:
    """Score a pair, and then what each edit does to it, one edit after the other.

    tell: gets what is known, more after each edit.
    first: scores the pair itself; None for `rewards`.
    former: the trial whose start stays; None makes these rewards the start.
    seconds: after which edits are left out; None scores them all.

    Raises:
        KnownError: of `rewards` and `first`; the model is not the revision that the former rewards
            are of.
    """
    found = (first or rewards)([pair])
    if former is not None:
        _check_revision(former.facts, found.facts)
    [scored] = found.scored
    made = variants([pair], CHANGES, pairwise=found.facts.family in PAIRWISE)
    now = Trial(
        order,
        pair,
        scored,
        found.facts,
        scored if former is None else former.start,
        frozenset((each.change, side) for each in made for side in each.sides),
    )
    tell(now)
    started = time.monotonic()
    for change in CHANGES:
        of_change = {each.pair.key: each for each in made if each.change == change}
        late = seconds is not None and time.monotonic() - started > seconds
        if not of_change or late:
            continue
        changed = rewards([each.pair for each in of_change.values()])
        _check_revision(now.facts, changed.facts)
        for row in changed.scored:
            new = effects_of(of_change[row.key], scored, row)
            effects = {(change, side): effect for side, effect in new.items()}
            now = replace(now, effects={**now.effects, **effects})
        tell(now)


def _check_revision(before: RunFacts, now: RunFacts) -> None:
    if now.revision != before.revision:
        raise KnownError(
            f"{before.model} has changed its revision since its first rewards were scored, so the "
            "two cannot be compared. Click Score this pair to start again."
        )


def with_edit(texts: Texts, change: object, side: object) -> Texts:
    """The texts after a one-click edit. side: whose response; of a swap it does not matter.

    Raises:
        KnownError: no such edit or side, or it does not apply.
    """
    conversation, chosen, rejected = texts
    known = one_of("An edit", CHANGES, change)
    if known == "swap":
        return conversation, rejected, chosen
    whose = one_of("A side", SIDES, side)
    made = edited(known, chosen if whose == "chosen" else rejected)
    if made is None:
        raise KnownError(
            f"“{EDIT_NAMES[known]}” does not apply to the {whose} response: it has nothing to "
            "change there."
        )
    return (conversation, made, rejected) if whose == "chosen" else (conversation, chosen, made)

"""The bias probe: the same changes made to many pairs, what they do to the rewards, and as CSV."""

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from math import inf, sqrt
from pathlib import Path
from typing import Literal, get_args

import numpy as np

from explorer.core.files import csv_file
from explorer.runs.progress import Progress
from explorer.runs.running import Rewarded
from explorer.stats.paired import holm, mcnemar_exact
from explorer.tabs.try_it.trial import (
    PAIRWISE,
    SIDES,
    Change,
    Effect,
    Side,
    effects_of,
    variants,
)
from scoring.errors import KnownError, counted
from scoring.spec import Pair, RunFacts, ScoredPair, outcome_of
from scoring.strata import Floats

Rewarding = Callable[[Sequence[Pair], Callable[[Progress | Rewarded], None]], None]
"""Scores pairs in any order, telling each pack; it ends early where no seconds are left."""
EditedSide = tuple[Change, Side]
FIRST_PAIRS = 8
AT_ONCE = 32
"""Pairs that are scored at a time, with their changes; the first ones fewer, to be there soon."""
ALPHA = 0.05
_NOTHING = 1e-9
"""A spread of changes that is smaller, beside the largest of them, is rounding."""
ProbeForm = Literal["summary", "pairs"]
PROBE_FORMS: tuple[ProbeForm, ...] = get_args(ProbeForm)
_SUMMARY = (
    "model", "revision", "pairs", "change", "side", "applies", "n", "mean_change", "low", "high",
    "margin_deviations", "rewards_up", "rewards_down", "pairs_won", "pairs_lost", "p", "p_holm",
)  # fmt: skip
_PAIRS = (
    "model", "revision", "key", "subset", "change", "side", "reward_before", "reward_change",
    "margin_before", "margin_after", "outcome_before", "outcome_after",
)  # fmt: skip

Value = str | float | None


@dataclass(slots=True, eq=False)
class Probe:
    """How far a probe is, and what it found. It knows more with every step of `probing`.

    pairs: that are probed, in a random order, so that those that are done stand for all.
    n_scored: pairs that were scored, those with changes included.
    share: of the work that is done, 0 to 1.
    waits: how far a wait or a loading is; None while it scores. seconds: of scoring, up to `tick`.
    facts: what the rewards rest on; None before the first.
    before: place of a pair -> its rewards as it is.
    applies: by change and side, how many responses of the pairs so far the change does anything to.
    effects: likewise, place of the pair -> effect.
    """

    pairs: Sequence[Pair]
    n_scored: int = 0
    share: float = 0.0
    waits: Progress | None = None
    seconds: float = 0.0
    tick: float = 0.0
    facts: RunFacts | None = None
    before: dict[int, ScoredPair] = field(default_factory=dict)
    applies: dict[EditedSide, int] = field(default_factory=dict)
    effects: dict[EditedSide, dict[int, Effect]] = field(default_factory=dict)

    @property
    def is_whole(self) -> bool:
        """Whether all that was to be scored is."""
        return self.share == 1

    @property
    def seconds_left(self) -> float | None:
        """How long the rest will take; None before there is a share to tell by."""
        return self.seconds * (1 / self.share - 1) if self.share else None


def probing(
    pairs: Sequence[Pair],
    changes: Sequence[Change],
    rewarding: Rewarding,
    tell: Callable[[Probe], None],
    *,
    most: int | None = None,
    seed: int = 0,
) -> None:
    """Score pairs as they are and with each change.

    They are taken in random order and some at a time, so that what is known when it is stopped can
    be used; and others have their turn in between.

    pairs: keys distinct. changes: some of `CHANGES`. tell: gets what is known after each pack.
    most: pairs that may be scored in all; None means no limit. seed: of the order.

    Raises:
        KnownError: too many pairs would be scored, the model became another revision, or of
            `rewarding`. What is known by then is in the probe.
    """
    order = np.random.default_rng(seed).permutation(len(pairs)).tolist()
    probe = Probe([pairs[place] for place in order])
    _check(probe, changes, most, pairwise=False)
    for change in changes:
        for side in SIDES:
            probe.applies[change, side], probe.effects[change, side] = 0, {}
    starts = [0, *range(FIRST_PAIRS, len(pairs), AT_ONCE)]
    for start, end in zip(starts, [*starts[1:], len(pairs)], strict=True):
        block = probe.pairs[start:end]
        places = {pair.key: place for place, pair in enumerate(block, start)}

        def take_before(step: Progress | Rewarded) -> None:
            for row in _take(probe, step):
                probe.before[places[row.key]] = row  # noqa: B023 - used here
            tell(probe)

        rewarding(block, take_before)
        if probe.facts is None or len(probe.before) < end:
            return
        pairwise = probe.facts.family in PAIRWISE
        if not start:
            _check(probe, changes, most, pairwise=pairwise)
        made = {each.pair.key: each for each in variants(block, changes, pairwise=pairwise)}
        for variant in made.values():
            for side in variant.sides:
                probe.applies[variant.change, side] += 1
        n_before = probe.n_scored

        def take_after(step: Progress | Rewarded) -> None:
            for row in _take(probe, step):
                variant = made[row.key]  # noqa: B023 - used here
                place = start + variant.place  # noqa: B023
                for side, effect in effects_of(variant, probe.before[place], row).items():
                    probe.effects[variant.change, side][place] = effect
            done = (probe.n_scored - n_before) / len(made)  # noqa: B023
            probe.share = (start + done * (end - start)) / (len(pairs) + 1)  # noqa: B023
            tell(probe)

        if made:
            rewarding([each.pair for each in made.values()], take_after)
        if probe.n_scored - n_before < len(made):
            return
    probe.share = 1.0
    tell(probe)


def _take(probe: Probe, step: Progress | Rewarded) -> tuple[ScoredPair, ...]:
    """The pairs of a pack, put down in the probe; none of what only waits."""
    before, probe.tick = probe.tick, time.monotonic()
    if isinstance(step, Progress):
        probe.waits = step
        return ()
    probe.seconds += probe.tick - before
    if probe.facts is not None and step.facts.revision != probe.facts.revision:
        raise KnownError(
            f"{step.facts.model} changed its revision meanwhile, so its new rewards cannot "
            "be compared with those so far. What is known is shown; run the probe again "
            "for the new revision."
        )
    probe.waits, probe.facts = None, step.facts
    probe.n_scored += len(step.scored)
    return step.scored


def _check(probe: Probe, changes: Sequence[Change], most: int | None, *, pairwise: bool) -> None:
    if most is None:
        return
    total = len(probe.pairs)
    if total <= most:
        total += len(variants(probe.pairs, changes, pairwise=pairwise))
    if total > most:
        raise KnownError(
            f"A probe may score {counted(most, 'pair', 'pairs')} here. What is chosen, as it is "
            f"and with each change that applies, comes to {total:,} or more. Choose fewer "
            "pairs, or fewer changes."
        )


@dataclass(frozen=True, slots=True)
class Bought:
    """What one change of the responses of one side bought.

    applies: responses that it does anything to; n: those whose reward is known before and after.
    mean: by which the reward changed; None where n is 0.
    low, high: the mean's 95 % interval; None where n is below 2.
    deviations: the mean in standard deviations of the margins of the probed pairs; None where
        these have none.
    up, down: rewards that rose, and fell.
    won, lost: pairs that are won only with the change, and only without it. A tie is not won.
    p: two-sided, of the mean being 0; corrected: by Holm's way for all that were tested.
    """

    change: Change
    side: Side
    applies: int
    n: int
    mean: float | None = None
    low: float | None = None
    high: float | None = None
    deviations: float | None = None
    up: int = 0
    down: int = 0
    won: int = 0
    lost: int = 0
    p: float = 1.0
    corrected: float = 1.0

    @property
    def share_up(self) -> float | None:
        """Of the responses, whose reward rose; None where n is 0."""
        return self.up / self.n if self.n else None

    @property
    def is_sure(self) -> bool:
        """Whether the mean is not 0 by chance."""
        return bool(self.mean) and self.corrected < ALPHA


def bought(probe: Probe) -> list[Bought]:
    """What each change bought on each side, in the order of `Probe.applies`.

    All of it speaks of other pairs like these, and takes them to be independent, which those with
    the same prompt are not quite.
    """
    margins = _known(probe.before[place].margin for place in sorted(probe.before))
    spread = _spread(margins[~np.isnan(margins)])
    found = [_bought(probe, key, spread) for key in probe.applies]
    tested = [place for place, each in enumerate(found) if each.n >= 2]
    corrected = holm([found[place].p for place in tested])
    for place, p in zip(tested, corrected.tolist(), strict=True):
        found[place] = replace(found[place], corrected=p)
    return found


def _bought(probe: Probe, key: EditedSide, spread: float) -> Bought:
    effects = sorted(probe.effects[key].items())
    margin = _known(probe.before[place].margin for place, _ in effects)
    change = _known(effect.change for _, effect in effects)
    changed = _known(effect.margin for _, effect in effects)
    known = ~np.isnan(change)
    values = change[known]
    n = len(values)
    if not n:
        return Bought(*key, probe.applies[key], 0)
    both = known & ~np.isnan(changed) & ~np.isnan(margin)
    was, now = margin[both] > 0, changed[both] > 0
    mean, wide, p = _mean(values)
    return Bought(
        *key,
        probe.applies[key],
        n,
        mean,
        None if wide == inf else mean - wide,
        None if wide == inf else mean + wide,
        mean / spread if spread else None,
        int((values > 0).sum()),
        int((values < 0).sum()),
        int((now & ~was).sum()),
        int((was & ~now).sum()),
        p,
    )


def _known(values: Iterable[float | None]) -> Floats:
    """Values as an array, NaN where one is not known."""
    return np.array(list(values), dtype=np.float64)


def _mean(values: Floats) -> tuple[float, float, float]:
    """The mean of values, half of the width of its 95 % interval, and p of its being 0.

    By Student's t. Where all values are equal, of which t says nothing, p is the sign test's.
    Source: Student, The probable error of a mean, Biometrika 6 (1908).
    """
    from scipy import special  # type: ignore[import-untyped]

    n, mean = len(values), float(values.mean())
    if n < 2:
        return mean, inf, 1.0
    spread = _spread(values)
    if spread == 0:
        return mean, 0.0, mcnemar_exact(int((values > 0).sum()), int((values < 0).sum()))
    error = spread / sqrt(n)
    wide = float(special.stdtrit(n - 1, 0.975)) * error
    return mean, wide, 2 * float(special.stdtr(n - 1, -abs(mean / error)))


def _spread(values: Floats) -> float:
    """The standard deviation; 0 where there are fewer than two values, or it is rounding."""
    if len(values) < 2:
        return 0.0
    spread = float(values.std(ddof=1))
    return spread if spread > _NOTHING * float(np.abs(values).max()) else 0.0


def write_probe(probe: Probe | None, form: ProbeForm, path: Path) -> None:
    """Write a file of what is known; what is not is an empty cell.

    Raises:
        KnownError: nothing was probed, or the file cannot be written.
    """
    if probe is None or not any(probe.effects.values()):
        raise KnownError("Nothing probed yet. Run the probe first.")
    rows = _summary(probe) if form == "summary" else _of_pairs(probe)
    with csv_file(path) as write:
        write(_SUMMARY if form == "summary" else _PAIRS)
        for row in rows:
            write(row)


def _summary(probe: Probe) -> Iterator[tuple[Value, ...]]:
    for each in bought(probe):
        yield (
            *_model(probe), len(probe.before), each.change, each.side, each.applies, each.n,
            each.mean, each.low, each.high, each.deviations, each.up, each.down, each.won,
            each.lost, each.p if each.n else None, each.corrected if each.n else None,
        )  # fmt: skip


def _of_pairs(probe: Probe) -> Iterator[tuple[Value, ...]]:
    for (change, side), effects in probe.effects.items():
        for place, effect in sorted(effects.items()):
            before = probe.before[place]
            reward = before.chosen_reward if side == "chosen" else before.rejected_reward
            yield (
                *_model(probe), before.key, before.subset, change, side, reward, effect.change,
                before.margin, effect.margin, before.outcome, outcome_of(effect.margin),
            )  # fmt: skip


def _model(probe: Probe) -> tuple[str, str]:
    return (probe.facts.model, probe.facts.revision) if probe.facts else ("", "")

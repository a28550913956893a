"""The bias probe: the same changes made to many pairs, and what they do to the rewards."""

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from explorer.core.text import text
from explorer.core.validation import some_of
from explorer.runs.progress import Progress
from explorer.runs.running import Rewarded
from explorer.stats.strata import Floats
from explorer.tabs.try_it.counterfactuals import (
    CHANGES,
    SIDES,
    Change,
    Effect,
    Side,
    Variant,
    effects_of,
    is_pairwise,
    variants,
)
from explorer.tabs.try_it.probe_statistics import ProbeScores
from scoring.errors import KnownError
from scoring.spec import Pair, RunFacts, ScoredPair

Rewarding = Callable[[Sequence[Pair]], Iterator[Progress | Rewarded]]
"""Scores pairs in any order, telling each pack; it ends early where it was stopped."""
Key = tuple[Change, Side]
FIRST = 8
AT_ONCE = 32
"""Pairs that are scored at a time, with their changes; the first ones fewer, to be there soon."""


@dataclass(slots=True, eq=False)
class Probe:
    """How far a probe is, and what it found. It knows more with every step of `probing`.

    pairs: that are probed, in a random order, so that those that are done stand for all.
    n_scored: pairs that were scored, those with changes included.
    share: of the work that is done, 0 to 1.
    waits: how far a wait or a loading is; None while it scores.
    facts: what the rewards rest on; None before the first.
    before: place of a pair -> its rewards as it is.
    applies: by change and side, how many responses of the pairs so far the change does anything to.
    effects: likewise, place of the pair -> effect.
    """

    pairs: Sequence[Pair]
    n_scored: int = 0
    share: float = 0.0
    waits: Progress | None = None
    facts: RunFacts | None = None
    before: dict[int, ScoredPair] = field(default_factory=dict)
    applies: dict[Key, int] = field(default_factory=dict)
    effects: dict[Key, dict[int, Effect]] = field(default_factory=dict)

    @property
    def is_whole(self) -> bool:
        """Whether all that was to be scored is."""
        return self.share == 1

    @property
    def scores(self) -> ProbeScores:
        """What is known so far, as arrays."""
        margins = {place: scored.margin for place, scored in self.before.items()}
        change, changed = (
            {
                key: self._column({at: getattr(each, name) for at, each in found.items()})
                for key, found in self.effects.items()
            }
            for name in ("change", "margin")
        )
        return ProbeScores(self._column(margins), change, changed, self.applies)

    def _column(self, values: Mapping[int, float | None]) -> Floats:
        column = np.full(len(self.pairs), np.nan)
        for place, value in values.items():
            column[place] = np.nan if value is None else value
        return column


def probed_changes(posted: object) -> tuple[Change, ...]:
    """The changes that a person chose.

    Raises:
        KnownError: it is no list of them, or empty.

    >>> probed_changes(["upper", "swap"])
    ('swap', 'upper')
    """
    changes = some_of("Changes", CHANGES, posted)
    if not changes:
        raise KnownError("No change is chosen. Tick at least one of them.")
    return changes


def probing(
    pairs: Sequence[Pair],
    changes: Sequence[Change],
    rewarding: Rewarding,
    *,
    most: int | None = None,
    seed: int = 0,
) -> Generator[Probe, None, None]:
    """Score pairs as they are and with each change, telling after each pack what is known.

    They are taken in random order and some at a time, so that what is known when it is stopped can
    be used; and others have their turn in between.

    Args:
        pairs: keys distinct.
        changes: some of `CHANGES`.
        rewarding: scores; called for some pairs at a time.
        most: pairs that may be scored in all; None means no limit.
        seed: of the order.

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
    starts = [0, *range(FIRST, len(pairs), AT_ONCE)]
    for start, end in zip(starts, [*starts[1:], len(pairs)], strict=True):
        yield from _as_they_are(probe, start, end, rewarding)
        if probe.facts is None or len(probe.before) < end:
            return
        two_sided = is_pairwise(probe.facts.family)
        if not start:
            _check(probe, changes, most, pairwise=two_sided)
        made = variants(probe.pairs[start:end], changes, pairwise=two_sided)
        share = yield from _changed(probe, made, start, end, rewarding)
        if share < 1:
            return
    probe.share = 1.0
    yield probe


def _as_they_are(probe: Probe, start: int, end: int, rewarding: Rewarding) -> Iterator[Probe]:
    pairs = probe.pairs[start:end]
    places = {pair.key: place for place, pair in enumerate(pairs, start)}
    for step in _told(probe, rewarding(pairs)):
        probe.before |= {places[row.key]: row for row in step}
        yield probe


def _changed(
    probe: Probe, made: Sequence[Variant], start: int, end: int, rewarding: Rewarding
) -> Generator[Probe, None, float]:
    """Score some pairs with changes; gives the share of them that is scored in the end.

    made: of the pairs from `start` to `end`.
    """
    for variant in made:
        for side in variant.sides:
            probe.applies[variant.change, side] += 1
    of_key = {each.pair.key: each for each in made}
    done, share = 0, 1.0 if not made else 0.0
    for step in _told(probe, rewarding([each.pair for each in made])) if made else ():
        for row in step:
            variant = of_key[row.key]
            place = start + variant.place
            for side, effect in effects_of(variant, probe.before[place], row).items():
                probe.effects[variant.change, side][place] = effect
        done += len(step)
        share = done / len(made)
        probe.share = (start + share * (end - start)) / (len(probe.pairs) + 1)
        yield probe
    return share


def _told(probe: Probe, steps: Iterator[Progress | Rewarded]) -> Iterator[tuple[ScoredPair, ...]]:
    """The pairs of each pack, none while it waits, put down in the probe."""
    for step in steps:
        if isinstance(step, Progress):
            probe.waits = step
            yield ()
        else:
            if probe.facts is not None and step.facts.revision != probe.facts.revision:
                raise KnownError(text("probe.changed", model=step.facts.model))
            probe.waits, probe.facts = None, step.facts
            probe.n_scored += len(step.scored)
            yield step.scored


def _check(probe: Probe, changes: Sequence[Change], most: int | None, *, pairwise: bool) -> None:
    if most is None:
        return
    total = len(probe.pairs)
    if total <= most:
        total += len(variants(probe.pairs, changes, pairwise=pairwise))
    if total > most:
        raise KnownError(
            f"A probe may score {most:,} pairs here. {len(probe.pairs):,} pairs, as they are and "
            f"with each change that applies, come to {total:,} or more. Choose fewer pairs, or "
            "fewer changes."
        )

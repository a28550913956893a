"""Scorers of a queue, for what is done with rewards."""

from collections.abc import Callable, Generator, Iterator, Sequence
from typing import Any

from explorer.runs.progress import Progress
from explorer.runs.running import Rewarded
from explorer.tabs.try_it.probe import Probe, probing
from explorer.tabs.try_it.trial import Change
from scoring.spec import Pair, RunFacts, ScoredPair, text_hash
from tests.support.stepping import stepwise

FACTS = RunFacts("m", "r", "longer", "none", "none", 0, "left", "none", "", 0, 0)

Reward = Callable[[Pair], tuple[float | None, float | None]]


def by_length(pair: Pair) -> tuple[float, float]:
    """As the family longer."""
    return float(len(pair.chosen)), float(len(pair.rejected))


def first_is_better(pair: Pair) -> tuple[float, float]:
    """A judge that likes what it reads first, and half as much what is longer than the other."""
    longer = 0.5 if len(pair.chosen) > len(pair.rejected) else -0.5
    return 1.0 + longer, -1.0 - longer


def scored(pair: Pair, reward: Reward) -> ScoredPair:
    chosen, rejected = reward(pair)
    digits = text_hash(pair.prompt, pair.chosen, pair.rejected)
    return ScoredPair(pair.key, pair.subset, digits, chosen, rejected, 1, 1)


def in_packs(reward: Reward) -> Callable[[Sequence[Pair]], Iterator[Progress | Rewarded]]:
    """Waits, and then scores five at a time, the last first."""

    def rewarding(pairs: Sequence[Pair]) -> Iterator[Progress | Rewarded]:
        yield Progress("waiting", len(pairs), ahead=1)
        for start in reversed(range(0, len(pairs), 5)):
            yield Rewarded(tuple(scored(pair, reward) for pair in pairs[start : start + 5]), FACTS)

    return rewarding


def steps_of_probe(
    pairs: Sequence[Pair],
    changes: Sequence[Change],
    steps: Callable[[Sequence[Pair]], Iterator[Progress | Rewarded]],
    **how: Any,
) -> Generator[Probe, None, None]:
    """A probe, which goes on whenever what is known next is asked for. steps: scores pairs."""

    def rewarding(some: Sequence[Pair], tell: Callable[[Progress | Rewarded], None]) -> None:
        for step in steps(some):
            tell(step)

    return stepwise(lambda tell: probing(pairs, changes, rewarding, tell, **how))

"""Scorers without a model: a floor that every reward model should stand above."""

import random
from collections.abc import Sequence

from scoring.engine.formatting import Prepared
from scoring.engine.scorer import TextScorer, Traits
from scoring.spec import ModelSpec, Pair, RunSettings, text_hash

_READINGS = {
    "random": "a random number, seeded by the run's seed and the pair's texts",
    "longer": "characters of the response",
    "shorter": "minus the characters of the response",
}


class Baseline(TextScorer):
    """Random, the longer response, or the shorter one."""

    def __init__(self, spec: ModelSpec, settings: RunSettings) -> None:
        self.spec = spec
        self._seed = settings.seed
        self.traits = Traits(reading=_READINGS[spec.family], path="no model")

    def rewards(self, pack: Sequence[Prepared]) -> list[tuple[float, float]]:
        """Two numbers a pair."""
        return [self._rewards(prepared.pair) for prepared in pack]

    def _rewards(self, pair: Pair) -> tuple[float, float]:
        if self.spec.family == "random":
            name = text_hash(pair.prompt, pair.chosen, pair.rejected)
            drawn = random.Random(f"{self._seed}:{name}")  # noqa: S311 - a coin, not a secret
            return drawn.random(), drawn.random()
        sign = 1 if self.spec.family == "longer" else -1
        return float(sign * len(pair.chosen)), float(sign * len(pair.rejected))

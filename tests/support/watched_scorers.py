"""Scorers that are watched, or say what they were told."""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

import torch

from scoring.engine.formatting import Prepared, TokenSequence
from scoring.engine.scorer import Scorer, Traits
from scoring.errors import KnownError
from scoring.spec import ModelSpec, Pair


class Around(Scorer):
    """A scorer with another budget and with memory for so many tokens at once.

    asked: keys of every part that was tried; refused: how many of them did not fit.
    """

    def __init__(
        self,
        scorer: Scorer,
        budget: int = 400,
        memory: float = math.inf,
        error: Exception | None = None,
    ) -> None:
        self.spec = scorer.spec
        self._traits = replace(scorer.traits, budget=budget)
        self.asked: list[list[str]] = []
        self.refused = 0
        self.expected: list[int] = []
        self._scorer, self._memory = scorer, memory
        self._error = error or torch.OutOfMemoryError("CUDA out of memory.")

    def prepare_for_tokens(self, tokens: int) -> None:
        self.expected.append(tokens)

    def prepare(self, pairs: Sequence[Pair]) -> list[Prepared]:
        return self._scorer.prepare(pairs)

    def rewards(self, pack: Sequence[Prepared]) -> list[tuple[float, ...]]:
        self.asked.append([prepared.pair.key for prepared in pack])
        if sum(prepared.cost for prepared in pack) > self._memory:
            self.refused += 1
            raise self._error
        return self._scorer.rewards(pack)


class Reading(Scorer):
    """Reads tokens, as models do: pairs are made ready when their pack is next.

    Says the rewards it was given, whatever the pair; sequences are as long as the texts. A prompt
    that says so fails or is too large.

    ready: pairs made ready so far; told: what was begun and waited for, by the pack's first key.
    """

    def __init__(self, chosen: float = 1.0, rejected: float = 0.0) -> None:
        self.spec = ModelSpec("reading", "", "")
        self._traits = Traits("what it was told", "no model", budget=40, vocabulary=10)
        self._rewards = chosen, rejected
        self.ready = 0
        self.told: list[str] = []

    def prepare(self, pairs: Sequence[Pair]) -> list[Prepared]:
        self.ready += len(pairs)
        if any("fails" in each.prompt for each in pairs):
            raise KnownError("The model's chat template fails: on purpose")
        sizes = [len(pair.prompt + pair.chosen) // 4 for pair in pairs]
        return [
            Prepared(pair, TokenSequence((0,) * size), TokenSequence((1,)))
            for pair, size in zip(pairs, sizes, strict=True)
        ]

    def rewards(self, pack: Sequence[Prepared]) -> list[tuple[float, ...]]:
        if any("too large" in prepared.pair.prompt for prepared in pack):
            raise torch.OutOfMemoryError("CUDA out of memory.")
        return [self._rewards] * len(pack)

    def begin(self, pack: Sequence[Prepared]) -> Callable[[], list[tuple[float, ...]]]:
        key = pack[0].pair.key
        self.told.append(f"begun {key}")

        def wait() -> list[tuple[float, ...]]:
            self.told.append(f"done {key}")
            return self.rewards(pack)

        return wait

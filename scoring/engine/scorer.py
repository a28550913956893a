"""What every family gives: pairs made ready, rewards of a pack, and what they rest on."""

import importlib.metadata
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Protocol

from scoring.engine.formatting import Prepared
from scoring.errors import KnownError
from scoring.spec import ModelSpec, Pair, RunFacts, RunSettings

TEXTS_A_PACK = 16
"""Pairs between two reports of a scorer that reads texts."""


@dataclass(frozen=True, slots=True)
class Traits:
    """What a scorer's numbers rest on beside its model and the run's settings; see `RunFacts`.

    vocabulary: tokens that its model knows; None where it reads texts.
    """

    reading: str
    path: str
    budget: int = TEXTS_A_PACK
    device: str = "none"
    dtype: str = "none"
    max_length: int = 0
    template: str = "none"
    libraries: tuple[str, ...] = ()
    vocabulary: int | None = None


def check_tokens(prepared: Sequence[Prepared], vocabulary: int | None, model: str) -> None:
    """Whether a model knows all tokens; a GPU that is given others is of no use any more.

    vocabulary: as of `Traits`.

    Raises:
        KnownError: it does not.
    """
    sides = (side for pair in prepared for side in (pair.chosen, pair.rejected) if side)
    largest = max(map(max, sides), default=0)
    if vocabulary is not None and largest >= vocabulary:
        raise KnownError(
            f"{model} cannot be run: its tokenizer gives token {largest:,}, and its weights know "
            f"{vocabulary:,} tokens. They do not go together: choose another model."
        )


class Scorer(Protocol):
    """One way of turning pairs into rewards, ready to be used."""

    spec: ModelSpec

    @property
    def traits(self) -> Traits:
        """What its numbers rest on."""
        ...

    def prepare(self, pairs: Sequence[Pair]) -> list[Prepared]:
        """Pairs as `rewards` wants them."""
        ...

    def expect(self, tokens: int) -> None:
        """Make ready for so much work of this process."""
        ...

    def begin(self, pack: Sequence[Prepared]) -> Callable[[], list[tuple[float, float]]]:
        """As `rewards`, which calling it gives; where a GPU computes them, it begins at once.

        Raises:
            torch.OutOfMemoryError: the pack does not fit in memory; calling it may raise that too.
        """
        ...

    def rewards(self, pack: Sequence[Prepared]) -> list[tuple[float, float]]:
        """Chosen and rejected reward of each pair; NaN where there is none.

        Raises:
            torch.OutOfMemoryError: the pack does not fit in memory.
        """
        ...


class AtOnce:
    """What scorers have in common that compute rewards when they are asked for them."""

    def begin(self: Scorer, pack: Sequence[Prepared]) -> Callable[[], list[tuple[float, float]]]:
        """Nothing is begun before."""
        return partial(self.rewards, pack)


class TextScorer(AtOnce):
    """What scorers have in common that read texts and not tokens."""

    def expect(self, tokens: int) -> None:
        """Nothing is to be made ready."""

    def prepare(self, pairs: Sequence[Pair]) -> list[Prepared]:
        """The texts are enough."""
        return [Prepared(pair) for pair in pairs]


def facts(  # noqa: PLR0917
    scorer: Scorer,
    settings: RunSettings,
    pairs: str,
    n_pairs: int,
    selection: str = "",
    benchmark: str = "",
) -> RunFacts:
    """Everything that a number scored so rests on."""
    traits, spec = scorer.traits, scorer.spec
    return RunFacts(
        model=spec.name,
        revision=spec.revision,
        family=spec.family,
        device=traits.device,
        dtype=traits.dtype,
        max_length=traits.max_length,
        truncation_side=settings.truncation_side,
        template=traits.template,
        pairs=pairs,
        n_pairs=n_pairs,
        seed=settings.seed,
        selection=selection,
        reading=traits.reading,
        reference=spec.reference.pinned if spec.reference else "",
        tokenizer=spec.tokenizer.pinned if spec.tokenizer else "",
        path=traits.path,
        budget=traits.budget,
        versions={name: importlib.metadata.version(name) for name in traits.libraries},
        benchmark=benchmark,
    )

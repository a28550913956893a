"""Scorers: pairs made ready, rewards of a pack, and what they rest on."""

import importlib.metadata
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from scoring.benchmarks import benchmark_named
from scoring.engine.formatting import Prepared
from scoring.errors import KnownError
from scoring.spec import ModelSpec, Pair, RunFacts, RunSettings

Rewards = list[tuple[float, ...]]
"""Of each pair: the chosen response's, then the rejected one's; of a whole row, all in order."""
TEXTS_A_PACK = 16  # pairs between two reports of a scorer that reads texts


@dataclass(frozen=True, slots=True)
class Traits:
    """Facts behind a scorer's numbers beside its model and the run's settings; see `RunFacts`.

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
    """Raise a `KnownError` for a token that a model does not know, which would break a GPU."""
    sides = (side.ids for pair in prepared for side in pair.sides if side.ids)
    largest = max(map(max, sides), default=0)
    if vocabulary is not None and largest >= vocabulary:
        raise KnownError(
            f"{model} cannot be run: its tokenizer gives token {largest:,}, and its weights know "
            f"{vocabulary:,} tokens. They do not go together: choose another model."
        )


class Scorer:
    """A loaded model, or a rule: a family sets `spec` and `_traits` and computes `rewards`.

    repeats: how often everything is asked; the rewards of each time are its own.
    on_answers: called with the number of a judge's answers, and of those that its pack needs.
    """

    spec: ModelSpec
    _traits: Traits
    repeats: int = 1
    on_answers: Callable[[int, int], None] | None = None

    @property
    def traits(self) -> Traits:
        """The facts that the rewards rest on."""
        return self._traits

    def family_for(self, row: Pair) -> str:
        """The family as which a row is taken apart, as of `rows.parts_of`."""
        return self.spec.family

    def prepare(self, pairs: Sequence[Pair]) -> list[Prepared]:
        """Pairs with their token ids; without any where the texts are enough."""
        return [Prepared(pair) for pair in pairs]

    def prepare_for_tokens(self, tokens: int) -> None:
        """Make ready, such as by compiling, for so many tokens in this process."""

    def begin(self, pack: Sequence[Prepared]) -> Callable[[], Rewards]:
        """Begin a pack, at once on a GPU; calling the result gives its `rewards`.

        Both raise torch.OutOfMemoryError for a pack that does not fit in memory.
        """
        return partial(self.rewards, pack)

    def rewards(self, pack: Sequence[Prepared]) -> Rewards:
        """Chosen and rejected reward of each pair, NaN where there is none; raises as `begin`."""
        raise NotImplementedError

    def keep_answers(self, folder: Path | None, part: str = "") -> None:
        """Keep a judge's answers in a run's folder and take those there: none is paid twice.

        folder: None keeps none; a `KnownError` says why one cannot be used.
        part: names the file of one of several processes.
        """

    def error_counts(self) -> list[str]:
        """A sentence on each kind of error that came more than once while it scored."""
        return []


def facts(  # noqa: PLR0917
    scorer: Scorer,
    settings: RunSettings,
    pairs: str,
    n_pairs: int,
    selection: str = "",
    benchmark: str = "",
) -> RunFacts:
    """Return what the rewards of a run rest on. pairs, selection: as of `RunFacts`."""
    traits, spec = scorer.traits, scorer.spec
    reading = traits.reading
    if benchmark_named(benchmark).rule.asks_both_orders and spec.family == "judge":
        reading += "; of this benchmark both orders are asked, with a vote each"
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
        reading=reading,
        reference=spec.reference.pinned if spec.reference else "",
        tokenizer=spec.tokenizer.pinned if spec.tokenizer else "",
        path=traits.path,
        budget=traits.budget,
        versions={name: importlib.metadata.version(name) for name in traits.libraries},
        benchmark=benchmark,
        repeats=scorer.repeats,
    )

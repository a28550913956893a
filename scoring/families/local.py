"""A model of this machine at work: its path, its rewards, and when compiling it pays."""

import sys
from collections.abc import Callable, Sequence
from typing import Any

import torch

from scoring.engine.attention import fetched
from scoring.engine.formatting import Prepared
from scoring.engine.forward import Packed, choose, running
from scoring.engine.packing import is_compiling_repaid
from scoring.engine.scorer import Rewards, Scorer, Traits, check_tokens
from scoring.engine.vocabulary import Vocabulary, check_vocabulary
from scoring.models.loading import Loaded
from scoring.spec import Pair, RunSettings

WHOLE = "its rewards come from the whole model"
CHECK_PAIRS = (
    Pair(
        "check:1", "check", "Name a colour.", "Red, like a fire engine at dusk.", "Red, like wine."
    ),
    Pair("check:2", "check", "What is 2 + 2?", "4", "It is 5."),
)
"""Scored when a model is loaded, one sequence at a time and by the chosen path."""


def local_traits(loaded: Loaded, *, reading: str, **others: Any) -> Traits:
    """Return the traits of a model in memory here. others: as of `Traits`."""
    if loaded.left_out:
        some = ", ".join(loaded.left_out[:3])
        reading += f"; weights that its class does not know are left out: {some}"
    return Traits(
        reading=reading,
        device=str(loaded.model.device),
        dtype=loaded.dtype,
        libraries=("torch", "transformers"),
        vocabulary=loaded.model.get_input_embeddings().weight.shape[0],
        **others,
    )


class LocalModel(Scorer):
    """Families that read rewards from a model of this machine.

    They set `reading`, `template` and `max_length`, as of `Traits`, and then call `__init__`, which
    has pairs prepared and read, or raises a `KnownError`.

    whole: why the reward is read from the model's output; "" for its last hidden states.
    at_once: tokens of a forward pass at most, padding counted, where it is smaller than a pack.
    vocabulary: that rewards are read by, to be compared with the model's own logits.
    """

    reading: str
    template: str
    max_length: int

    def __init__(
        self,
        loaded: Loaded,
        settings: RunSettings,
        *,
        whole: str = "",
        at_once: int = sys.maxsize,
        vocabulary: Vocabulary | None = None,
    ) -> None:
        self.loaded = loaded
        self.budget = loaded.budget(settings)
        self._compile = settings.compile
        self._n_expected_tokens = 0
        self._check = self.prepare(CHECK_PAIRS)
        n_tokens: int = loaded.model.get_input_embeddings().weight.shape[0]
        check_tokens(self._check, n_tokens, loaded.spec.name)
        if vocabulary is not None:
            check_vocabulary(loaded.model, vocabulary, self._check[0].chosen.ids, loaded.spec.name)
        with running(loaded.spec.name, is_check=True):
            self.forward, self.proof = choose(
                loaded.model, self._read, self._check, min(self.budget, at_once), whole=whole
            )

    @property
    def traits(self) -> Traits:
        """As of `Scorer`."""
        return local_traits(
            self.loaded,
            reading=self.reading,
            path=self.forward.path,
            budget=self.budget,
            max_length=self.max_length,
            template=self.template,
        )

    def read(self, rows: torch.Tensor, pairs: Sequence[Prepared]) -> torch.Tensor:
        """[pairs, 2]: rewards from what the model gives at the tails, where it gives it."""
        raise NotImplementedError

    def begin(self, pack: Sequence[Prepared]) -> Callable[[], Rewards]:
        """As of `Scorer`, or KnownError; a GPU gets all its work, and none of it is waited for."""
        if self.loaded.model.device.type == "cuda":
            return self._begin(pack)
        return lambda: self._begin(pack)()  # noqa: PLW0108 - a CPU runs it when it is called

    def rewards(self, pack: Sequence[Prepared]) -> Rewards:
        """As of `Scorer`, or KnownError; equal sequences have exactly equal rewards."""
        return self.begin(pack)()

    @torch.inference_mode()
    def _begin(self, pack: Sequence[Prepared]) -> Callable[[], Rewards]:
        with running(self.loaded.spec.name):
            wait = fetched(self.read(self.forward(pack), pack))

        def rewards() -> Rewards:
            with running(self.loaded.spec.name):
                values = wait()
            # Products of matrices may round equal rows differently.
            return [
                (chosen, chosen if pair.is_equal else rejected)
                for pair, (chosen, rejected) in zip(pack, values, strict=True)
            ]

        return rewards

    def _read(self, rows: torch.Tensor, pairs: Sequence[Prepared]) -> Rewards:
        return [(chosen, rejected) for chosen, rejected in self.read(rows, pairs).tolist()]

    @torch.inference_mode()
    def prepare_for_tokens(self, tokens: int) -> None:
        """Compile where it is asked for, or where so many tokens repay it."""
        model, forward = self.loaded.model, self.forward
        if self._compile == "off" or not isinstance(forward, Packed):
            return
        self._n_expected_tokens += tokens
        is_repaid = model.device.type == "cuda" and is_compiling_repaid(self._n_expected_tokens)
        if self._compile == "on" or is_repaid:
            self._n_expected_tokens = 0  # if it is given up, it is tried again after as many
            with running(self.loaded.spec.name):
                forward.compile(
                    lambda: self.proof.mismatch(self._read(self.forward(self._check), self._check))
                )

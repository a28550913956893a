"""A model of this machine at work: its path, its rewards, and when compiling it pays."""

from collections.abc import Callable, Sequence
from functools import partial

import torch

from scoring.engine.attention import fetched
from scoring.engine.compiled import is_compiling_repaid
from scoring.engine.formatting import Formatter, Prepared
from scoring.engine.forward import Packed, choose, running, trying
from scoring.engine.proof import Rewards
from scoring.engine.scorer import Traits, check_tokens
from scoring.models.loading import Loaded
from scoring.spec import Pair, RunSettings

CHECK_PAIRS = (
    Pair(
        "check:1", "check", "Name a colour.", "Red, like a fire engine at dusk.", "Red, like wine."
    ),
    Pair("check:2", "check", "What is 2 + 2?", "4", "It is 5."),
)
"""Scored when a model is loaded, one sequence at a time and by the chosen path."""


class LocalModel:
    """What families have in common that read rewards from a model of this machine."""

    def __init__(self, loaded: Loaded, settings: RunSettings, *, whole: bool = False) -> None:
        """Families call it last, for it has pairs prepared and read.

        whole: the reward cannot be had from hidden states, only from the model's output.

        Raises:
            KnownError: the model cannot be run.
        """
        self.loaded = loaded
        self.budget = loaded.budget(settings)
        self._compile = settings.compile
        self._expected = 0
        self._n_tokens: int = loaded.model.get_input_embeddings().weight.shape[0]
        self._check = self.prepare(CHECK_PAIRS)
        check_tokens(self._check, self._n_tokens, loaded.spec.name)
        with trying(loaded.spec.name):
            self.forward, self.proof = choose(
                loaded.model, self._read, self._check, self.budget, whole=whole
            )

    def prepare(self, pairs: Sequence[Pair]) -> list[Prepared]:
        """Pairs as token sequences."""
        raise NotImplementedError

    def read(self, rows: torch.Tensor, pairs: Sequence[Prepared]) -> torch.Tensor:
        """[pairs, 2]: rewards from what the model gives at the tails, where it gives it."""
        raise NotImplementedError

    @property
    def tolerance(self) -> float:
        """How far apart two right ways of computing a reward may be; see `proof`."""
        return self.proof.tolerance

    def begin(self, pack: Sequence[Prepared]) -> Callable[[], Rewards]:
        """As of `Scorer`: a GPU is told all it has to do, and none of it is waited for.

        Raises:
            KnownError: the model cannot be run; calling it may raise that too.
        """
        if self.loaded.model.device.type != "cuda":
            return partial(self.rewards, pack)
        return self._begin(pack)

    def rewards(self, pack: Sequence[Prepared]) -> Rewards:
        """Rewards of a pack. Equal sequences have exactly equal rewards, which products of
        matrices do not see to: they may round equal rows differently.

        Raises:
            KnownError: the model cannot be run.
        """
        return self._begin(pack)()

    @torch.inference_mode()
    def _begin(self, pack: Sequence[Prepared]) -> Callable[[], Rewards]:
        with running(self.loaded.spec.name):
            wait = fetched(self.read(self.forward(pack), pack))

        def rewards() -> Rewards:
            with running(self.loaded.spec.name):
                values = wait()
            return [
                (chosen, chosen if pair.chosen == pair.rejected else rejected)
                for pair, (chosen, rejected) in zip(pack, values, strict=True)
            ]

        return rewards

    def _read(self, rows: torch.Tensor, pairs: Sequence[Prepared]) -> Rewards:
        return [(chosen, rejected) for chosen, rejected in self.read(rows, pairs).tolist()]

    @torch.inference_mode()
    def expect(self, tokens: int) -> None:
        """Compile where it is asked for, or where so many tokens repay it."""
        model, forward = self.loaded.model, self.forward
        if self._compile == "off" or not isinstance(forward, Packed) or forward.is_compiled:
            return
        self._expected += tokens
        is_worth_it = model.device.type == "cuda" and is_compiling_repaid(self._expected)
        if self._compile == "on" or is_worth_it:
            self._expected = 0  # where it is given up, it is tried again after as many
            with running(self.loaded.spec.name):
                forward.compile(
                    lambda: self.proof.doubt(self._read(self.forward(self._check), self._check))
                )

    def local_traits(self, reading: str, formatter: Formatter, template: str = "") -> Traits:
        """What its numbers rest on. template: where it is not the formatter's alone."""
        if self.loaded.left_out:
            some = ", ".join(self.loaded.left_out[:3])
            reading += f"; weights that its class does not know are left out: {some}"
        return Traits(
            reading=reading,
            path=self.forward.path,
            budget=self.budget,
            device=str(self.loaded.model.device),
            dtype=str(self.loaded.model.dtype).removeprefix("torch."),
            max_length=formatter.max_length,
            template=template or formatter.template,
            libraries=("torch", "transformers"),
            vocabulary=self._n_tokens,
        )

"""Policies as reward models: what a response's log-probability says of it.

Source: R. Rafailov et al., Direct Preference Optimization (2023), equation 5: the implicit reward
is beta * log(policy(response | prompt) / reference(response | prompt)), up to a term of the prompt.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace

import torch

from scoring.engine.attention import sent
from scoring.engine.formatting import (
    Conversation,
    Formatter,
    Prepared,
    conversations,
    joined_pairs,
    n_equal,
)
from scoring.engine.scorer import Rewards
from scoring.engine.vocabulary import Vocabulary
from scoring.errors import KnownError
from scoring.families.local import LocalModel
from scoring.models.loading import Loaded, load
from scoring.spec import ModelSpec, Pair, RunSettings

_RENAMED = 0.01
"""Share of tokens that a policy may call otherwise: its training may have named reserved ones."""


class LogProbs(LocalModel):
    """The log-probability of a response by one model, NaN where truncation left nothing of it.

    The response is what the conversation has after the prompt's tokens, its end of turn included.
    """

    def __init__(
        self, loaded: Loaded, settings: RunSettings, formatter: Formatter, family: str
    ) -> None:
        """formatter: shared by the models that are compared. family: reads sums, or means.

        Raises:
            KnownError: the model cannot be run, or computes its probabilities in its own way.
        """
        self.formatter = formatter
        self.template, self.max_length = formatter.template, formatter.max_length
        self._mean = family == "logprob-mean"
        self._vocabulary = Vocabulary(loaded.model)
        super().__init__(loaded, settings, vocabulary=self._vocabulary)

    def prepare(self, pairs: Sequence[Pair]) -> list[Prepared]:
        """Both conversations of each pair as tokens, read at their responses."""
        whole = self.formatter.encode(conversations(pairs))
        asked: list[Conversation] = [pair.messages for pair in pairs]
        prompts = self.formatter.encode(asked, ask=True)
        prepared = joined_pairs(pairs, [self.formatter.cut(ids) for ids in whole])
        return [
            replace(
                pair,
                chosen_tail=self._tail(chosen, prompt, len(pair.chosen)),
                rejected_tail=self._tail(rejected, prompt, len(pair.rejected)),
            )
            for pair, prompt, chosen, rejected in zip(
                prepared, prompts, whole[::2], whole[1::2], strict=True
            )
        ]

    def _tail(self, whole: Sequence[int], prompt: Sequence[int], n_kept: int) -> int:
        """The last tokens in which the response stands, and the one before it that predicts it."""
        n_lost = 0 if self.formatter.cuts_left else len(whole) - n_kept
        return max(0, min(len(whole) - n_equal(whole, prompt) - n_lost + 1, n_kept))

    def read(self, rows: torch.Tensor, pairs: Sequence[Prepared]) -> torch.Tensor:
        """Sums, or means, over each response. rows: hidden states at the tails."""
        tails = [
            side
            for pair in pairs
            for side in ((pair.chosen, pair.chosen_tail), (pair.rejected, pair.rejected_tail))
        ]
        counts = [max(0, tail - 1) for _, tail in tails]
        targets: list[int] = []
        places: list[int] = []
        first = 0
        for (ids, tail), n in zip(tails, counts, strict=True):
            targets += ids[-n:][:n]
            places += range(first, first + n)
            first += tail
        taken = rows[sent(torch.tensor(places, dtype=torch.int64), rows.device)]
        goals = sent(torch.tensor(targets, dtype=torch.int64), rows.device)
        log_probs = self._vocabulary.target_log_probs(taken, goals).double()
        nothing = log_probs.new_full((), float("nan"))
        sums = [
            (part.mean() if self._mean else part.sum()) if len(part) else nothing
            for part in torch.split(log_probs, counts)
        ]
        return torch.stack(sums).view(-1, 2)


class Policy(LogProbs):
    """Families dpo, logprob-sum and logprob-mean.

    Without a reference, the reward is the sum or the mean of the response's log-probabilities.
    """

    def __init__(self, spec: ModelSpec, settings: RunSettings) -> None:
        """
        Raises:
            KnownError: a model cannot be loaded, or the reference has another vocabulary.
        """
        self.spec = spec
        self._beta = settings.beta if spec.reference else 1.0
        loaded = load(spec, settings, "AutoModelForCausalLM")
        formatter = loaded.formatter(settings)
        kind = "mean" if spec.family == "logprob-mean" else "sum"
        self.reading = f"{kind} of the response's token log-probabilities, no reference model"
        reference = None
        if spec.reference is not None:
            self.reading = (
                f"{self._beta:g} x log(policy / reference), summed over the response's tokens"
            )
            reference = load(spec.reference, settings, "AutoModelForCausalLM")
            _check_same_vocabulary(loaded, reference)
            limits = formatter.max_length, reference.formatter(settings).max_length
            formatter.max_length = min(limits)
        super().__init__(loaded, settings, formatter, spec.family)
        self._reference = (
            LogProbs(reference, settings, formatter, spec.family) if reference else None
        )

    @property
    def path(self) -> str:
        """Of both models."""
        path = self.forward.path
        if self._reference is None or self._reference.path == path:
            return path
        return f"{path}; reference {self._reference.path}"

    def prepare_for_tokens(self, tokens: int) -> None:
        """Compile where so many tokens repay it."""
        super().prepare_for_tokens(tokens)
        if self._reference is not None:
            self._reference.prepare_for_tokens(tokens)

    def begin(self, pack: Sequence[Prepared]) -> Callable[[], Rewards]:
        """As of `Scorer`, against the reference where there is one."""
        policy = super().begin(pack)
        if self._reference is None:
            return policy
        reference = self._reference.begin(pack)
        return lambda: [
            (self._beta * (ours[0] - theirs[0]), self._beta * (ours[1] - theirs[1]))
            for ours, theirs in zip(policy(), reference(), strict=True)
        ]


def _check_same_vocabulary(policy: Loaded, reference: Loaded) -> None:
    ours, theirs = policy.tokenizer.get_vocab(), reference.tokenizer.get_vocab()
    moved = any(theirs.get(token, id_) != id_ for token, id_ in ours.items())
    names = {id_: token for token, id_ in theirs.items()}
    renamed = sum(names.get(id_, token) != token for token, id_ in ours.items())
    room = reference.model.get_input_embeddings().weight.shape[0]
    if moved or renamed > _RENAMED * len(ours) or max(ours.values()) >= room:
        raise KnownError(
            f"The reference model {reference.spec.name} has another vocabulary than "
            f"{policy.spec.name} ({len(theirs):,} and {len(ours):,} tokens), so their "
            "probabilities cannot be compared. Give the model that the policy was trained from."
        )

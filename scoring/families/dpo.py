"""Policies as reward models: what a response's log-probability says of it.

Source: R. Rafailov et al., Direct Preference Optimization (2023), equation 5: the implicit reward
is beta * log(policy(response | prompt) / reference(response | prompt)), up to a term of the prompt.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace

import torch

from scoring.engine.attention import sent
from scoring.engine.formatting import Formatter, Prepared, conversations, joined_pairs, n_equal
from scoring.engine.scorer import Rewards, Traits
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
    formatter: shared by the models that are compared. family: reads sums, or means.
    """

    def __init__(
        self, loaded: Loaded, settings: RunSettings, formatter: Formatter, family: str
    ) -> None:
        self.formatter = formatter
        self.template, self.max_length = formatter.template, formatter.max_length
        self._mean = family == "logprob-mean"
        self._vocabulary = Vocabulary(loaded.model)
        super().__init__(loaded, settings, vocabulary=self._vocabulary)

    def prepare(self, pairs: Sequence[Pair]) -> list[Prepared]:
        """Both conversations of each pair as tokens, read at their responses."""
        prompts = self.formatter.encode([pair.messages for pair in pairs], ask=True)
        sequences = []
        for place, ids in enumerate(self.formatter.encode(conversations(pairs))):
            sequence = self.formatter.cut(ids)
            n_kept = len(sequence.ids)
            n_lost = 0 if self.formatter.cuts_left else len(ids) - n_kept
            # The tokens in which the response stands, and the one before it that predicts it.
            n_read = len(ids) - n_equal(ids, prompts[place // 2]) - n_lost + 1
            sequences.append(replace(sequence, tail=max(0, min(n_read, n_kept))))
        return joined_pairs(pairs, sequences)

    def read(self, rows: torch.Tensor, pairs: Sequence[Prepared]) -> torch.Tensor:
        """Sums, or means, over each response. rows: hidden states at the tails."""
        counts: list[int] = []
        targets: list[int] = []
        places: list[int] = []
        first = 0
        for side in (side for pair in pairs for side in pair.sides):
            n = max(0, side.tail - 1)
            counts.append(n)
            targets += side.ids[-n:][:n]
            places += range(first, first + n)
            first += side.tail
        hidden = rows[sent(torch.tensor(places, dtype=torch.int64), rows.device)]
        target_ids = sent(torch.tensor(targets, dtype=torch.int64), rows.device)
        log_probs = self._vocabulary.target_log_probs(hidden, target_ids).double()
        nothing = log_probs.new_full((), float("nan"))
        sums = [
            (part.mean() if self._mean else part.sum()) if len(part) else nothing
            for part in torch.split(log_probs, counts)
        ]
        return torch.stack(sums).view(-1, 2)


class Policy(LogProbs):
    """Families dpo, logprob-sum and logprob-mean.

    Without a reference, the reward is the sum or the mean of the response's log-probabilities.
    Raises a `KnownError` for a model that cannot be loaded, or a reference with another vocabulary.
    """

    def __init__(self, spec: ModelSpec, settings: RunSettings) -> None:
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
            limit = reference.formatter(settings).max_length
            formatter.max_length = min(formatter.max_length, limit)
        super().__init__(loaded, settings, formatter, spec.family)
        self._reference = (
            LogProbs(reference, settings, formatter, spec.family) if reference else None
        )

    @property
    def traits(self) -> Traits:
        """As of `LocalModel`, with the paths of both models."""
        traits, reference = super().traits, self._reference
        if reference is None or reference.forward.path == traits.path:
            return traits
        return replace(traits, path=f"{traits.path}; reference {reference.forward.path}")

    def prepare_for_tokens(self, tokens: int) -> None:
        """As of `LocalModel`."""
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
    n_weights = reference.model.get_input_embeddings().weight.shape[0]
    if moved or renamed > _RENAMED * len(ours) or max(ours.values()) >= n_weights:
        raise KnownError(
            f"The reference model {reference.spec.name} has another vocabulary than "
            f"{policy.spec.name} ({len(theirs):,} and {len(ours):,} tokens), so their "
            "probabilities cannot be compared. Give the model that the policy was trained from."
        )

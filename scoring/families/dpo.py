"""Policies as reward models: what a response's log-probability says of it.

Source: R. Rafailov et al., Direct Preference Optimization (2023), equation 5: the implicit reward
is beta * log(policy(response | prompt) / reference(response | prompt)), up to a term of the prompt.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace

import torch

from scoring.engine.attention import sent
from scoring.engine.formatting import Conversation, Prepared, conversations, joined_pairs
from scoring.engine.proof import Rewards
from scoring.engine.scorer import Traits
from scoring.engine.vocabulary import Vocabulary, check_vocabulary
from scoring.errors import KnownError
from scoring.families.local import CHECK_PAIRS, LocalModel
from scoring.models.loading import Loaded, load
from scoring.spec import ModelSpec, Pair, RunSettings

_RENAMED = 0.01
"""Share of tokens that a policy may call otherwise: its training may have named reserved ones."""


class Policy:
    """Families dpo, logprob-sum and logprob-mean.

    The response is what the conversation has after the prompt's tokens, its end of turn included.
    Without a reference, the reward is the sum or the mean of its tokens' log-probabilities.
    """

    def __init__(self, spec: ModelSpec, settings: RunSettings) -> None:
        """
        Raises:
            KnownError: a model cannot be loaded, or the reference has another vocabulary.
        """
        self.spec = spec
        self._beta = settings.beta if spec.reference else 1.0
        loaded = load(spec, settings, "AutoModelForCausalLM")
        self._formatter = loaded.formatter(settings)
        reference = None
        if spec.reference is not None:
            reference = load(spec.reference, settings, "AutoModelForCausalLM")
            _check_same_vocabulary(loaded, reference)
            limits = self._formatter.max_length, reference.formatter(settings).max_length
            self._formatter.max_length = min(limits)
        self._policy = _LogProbs(self, loaded, settings)
        self._reference = _LogProbs(self, reference, settings) if reference else None

    @property
    def traits(self) -> Traits:
        """What its numbers rest on."""
        if self._reference is not None:
            reading = f"{self._beta:g} x log(policy / reference), summed over the response's tokens"
        else:
            kind = "mean" if self.spec.family == "logprob-mean" else "sum"
            reading = f"{kind} of the response's token log-probabilities, no reference model"
        traits = self._policy.local_traits(reading, self._formatter)
        if self._reference is None or self._reference.forward.path == traits.path:
            return traits
        return replace(traits, path=f"{traits.path}; reference {self._reference.forward.path}")

    def expect(self, tokens: int) -> None:
        """Compile where so many tokens repay it."""
        for model in (self._policy, self._reference):
            if model is not None:
                model.expect(tokens)

    def prepare(self, pairs: Sequence[Pair]) -> list[Prepared]:
        """Both conversations of each pair as tokens, read at their responses."""
        whole = self._formatter.encode(conversations(pairs))
        asked: list[Conversation] = [pair.messages for pair in pairs]
        prompts = self._formatter.encode(asked, ask=True)
        prepared = joined_pairs(pairs, [self._formatter.cut(ids) for ids in whole])
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

    def begin(self, pack: Sequence[Prepared]) -> Callable[[], Rewards]:
        """As of `Scorer`."""
        policy = self._policy.begin(pack)
        if self._reference is None:
            return policy
        reference = self._reference.begin(pack)
        return lambda: [
            (self._beta * (ours[0] - theirs[0]), self._beta * (ours[1] - theirs[1]))
            for ours, theirs in zip(policy(), reference(), strict=True)
        ]

    def rewards(self, pack: Sequence[Prepared]) -> Rewards:
        """The response's log-probability, against the reference's where there is one.

        NaN where truncation left nothing of a response.
        """
        return self.begin(pack)()

    def _tail(self, whole: Sequence[int], prompt: Sequence[int], n_kept: int) -> int:
        """The last tokens in which the response stands, and the one before it that predicts it."""
        same = 0
        while same < min(len(whole), len(prompt)) and whole[same] == prompt[same]:
            same += 1
        lost = 0 if self._formatter.cuts_left else len(whole) - n_kept
        return max(0, min(len(whole) - same - lost + 1, n_kept))


class _LogProbs(LocalModel):
    def __init__(self, policy: Policy, loaded: Loaded, settings: RunSettings) -> None:
        self._mean = policy.spec.family == "logprob-mean"
        self._vocabulary = Vocabulary(loaded.model)
        self._policy = policy
        ids = policy.prepare(CHECK_PAIRS[:1])[0].chosen
        check_vocabulary(loaded.model, self._vocabulary, ids, loaded.spec.name)
        super().__init__(loaded, settings)

    def prepare(self, pairs: Sequence[Pair]) -> list[Prepared]:
        """As of `Policy`."""
        return self._policy.prepare(pairs)

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
        log_probs = self._vocabulary.of_targets(taken, goals).double()
        nothing = log_probs.new_full((), float("nan"))
        sums = [
            (part.mean() if self._mean else part.sum()) if len(part) else nothing
            for part in torch.split(log_probs, counts)
        ]
        return torch.stack(sums).view(-1, 2)


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

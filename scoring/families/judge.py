"""Generative models of this machine as judges, read by probabilities and never by sampling."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import torch

from scoring.engine.attention import sent
from scoring.engine.formatting import Prepared, joined_pairs
from scoring.engine.vocabulary import Vocabulary
from scoring.errors import KnownError
from scoring.families.local import LocalModel
from scoring.families.prompts import (
    LABELS,
    LEAST_TOKENS,
    RATINGS,
    asks_both_orders,
    digest,
    questions,
)
from scoring.models.files import trained_question
from scoring.models.loading import load
from scoring.spec import ModelSpec, Pair, RunSettings

_READINGS = {
    "judge": "probability of the response's label, both orders averaged",
    "rater": "expected rating, 1 to 10, by the probabilities of the numbers",
}


class Judge(LocalModel):
    """Families judge (which of two is better) and rater (how good is each, 1 to 10).

    A judge is asked in both orders. The reward of a response is the mean, over the orders, of the
    probability of its label among the two labels, 0 to 1; a model that always names the first
    response ties every pair. A rater's reward is the expected rating, 1 to 10, by the
    probabilities of the ten numbers as the next words.

    Judges that were trained on one question, SteamSHP and pair-preference-model, are asked that.
    """

    def __init__(self, spec: ModelSpec, settings: RunSettings) -> None:
        """
        Raises:
            KnownError: the model cannot be loaded, or has no single token for a label.
        """
        self.spec = spec
        self._question = trained_question(spec.name) if spec.family == "judge" else ""
        self._is_whole = self._question == "SteamSHP"
        loaded = load(
            spec, settings, _first_token_model() if self._is_whole else "AutoModelForCausalLM"
        )
        plain = replace(settings, chat_template="raw")
        self._formatter = loaded.formatter(plain if self._is_whole else settings)
        self.max_length = self._formatter.max_length
        if self.max_length < LEAST_TOKENS:
            raise KnownError(
                f"A judge's question does not fit in {self.max_length} tokens; {LEAST_TOKENS} are "
                "the least."
            )
        self.template = f"{self._formatter.template}, {digest(spec.family, self._question)}"
        self.reading = _READINGS[spec.family]
        self._vocabulary = Vocabulary(loaded.model)
        names = LABELS if spec.family == "judge" else [str(rating) for rating in RATINGS]
        # With and without a space before it.
        vocabulary: dict[str, int] = loaded.tokenizer.get_vocab()
        before = ("", "\N{LATIN CAPITAL LETTER G WITH DOT ABOVE}", "\u2581")
        self._labels = [
            [vocabulary[space + name] for space in before if space + name in vocabulary]
            for name in names
        ]
        if self._question == "pair-preference":  # whose authors read these tokens alone
            self._labels = [tokens[:1] for tokens in self._labels]
        # Many vocabularies have no token for 10: its probability is that of 1 and then of 0.
        self._ten: tuple[int, ...] = ()
        if spec.family == "rater":
            ten: list[int] = loaded.tokenizer.encode("10", add_special_tokens=False)
            self._ten = () if ten and ten[-1] in self._labels[-1] else (*ten[-2:],)
        if self._ten:
            self._labels.pop()
        if not all(self._labels) or len(self._ten) == 1:
            raise KnownError(f"{spec.name} has no token of its own for each of {', '.join(names)}.")
        if self._is_whole:
            super().__init__(loaded, settings, whole="its rewards come from the whole model")
        else:
            super().__init__(loaded, settings, vocabulary=self._vocabulary)

    def prepare(self, pairs: Sequence[Pair]) -> list[Prepared]:
        """What the judge is asked: both orders, or both responses."""
        asked = [
            each for pair in pairs for each in questions(self.spec.family, pair, self._question)
        ]
        encoded = self._formatter.encode(asked, ask=not self._question)
        if self._question:  # which its authors ask without a BOS before it
            bos = self._formatter.tokenizer.bos_token_id
            encoded = [ids[ids[0] == bos :] for ids in encoded]
        sequences = [self._formatter.cut([*ids, *self._ten[:1]]) for ids in encoded]
        prepared = joined_pairs(pairs, sequences)
        if not self._ten:
            return prepared
        return [
            replace(
                pair,
                chosen_tail=min(2, len(pair.chosen)),
                rejected_tail=min(2, len(pair.rejected)),
            )
            for pair in prepared
        ]

    def read(self, rows: torch.Tensor, pairs: Sequence[Prepared]) -> torch.Tensor:
        """Rewards from the hidden states at the end of each question, or from logits there."""
        if self.spec.family == "judge":
            orders = self._probabilities(rows).view(-1, 2, 2)
            orders = torch.stack((orders[:, 0], orders[:, 1].flip(1)), dim=1)
            votes = torch.tensor([asks_both_orders(each.pair) for each in pairs])
            is_vote = sent(votes, rows.device)[:, None, None]
            return torch.where(is_vote, (orders > orders.flip(2)).to(orders), orders).mean(1)
        scale = sent(torch.tensor(RATINGS, dtype=torch.float64), rows.device)
        if not self._ten:
            return (self._probabilities(rows) @ scale).view(-1, 2)
        asked, begun = rows[::2], rows[1::2]
        zero = self._vocabulary.label_log_probs(begun, self._ten[1:]).double().exp()[:, 0]
        ratings = self._probabilities(asked)
        ten = ratings[:, 0] * zero
        ratings = torch.cat((ratings, ten[:, None]), dim=1)
        ratings[:, 0] -= ten
        return (ratings @ scale).view(-1, 2)

    def _probabilities(self, rows: torch.Tensor) -> torch.Tensor:
        """[rows, labels], each row summing to 1."""
        flat = [token for tokens in self._labels for token in tokens]
        of_token = (
            rows[:, flat] if self._is_whole else self._vocabulary.label_log_probs(rows, flat)
        ).double()
        parts = torch.split(of_token, [len(tokens) for tokens in self._labels], dim=1)
        return torch.stack([part.logsumexp(1) for part in parts], dim=1).softmax(1)


def _first_token_model() -> Any:
    """The class of an encoder-decoder that gives the logits of the first token it would write."""
    from transformers import T5ForConditionalGeneration
    from transformers.modeling_outputs import SequenceClassifierOutput

    class FirstToken(T5ForConditionalGeneration):  # type: ignore[misc]
        @classmethod
        def from_config(cls, config: Any, **_: Any) -> Any:
            return cls(config)

        def forward(self, input_ids: Any, attention_mask: Any = None) -> Any:
            start = input_ids.new_full((len(input_ids), 1), self.config.decoder_start_token_id)
            given = super().forward(input_ids, attention_mask, decoder_input_ids=start)
            return SequenceClassifierOutput(logits=given.logits[:, 0])

    return FirstToken

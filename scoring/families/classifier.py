"""Sequence classifiers: the reward is the score of a whole conversation."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import torch

from scoring.engine.attention import sent
from scoring.engine.formatting import Prepared
from scoring.engine.forward import running
from scoring.errors import KnownError
from scoring.families import label_weights
from scoring.families.local import CHECK_PAIRS, LocalModel
from scoring.models.heads import HeadedModel, builder_of
from scoring.models.loading import Loaded, load
from scoring.spec import ModelSpec, Pair, RunSettings

_WHOLE = "its rewards come from the whole model"


class Classifier(LocalModel):
    """`AutoModelForSequenceClassification`: one label, or several with a declared reading.

    The reward is the score at the last token of each side.
    """

    def __init__(
        self, spec: ModelSpec, settings: RunSettings, loaded: Loaded | None = None
    ) -> None:
        """loaded: the model, where it is in memory already.

        Raises:
            KnownError: the model cannot be loaded, or its labels are not one reward.
        """
        loaded = loaded or load(spec, settings, builder_of(spec))
        self.spec = spec
        self._own = loaded.model if isinstance(loaded.model, HeadedModel) else None
        n_labels = 1 if self._own is not None else loaded.model.config.num_labels
        weights, self.reading = label_weights(spec, n_labels)
        self._weights = torch.tensor(weights, device=loaded.model.device)
        head = getattr(loaded.model, "score", None)
        is_apart = isinstance(head, torch.nn.Linear) and not spec.own_code
        self._head: Any = head if is_apart and self._own is None else None
        if self._own is not None:
            weighted = "" if spec.reading is None else f", {self.reading}"
            self.reading = self._own.reading + weighted
        self._skipped: int | None = None
        is_whole = self._own is None and self._head is None
        if settings.upstream_compatible and not is_whole:
            self._skipped = loaded.tokenizer.eos_token_id
            if loaded.tokenizer.pad_token_id is not None:
                self._skipped = loaded.model.config.get_text_config().pad_token_id
        self.formatter = loaded.formatter(settings)
        self.template, self.max_length = self.formatter.template, self.formatter.max_length
        self._check_gate()
        super().__init__(loaded, settings, whole=_WHOLE if is_whole else "")

    def prepare(self, pairs: Sequence[Pair]) -> list[Prepared]:
        """Both conversations of each pair as tokens."""
        prepared = self.formatter.prepare(pairs)
        if self._skipped is None:
            return prepared
        return [self._without_padding(pair) for pair in prepared]

    def read(self, rows: torch.Tensor, pairs: Sequence[Prepared]) -> torch.Tensor:
        """Rewards from the last hidden states, or from logits where the head is not apart."""
        if not self.formatter.gate:
            return self._each(rows, rows).view(-1, 2)
        tails = torch.tensor([[pair.chosen_tail, pair.rejected_tail] for pair in pairs]).flatten()
        ends = tails.cumsum(0)
        rewards = self._each(
            rows[sent(ends - 1, rows.device)], rows[sent(ends - tails, rows.device)]
        )
        # A prompt whose end was cut off has no gate, and its responses have no reward.
        return rewards.masked_fill(sent(tails == 1, rows.device), torch.nan).view(-1, 2)

    @torch.inference_mode()
    def at_tails(self, pair: Prepared) -> tuple[list[float], list[float]]:
        """The score at every token of a pair's tails, however long: chosen's, then rejected's.

        Raises:
            KnownError: the head cannot be run apart, as those of encoders cannot, or the model
                cannot be run, or reads more than the last token.
            torch.OutOfMemoryError: the pair does not fit in memory.
        """
        if self.formatter.gate or self.formatter.ending is not None:
            raise KnownError(
                f"{self.spec.name} has no reward after each token: it is {self.reading}. Choose a "
                "classifier that reads any last token alone."
            )
        if self._head is None and self._own is None:
            raise KnownError(
                f"{self.spec.name} gives one reward for a whole text, and none after each token: "
                "its head is not a layer of its own over a causal model. Choose a classifier that "
                "is built on a decoder."
            )
        with running(self.spec.name):
            rows = self.forward([pair])
            rewards = self._each(rows, rows).tolist()
        return rewards[: pair.chosen_tail], rewards[pair.chosen_tail :]

    def _check_gate(self) -> None:
        gate, tokenizer = self.formatter.gate, self.formatter.tokenizer
        is_unknown = tokenizer.unk_token_id is not None and tokenizer.unk_token_id in gate
        short = self.prepare(CHECK_PAIRS)[0]
        if is_unknown or (gate and short.chosen_tail == 1):
            why = (
                f"its chat template ({self.formatter.template}) does not write. Give a template or "
                "a tokenizer that does."
            )
            if short.chosen_truncated and not is_unknown:
                most = self.formatter.max_length
                why = f"{most} tokens leave no room for. Allow more (--max-length)."
            text = self._own.turn if self._own else ""
            raise KnownError(
                f"{self.spec.name} weighs its rewards by what it has read up to {text!r}, which "
                f"{why}"
            )

    def _each(self, rows: torch.Tensor, gates: torch.Tensor) -> torch.Tensor:
        """[reads]: the reward that each row speaks for. gates: as of `HeadedModel.rewards_of`."""
        if self._own is not None:
            rows = self._own.rewards_of(rows.float(), gates.float())
        elif self._head is not None:
            bias = None if self._head.bias is None else self._head.bias.float()
            rows = torch.nn.functional.linear(rows.float(), self._head.weight.float(), bias)
        rewards: torch.Tensor = rows.float() @ self._weights.to(rows.device)
        return rewards

    def _without_padding(self, pair: Prepared) -> Prepared:
        """The sequences up to where run_rm.py reads the score: before a trailing pad token."""
        chosen, rejected = self._trimmed(pair.chosen), self._trimmed(pair.rejected)
        shared = min(pair.shared, len(chosen) - 1, len(rejected) - 1)
        lost = len(pair.chosen) - len(chosen), len(pair.rejected) - len(rejected)
        return replace(
            pair,
            chosen=chosen,
            rejected=rejected,
            chosen_tail=max(1, pair.chosen_tail - lost[0]),
            rejected_tail=max(1, pair.rejected_tail - lost[1]),
            shared=len(chosen) if chosen == rejected else shared,
        )

    def _trimmed(self, ids: tuple[int, ...]) -> tuple[int, ...]:
        end = len(ids)
        while end > 1 and ids[end - 1] == self._skipped:
            end -= 1
        return ids[:end]

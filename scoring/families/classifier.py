"""Sequence classifiers: the reward is the score of a whole conversation."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import torch

from scoring.engine.attention import sent
from scoring.engine.formatting import Prepared, conversations, joined_pairs
from scoring.engine.forward import running
from scoring.errors import KnownError
from scoring.families import label_weights
from scoring.families.local import CHECK_PAIRS, WHOLE, LocalModel
from scoring.models.heads import HeadedModel, builder_of
from scoring.models.loading import Loaded, load
from scoring.spec import ModelSpec, Pair, RunSettings


class Classifier(LocalModel):
    """`AutoModelForSequenceClassification`: one label, or several with a declared reading.

    The reward is the score at the last token of each side. Raises a `KnownError` for a model that
    cannot be loaded, or whose labels are not one reward. loaded: it, if it is in memory already.
    """

    def __init__(
        self, spec: ModelSpec, settings: RunSettings, loaded: Loaded | None = None
    ) -> None:
        loaded = loaded or load(spec, settings, builder_of(spec))
        model = loaded.model
        self.spec = spec
        self._own = model if isinstance(model, HeadedModel) else None
        self._head: Any = None
        n_labels = model.config.num_labels if self._own is None else 1
        weights, self.reading = label_weights(spec, n_labels)
        if self._own is not None:
            weighted = "" if spec.reading is None else f", {self.reading}"
            self.reading = self._own.reading + weighted
        elif isinstance(getattr(model, "score", None), torch.nn.Linear) and not spec.own_code:
            self._head = model.score
        self._weights = torch.tensor(weights, device=model.device)
        is_whole = self._own is None and self._head is None
        self._padding: int | None = None
        if settings.upstream_compatible and not is_whole:
            self._padding = loaded.tokenizer.eos_token_id
            if loaded.tokenizer.pad_token_id is not None:
                self._padding = model.config.get_text_config().pad_token_id
        self.formatter = loaded.formatter(settings)
        self.template, self.max_length = self.formatter.template, self.formatter.max_length
        self._check_gate()
        super().__init__(loaded, settings, whole=WHOLE if is_whole else "")

    def prepare(self, pairs: Sequence[Pair]) -> list[Prepared]:
        """Both conversations of each pair as tokens."""
        sequences = self.formatter.sequences(conversations(pairs))
        if self._padding is not None:  # run_rm.py reads the score before a trailing pad token
            for place, sequence in enumerate(sequences):
                ids, end = sequence.ids, len(sequence.ids)
                while end > 1 and ids[end - 1] == self._padding:
                    end -= 1
                tail = max(1, sequence.tail - len(ids) + end)
                sequences[place] = replace(sequence, ids=ids[:end], tail=tail)
        return joined_pairs(pairs, sequences)

    def read(self, rows: torch.Tensor, pairs: Sequence[Prepared]) -> torch.Tensor:
        """Rewards from the last hidden states, or from logits where the head is not apart."""
        if not self.formatter.gate:
            return self._rewards(rows, rows).view(-1, 2)
        tails = torch.tensor([side.tail for pair in pairs for side in pair.sides])
        ends = tails.cumsum(0)
        rewards = self._rewards(
            rows[sent(ends - 1, rows.device)], rows[sent(ends - tails, rows.device)]
        )
        # A prompt whose end was cut off has no gate, and its responses have no reward.
        lost = (tails == 1).view(-1, 2)
        if self.spec.family == "pairrm":
            lost = lost.any(1, keepdim=True)
        return rewards.view(-1, 2).masked_fill(sent(lost, rows.device), torch.nan)

    @torch.inference_mode()
    def at_tails(self, pair: Prepared) -> tuple[list[float], list[float]]:
        """Return the score at every token of a pair's tails: the chosen's, then the rejected's.

        Raises a `KnownError` if the head cannot be run apart, as those of encoders cannot, reads
        more than the last token, or the model cannot be run; or torch.OutOfMemoryError.
        """
        formatter = self.formatter
        if formatter.gate or formatter.question or formatter.ending is not None:
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
            rewards = self._rewards(rows, rows).tolist()
        return rewards[: pair.chosen.tail], rewards[pair.chosen.tail :]

    def _check_gate(self) -> None:
        gate, unknown = self.formatter.gate, self.formatter.tokenizer.unk_token_id
        is_unknown = unknown is not None and unknown in gate
        check = self.prepare(CHECK_PAIRS)[0].chosen
        if is_unknown or (gate and check.tail == 1):
            why = (
                f"its chat template ({self.formatter.template}) does not write. Give a template or "
                "a tokenizer that does."
            )
            if check.truncated and not is_unknown:
                why = f"{self.max_length} tokens leave no room for. Allow more (--max-length)."
            text = self._own.turn if self._own else ""
            raise KnownError(
                f"{self.spec.name} weighs its rewards by what it has read up to {text!r}, which "
                f"{why}"
            )

    def _rewards(self, rows: torch.Tensor, gates: torch.Tensor) -> torch.Tensor:
        # gates: as of `HeadedModel.rewards_of`.
        if self._own is not None:
            rows = self._own.rewards_of(rows.float(), gates.float())
        elif self._head is not None:
            bias = None if self._head.bias is None else self._head.bias.float()
            rows = torch.nn.functional.linear(rows.float(), self._head.weight.float(), bias)
        rewards: torch.Tensor = rows.float() @ self._weights.to(rows.device)
        return rewards

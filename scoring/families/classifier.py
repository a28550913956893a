"""Sequence classifiers with one label: the reward is the score of a whole conversation."""

from collections.abc import Sequence
from typing import Any

import torch
from torch.nn.utils.rnn import pad_sequence

from scoring.errors import KnownError
from scoring.packing import padded_batches


class Classifier:
    """A loaded `AutoModelForSequenceClassification` with a single label."""

    def __init__(self, model: Any, pad_token_id: int, batch_tokens: int) -> None:
        """
        Args:
            model: the transformers model, in evaluation mode on its device.
            pad_token_id: any token; padded places are masked and never read.
            batch_tokens: padded tokens a forward pass may hold.
        """
        self._model = model
        self._pad = pad_token_id
        self._batch_tokens = batch_tokens
        self._head = getattr(model, "score", None)
        self._base = getattr(model, model.base_model_prefix, None)

    @torch.inference_mode()
    def rewards(self, sequences: Sequence[tuple[int, ...]]) -> list[float]:
        """One reward a sequence, in the order given; unbounded, NaN where the model says so.

        Equal sequences are computed once, so their rewards are exactly equal.

        Raises:
            KnownError: a batch does not fit in memory.
        """
        unique = list(dict.fromkeys(sequences))
        reward_of: dict[tuple[int, ...], float] = {}
        for batch in padded_batches([len(ids) for ids in unique], self._batch_tokens):
            ids_of_batch = [unique[index] for index in batch]
            try:
                rewards = self._forward(ids_of_batch)
            except torch.OutOfMemoryError as error:
                raise KnownError(
                    f"{len(batch)} sequences of up to {len(ids_of_batch[0])} tokens do not fit in "
                    f"the memory of {self._model.device}. Use a smaller model."
                ) from error
            reward_of.update(zip(ids_of_batch, rewards, strict=True))
        return [reward_of[ids] for ids in sequences]

    def _forward(self, sequences: Sequence[tuple[int, ...]]) -> list[float]:
        """Rewards of one right-padded batch."""
        device = self._model.device
        rows = [torch.tensor(ids, dtype=torch.long) for ids in sequences]
        lengths = torch.tensor([len(row) for row in rows])
        ids = pad_sequence(rows, batch_first=True, padding_value=self._pad)
        mask = torch.arange(ids.shape[1]) < lengths[:, None]
        inputs = {"input_ids": ids.to(device), "attention_mask": mask.long().to(device)}
        if isinstance(self._head, torch.nn.Linear) and self._base is not None:
            hidden = self._base(**inputs).last_hidden_state
            last = hidden[torch.arange(len(rows)), lengths - 1].float()
            bias = None if self._head.bias is None else self._head.bias.float()
            logits = torch.nn.functional.linear(last, self._head.weight.float(), bias)
        else:
            logits = self._model(**inputs).logits.float()
        rewards: list[float] = logits[:, 0].tolist()
        return rewards

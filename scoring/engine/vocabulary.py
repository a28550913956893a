"""Log-probabilities of tokens from last hidden states, in float32 and in chunks."""

from collections.abc import Iterator, Sequence
from typing import Any

import torch

from scoring.engine.attention import sent
from scoring.engine.forward import proof_of, running
from scoring.errors import KnownError

_ROWS = 1024  # tokens whose whole vocabulary is in memory at once
_CHECKED = 32  # tokens that show how a model computes its probabilities


class Vocabulary:
    """The output layer of a causal language model, applied where it is wanted."""

    def __init__(self, model: Any) -> None:
        self._weight: torch.Tensor = model.get_output_embeddings().weight
        self._bias: torch.Tensor | None = getattr(model.get_output_embeddings(), "bias", None)
        config = model.config.get_text_config()
        self._cap: float | None = getattr(config, "final_logit_softcapping", None)
        self._scale: float = getattr(config, "logit_scale", None) or 1.0
        self._scale /= getattr(config, "logits_scaling", None) or 1.0

    def target_log_probs(self, hidden: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        """[tokens]: the log-probability of one target a row. hidden: [tokens, width]."""
        chunks = [
            logits.gather(1, targets[rows][:, None])[:, 0] - logits.logsumexp(1)
            for rows, logits in self._chunks(hidden)
        ]
        return torch.cat(chunks) if chunks else hidden.new_empty(0).float()

    def label_log_probs(self, hidden: torch.Tensor, labels: Sequence[int]) -> torch.Tensor:
        """[tokens, labels]: the log-probabilities of a few tokens in every row."""
        ids = sent(torch.tensor(labels), hidden.device)
        return torch.cat(
            [logits[:, ids] - logits.logsumexp(1)[:, None] for _, logits in self._chunks(hidden)]
        )

    def _chunks(self, hidden: torch.Tensor) -> Iterator[tuple[slice, torch.Tensor]]:
        for start in range(0, len(hidden), _ROWS):
            rows = slice(start, start + _ROWS)
            states, weight = hidden[rows], self._weight.to(hidden.device)
            if states.is_cuda and states.dtype != torch.float32:
                logits = torch.mm(states, weight.T.to(states.dtype), out_dtype=torch.float32)
            else:
                logits = states.float() @ weight.float().T
            if self._bias is not None:
                logits = logits + self._bias.float()
            logits = logits * self._scale
            if self._cap is not None:
                logits = self._cap * torch.tanh(logits / self._cap)
            yield rows, logits


@torch.inference_mode()
def check_vocabulary(model: Any, vocabulary: Vocabulary, ids: Sequence[int], name: str) -> None:
    """Raise a `KnownError` unless log-probabilities computed here are the model's own."""
    with running(name, is_check=True):
        tokens = torch.tensor([ids[:_CHECKED]], device=model.device)
        proof = proof_of(
            model, lambda: model(input_ids=tokens).logits[0].float().log_softmax(1).cpu()
        )
        base = getattr(model, model.base_model_prefix)
        hidden = base(input_ids=tokens, use_cache=False).last_hidden_state[0]
        ours = vocabulary.label_log_probs(hidden, range(proof.expected.shape[1]))
    if proof.mismatch(ours.cpu()):
        raise KnownError(
            f"{name} computes its probabilities in a way of its own, which is not known here."
        )

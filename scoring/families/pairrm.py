"""PairRM and its kin: both responses are read in one sequence, and which is better is asked.

The sequence holds three parts, the prompt and the two responses, each between [CLS] and [SEP] and
led by a marker token. A head compares what the encoder makes of the markers. Its answer leans
towards a place, so both orders are asked and their answers subtracted, as the authors advise.
"""

from collections.abc import Sequence
from dataclasses import replace
from itertools import chain
from typing import Any

import torch
from torch import nn
from transformers import DebertaV2Model, DebertaV2PreTrainedModel
from transformers.modeling_outputs import SequenceClassifierOutput

from scoring.engine.formatting import Prepared, TokenSequence
from scoring.engine.scorer import Traits
from scoring.errors import KnownError
from scoring.families.local import LocalModel
from scoring.models.heads import own_name
from scoring.models.loading import load
from scoring.spec import ModelSpec, Pair, RunSettings

_MARKERS = ("<|source|>", "<|candidate1|>", "<|candidate2|>")
_FRAME = 3  # tokens of a part that are not text: [CLS], the marker, [SEP]
_SHORTEST = 3 * (_FRAME + 1)
_AT_ONCE = 8192  # padded tokens of a pass: this attention's memory grows with length squared
_WHOLE = "both responses in one sequence, both orders"
_INSTRUCTION = (  # as the model was trained on it, spelling included
    "Finish the following coversation in each i-th turn by filling in <Response i> with your "
    "response."
)

_Texts = tuple[str, str, str]
"""Of a pair, what stands behind the markers: the prompt, the chosen and the rejected response."""


def _pairrm_texts(pair: Pair) -> _Texts:
    # Plain for one turn, the authors' form with blanks for a conversation. One that has other than
    # user and assistant in turn has no such form; its transcript is the prompt.
    roles = [message.role for message in pair.turns]
    if not roles or roles != ["user", "assistant"] * (len(roles) // 2) + ["user"]:
        return pair.prompt, pair.chosen, pair.rejected
    requests = [message.content for message in pair.turns[::2]]
    answers = [message.content for message in pair.turns[1::2]]
    blanks = [f"USER: {text}\nAssistant: <Response {n}>" for n, text in enumerate(requests, 1)]
    chosen, rejected = (
        "\n".join(f"<Response {n}>: {text}" for n, text in enumerate([*answers, last], 1))
        for last in (pair.chosen, pair.rejected)
    )
    return _INSTRUCTION + "\n".join(blanks), chosen, rejected


def _better_pairrm_texts(pair: Pair) -> _Texts:
    # The prompt as a dialogue in which the assistant is to speak.
    speakers = {"system": "SYSTEM MESSAGE"}
    turns = [
        f"{speakers.get(message.role, message.role.upper())}: {message.content.strip()}"
        for message in pair.messages
    ]
    return "\n\n".join([*turns, "ASSISTANT: "]), pair.chosen, pair.rejected


class DebertaV2PairRM(DebertaV2PreTrainedModel):  # type: ignore[misc]
    """The published model, for use and not for training; modules are named as its weights are."""

    base_model_prefix = "pretrained_model"

    def __init__(self, config: Any) -> None:
        super().__init__(config)
        self.markers = (config.source_prefix_id, config.cand1_prefix_id, config.cand2_prefix_id)
        self.pretrained_model = DebertaV2Model(config)
        width = config.hidden_size
        # Dropout stood where nothing is done now; the weights are named by their places.
        self.head_layer = nn.Sequential(
            nn.Identity(),
            nn.Linear(2 * width, width),
            nn.Tanh(),
            nn.Identity(),
            nn.Linear(width, config.n_tasks),
        )
        self.post_init()

    @classmethod
    def from_config(cls, config: Any, **_: object) -> "DebertaV2PairRM":
        """As transformers' auto classes have it."""
        return cls(config)

    def forward(self, input_ids: torch.Tensor, attention_mask: torch.Tensor | None = None) -> Any:
        """logits: [sequences], by how much the first response is better."""
        hidden = self.pretrained_model(input_ids, attention_mask).last_hidden_state
        rows = torch.arange(len(input_ids), device=hidden.device)
        source, first, second = (
            hidden[rows, (input_ids == marker).int().argmax(dim=1)] for marker in self.markers
        )
        left: torch.Tensor = self.head_layer(torch.cat([source, first], dim=-1))
        right: torch.Tensor = self.head_layer(torch.cat([source, second], dim=-1))
        return SequenceClassifierOutput(logits=(left - right).mean(dim=-1))


class PairRM(LocalModel):
    """A model that compares two responses, in float32; a `KnownError` says why it cannot."""

    reading = (
        "half of how much better than the other response it is found, in both orders; not "
        "comparable between pairs"
    )

    def __init__(self, spec: ModelSpec, settings: RunSettings) -> None:
        self.spec = spec
        # Tokens of the prompt's part and of a response's, as the authors lay out a sequence.
        name, source, response, self._texts = "PairRM", 1224, 412, _pairrm_texts
        if "better-pairrm" in own_name(spec.name):
            name, source, response, self._texts = "Better-PairRM", 2030, 670, _better_pairrm_texts
        total = source + 2 * response
        if settings.max_length is not None and settings.max_length < _SHORTEST:
            raise KnownError(
                f"{spec.name} reads a prompt and two responses at once, which "
                f"{settings.max_length} tokens cannot hold: {_SHORTEST} is the least."
            )
        loaded = load(spec, settings, DebertaV2PairRM)
        self.max_length = min(settings.max_length or total, total)
        # Of a shorter sequence's text the prompt has the same share.
        n_text = self.max_length - 3 * _FRAME
        self._room = n_text * (source - _FRAME) // (total - 3 * _FRAME)
        self.template = f"{name}, prompts of up to {self._room + _FRAME} tokens"
        self._left = settings.truncation_side == "left"
        self._tokenizer = tokenizer = loaded.tokenizer
        self._markers: tuple[int, ...] = loaded.model.markers
        for marker, expected in zip(_MARKERS, self._markers, strict=True):
            token = tokenizer.convert_tokens_to_ids(marker)
            if token != expected:
                raise KnownError(
                    f"{spec.name} could not be loaded: its config says that {marker} is token "
                    f"{expected}, its tokenizer says {token}."
                )
        self._start, self._end = tokenizer.cls_token_id, tokenizer.sep_token_id
        if None in (self._start, self._end):
            raise KnownError(
                f"{spec.name} could not be loaded: its tokenizer has no [CLS] and [SEP]."
            )
        super().__init__(loaded, settings, whole=_WHOLE, at_once=_AT_ONCE)

    @property
    def traits(self) -> Traits:
        """As of `LocalModel`; all pairs are made ready at first, as those of texts are."""
        traits = super().traits
        path = traits.path.replace(f": {_WHOLE}", f", {_WHOLE}", 1)
        return replace(traits, path=path, vocabulary=None)

    def prepare(self, pairs: Sequence[Pair]) -> list[Prepared]:
        """Both orders of each pair as tokens.

        A prompt is cut on the settings' side, a response always at its end, as the authors do.
        Markers, [CLS] and [SEP] that stand in a text are left out of it.
        """
        # Any marker serves: the text behind it becomes the same tokens.
        texts = [_MARKERS[0] + text for pair in pairs for text in self._texts(pair)]
        encoded = self._tokenizer(texts, add_special_tokens=False).input_ids
        no_text = {*self._markers, self._start, self._end}
        bare = [[token for token in ids if token not in no_text] for ids in encoded]
        prepared = []
        texts_of = zip(pairs, bare[::3], bare[1::3], bare[2::3], strict=True)
        for pair, prompt, chosen, rejected in texts_of:
            source = prompt[-self._room :] if self._left else prompt[: self._room]
            room = (self.max_length - len(source) - _FRAME) // 2 - _FRAME
            is_cut = len(source) < len(prompt)
            sides = []
            for first, second in ((chosen, rejected), (rejected, chosen)):
                parts = zip(self._markers, (source, first[:room], second[:room]), strict=True)
                framed = ((self._start, marker, *part, self._end) for marker, part in parts)
                ids = tuple(chain.from_iterable(framed))
                sides.append(TokenSequence(ids, is_cut or room < len(first)))
            prepared.append(Prepared(pair, sides[0], sides[1]))
        return prepared

    def read(self, rows: torch.Tensor, _: Sequence[Prepared]) -> torch.Tensor:
        """Half the margin and its negative."""
        answers = rows.double().view(-1, 2)
        halves = (answers[:, 0] - answers[:, 1]) / 2
        return torch.stack((halves, 0 - halves), dim=1)

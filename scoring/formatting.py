"""A pair -> the token ids of its two conversations, by the model's chat template."""

import hashlib
from dataclasses import dataclass
from typing import Any

from scoring.errors import KnownError
from scoring.hub import first_line
from scoring.spec import Pair, RunSettings

LONGEST = 16_384
"""Tokens a sequence may have where neither the model nor the settings say less."""

FALLBACK_TEMPLATE = (
    "{%- for message in messages -%}"
    "{{ (bos_token if loop.first and bos_token else '') + "
    "('Human: ' if message['role'] == 'user' else 'Assistant: ') + message['content'] }}"
    "{{ eos_token if loop.last and eos_token else '\n\n' }}"
    "{%- endfor -%}"
)
"""Used, and said, where a tokenizer has no chat template of its own."""

Tokenizer = Any
"""A transformers tokenizer; typed loosely because the library's own types are dynamic."""


@dataclass(frozen=True, slots=True)
class TokenizedPair:
    """The token ids of both sides, after truncation, and whether any were cut off."""

    chosen: tuple[int, ...]
    rejected: tuple[int, ...]
    chosen_truncated: bool
    rejected_truncated: bool


class Formatter:
    """Turns pairs into token ids: the template decides the text, so there is one BOS or none."""

    def __init__(self, tokenizer: Tokenizer, model_limit: int, settings: RunSettings) -> None:
        """model_limit: tokens the model was built for."""
        own = getattr(tokenizer, "chat_template", None)
        self._tokenizer = tokenizer
        self._template = None if own else FALLBACK_TEMPLATE
        self._left = settings.truncation_side == "left"
        digest = hashlib.sha256(str(own or FALLBACK_TEMPLATE).encode()).hexdigest()[:12]
        self.template = f"{'own' if own else 'fallback'}:{digest}"
        self.max_length = min(settings.max_length or LONGEST, model_limit, LONGEST)

    def tokenize(self, pair: Pair) -> TokenizedPair:
        """Both conversations of a pair as token ids, at most `max_length` each."""
        chosen, chosen_truncated = self._cut(self._ids(pair.prompt, pair.chosen))
        rejected, rejected_truncated = self._cut(self._ids(pair.prompt, pair.rejected))
        return TokenizedPair(chosen, rejected, chosen_truncated, rejected_truncated)

    def _ids(self, prompt: str, response: str) -> list[int]:
        messages = [
            {"role": "user", "content": prompt},
            {"role": "assistant", "content": response},
        ]
        try:
            ids: list[int] = self._tokenizer.apply_chat_template(
                messages, chat_template=self._template, tokenize=True, return_dict=False
            )
        except Exception as error:  # a template is a stranger's program
            raise KnownError(f"The model's chat template fails: {first_line(error)}") from error
        if not ids:
            raise KnownError("The model's chat template fails: it gives no tokens.")
        return ids

    def _cut(self, ids: list[int]) -> tuple[tuple[int, ...], bool]:
        if len(ids) <= self.max_length:
            return tuple(ids), False
        kept = ids[-self.max_length :] if self._left else ids[: self.max_length]
        return tuple(kept), True

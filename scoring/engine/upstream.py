"""Token ids as upstream's run_rm.py, the board's script, makes them.

Source: `scripts/run_rm.py` and `rewardbench/models/pipeline.py` of allenai/reward-bench v0.1.5.
"""

from collections.abc import Sequence
from typing import Any

from scoring.engine.formatting import Conversation, Formatter, Tokenizer, TokenSequence
from scoring.errors import KnownError
from scoring.spec import RunSettings

LONGEST = 2048
"""Tokens a sequence may have in run_rm.py."""

TULU_TEMPLATE = (
    "{%- for message in messages -%}"
    "{{ '<|' + message['role'] + '|>\n' }}"
    "{{ message['content'] + '\n' if message['content'] else '' }}"
    "{%- endfor -%}"
)
"""What run_rm.py uses where a tokenizer has no template of its own: fastchat's "tulu"."""


class UpstreamFormatter(Formatter):
    """Renders the template to text and tokenizes that with special tokens, as run_rm.py does.

    A template that writes BOS itself then gives two of them; the first is masked, which leaves the
    second at position 1. Text is cut on the left and BOS put before it again. The score is read at
    the last token that is not padding, which is the EOS of many tokenizers.
    """

    def __init__(self, tokenizer: Tokenizer, model_limit: int, settings: RunSettings) -> None:
        if settings.truncation_side != "left":
            raise KnownError("run_rm.py cuts on the left: leave --truncation-side out.")
        super().__init__(
            tokenizer, model_limit, settings, fallback=("tulu", TULU_TEMPLATE), longest=LONGEST
        )
        self.template += ", as run_rm.py"
        tokenizer.truncation_side = "left"
        if tokenizer.pad_token is None:
            tokenizer.pad_token = tokenizer.eos_token
        if self._fallback is not None:
            tokenizer.add_eos_token = True

    def sequences(self, given: Sequence[Conversation]) -> list[TokenSequence]:
        """Token ids of conversations, at most `max_length`, and where they start."""
        texts = self.render(given)
        whole: list[list[int]] = self.tokenizer(texts).input_ids if texts else []
        self.check(whole)
        return [self._sequence(text, ids) for text, ids in zip(texts, whole, strict=True)]

    def _sequence(self, text: str, ids: Any) -> TokenSequence:
        truncated = len(ids) > self.max_length
        if truncated:
            ids = self.tokenizer(text, truncation=True, max_length=self.max_length).input_ids
        bos = self.tokenizer.bos_token_id
        doubled = bos is not None and list(ids[:2]) == [bos, bos]
        return TokenSequence(tuple(ids[1:] if doubled else ids), truncated, int(doubled))

"""Small random language models with the demo model's tokenizer, and their rewards done naively."""

import math
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

import torch
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import (
    AutoConfig,
    AutoModelForCausalLM,
    AutoModelForImageTextToText,
    AutoTokenizer,
    PreTrainedTokenizerFast,
)

from scoring.spec import Message, Pair, as_objects
from tests.conftest import DEMO_MODEL
from tests.support.small_models import ARCHITECTURES as CLASSIFIERS
from tests.support.small_models import save

CPU: dict[str, Any] = {"device": "cpu", "dtype": "float32", "budget": 150}
SMALL: dict[str, Any] = {
    "vocab_size": 8192, "hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2,
    "num_attention_heads": 2, "num_key_value_heads": 1, "head_dim": 16,
    "max_position_embeddings": 1024, "initializer_range": 0.3, "pad_token_id": 0,
    "eos_token_id": 2, "bos_token_id": None,
}  # fmt: skip
ARCHITECTURES: dict[str, dict[str, Any]] = {
    "qwen3": {},
    "llama": {},
    "gemma2": {
        "query_pre_attn_scalar": 16, "final_logit_softcapping": 5.0, "attn_logit_softcapping": 1.0
    },
    "granite": {"logits_scaling": 4.0},
    "cohere": {"logit_scale": 0.25},
    "phi": {"num_key_value_heads": 2},
    "bloom": {},
}  # fmt: skip
"""Together: tied and untied heads, soft-capping, scaled logits both ways, a bias, LayerNorm."""
NESTED = {"gemma3": {**CLASSIFIERS["gemma3"], "text_config": SMALL}}
"""One whose language model is a part of it."""
TURNS = (
    *(Message("system", "Be brief."), Message("user", "Hello!")),
    *(Message("assistant", "Hi."), Message("user", "How are you?")),
)
PAIRS = [
    Pair("s:1", "s", "Name a colour.", "Red, like a fire engine.", "No."),
    Pair("s:2", "s", "What is 2 + 2?", "4", "It is five, of course.\n\nIs it not?"),
    Pair("s:3", "s", "Count.", "one two three four five", "one two three four six"),
    Pair("s:4", "s", "Count.", "one two three", "one two three four five six"),
    Pair("s:5", "s", "Translate: water", "青い水 🤔", "das Wasser"),
    Pair("s:6", "s", "Say nothing.", "", "Something."),
    Pair("s:7", "s", "Write code.", "\n```\nx = 1\n```", "  x = 1"),
    Pair(*("s:8", "s", "a transcript that is not read", "Fine.", "Bad."), turns=TURNS),
]

tokenizer_of = cache(AutoTokenizer.from_pretrained)


@cache
def model_of(folder: str) -> Any:
    """Its language model in float32, by plain transformers."""
    is_nested = AutoConfig.from_pretrained(folder).model_type in NESTED
    kind = AutoModelForImageTextToText if is_nested else AutoModelForCausalLM
    return kind.from_pretrained(folder, dtype=torch.float32).eval()


def words_tokenizer(
    words: Iterable[str], template: str | None, split: Any = None, **special: str
) -> PreTrainedTokenizerFast:
    """Every word is a token, numbers too. split: by default punctuation stands alone."""
    names = dict.fromkeys(["<unk>", *special.values(), *words])
    core = Tokenizer(models.WordLevel({word: n for n, word in enumerate(names)}, "<unk>"))
    core.pre_tokenizer = split or pre_tokenizers.Whitespace()
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=core, unk_token="<unk>", **special)
    tokenizer.chat_template = template
    return tokenizer


def save_tiny(folder: Path, kind: str, seed: int, tokenizer: Any = None, **more: Any) -> str:
    """A random language model; by default with the demo model's tokenizer."""
    given = NESTED.get(kind, {**SMALL, **ARCHITECTURES.get(kind, {})})
    config = AutoConfig.for_model(kind, **{**given, **more})
    auto = AutoModelForImageTextToText if kind in NESTED else AutoModelForCausalLM
    made = tokenizer or tokenizer_of(str(DEMO_MODEL))
    return str(save(folder, config, made, auto=auto, seed=seed))


class Naive:
    """One sequence at a time, by plain transformers, over the whole vocabulary.

    The response is every token of the conversation that ends behind the rendered prompt.
    """

    def __init__(self, folder: str, max_length: int = 4096, side: str = "left") -> None:
        self.tokenizer, self.model = tokenizer_of(folder), model_of(folder)
        self.max_length, self.side = max_length, side

    def prompt(self, pair: Pair) -> str:
        text: str = self.tokenizer.apply_chat_template(
            as_objects(pair.messages), tokenize=False, add_generation_prompt=True
        )
        return text

    def log_probs(self, pair: Pair, response: str) -> list[float]:
        """Of each token of a response that is left after truncation."""
        prompt = self.prompt(pair)
        messages = as_objects(pair.answered(response))
        text = self.tokenizer.apply_chat_template(messages, tokenize=False)
        assert text.startswith(prompt)
        encoded = self.tokenizer(text, add_special_tokens=False, return_offsets_mapping=True)
        tokens = [
            (token, end > len(prompt))
            for token, (_, end) in zip(encoded.input_ids, encoded.offset_mapping, strict=True)
        ]
        n = self.max_length
        tokens = tokens[-n:] if self.side == "left" else tokens[:n]
        with torch.inference_mode():
            logits = self.model(torch.tensor([[token for token, _ in tokens]])).logits[0]
        log_probs = logits.double().log_softmax(1)
        return [
            log_probs[place - 1, token].item()
            for place, (token, of_response) in enumerate(tokens)
            if of_response and place
        ]

    def sums(self, pair: Pair) -> list[float]:
        """Of the chosen and the rejected response; NaN where nothing is left of one."""
        both = [self.log_probs(pair, text) for text in (pair.chosen, pair.rejected)]
        return [sum(each) if each else math.nan for each in both]

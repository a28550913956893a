"""Causal models with another name or a nested config, as families that need one load them."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import (
    AutoModelForCausalLM,
    AutoModelForImageTextToText,
    AutoModelForSequenceClassification,
    Gemma3Config,
    Qwen2Config,
    Qwen2Tokenizer,
    Qwen3_5Config,
)

from scoring.errors import KnownError
from scoring.families import open_scorer
from scoring.models.finding import locate
from scoring.spec import Family, Pair, RunSettings
from tests.scoring.families.test_classifier import (
    CPU,
    SMALL,
    TEMPLATE,
    gpt2,
    tokenizer,
)
from tests.scoring.families.test_encoders import letters
from tests.scoring.models.test_finding import OFFLINE, OPEN, edit_config
from tests.support.rounding import assert_near

VISION = {
    "hidden_size": 16,
    "intermediate_size": 16,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "image_size": 28,
    "patch_size": 14,
}
PAIRS = [
    Pair("s:1", "s", "w4 w5 w6", "w7 w8", "w9"),
    Pair("s:2", "s", "w4", "w5 w6 w7 w8 w9", "w5 w6"),
]


def gemma3() -> Gemma3Config:
    text = {**SMALL, "num_key_value_heads": 2, "head_dim": 8, "pad_token_id": None}
    return Gemma3Config(
        text_config=text, vision_config=VISION, mm_tokens_per_image=4, num_labels=1,
        image_token_index=1, boi_token_index=1, eoi_token_index=1,
    )  # fmt: skip


def qwen35() -> Qwen3_5Config:
    text = {
        **SMALL,
        "num_hidden_layers": 4,  # three of linear attention and one of another
        "num_key_value_heads": 2,
        "head_dim": 8,
        "linear_num_value_heads": 4,
        "linear_num_key_heads": 2,
        "linear_key_head_dim": 8,
        "linear_value_head_dim": 8,
    }
    vision = {"depth": 1, "hidden_size": 16, "num_heads": 2, "intermediate_size": 16}
    return Qwen3_5Config(text_config=text, vision_config=vision, num_labels=1)


def save(folder: Path, auto: Any, config: Any, seed: int = 0) -> Any:
    torch.manual_seed(seed)
    torch.set_num_threads(1)
    model = auto.from_config(config).eval()
    model.save_pretrained(folder)
    made: Any = tokenizer()
    if isinstance(config, Qwen3_5Config | Qwen2Config):  # always given a tokenizer of this class
        made = Qwen2Tokenizer(vocab=letters("<pad>", "<unk>", "<s>", "</s>"), merges=[])
        made.chat_template = TEMPLATE
    made.save_pretrained(folder)
    return model


def opened(folder: Path, family: Family | None, settings: RunSettings = CPU) -> Any:
    return open_scorer(locate(str(folder), OPEN, OFFLINE, family=family), settings)


def scored(scorer: Any) -> tuple[list[tuple[tuple[int, ...], int]], torch.Tensor]:
    """The tokens of each side, how many of them are its response's, and rewards."""
    prepared = scorer.prepare(PAIRS)
    sides = [(side.ids, side.tail - 1) for each in prepared for side in each.sides]
    assert min(len(ids) for ids, _ in sides) > len(PAIRS[1].prompt.split()) + 1
    return sides, torch.tensor(scorer.rewards(prepared)).flatten()


@pytest.mark.parametrize("config", [gemma3, qwen35])
def test_a_classifier_with_a_nested_config_is_scored(
    config: Callable[[], Any], tmp_path: Path
) -> None:
    model = save(tmp_path, AutoModelForSequenceClassification, config())
    sides, got = scored(opened(tmp_path, None))
    with torch.inference_mode():
        expected = [model(input_ids=torch.tensor([ids])).logits[0, 0] for ids, _ in sides]
    assert_near(got, torch.stack(expected))


@pytest.mark.parametrize(
    ("config", "auto"),
    [
        (gemma3, AutoModelForImageTextToText),
        (qwen35, AutoModelForImageTextToText),
        (gpt2, AutoModelForCausalLM),
    ],
)
def test_a_causal_model_of_any_name_is_a_policy(
    config: Callable[[], Any], auto: Any, tmp_path: Path
) -> None:
    model = save(tmp_path, auto, config())
    sides, got = scored(opened(tmp_path, "logprob-sum"))
    expected = []
    with torch.inference_mode():
        for ids, n in sides:
            logits = model(input_ids=torch.tensor([ids])).logits[0].float().log_softmax(1)
            expected.append(sum(logits[at - 1, ids[at]] for at in range(len(ids) - n, len(ids))))
    assert_near(got, torch.stack(expected))


def test_an_encoder_decoder_is_no_causal_model(tmp_path: Path) -> None:
    save(tmp_path, AutoModelForCausalLM, gpt2())
    edit_config(tmp_path, architectures=["T5ForConditionalGeneration"], is_encoder_decoder=True)
    with pytest.raises(KnownError, match="T5ForConditionalGeneration; the family judge needs"):
        opened(tmp_path, "judge")

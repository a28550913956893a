"""Rewards of classifiers, against plain transformers in float32, one sequence at a time.

What holds of every architecture is in test_architectures.py.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file
from tokenizers import processors
from transformers import (
    AutoModelForSequenceClassification,
    Gemma2PreTrainedModel,
    PreTrainedTokenizerFast,
)

from scoring.errors import KnownError
from scoring.families.classifier import Classifier
from scoring.spec import Pair, RunSettings, as_objects
from tests.support import small_models as small
from tests.support.rounding import assert_near, near
from tests.support.small_models import PAIRS, rewards

HALF = RunSettings(device="cpu", dtype="bfloat16")
COMPATIBLE = RunSettings(device="cpu", dtype="float32", upstream_compatible=True)


@pytest.mark.parametrize(
    ("kind", "pad"), [("llama", small.EOS), ("llama", None), ("bloom", small.PAD), ("bloom", 9)]
)
def test_the_score_is_read_at_the_last_token_whatever_pads(
    kind: str, pad: int | None, tmp_path: Path
) -> None:
    pad_word = None if pad is None else small.WORDS[pad]
    small.save(tmp_path, small.config_of(kind, pad_token_id=pad), small.tokenizer(pad=pad_word))
    ends = [Pair("s:end", "s", "w4 w5", "w9", "w9 w9 w9"), *PAIRS]
    assert_near(rewards(small.opened(tmp_path), ends), small.logits_of(tmp_path, ends)[..., 0])


@pytest.mark.parametrize("config", [small.llama, small.bert], ids=["head apart", "whole model"])
def test_labels_are_read_as_declared_or_refused(config: Any, tmp_path: Path) -> None:
    folder = small.save(tmp_path, config(num_labels=3))
    logits = small.logits_of(folder, PAIRS)
    assert (logits[..., 0] - logits[..., 1]).abs().max() > 0.1
    rows: dict[Any, tuple[Sequence[float], str]] = {
        2: ((0, 0, 1), "label 2 of 3"),
        (1.0, -0.5, 0.25): ((1, -0.5, 0.25), "labels weighted 1, -0.5, 0.25"),
    }
    for reading, (weights, said) in rows.items():
        scorer = small.opened(folder, reading=reading)
        assert_near(rewards(scorer, PAIRS), logits @ torch.tensor([*map(float, weights)]))
        assert scorer.traits.reading == said
    refused: dict[Any, str] = {
        None: "has 3 labels, and which of them is the reward is not known: declare one",
        3: r"has 3 labels; there is no label 3 \(0 to 2 are allowed\)",
        (1.0, 2.0): "has 3 labels, and 2 weights were given",
    }
    for reading, said in refused.items():
        with pytest.raises(KnownError, match=said):
            small.opened(folder, reading=reading)


def test_a_model_that_cannot_be_run_is_told_of_by_its_name(tmp_path: Path) -> None:
    """Its tokenizer may have more words than it."""
    scorer = small.opened(small.save(tmp_path, small.llama(vocab_size=8)))
    [pair] = scorer.prepare([Pair("s:1", "s", "w5", "w6", "w9")])
    with pytest.raises(KnownError, match="small cannot be run: index out of range"):
        scorer.rewards([pair])
    assert isinstance(scorer, Classifier)
    with pytest.raises(KnownError, match="small cannot be run"):
        scorer.at_tails(pair)


def test_a_cap_of_attention_counts_where_a_class_leaves_it_to_sdpa(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As Gemma 2 of transformers 5.17 does, whose sdpa knows of no cap and says nothing."""
    folder = small.save(tmp_path, small.config_of("gemma2"))
    monkeypatch.setattr(Gemma2PreTrainedModel, "_supports_sdpa", True)
    assert_near(rewards(small.opened(folder), PAIRS), small.logits_of(folder, PAIRS)[..., 0])


@pytest.mark.parametrize(
    ("config", "scale", "path", "off"),
    [(small.llama, 2000, small.PACKED, 0.05), (small.bert, 200, small.WHOLE, 0.1)],
)
def test_heads_are_float32_where_the_rest_of_the_model_is_not(
    config: Any, scale: float, path: str, off: float, tmp_path: Path
) -> None:
    """In bfloat16 a reward near 500 would be a multiple of 2."""
    folder = small.save(tmp_path, config(), scale=scale)
    scorer = small.opened(folder, HALF)
    assert isinstance(scorer, Classifier)
    assert (scorer.traits.dtype, scorer.traits.path) == ("bfloat16", path)
    assert {each.dtype for each in scorer.loaded.model.parameters()} == {torch.bfloat16}
    got = rewards(scorer, PAIRS)
    assert (got.bfloat16().float() != got).any()
    expected = small.logits_of(folder, PAIRS)[..., 0]
    assert (got - expected).abs().max() < off * (expected.max() - expected.min())


def test_weights_that_a_class_does_not_know_are_told_of(tmp_path: Path) -> None:
    folder = small.save(tmp_path, small.llama())
    assert small.opened(folder).traits.reading == "its one label"
    weights = load_file(folder / "model.safetensors")
    more = {"v_head.0.weight": torch.ones(1, 32), "lm_head.weight": torch.ones(60, 32)}
    save_file({**weights, **more}, folder / "model.safetensors", {"format": "pt"})
    assert small.opened(folder).traits.reading == (
        "its one label; weights that its class does not know are left out: v_head.0.weight"
    )


# As upstream's run_rm.py.


def as_run_rm(folder: Path, pairs: Sequence[Pair]) -> torch.Tensor:
    """What RewardBenchPipeline and run_rm.py give, one text at a time."""
    model = AutoModelForSequenceClassification.from_pretrained(folder, dtype=torch.float32).eval()
    made: Any = PreTrainedTokenizerFast.from_pretrained(folder)
    made.truncation_side = "left"
    if made.pad_token_id is None:
        made.pad_token_id = model.config.pad_token_id = made.eos_token_id
    if model.config.pad_token_id is None:
        model.config.pad_token_id = made.pad_token_id
    scores = []
    for pair in pairs:
        for response in (pair.chosen, pair.rejected):
            messages = as_objects(pair.answered(response))
            text = made.apply_chat_template(messages, tokenize=False)
            given = made(text, truncation=True, max_length=2048, return_tensors="pt")
            if given.input_ids[0, :2].tolist() == [made.bos_token_id] * 2:
                given.attention_mask[0, 0] = 0
            with torch.inference_mode():
                scores.append(model(**given).logits[0, 0])
    return torch.stack(scores).view(-1, 2)


@pytest.mark.parametrize("pad", ["<pad>", "</s>", None])
def test_upstream_compatible_rewards_are_run_rms(pad: str | None, tmp_path: Path) -> None:
    """Of a model whose text begins with two BOS, padded in several ways."""
    made = small.tokenizer(small.DOUBLED, pad=pad)
    made.backend_tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A", special_tokens=[("<s>", small.BOS)]
    )
    # Its positions are absolute, so that where a text starts can be seen.
    folder = small.save(tmp_path, small.gpt2(pad_token_id=pad and small.WORDS.index(pad)), made)
    scorer, expected = small.opened(folder, COMPATIBLE), as_run_rm(folder, PAIRS)
    assert scorer.traits.path == small.PACKED
    assert_near(rewards(scorer, PAIRS), expected)
    assert (rewards(small.opened(folder), PAIRS) - expected).abs().max() > 1e-3


def test_upstream_compatible_rewards_are_run_rms_where_token_0_pads_and_ends(
    tmp_path: Path,
) -> None:
    made = small.tokenizer(small.TEMPLATE.replace("</s>", "<pad>"))
    made.eos_token = "<pad>"
    folder = small.save(tmp_path, small.llama(pad_token_id=small.PAD, eos_token_id=small.PAD), made)
    assert_near(rewards(small.opened(folder, COMPATIBLE), PAIRS), as_run_rm(folder, PAIRS))


def test_no_sequence_is_so_long_that_others_turn_with_it(tmp_path: Path) -> None:
    """Beyond the 64 tokens it was trained for, every sequence beside it rotates otherwise."""
    rope = {
        "rope_type": "longrope", "rope_theta": 10000.0, "original_max_position_embeddings": 64,
        "short_factor": [1.0] * 4, "long_factor": [1.0, 2.0, 4.0, 8.0], "factor": 4.0,
    }  # fmt: skip
    config = small.config_of("phi3", original_max_position_embeddings=64, rope_parameters=rope)
    scorer = small.opened(small.save(tmp_path, config))
    assert scorer.traits.max_length == 64
    prepared = scorer.prepare(PAIRS)
    assert any(pair.chosen.truncated for pair in prepared)
    for pair, beside in zip(prepared, scorer.rewards(prepared), strict=True):
        assert list(scorer.rewards([pair])[0]) == near(beside)

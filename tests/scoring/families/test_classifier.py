"""Rewards of classifiers, against plain transformers in float32, one sequence at a time.

What holds of every architecture is in test_architectures.py.
"""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file
from tokenizers import processors
from transformers import (
    AutoModelForSequenceClassification,
    Gemma2PreTrainedModel,
    GptOssPreTrainedModel,
    LlamaModel,
    PreTrainedTokenizerFast,
    T5Config,
)

from scoring.errors import KnownError
from scoring.families.classifier import Classifier
from scoring.spec import Pair, RunSettings, as_objects
from tests.support.rounding import assert_near, near
from tests.support.small_models import (
    BOS,
    DOUBLED,
    EOS,
    PACKED,
    PAD,
    PAIRS,
    TEMPLATE,
    WHOLE,
    WORDS,
    bert,
    config_of,
    gpt2,
    llama,
    logits_of,
    opened,
    plain,
    rewards,
    save,
    tokenizer,
)

HALF = RunSettings(device="cpu", dtype="bfloat16")
COMPATIBLE = RunSettings(device="cpu", dtype="float32", upstream_compatible=True)


@pytest.mark.parametrize(
    ("kind", "pad"), [("llama", EOS), ("llama", None), ("bloom", PAD), ("bloom", 9)]
)
def test_the_score_is_read_at_the_last_token_whatever_pads(
    kind: str, pad: int | None, tmp_path: Path
) -> None:
    pad_word = None if pad is None else WORDS[pad]
    save(tmp_path, config_of(kind, pad_token_id=pad), tokenizer(pad=pad_word))
    ends = [Pair("s:end", "s", "w4 w5", "w9", "w9 w9 w9"), *PAIRS]
    assert_near(rewards(opened(tmp_path), ends), logits_of(plain(tmp_path), ends)[..., 0])


# Which label is the reward.


@pytest.mark.parametrize("config", [llama, bert], ids=["head apart", "whole model"])
def test_labels_are_read_as_declared_or_refused(config: Any, tmp_path: Path) -> None:
    folder = save(tmp_path, config(num_labels=3))
    logits = logits_of(plain(folder), PAIRS)
    assert (logits[..., 0] - logits[..., 1]).abs().max() > 0.1
    rows: dict[Any, tuple[Sequence[float], str]] = {
        0: ((1, 0, 0), "label 0 of 3"),
        2: ((0, 0, 1), "label 2 of 3"),
        (1.0, -0.5, 0.25): ((1, -0.5, 0.25), "labels weighted 1, -0.5, 0.25"),
    }
    for reading, (weights, said) in rows.items():
        scorer = opened(folder, reading=reading)
        assert_near(rewards(scorer, PAIRS), logits @ torch.tensor([*map(float, weights)]))
        assert scorer.traits.reading == said
    refused: dict[Any, str] = {
        None: "has 3 labels, and which of them is the reward is not known: declare one",
        3: r"has 3 labels; there is no label 3 \(0 to 2 are allowed\)",
        -1: "there is no label -1",
        (1.0, 2.0): "has 3 labels, and 2 weights were given",
    }
    for reading, said in refused.items():
        with pytest.raises(KnownError, match=said):
            opened(folder, reading=reading)


# What a stranger's weights do.


def test_a_model_that_cannot_be_run_is_told_of_by_its_name(tmp_path: Path) -> None:
    """T5 wants to know with which token its decoder begins; a tokenizer may have too many words."""
    t5 = T5Config(vocab_size=len(WORDS), d_model=32, d_kv=8, d_ff=48, num_layers=2, num_labels=1)
    AutoModelForSequenceClassification.from_config(t5).save_pretrained(tmp_path / "t5")
    tokenizer().save_pretrained(tmp_path / "t5")
    with pytest.raises(KnownError, match=r"^small cannot be run: .*decoder_start_token_id"):
        opened(tmp_path / "t5")
    scorer = opened(save(tmp_path / "few", llama(vocab_size=8)))
    [pair] = scorer.prepare([Pair("s:1", "s", "w5", "w6", "w9")])
    with pytest.raises(KnownError, match="small cannot be run: index out of range"):
        scorer.rewards([pair])
    assert isinstance(scorer, Classifier)
    with pytest.raises(KnownError, match="small cannot be run"):
        scorer.at_tails(pair)


@pytest.mark.parametrize(
    ("name", "kind"), [("gemma2", Gemma2PreTrainedModel), ("gpt_oss", GptOssPreTrainedModel)]
)
def test_caps_and_sinks_of_attention_count_where_a_class_leaves_them_to_sdpa(
    name: str, kind: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As Gemma 2 of transformers 5.17 does, whose sdpa knows of no cap and says nothing."""
    folder = save(tmp_path, config_of(name))
    monkeypatch.setattr(kind, "_supports_sdpa", True)
    assert_near(rewards(opened(folder), PAIRS), logits_of(plain(folder), PAIRS)[..., 0])


@pytest.mark.parametrize(
    ("config", "scale", "path", "off"), [(llama, 2000, PACKED, 0.05), (bert, 200, WHOLE, 0.1)]
)
def test_heads_are_float32_where_the_rest_of_the_model_is_not(
    config: Any, scale: float, path: str, off: float, tmp_path: Path
) -> None:
    """In bfloat16 a reward near 500 would be a multiple of 2."""
    folder = save(tmp_path, config(), scale=scale)
    scorer = opened(folder, HALF)
    assert isinstance(scorer, Classifier)
    assert (scorer.traits.dtype, scorer.traits.path) == ("bfloat16", path)
    assert {each.dtype for each in scorer.loaded.model.parameters()} == {torch.bfloat16}
    got = rewards(scorer, PAIRS)
    assert (got.bfloat16().float() != got).any()
    expected = logits_of(plain(folder), PAIRS)[..., 0]
    assert (got - expected).abs().max() < off * (expected.max() - expected.min())


def test_weights_that_a_class_does_not_know_are_told_of(tmp_path: Path) -> None:
    folder = save(tmp_path, llama())
    assert opened(folder).traits.reading == "its one label"
    weights = load_file(folder / "model.safetensors")
    more = {"v_head.0.weight": torch.ones(1, 32), "lm_head.weight": torch.ones(60, 32)}
    save_file({**weights, **more}, folder / "model.safetensors", {"format": "pt"})
    assert opened(folder).traits.reading == (
        "its one label; weights that its class does not know are left out: v_head.0.weight"
    )


def test_no_memory_beside_the_weights_is_told_in_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fill(*_: Any, **__: Any) -> None:
        raise torch.OutOfMemoryError("CUDA out of memory.")

    folder = save(tmp_path, llama())
    monkeypatch.setattr(LlamaModel, "forward", fill)
    with pytest.raises(KnownError, match=r"^small fits in memory, but nothing beside it"):
        opened(folder)


# As upstream's run_rm.py.


@pytest.fixture(params=["<pad>", "</s>", None])
def run_rm(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A model whose text begins with two BOS, padded in several ways."""
    made = tokenizer(DOUBLED, pad=request.param)
    made.backend_tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A", special_tokens=[("<s>", BOS)]
    )
    pad_id = None if request.param is None else WORDS.index(request.param)
    # Its positions are absolute, so that where a text starts can be seen.
    return save(tmp_path, gpt2(pad_token_id=pad_id), made)


def as_run_rm(folder: Path, pairs: Sequence[Pair]) -> torch.Tensor:
    """What RewardBenchPipeline and run_rm.py give, in one padded batch a side."""
    model = AutoModelForSequenceClassification.from_pretrained(folder, dtype=torch.float32).eval()
    made: Any = PreTrainedTokenizerFast.from_pretrained(folder)
    made.truncation_side = "left"
    if made.pad_token_id is None:
        model.config.pad_token_id = made.eos_token_id
        made.pad_token_id = made.eos_token_id
    if model.config.pad_token_id is None:
        model.config.pad_token_id = made.pad_token_id
    sides = []
    for responses in ([pair.chosen for pair in pairs], [pair.rejected for pair in pairs]):
        texts = [
            made.apply_chat_template(as_objects(pair.answered(response)), tokenize=False)
            for pair, response in zip(pairs, responses, strict=True)
        ]
        inputs = made(texts, truncation=True, max_length=2048, padding=True, return_tensors="pt")
        ids, mask = inputs.input_ids, inputs.attention_mask
        for row in range(len(texts)):
            real = ids[row][mask[row].bool()]
            if real[:2].tolist() == [made.bos_token_id] * 2:
                mask[row, mask[row].argmax()] = 0
        with torch.inference_mode():
            sides.append(model(input_ids=ids, attention_mask=mask).logits[:, 0])
    return torch.stack(sides, dim=1)


def test_upstream_compatible_rewards_are_run_rms(run_rm: Path) -> None:
    scorer = opened(run_rm, COMPATIBLE)
    assert scorer.traits.path == PACKED
    expected = as_run_rm(run_rm, PAIRS)
    assert_near(rewards(scorer, PAIRS), expected)
    assert (rewards(opened(run_rm), PAIRS) - expected).abs().max() > 1e-3


def test_upstream_compatible_rewards_are_run_rms_where_token_0_pads_and_ends(
    tmp_path: Path,
) -> None:
    made = tokenizer(TEMPLATE.replace("</s>", "<pad>"))
    made.eos_token = "<pad>"
    folder = save(tmp_path, llama(pad_token_id=PAD, eos_token_id=PAD), made)
    expected = as_run_rm(folder, PAIRS)
    assert_near(rewards(opened(folder, COMPATIBLE), PAIRS), expected)


def test_no_sequence_is_so_long_that_others_turn_with_it(tmp_path: Path) -> None:
    """Beyond the 64 tokens it was trained for, every sequence beside it rotates otherwise."""
    rope = {
        "rope_type": "longrope", "rope_theta": 10000.0, "original_max_position_embeddings": 64,
        "short_factor": [1.0] * 4, "long_factor": [1.0, 2.0, 4.0, 8.0], "factor": 4.0,
    }  # fmt: skip
    config = config_of("phi3", original_max_position_embeddings=64, rope_parameters=rope)
    scorer = opened(save(tmp_path, config))
    assert scorer.traits.max_length == 64
    prepared = scorer.prepare(PAIRS)
    assert any(pair.chosen.truncated for pair in prepared)
    for pair, beside in zip(prepared, scorer.rewards(prepared), strict=True):
        assert list(scorer.rewards([pair])[0]) == near(beside)


# Compiling.


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What was compiled, which is not done."""
    asked: list[Any] = []
    monkeypatch.setattr("scoring.engine.forward.Packed.compile", lambda _, f: asked.append(f))
    return asked


def test_on_a_card_the_runs_of_a_process_count_together_and_without_none_is_compiled_unasked(
    compiled: list[Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", str(tmp_path / "cache"))
    scorer: Any = opened(save(tmp_path, llama()))
    on_card: Any = SimpleNamespace(device=torch.device("cuda"), dtype=torch.bfloat16)
    scorer.loaded = replace(scorer.loaded, model=on_card)
    for times in (0, 1, 1, 2):  # this one gives up, and is asked again when as much was spent
        scorer.prepare_for_tokens(1_540_000)
        assert len(compiled) == times
    opened(tmp_path).prepare_for_tokens(10**9)
    assert len(compiled) == 2

"""The table of `docs/architectures.md`: which path each architecture takes, and its own rewards."""

import re
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import AutoConfig, AutoModelForSequenceClassification

from scoring.families.classifier import Classifier
from scoring.models.loading import Loaded
from scoring.spec import ModelSpec, RunSettings
from tests.scoring.families.test_classifier import PACKED, PAIRS, SMALL, tokenizer
from tests.support.rounding import assert_near

TABLE = Path(__file__).resolve().parents[3] / "docs" / "architectures.md"
GROUPED: dict[str, Any] = {"num_key_value_heads": 2, "head_dim": 8}
EXPERTS: dict[str, Any] = {
    "num_experts": 4,
    "num_experts_per_tok": 2,
    "moe_intermediate_size": 16,
}
WINDOWS: dict[str, Any] = {
    "sliding_window": 5,
    "layer_types": ["sliding_attention", "full_attention"],
}
LATENT: dict[str, Any] = {
    "num_key_value_heads": 4,
    "q_lora_rank": 16,
    "kv_lora_rank": 16,
    "qk_nope_head_dim": 8,
    "qk_rope_head_dim": 8,
    "v_head_dim": 8,
    "n_routed_experts": 4,
    "num_experts_per_tok": 2,
    "n_group": 1,
    "topk_group": 1,
    "moe_intermediate_size": 16,
}
HYBRID: dict[str, Any] = {
    **GROUPED,
    "layer_types": ["linear_attention", "full_attention"],
    "linear_num_key_heads": 2,
    "linear_num_value_heads": 2,
    "linear_key_head_dim": 8,
    "linear_value_head_dim": 8,
}
PADDED = "padded: packs do not suit this model"
WHOLE = "padded: its rewards come from the whole model"
SLOW = pytest.mark.slow
ROWS = [
    *[
        pytest.param(name, PACKED, "Llama,", more, marks=SLOW)
        for name, more in {
            "llama": GROUPED,
            "qwen2": {"num_key_value_heads": 2},
            "qwen3": GROUPED,
            "olmo2": {"num_key_value_heads": 2},
            "phi3": {"num_key_value_heads": 2},
            "starcoder2": {"num_key_value_heads": 2},
        }.items()
    ],
    pytest.param(
        *("mistral", PACKED, "Mistral", {"num_key_value_heads": 2, "sliding_window": 5}), marks=SLOW
    ),
    pytest.param("gemma3_text", PACKED, "Mistral", {**GROUPED, **WINDOWS}, marks=SLOW),
    pytest.param("gemma", PACKED, "Gemma,", GROUPED, marks=SLOW),
    pytest.param("phi", PACKED, "Gemma,", {}, marks=SLOW),
    pytest.param("gpt2", PACKED, "Gemma,", {}, marks=SLOW),
    pytest.param("gpt_neox", PACKED, "Gemma,", {}, marks=SLOW),
    pytest.param("qwen3_moe", PACKED, "Qwen 3 MoE", {**GROUPED, **EXPERTS}, marks=SLOW),
    pytest.param(
        *("mixtral", PACKED, "Qwen 3 MoE", {"num_key_value_heads": 2, "num_local_experts": 4}),
        marks=SLOW,
    ),
    ("gemma2", PACKED, "Gemma 2", {**GROUPED, **WINDOWS, "attn_logit_softcapping": 1.0}),
    ("gpt_oss", PACKED, "gpt-oss", {**GROUPED, **WINDOWS, "num_local_experts": 4}),
    ("deepseek_v3", PACKED, "DeepSeek", {**LATENT, "first_k_dense_replace": 1}),
    pytest.param("deepseek_v2", PACKED, "DeepSeek", {**LATENT, "head_dim": 8}, marks=SLOW),
    pytest.param("bloom", PADDED, "Bloom", {}, marks=SLOW),
    pytest.param("mpt", PADDED, "Bloom", {"n_heads": 4, "n_layers": 2, "d_model": 32}, marks=SLOW),
    pytest.param("falcon", PADDED, "Bloom", {"alibi": True}, marks=SLOW),
    pytest.param("qwen3_5_text", PADDED, "Qwen 3.5", HYBRID, marks=SLOW),
    pytest.param(
        *("qwen3_next", PADDED, "Qwen 3.5"),
        {**HYBRID, **EXPERTS, "shared_expert_intermediate_size": 16},
        marks=SLOW,
    ),
    pytest.param(
        *("jamba", PADDED, "Qwen 3.5"),
        {
            "num_key_value_heads": 2,
            "attn_layer_period": 2,
            "attn_layer_offset": 1,
            "num_experts": 2,
            "mamba_d_state": 4,
            "use_mamba_kernels": False,
        },
        marks=SLOW,
    ),
    pytest.param("bert", WHOLE, "BERT", {}, marks=SLOW),
    pytest.param("modernbert", WHOLE, "BERT", {}, marks=SLOW),
    pytest.param("roberta", WHOLE, "BERT", {}, marks=SLOW),
    pytest.param("deberta-v2", WHOLE, "BERT", {"relative_attention": True}, marks=SLOW),
]


@pytest.mark.parametrize(("kind", "path", "row", "more"), ROWS)
def test_each_row_of_the_table_is_so(kind: str, path: str, row: str, more: dict[str, Any]) -> None:
    (told,) = re.findall(rf"^\| {re.escape(row)}[^|]*\| (\w+)", TABLE.read_text("utf-8"), re.M)
    assert path.startswith(told)
    torch.set_num_threads(1)
    torch.manual_seed(0)
    config = AutoConfig.for_model(kind, **{**SMALL, **more})
    model = AutoModelForSequenceClassification.from_config(config, dtype=torch.float32).eval()
    for weights in model.parameters():
        if weights.dim() > 1 or not weights.isfinite().all():
            torch.nn.init.normal_(weights, std=0.2)
    spec, settings = ModelSpec(kind, "", "random"), RunSettings(device="cpu", max_length=200)
    with torch.inference_mode():
        scorer = Classifier(spec, settings, Loaded(spec, model, tokenizer()))
        pairs = scorer.prepare(PAIRS)
        got = torch.tensor(scorer.rewards(pairs))
        assert scorer.traits.path.startswith(path)
        model.set_attn_implementation("eager")
        expected = [
            [model(input_ids=torch.tensor([ids])).logits[0, 0].item() for ids in sides]
            for sides in ((pair.chosen.ids, pair.rejected.ids) for pair in pairs)
        ]
    assert_near(got, torch.tensor(expected))

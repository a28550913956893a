"""Rewards of classifiers, against plain transformers in float32, one sequence at a time.

Each architecture has its own rewards, by the path that `docs/architectures.md` says.
"""

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file
from tokenizers import processors
from transformers import (
    AutoConfig,
    AutoModelForSequenceClassification,
    Gemma2PreTrainedModel,
    PreTrainedTokenizerFast,
    T5Tokenizer,
)

from scoring.errors import KnownError
from scoring.families import open_scorer
from scoring.families.classifier import Classifier
from scoring.models.finding import locate
from scoring.spec import Pair, RunSettings, as_objects
from tests.conftest import ROOT
from tests.support import small_models as small
from tests.support.judging import scored
from tests.support.rounding import assert_near, near
from tests.support.small_models import CPU, PACKED, PAIRS, WHOLE, rewards

COMPATIBLE = RunSettings(device="cpu", dtype="float32", upstream_compatible=True)
TABLE = ROOT / "docs" / "architectures.md"
PADDED = "padded: packs do not suit this model"
QUICK = {"llama", "gemma2", "gemma3", "gpt_oss", "deepseek_v3", "bloom", "bert"}
"""Of which `make test` makes do."""
PATHS = [
    *((kind, PACKED, "Llama,") for kind in ("llama", "qwen2", "qwen3", "olmo2", "phi3")),
    ("starcoder2", PACKED, "Llama,"),
    *((kind, PACKED, "Mistral") for kind in ("mistral", "gemma3_text", "gemma3")),
    *((kind, PACKED, "Gemma,") for kind in ("gemma", "phi", "gpt2", "gpt_neox")),
    *((kind, PACKED, "Qwen 3 MoE") for kind in ("qwen3_moe", "mixtral")),
    ("gemma2", PACKED, "Gemma 2"),
    ("gpt_oss", PACKED, "gpt-oss"),
    *((kind, PACKED, "DeepSeek") for kind in ("deepseek_v3", "deepseek_v2")),
    *((kind, PADDED, "Bloom") for kind in ("bloom", "mpt", "falcon")),
    *((kind, PADDED, "Qwen 3.5") for kind in ("qwen3_5_text", "qwen3_5", "qwen3_next", "jamba")),
    *((kind, WHOLE, "BERT") for kind in ("bert", "modernbert", "roberta", "deberta-v2")),
]
"""Architecture, its path, and how its row of the table begins."""


@pytest.mark.parametrize(
    ("kind", "path", "row"),
    [
        pytest.param(*row, id=row[0], marks=[] if row[0] in QUICK else [pytest.mark.slow])
        for row in PATHS
    ],
)
def test_rewards_are_those_of_plain_transformers_by_the_path_of_the_table(
    kind: str, path: str, row: str, tmp_path: Path
) -> None:
    """Whatever is beside a pair; and equal sides tie."""
    config = small.config_of(kind)
    folder = small.save(tmp_path, config, small.tokenizer_for(config, small.ENDLESS))
    scorer = open_scorer(locate(str(folder), small.OPEN, small.OFFLINE), RunSettings(device="cpu"))
    [told] = re.findall(rf"^\| {re.escape(row)}[^|]*\| (\w+)", TABLE.read_text("utf-8"), re.M)
    assert path.startswith(told)
    assert scorer.traits.path.startswith(path)
    # Of Falcon's two ways of its own, transformers' default is taken: they differ.
    model = small.plain(folder, "sdpa" if kind == "falcon" else "eager")
    ids = [side.ids for pair in scorer.prepare(PAIRS) for side in pair.sides]
    expected = small.one_at_a_time(model, ids).view(-1, 2)
    assert expected.max() - expected.min() > 0.1
    assert_near(rewards(scorer, PAIRS), expected)
    assert_near(torch.cat([rewards(scorer, [pair]) for pair in PAIRS]), expected)
    rows = scored(small.opened(folder, replace(CPU, budget=60)), PAIRS, seed=1)
    assert_near(torch.tensor([rows[pair.key].all_rewards for pair in PAIRS]), expected)
    equal = [replace(pair, rejected=pair.chosen) for pair in PAIRS]
    for pairs in (equal, equal[3:5], equal[:1]):
        got = rewards(scorer, pairs)
        assert torch.equal(got[:, 0], got[:, 1])  # to the last bit


@pytest.mark.parametrize("kind", ["llama", "bloom", "bert"])
def test_what_is_no_number_spoils_only_the_pairs_that_hold_it(kind: str, tmp_path: Path) -> None:
    """What both sides share may take it from one of them: such a pair has no margin anyway."""
    model = small.plain(small.save(tmp_path, small.config_of(kind)))
    with torch.no_grad():
        model.get_input_embeddings().weight[small.WORDS.index("w40")] = math.nan
    model.save_pretrained(tmp_path)
    texts = [("w5 w6", "w7 w8", "w7 w40"), ("w5", "w40", "w9 w9 w9"), ("w40 w5", "w6", "w7")]
    pairs = [Pair(f"s:{n}", "s", *each) for n, each in enumerate([*texts, ("w11 w5", "w6", "w7")])]
    scorer = small.opened(tmp_path)
    finite = rewards(scorer, pairs).isfinite()
    holds = torch.tensor([[False, True], [True, False], [True, True], [False, False]])
    assert not finite[holds].any()
    assert finite[3].all()
    row = scored(scorer, pairs)["s:2"]
    assert (row.chosen_reward, row.rejected_reward, row.outcome) == (None, None, "missing")


def test_an_encoder_decoder_reads_its_reward_at_the_last_of_several_ends(tmp_path: Path) -> None:
    """Its tokenizer, of letters, writes one behind every text, which is never cut off."""
    known = ["<unk>", "<s>", "</s>", "<cls>", "<sep>", "<pad>", "\u2581", *small.LETTERS]
    made: Any = T5Tokenizer(vocab=[(each, -float(n)) for n, each in enumerate(known)])
    config = AutoConfig.for_model(
        "t5", vocab_size=len(made), d_model=32, d_kv=8, d_ff=37, num_layers=2, num_heads=4,
        num_labels=1, pad_token_id=5, eos_token_id=2, decoder_start_token_id=5, bos_token_id=1,
    )  # fmt: skip
    scorer = small.opened(small.save(tmp_path, config, made), replace(CPU, max_length=200))
    assert scorer.traits.path == WHOLE
    pairs = [
        Pair("s:1", "s", "w1 w2", "w3 </s> w4", "w3 w4 w5 w1"),
        Pair("s:2", "s", "w1 </s> w2", "w3", "</s></s>"),
    ]
    model: Any = AutoModelForSequenceClassification.from_pretrained(tmp_path).eval()
    texts = [f"Human: {p.prompt}\n\nAssistant: {text}" for p in pairs for text in p.responses]
    expected = small.one_at_a_time(model, [made(text).input_ids for text in texts])
    assert_near(rewards(scorer, pairs), expected.view(-1, 2))
    for side in ("left", "right"):
        short = small.opened(tmp_path, replace(CPU, max_length=12, truncation_side=side))
        ids = short.prepare(pairs)[0].chosen.ids
        assert (len(ids), ids[-1]) == (12, 2)


@pytest.mark.parametrize(
    ("kind", "pad"), [("llama", small.EOS), ("llama", None), ("bloom", small.PAD), ("bloom", 9)]
)
def test_the_last_token_is_read_whatever_pads(kind: str, pad: int | None, tmp_path: Path) -> None:
    pad_word = None if pad is None else small.WORDS[pad]
    small.save(tmp_path, small.config_of(kind, pad_token_id=pad), small.tokenizer(pad=pad_word))
    ends = [Pair("s:end", "s", "w4 w5", "w9", "w9 w9 w9"), *PAIRS]
    assert_near(rewards(small.opened(tmp_path), ends), small.logits_of(tmp_path, ends)[..., 0])


@pytest.mark.parametrize("config", [small.llama, small.bert], ids=["head apart", "whole model"])
def test_labels_are_read_as_declared_or_refused(config: Any, tmp_path: Path) -> None:
    folder = small.save(tmp_path, config(num_labels=3))
    logits = small.logits_of(folder, PAIRS)
    assert (logits[..., 0] - logits[..., 1]).abs().max() > 0.1
    third = small.opened(folder, reading=2)
    assert_near(rewards(third, PAIRS), logits[..., 2])
    weighted = small.opened(folder, reading=(1.0, -0.5, 0.25))
    assert_near(rewards(weighted, PAIRS), logits @ torch.tensor([1, -0.5, 0.25]))
    readings = [scorer.traits.reading for scorer in (third, weighted)]
    assert readings == ["label 2 of 3", "labels weighted 1, -0.5, 0.25"]
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
    [(small.llama, 2000, PACKED, 0.05), (small.bert, 200, WHOLE, 0.1)],
)
def test_heads_are_float32_where_the_rest_of_the_model_is_not(
    config: Any, scale: float, path: str, off: float, tmp_path: Path
) -> None:
    """In bfloat16 a reward near 500 would be a multiple of 2."""
    folder = small.save(tmp_path, config(), scale=scale)
    scorer = small.opened(folder, replace(CPU, dtype="bfloat16"))
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


def doubled(pad: str | None) -> tuple[Any, Any]:
    """A model and a tokenizer by which a text begins with two BOS, and what pads."""
    made = small.tokenizer(small.DOUBLED, pad=pad)
    made.backend_tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A", special_tokens=[("<s>", small.BOS)]
    )
    # Its positions are absolute, so that where a text starts can be seen.
    return small.gpt2(pad_token_id=pad and small.WORDS.index(pad)), made


def ended_by_padding() -> tuple[Any, Any]:
    """A model and a tokenizer whose token 0 pads and ends."""
    made = small.tokenizer(small.TEMPLATE.replace("</s>", "<pad>"))
    made.eos_token = "<pad>"
    return small.llama(pad_token_id=small.PAD, eos_token_id=small.PAD), made


@pytest.mark.parametrize(
    "made",
    [*(partial(doubled, pad) for pad in ("<pad>", "</s>", None)), ended_by_padding],
    ids=["padding of its own", "padded by its end", "no padding", "token 0 pads and ends"],
)
def test_upstream_compatible_rewards_are_run_rms(made: Callable[[], Any], tmp_path: Path) -> None:
    folder = small.save(tmp_path, *made())
    scorer, expected = small.opened(folder, COMPATIBLE), as_run_rm(folder, PAIRS)
    assert scorer.traits.path == PACKED
    assert_near(rewards(scorer, PAIRS), expected)
    assert (rewards(small.opened(folder), PAIRS) - expected).abs().max() > 1e-3


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

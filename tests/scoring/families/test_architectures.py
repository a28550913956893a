"""Each architecture has its own rewards, by the path that `docs/architectures.md` says."""

import math
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import torch
from transformers import (
    AutoConfig,
    AutoModelForSequenceClassification,
    AutoTokenizer,
    BertTokenizer,
    T5Tokenizer,
)

from scoring.engine.scorer import Scorer
from scoring.families import open_scorer
from scoring.models.finding import locate
from scoring.spec import Pair, RunSettings
from tests.conftest import ROOT
from tests.support.judging import scored
from tests.support.rounding import assert_near
from tests.support.small_models import (
    CPU,
    ENDLESS,
    LETTERS,
    OFFLINE,
    OPEN,
    PACKED,
    PAIRS,
    WHOLE,
    WORDS,
    config_of,
    opened,
    plain,
    rewards,
    save,
    tokenizer_for,
)

TABLE = ROOT / "docs" / "architectures.md"
PADDED = "padded: packs do not suit this model"
QUICK = {"llama", "gemma2", "gemma3", "gpt_oss", "deepseek_v3", "bloom", "bert"}
"""Of which `make test` makes do; of each path it takes one, in all that it must hold."""
OF_EACH_PATH = {"llama", "bloom", "bert"}
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


class Case(NamedTuple):
    """An architecture at work. expected: [pairs, 2], by plain transformers, one at a time."""

    path: str
    row: str
    folder: Path
    scorer: Scorer
    expected: torch.Tensor
    got: torch.Tensor


def cases(quick: set[str]) -> list[Any]:
    marks = [[] if kind in quick else [pytest.mark.slow] for kind, _, _ in PATHS]
    return [
        pytest.param(row, id=row[0], marks=mark) for row, mark in zip(PATHS, marks, strict=True)
    ]


each = pytest.mark.parametrize("case", cases(QUICK), indirect=True, scope="module")
thoroughly = pytest.mark.parametrize("case", cases(OF_EACH_PATH), indirect=True, scope="module")


@pytest.fixture(scope="module")
def case(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Case:
    kind, path, row = request.param
    config = config_of(kind)
    folder = save(tmp_path_factory.mktemp(kind), config, tokenizer_for(config, ENDLESS))
    scorer = open_scorer(locate(str(folder), OPEN, OFFLINE), RunSettings(device="cpu"))
    # Of Falcon's two ways of its own, transformers' default is taken: they differ.
    model = plain(folder, "sdpa" if kind == "falcon" else "eager")
    ids = [side.ids for pair in scorer.prepare(PAIRS) for side in pair.sides]
    with torch.inference_mode():
        expected = [model(input_ids=torch.tensor([each])).logits.item() for each in ids]
    got = rewards(scorer, PAIRS)
    return Case(path, row, folder, scorer, torch.tensor(expected).view(-1, 2), got)


@each
def test_rewards_are_those_of_plain_transformers_by_the_path_of_the_table(case: Case) -> None:
    [told] = re.findall(rf"^\| {re.escape(case.row)}[^|]*\| (\w+)", TABLE.read_text("utf-8"), re.M)
    assert case.path.startswith(told)
    assert case.scorer.traits.path.startswith(case.path)
    assert case.expected.max() - case.expected.min() > 0.1
    assert_near(case.got, case.expected)


@thoroughly
def test_a_pair_scores_the_same_whatever_is_beside_it_and_equal_sides_tie(case: Case) -> None:
    alone = torch.cat([rewards(case.scorer, [pair]) for pair in PAIRS])
    assert_near(alone, case.got)
    scorer = opened(case.folder, RunSettings(device="cpu", dtype="float32", budget=60))
    rows = scored(scorer, PAIRS, seed=1)
    assert_near(torch.tensor([rows[pair.key].all_rewards for pair in PAIRS]), case.got)
    equal = [Pair(p.key, "s", p.prompt, p.chosen, p.chosen, p.turns) for p in PAIRS]
    for pairs in (equal, equal[3:5], equal[:1]):
        got = rewards(case.scorer, pairs)
        assert torch.equal(got[:, 0], got[:, 1])  # to the last bit


@pytest.mark.parametrize("kind", ["llama", "bloom", "bert"])
def test_what_is_no_number_spoils_only_the_pairs_that_hold_it(kind: str, tmp_path: Path) -> None:
    """What both sides share may take it from one of them: such a pair has no margin anyway."""
    model = plain(save(tmp_path, config_of(kind)))
    with torch.no_grad():
        model.get_input_embeddings().weight[WORDS.index("w40")] = math.nan
    model.save_pretrained(tmp_path)
    texts = [("w5 w6", "w7 w8", "w7 w40"), ("w5", "w40", "w9 w9 w9"), ("w40 w5", "w6", "w7")]
    pairs = [Pair(f"s:{n}", "s", *each) for n, each in enumerate([*texts, ("w11 w5", "w6", "w7")])]
    scorer = opened(tmp_path)
    finite = rewards(scorer, pairs).isfinite()
    holds = torch.tensor([[False, True], [True, False], [True, True], [False, False]])
    assert not finite[holds].any()
    assert finite[3].all()
    row = scored(scorer, pairs)["s:2"]
    assert (row.chosen_reward, row.rejected_reward, row.outcome) == (None, None, "missing")


# Tokenizers that put tokens of their own around a text.

SHAPE: dict[str, Any] = {
    "hidden_size": 32, "intermediate_size": 37, "num_hidden_layers": 2, "num_attention_heads": 4,
    "max_position_embeddings": 256, "num_labels": 1,
}  # fmt: skip
T5 = {"d_model": 32, "d_kv": 8, "d_ff": 37, "num_layers": 2, "num_heads": 4, "num_labels": 1}
DECODING = {"pad_token_id": 5, "eos_token_id": 2, "decoder_start_token_id": 5, "bos_token_id": 1}


def bert_tokenizer() -> Any:
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    words = [*special, "human", "assistant", ":", *(f"w{n}" for n in range(60))]
    return BertTokenizer(vocab={word: n for n, word in enumerate(words)})


def t5_tokenizer() -> Any:
    special = ["<unk>", "<s>", "</s>", "<cls>", "<sep>", "<pad>", "\u2581"]
    return T5Tokenizer(vocab=[(each, -float(n)) for n, each in enumerate([*special, *LETTERS])])


ENDS: dict[str, tuple[dict[str, Any], Callable[[], Any]]] = {
    "bert": (SHAPE, bert_tokenizer),
    "t5": ({**T5, **DECODING}, t5_tokenizer),
}
"""Architecture -> its config and its tokenizer."""
SEVERAL_ENDS = [
    Pair("s:1", "s", "w1 w2", "w3 </s> w4", "w3 w4 w5 w1"),
    Pair("s:2", "s", "w1 </s> w2", "w3", "</s></s>"),
]
"""Encoder-decoders read the reward at the last EOS, of which a text may hold several."""


def saved(kind: str, folder: Path) -> Path:
    shape, made = ENDS[kind]
    used = made()
    return save(folder, AutoConfig.for_model(kind, vocab_size=len(used), **shape), used)


def tulu_text(pair: Pair, response: str) -> str:
    said = [*pair.messages, ("assistant", response)]
    return "".join(f"<|{role}|>\n" + (f"{text}\n" if text else "") for role, text in said)


def fallback_text(pair: Pair, response: str) -> str:
    names = {"user": "Human", "assistant": "Assistant", "system": "System"}
    said = [*pair.messages, ("assistant", response)]
    return "\n\n".join(f"{names[role]}: {text}" for role, text in said)


@pytest.mark.parametrize(("kind", "compatible"), [("bert", False), ("bert", True), ("t5", False)])
def test_without_a_template_a_text_stands_between_the_tokenizers_own_ends(
    kind: str, compatible: bool, tmp_path: Path
) -> None:
    """As RewardBenchPipeline has it, one text at a time."""
    folder = saved(kind, tmp_path)
    settings = replace(CPU, upstream_compatible=compatible, max_length=200)
    scorer = opened(folder, settings)
    assert scorer.traits.path == WHOLE
    pairs = SEVERAL_ENDS if kind == "t5" else PAIRS
    text = tulu_text if compatible else fallback_text
    model: Any = AutoModelForSequenceClassification.from_pretrained(folder).eval()
    own: Any = AutoTokenizer.from_pretrained(folder)
    own.truncation_side = "left"
    how = {"truncation": True, "max_length": 200, "return_tensors": "pt"}
    texts = [text(pair, side) for pair in pairs for side in (pair.chosen, pair.rejected)]
    with torch.inference_mode():
        expected = [model(input_ids=own(each, **how).input_ids).logits[0, 0] for each in texts]
    assert_near(rewards(scorer, pairs).flatten(), torch.stack(expected))


@pytest.mark.parametrize("side", ["left", "right"])
def test_what_is_too_long_keeps_its_ends(side: Any, tmp_path: Path) -> None:
    folder = saved("bert", tmp_path)
    [pair] = opened(folder, replace(CPU, max_length=12, truncation_side=side)).prepare(
        [Pair("s:1", "s", "w1 w2 w3 w4 w5", "w6 w7 w8 w9 w1 w2 w3", "w1")]
    )
    tokens = AutoTokenizer.from_pretrained(folder).convert_ids_to_tokens(pair.chosen.ids)
    assert (pair.chosen.truncated, len(tokens)) == (True, 12)
    assert (tokens[0], tokens[-1]) == ("[CLS]", "[SEP]")

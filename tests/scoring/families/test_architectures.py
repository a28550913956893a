"""Each architecture has its own rewards, by the path that `docs/architectures.md` says."""

import math
import re
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

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
from scoring.models.catalogue import catalogue
from scoring.models.finding import locate
from scoring.spec import Pair, RunSettings
from tests.conftest import ROOT
from tests.support import small_models as small
from tests.support.judging import scored
from tests.support.rounding import assert_near
from tests.support.small_models import PAIRS, rewards

TABLE = ROOT / "docs" / "architectures.md"
PADDED = "padded: packs do not suit this model"
PATHS = {
    "Llama,": (small.PACKED, "llama qwen2 qwen3 olmo2 phi3 starcoder2"),
    "Mistral": (small.PACKED, "mistral gemma3_text gemma3"),
    "Gemma,": (small.PACKED, "gemma phi gpt2 gpt_neox"),
    "Qwen 3 MoE": (small.PACKED, "qwen2_moe qwen3_moe mixtral"),
    "Gemma 2": (small.PACKED, "gemma2"),
    "gpt-oss": (small.PACKED, "gpt_oss"),
    "DeepSeek": (small.PACKED, "deepseek_v3 deepseek_v2"),
    "Bloom": (PADDED, "bloom mpt falcon"),
    "StableLM": (PADDED, "stablelm"),
    "Qwen 3.5": (PADDED, "qwen3_5_text qwen3_5 qwen3_next jamba"),
    "BERT": (small.WHOLE, "bert modernbert roberta deberta-v2"),
}
"""How a row of the table begins, and the path of its architectures."""
KINDS = [(kind, row) for row, (_, kinds) in PATHS.items() for kind in kinds.split()]
OF_EACH_PATH = {"llama", "bloom", "bert"}
QUICK = {*OF_EACH_PATH, "gemma2", "gemma3", "gpt_oss", "deepseek_v3"}
"""Of which `make test` makes do."""


@pytest.mark.parametrize(
    ("kind", "row"),
    [
        pytest.param(*each, id=each[0], marks=[] if each[0] in QUICK else [pytest.mark.slow])
        for each in KINDS
    ],
)
def test_rewards_are_those_of_plain_transformers_by_the_path_of_the_table(
    kind: str, row: str, tmp_path: Path
) -> None:
    config, path = small.config_of(kind), PATHS[row][0]
    folder = small.save(tmp_path, config, small.tokenizer_for(config, small.ENDLESS))
    scorer = open_scorer(locate(str(folder), small.OPEN, small.OFFLINE), RunSettings(device="cpu"))
    # Of Falcon's two ways of its own, transformers' default is taken: they differ.
    model = small.plain(folder, "sdpa" if kind == "falcon" else "eager")
    ids = [side.ids for pair in scorer.prepare(PAIRS) for side in pair.sides]
    with torch.inference_mode():
        logits = [model(input_ids=torch.tensor([each])).logits.item() for each in ids]
    expected, got = torch.tensor(logits).view(-1, 2), rewards(scorer, PAIRS)
    [told] = re.findall(rf"^\| {re.escape(row)}[^|]*\| (\w+)", TABLE.read_text("utf-8"), re.M)
    assert path.startswith(told)
    assert scorer.traits.path.startswith(path)
    assert expected.max() - expected.min() > 0.1
    assert_near(got, expected)
    if kind in OF_EACH_PATH:
        assert_same_whatever_is_beside(folder, scorer, got)


def assert_same_whatever_is_beside(folder: Path, whole: Scorer, expected: torch.Tensor) -> None:
    """And equal sides tie, to the last bit."""
    assert_near(torch.cat([rewards(whole, [pair]) for pair in PAIRS]), expected)
    scorer = small.opened(folder, RunSettings(device="cpu", dtype="float32", budget=60))
    rows = scored(scorer, PAIRS, seed=1)
    assert_near(torch.tensor([rows[pair.key].all_rewards for pair in PAIRS]), expected)
    equal = [replace(pair, rejected=pair.chosen) for pair in PAIRS]
    for pairs in (equal, equal[3:5], equal[:1]):
        got = rewards(whole, pairs)
        assert torch.equal(got[:, 0], got[:, 1])


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


# Tokenizers that put tokens of their own around a text.

BERT = {
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
    return T5Tokenizer(
        vocab=[(each, -float(n)) for n, each in enumerate([*special, *small.LETTERS])]
    )


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
    """As RewardBenchPipeline has it, one text at a time; some are cut, and some hold an end."""
    used, shape = (t5_tokenizer(), {**T5, **DECODING}) if kind == "t5" else (bert_tokenizer(), BERT)
    folder = small.save(tmp_path, AutoConfig.for_model(kind, vocab_size=len(used), **shape), used)
    scorer = small.opened(folder, replace(small.CPU, upstream_compatible=compatible, max_length=60))
    assert scorer.traits.path == small.WHOLE
    text = tulu_text if compatible else fallback_text
    model: Any = AutoModelForSequenceClassification.from_pretrained(folder).eval()
    own: Any = AutoTokenizer.from_pretrained(folder)
    own.truncation_side = "left"
    how = {"truncation": True, "max_length": 60, "return_tensors": "pt"}
    texts = [text(pair, side) for pair in PAIRS for side in (pair.chosen, pair.rejected)]
    with torch.inference_mode():
        expected = [model(input_ids=own(each, **how).input_ids).logits[0, 0] for each in texts]
    assert_near(rewards(scorer, PAIRS).flatten(), torch.stack(expected))


# What docs/catalogue.md says.


def letters_of(name: str) -> str:
    return re.sub("[^a-z0-9]", "", name.lower())


def test_the_page_lists_each_model_by_how_it_runs_or_why_it_does_not() -> None:
    words, _, tables = (ROOT / "docs" / "catalogue.md").read_text("utf-8").partition("\n## Run")
    words = " ".join(words.split())
    listed: dict[str, list[str]] = {}
    for line in re.findall(r"^\|( .*)\|$", tables, re.M):
        *cells, _, models = (cell.strip() for cell in line.split("|"))
        if len(cells) == 3:
            cells = [letters_of(cells[0]), cells[1].replace("'s head", ""), cells[2]]
        listed |= dict.fromkeys(models.split(", "), cells)
    del listed["models"]  # the name of the column
    counts = Counter[str]()
    for model in catalogue()["models"]:
        needs = model.get("needs", "")
        assert ("built" in model) == (needs in ("", "tokenizer")), model["id"]
        counts[needs] += 1
        if needs:
            assert listed.pop(model["id"]) == [catalogue()["reasons"][needs]]
            continue
        kind = model["family"] + (f", {model['head']}" if "head" in model else "")
        if kind in ("classifier", "dpo"):
            assert model["built"] in {built for built, _ in KINDS}
        # Judges and PairRM are asked in words of their own.
        template = "" if model["family"] in ("judge", "pairrm") else model.get("template", "")
        assert listed.pop(model["id"]) == [letters_of(model["built"]), kind, template]
    assert listed == {}
    run, others = counts[""], counts["code"] + counts["tokenizer"]
    assert f"Of the {counts.total()} models" in words
    assert f"{run} run, {others} may run" in words
    assert f"and {counts.total() - run - others} cannot" in words
    tried = re.findall(r"`(test_\w+\.py)`", tables)
    assert all(Path(__file__).with_name(name).is_file() for name in tried)

"""Models whose tokenizers put tokens of their own around a text, against plain transformers."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import (
    AutoModelForSequenceClassification,
    AutoTokenizer,
    BartConfig,
    BertConfig,
    BertTokenizer,
    RobertaConfig,
    RobertaTokenizer,
    T5Config,
    T5Tokenizer,
    XLNetConfig,
    XLNetTokenizer,
)

from scoring.families import open_scorer
from scoring.models.loading import load
from scoring.spec import ModelSpec, Pair, RunSettings
from tests.scoring.families.test_classifier import CPU, PAIRS
from tests.support.rounding import assert_near

SMALL: dict[str, Any] = {
    "hidden_size": 32,
    "intermediate_size": 37,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "max_position_embeddings": 256,
    "num_labels": 1,
}
LETTERS = [*"wnoAHacdehijklmprstu0123456789:<>|/", "\u0120", "\u010a"]
PIECES = ["<unk>", "<s>", "</s>", "<cls>", "<sep>", "<pad>", "<mask>", "<eod>", "<eop>", "\u2581"]


def letters(*special: str) -> dict[str, int]:
    return {each: n for n, each in enumerate([*special, *LETTERS])}


def pieces() -> list[tuple[str, float]]:
    return [(each, -float(n > 8)) for n, each in enumerate([*PIECES, *LETTERS[:-2]])]


@dataclass(frozen=True)
class Encoder:
    """config, tokenizer: of a small model. ends: what the tokenizer puts around a text."""

    config: Callable[[int], Any]
    tokenizer: Callable[[], Any]
    ends: tuple[list[str], list[str]]


def bert_tokenizer() -> Any:
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    words = [*special, *["human", "assistant", ":", "w9"], *(f"w{n}" for n in range(60))]
    return BertTokenizer(vocab={word: n for n, word in enumerate(dict.fromkeys(words))})


ENCODERS = {
    "bert": Encoder(
        lambda n: BertConfig(vocab_size=n, **SMALL), bert_tokenizer, (["[CLS]"], ["[SEP]"])
    ),
    "roberta": Encoder(
        lambda n: RobertaConfig(vocab_size=n, pad_token_id=1, **SMALL),
        lambda: RobertaTokenizer(
            vocab=letters("<s>", "<pad>", "</s>", "<unk>", "<mask>"), merges=[]
        ),
        (["<s>"], ["</s>"]),
    ),
    "xlnet": Encoder(
        lambda n: XLNetConfig(
            vocab_size=n, d_model=32, n_layer=2, n_head=4, d_inner=37, num_labels=1, pad_token_id=5
        ),
        lambda: XLNetTokenizer(vocab=pieces()),
        ([], ["<sep>", "<cls>"]),
    ),
}


@pytest.fixture(params=ENCODERS)
def encoder(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Encoder, Path]:
    """A random model whose tokenizer has no chat template."""
    found = ENCODERS[request.param]
    return found, saved(found, tmp_path)


def saved(encoder: Encoder, folder: Path) -> Path:
    made = encoder.tokenizer()
    torch.manual_seed(0)
    model = AutoModelForSequenceClassification.from_config(encoder.config(len(made)))
    model.save_pretrained(folder)
    made.save_pretrained(folder)
    return folder


def opened(folder: Path, **settings: Any) -> Any:
    given = RunSettings(device="cpu", dtype="float32", **settings)
    return open_scorer(ModelSpec("small", str(folder), "test"), given)


def plain(folder: Path, texts: list[str], length: int) -> torch.Tensor:
    """As RewardBenchPipeline has it, one text at a time: the tokenizer's own special tokens."""
    model: Any = AutoModelForSequenceClassification.from_pretrained(folder).eval()
    tokenizer: Any = AutoTokenizer.from_pretrained(folder)
    tokenizer.truncation_side = "left"
    given = {"truncation": True, "max_length": length, "return_tensors": "pt"}
    with torch.inference_mode():
        ids = [tokenizer(text, **given).input_ids for text in texts]
        return torch.cat([model(input_ids=each).logits[:, 0] for each in ids])


def tulu_text(pair: Pair, response: str) -> str:
    said = [*pair.messages, ("assistant", response)]
    return "".join(f"<|{role}|>\n" + (f"{text}\n" if text else "") for role, text in said)


def fallback_text(pair: Pair, response: str) -> str:
    names = {"user": "Human", "assistant": "Assistant", "system": "System"}
    said = [*pair.messages, ("assistant", response)]
    return "\n\n".join(f"{names[role]}: {text}" for role, text in said)


@pytest.mark.parametrize("compatible", [True, False])
def test_the_rewards_are_those_of_texts_between_the_tokenizers_own_ends(
    encoder: tuple[Encoder, Path], compatible: bool
) -> None:
    _, folder = encoder
    text = tulu_text if compatible else fallback_text
    scorer = opened(folder, upstream_compatible=compatible, max_length=200)
    texts = [text(pair, side) for pair in PAIRS for side in (pair.chosen, pair.rejected)]
    expected = plain(folder, texts, 200)
    got = torch.tensor(scorer.rewards(scorer.prepare(PAIRS))).flatten()
    assert_near(got, expected)


@pytest.mark.parametrize("side", ["left", "right"])
def test_what_is_too_long_keeps_its_ends(encoder: tuple[Encoder, Path], side: str) -> None:
    kind, folder = encoder
    scorer = opened(folder, max_length=12, truncation_side=side)
    (pair,) = scorer.prepare([Pair("s:1", "s", "w1 w2 w3 w4 w5", "w6 w7 w8 w9 w1 w2 w3", "w1")])
    before, after = kind.ends
    tokens = AutoTokenizer.from_pretrained(folder).convert_ids_to_tokens(pair.chosen.ids)
    assert pair.chosen.truncated
    assert len(tokens) == 12
    assert (tokens[: len(before)], tokens[-len(after) :]) == (before, after)


def test_xlnet_has_no_limit_of_its_own(tmp_path: Path) -> None:
    spec = ModelSpec("small", str(saved(ENCODERS["xlnet"], tmp_path)), "test")
    loaded = load(spec, CPU, "AutoModelForSequenceClassification")
    assert loaded.formatter(RunSettings()).max_length == 16_384


def t5(n: int) -> Any:
    return T5Config(
        vocab_size=n, d_model=32, d_kv=8, d_ff=37, num_layers=2, num_heads=4, num_labels=1,
        pad_token_id=5, eos_token_id=2, decoder_start_token_id=5,
    )  # fmt: skip


def bart(n: int) -> Any:
    return BartConfig(
        vocab_size=n, d_model=32, encoder_layers=1, decoder_layers=1, encoder_attention_heads=2,
        decoder_attention_heads=2, encoder_ffn_dim=37, decoder_ffn_dim=37, num_labels=1,
        max_position_embeddings=256, pad_token_id=5, bos_token_id=1, eos_token_id=2,
        decoder_start_token_id=2,
    )  # fmt: skip


@pytest.mark.parametrize("config", [t5, bart])
def test_texts_with_an_end_inside_are_scored_as_each_alone(
    config: Callable[[int], Any], tmp_path: Path
) -> None:
    """Encoder-decoders read the reward at the last EOS, of which a text may hold several."""
    kind = Encoder(config, lambda: T5Tokenizer(vocab=pieces()), ([], ["</s>"]))
    folder = saved(kind, tmp_path)
    pairs = [
        Pair("s:1", "s", "w1 w2", "w3 </s> w4", "w3 w4 w5 w1"),
        Pair("s:2", "s", "w1 </s> w2", "w3", "</s></s>"),
    ]
    scorer = opened(folder)
    assert scorer.traits.path == "padded: its rewards come from the whole model"
    got = torch.tensor(scorer.rewards(scorer.prepare(pairs))).flatten()
    texts = [fallback_text(pair, side) for pair in pairs for side in (pair.chosen, pair.rejected)]
    assert_near(got, plain(folder, texts, 10_000))
    assert not any(map(math.isnan, got.tolist()))

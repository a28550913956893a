"""PairRM compares two responses as its authors published it."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import save_file
from tokenizers import pre_tokenizers, processors
from torch import nn
from transformers import DebertaV2Config, DebertaV2Model

from scoring.engine.scorer import Scorer
from scoring.errors import KnownError
from scoring.families import open_scorer
from scoring.models.finding import locate
from scoring.spec import Message, ModelSpec, Pair, RunSettings
from tests.support.rounding import near
from tests.support.small_language_models import words_tokenizer
from tests.support.small_models import OFFLINE, OPEN, SMALL

SPECIAL = {"pad_token": "[PAD]", "cls_token": "[CLS]", "sep_token": "[SEP]"}
CLS, SEP, W0 = 2, 3, 4
N_TOKENS = W0 + 40
PREFIXES = ["<|source|>", "<|candidate1|>", "<|candidate2|>", "<|candidate|>"]
SOURCE, FIRST, SECOND, _ = range(N_TOKENS, N_TOKENS + len(PREFIXES))
WIDTH = SMALL["hidden_size"]
SHAPE: dict[str, Any] = {
    **SMALL, "vocab_size": N_TOKENS + len(PREFIXES), "position_buckets": 16,
    "relative_attention": True, "position_biased_input": False, "share_att_key": True,
    "pos_att_type": ["p2c", "c2p"], "norm_rel_ebd": "layer_norm", "type_vocab_size": 0,
    "architectures": ["DebertaV2PairRM"], "n_tasks": 1, "source_prefix_id": SOURCE,
    "cand1_prefix_id": FIRST, "cand2_prefix_id": SECOND, "cand_prefix_id": SECOND + 1,
}  # fmt: skip
"""Beside `SMALL`, as the published config has it."""


def tokenizer() -> Any:
    """Whole words, and [CLS] and [SEP] around every text."""
    fast = words_tokenizer(
        [f"w{n}" for n in range(40)], None, pre_tokenizers.WhitespaceSplit(), **SPECIAL
    )
    fast.backend_tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", CLS), ("[SEP]", SEP)]
    )
    return fast


class Published:
    """A random model, and what its card describes, one sequence at a time."""

    def __init__(self) -> None:
        torch.manual_seed(0)
        self.encoder: Any = DebertaV2Model(DebertaV2Config(**SHAPE)).eval()
        layers = nn.Linear(2 * WIDTH, WIDTH), nn.Tanh(), nn.Identity(), nn.Linear(WIDTH, 1)
        self.head = nn.Sequential(nn.Identity(), *layers)
        self.tokenizer = tokenizer()
        self.tokenizer.add_tokens(PREFIXES)  # as the authors did

    def write(self, folder: Path, lacks: str = "") -> Path:
        """Into a folder, weights named as in the published checkpoint. lacks: one of them."""
        parts = nn.ModuleDict({"pretrained_model": self.encoder, "head_layer": self.head})
        weights = parts.state_dict()
        weights.pop(lacks, None)
        (folder / "config.json").write_text(json.dumps({**SHAPE, "model_type": "deberta-v2"}))
        save_file(weights, folder / "model.safetensors", {"format": "pt"})
        self.tokenizer.save_pretrained(folder)
        return folder

    def encode(self, source: str, first: str, second: str) -> list[int]:
        def part(text: str, room: int) -> list[int]:
            ids: list[int] = self.tokenizer.encode(text, max_length=room, truncation=True)
            return ids

        ids = part(PREFIXES[0] + source, 1224)
        room = (1224 + 2 * 412 - len(ids)) // 2
        return ids + part(PREFIXES[1] + first, room) + part(PREFIXES[2] + second, room)

    @torch.inference_mode()
    def logit(self, source: str, first: str, second: str) -> float:
        ids = self.encode(source, first, second)
        hidden = self.encoder(torch.tensor([ids])).last_hidden_state[0]
        about = [hidden[ids.index(prefix)] for prefix in (SOURCE, FIRST, SECOND)]
        left, right = (self.head(torch.cat([about[0], each])) for each in about[1:])
        return float(left - right)


def words(*numbers: int) -> str:
    return " ".join(f"w{number % 40}" for number in numbers)


PAIRS = [
    Pair("s:1", "s", words(1, 2, 3), words(4, 5), words(6)),
    Pair("s:2", "s", words(*range(30)), words(*range(9, 40)), words(7, 7, 7)),
    Pair("s:3", "s", words(5), words(8, 9, 1, 2), words(8, 9, 1, 3)),
    Pair("s:4", "s", "", words(3), ""),
    Pair("s:5", "s", words(11, 12), "unheard of", words(*range(20))),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return Published().write(tmp_path_factory.mktemp("pairrm"))


def opened(folder: Path, name: str = "small", **settings: Any) -> Scorer:
    spec = ModelSpec(name, str(folder), "r1", "pairrm")
    return open_scorer(spec, RunSettings(device="cpu", **settings))


def test_margins_are_those_of_the_published_description_in_any_batch(folder: Path) -> None:
    published = Published()
    scorer = open_scorer(locate(str(folder), OPEN, OFFLINE), RunSettings(device="cpu"))
    assert (scorer.spec.family, scorer.traits.dtype) == ("pairrm", "float32")
    assert "not comparable between pairs" in scorer.traits.reading
    expected = [
        published.logit(pair.prompt, pair.chosen, pair.rejected)
        - published.logit(pair.prompt, pair.rejected, pair.chosen)
        for pair in PAIRS
    ]
    assert min(abs(margin) for margin in expected) > 1e-3
    equal = Pair("s:1", "s", words(1, 2), words(3, 4), words(3, 4))
    for used in (scorer, opened(folder, budget=60)):
        *rewards, tie = used.rewards(used.prepare([*PAIRS, equal]))
        assert [chosen - rejected for chosen, rejected in rewards] == near(expected)
        assert all(chosen == -rejected for chosen, rejected in rewards)
        assert str(tie) == "(0.0, 0.0)"
    long_prompt = Pair("s:6", "s", words(*range(1300)), words(*range(500)), words(1, 2))
    long_response = Pair("s:7", "s", words(1, 2), words(*range(1100)), words(*range(30)))
    right = opened(folder, truncation_side="right")
    prepared = right.prepare([PAIRS[0], long_prompt, long_response])
    for pair in prepared:
        prompt, chosen, rejected = pair.pair.prompt, pair.pair.chosen, pair.pair.rejected
        assert list(pair.chosen.ids) == published.encode(prompt, chosen, rejected)
        assert list(pair.rejected.ids) == published.encode(prompt, rejected, chosen)
    cut = [(pair.chosen.truncated, pair.rejected.truncated) for pair in prepared]
    assert cut == [(False, False), (True, True), (True, False)]


@pytest.mark.parametrize(("side", "last"), [("left", 39), ("right", 0)])
def test_a_prompt_may_lose_an_end_and_markers_are_neither_lost_nor_read_in_a_text(
    side: Any, last: int, folder: Path
) -> None:
    scorer = opened(folder, max_length=60, truncation_side=side)
    text, plain = "w1 <|candidate2|> w2 [SEP] <|source|>w3 [CLS]", words(1, 2, 3)
    long, tricky, expected = scorer.prepare(
        [
            Pair("s:1", "s", words(*range(40)), "w1", "w2"),
            Pair("s:2", "s", text, text, "w4"),
            Pair("s:3", "s", plain, plain, "w4"),
        ]
    )
    assert W0 + last in long.chosen.ids[: long.chosen.ids.index(SEP)]
    for each in (long.chosen, long.rejected):
        assert each.truncated and len(each.ids) <= 60
        assert [token for token in each.ids if token >= SOURCE] == [SOURCE, FIRST, SECOND]
    assert (tricky.chosen, tricky.rejected) == (expected.chosen, expected.rejected)


SYSTEM = Message("system", "w9")
TURNS = (Message("user", "w1"), Message("assistant", "w2"), Message("user", " w3"))
ASKED = (
    "Finish the following coversation in each i-th turn by filling in <Response i> with your "
    "response.USER: w1\nAssistant: <Response 1>\nUSER:  w3\nAssistant: <Response 2>"
)
BETTER = "SYSTEM MESSAGE: w9\n\nUSER: w1\n\nASSISTANT: w2\n\nUSER: w3\n\nASSISTANT: "


@pytest.mark.parametrize(
    ("name", "turns", "shown"),
    [
        ("PairRM", TURNS, (ASKED, "<Response 1>: w2\n<Response 2>: w4 ")),
        ("PairRM", (SYSTEM, *TURNS), ("transcript", "w4 ")),
        ("mightbe/Better-PairRM", (SYSTEM, *TURNS), (BETTER, "w4 ")),
    ],
    ids=["as the authors", "with a system message", "Better-PairRM"],
)
def test_a_conversation_is_shown_as_the_authors_write_it(
    name: str, turns: tuple[Message, ...], shown: tuple[str, str], folder: Path
) -> None:
    scorer: Any = opened(folder, name)
    assert scorer._texts(Pair("s:1", "s", "transcript", "w4 ", "w5", turns))[:2] == shown
    room = {"PairRM": (2048, 1224)}.get(name, (3370, 2030))
    said = f"{name.rpartition('/')[2]}, prompts of up to {room[1]} tokens"
    assert (scorer.traits.max_length, scorer.traits.template) == (room[0], said)


@pytest.mark.parametrize(
    ("lacks", "said"),
    [
        ("head_layer.4.weight", "not a whole reward model: its weights lack head_layer.4.weight"),
        ("markers", r"<\|source\|> is token 44, its tokenizer says 0\."),
        ("room", "which 11 tokens cannot hold: 12 is the least"),
    ],
)
def test_what_is_not_whole_is_refused(lacks: str, said: str, tmp_path: Path) -> None:
    Published().write(tmp_path, lacks)
    if lacks == "markers":
        tokenizer().save_pretrained(tmp_path)
    with pytest.raises(KnownError, match=said):
        opened(tmp_path, max_length=11 if lacks == "room" else 2048)

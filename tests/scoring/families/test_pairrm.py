import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file
from tokenizers import Tokenizer, models, pre_tokenizers, processors
from transformers import AutoTokenizer, DebertaV2Config, DebertaV2Model, PreTrainedTokenizerFast

from scoring.engine.scorer import Scorer
from scoring.errors import KnownError
from scoring.families import open_scorer
from scoring.hub.access import Hub
from scoring.models.finding import ModelPolicy, locate
from scoring.spec import Message, ModelSpec, Pair, RunSettings
from tests.support.rounding import near

TOKENS = ["[PAD]", "[CLS]", "[SEP]", "[UNK]", *(f"w{n}" for n in range(40))]
PREFIXES = ["<|source|>", "<|candidate1|>", "<|candidate2|>", "<|candidate|>"]
SOURCE, FIRST, SECOND, _ = range(len(TOKENS), len(TOKENS) + 4)
WIDTH = 16
SHAPE: dict[str, Any] = {
    "vocab_size": len(TOKENS) + len(PREFIXES),
    "hidden_size": WIDTH,
    "intermediate_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "max_position_embeddings": 64,
    "position_buckets": 16,
    "relative_attention": True,
    "position_biased_input": False,
    "share_att_key": True,
    "pos_att_type": ["p2c", "c2p"],
    "norm_rel_ebd": "layer_norm",
    "type_vocab_size": 0,
    "pad_token_id": 0,
    "initializer_range": 0.4,
}
CPU = RunSettings(device="cpu")


def words(*numbers: int) -> str:
    return " ".join(f"w{number % 40}" for number in numbers)


PAIRS = [
    Pair("s:1", "s", words(1, 2, 3), words(4, 5), words(6)),
    Pair("s:2", "s", words(*range(30)), words(*range(9, 40)), words(7, 7, 7)),
    Pair("s:3", "s", words(5), words(8, 9, 1, 2), words(8, 9, 1, 3)),
    Pair("s:4", "s", "", words(3), ""),
    Pair("s:5", "s", words(11, 12), "unheard of", words(*range(20))),
]
LONG_PROMPT = Pair("s:6", "s", words(*range(1300)), words(*range(500)), words(1, 2))
LONG_RESPONSE = Pair("s:7", "s", words(1, 2), words(*range(1100)), words(*range(30)))


def tokenizer(*, with_prefixes: bool = True) -> PreTrainedTokenizerFast:
    """Whole words, [CLS] and [SEP] around every text, the prefixes added as the authors did."""
    known = Tokenizer(models.WordLevel({word: n for n, word in enumerate(TOKENS)}, "[UNK]"))
    known.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    known.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 1), ("[SEP]", 2)]
    )
    fast = PreTrainedTokenizerFast(
        tokenizer_object=known,
        unk_token="[UNK]",
        pad_token="[PAD]",
        cls_token="[CLS]",
        sep_token="[SEP]",
    )
    if with_prefixes:
        fast.add_tokens(PREFIXES)
    return fast


@pytest.fixture(scope="module")
def weights() -> dict[str, torch.Tensor]:
    return random_weights()


def random_weights() -> dict[str, torch.Tensor]:
    """Named as those of the published checkpoint."""
    torch.manual_seed(0)
    encoder = DebertaV2Model(DebertaV2Config(**SHAPE)).state_dict()
    return {
        **{f"pretrained_model.{name}": weight.clone() for name, weight in encoder.items()},
        "head_layer.1.weight": torch.randn(WIDTH, 2 * WIDTH) / 4,
        "head_layer.1.bias": torch.randn(WIDTH),
        "head_layer.4.weight": torch.randn(1, WIDTH),
        "head_layer.4.bias": torch.randn(1),
    }


def write(folder: Path, weights: dict[str, torch.Tensor], **changes: object) -> Path:
    folder.mkdir(parents=True)
    config = {
        **SHAPE,
        "model_type": "deberta-v2",
        "architectures": ["DebertaV2PairRM"],
        "n_tasks": 1,
        "drop_out": 0.05,
        "source_prefix_id": SOURCE,
        "cand1_prefix_id": FIRST,
        "cand2_prefix_id": SECOND,
        "cand_prefix_id": SECOND + 1,
        **changes,
    }
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    save_file(weights, folder / "model.safetensors", {"format": "pt"})
    tokenizer().save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, weights: dict[str, torch.Tensor]) -> Path:
    return write(tmp_path_factory.mktemp("pairrm") / "model", weights)


def opened(folder: Path, settings: RunSettings = CPU, name: str = "") -> Scorer:
    return open_scorer(ModelSpec(name or str(folder), str(folder), "r1", "pairrm"), settings)


@pytest.fixture(scope="module")
def scorer(folder: Path) -> Scorer:
    return opened(folder)


def margins(scorer: Scorer, pairs: list[Pair]) -> list[float]:
    return [chosen - rejected for chosen, rejected in scorer.rewards(scorer.prepare(pairs))]


class Published:
    """What the model card describes, one sequence at a time."""

    def __init__(self, folder: Path) -> None:
        weights = load_file(folder / "model.safetensors")
        start = "pretrained_model."
        self.head = {name: weight for name, weight in weights.items() if "head" in name}
        self.encoder: Any = DebertaV2Model(DebertaV2Config(**SHAPE)).eval()
        self.encoder.load_state_dict(
            {name[len(start) :]: each for name, each in weights.items() if name.startswith(start)}
        )
        self.tokenizer: Any = AutoTokenizer.from_pretrained(folder)

    def encode(self, source: str, first: str, second: str) -> list[int]:
        ids: list[int] = self._part(PREFIXES[0] + source, 1224)
        room = (1224 + 2 * 412 - len(ids)) // 2
        return ids + self._part(PREFIXES[1] + first, room) + self._part(PREFIXES[2] + second, room)

    def margin(self, source: str, chosen: str, rejected: str) -> float:
        return self._logit(source, chosen, rejected) - self._logit(source, rejected, chosen)

    def _part(self, text: str, room: int) -> list[int]:
        ids: list[int] = self.tokenizer.encode(text, max_length=room, truncation=True)
        return ids

    @torch.inference_mode()
    def _logit(self, source: str, first: str, second: str) -> float:
        ids = self.encode(source, first, second)
        hidden = self.encoder(torch.tensor([ids])).last_hidden_state[0]
        about = [hidden[ids.index(prefix)] for prefix in (SOURCE, FIRST, SECOND)]
        left, right = (self._head(torch.cat([about[0], each])) for each in about[1:])
        return (left - right).item()

    def _head(self, pooled: torch.Tensor) -> torch.Tensor:
        inner = torch.tanh(
            self.head["head_layer.1.weight"] @ pooled + self.head["head_layer.1.bias"]
        )
        return self.head["head_layer.4.weight"] @ inner + self.head["head_layer.4.bias"]


@pytest.fixture(scope="module")
def published(folder: Path) -> Published:
    return Published(folder)


def test_the_architecture_is_recognised(folder: Path) -> None:
    spec = locate(str(folder), ModelPolicy(None), Hub(offline=True))
    assert spec.family == "pairrm"
    assert margins(open_scorer(spec, CPU), PAIRS[:1]) != [0]


def test_margins_are_those_of_the_published_description(
    scorer: Scorer, published: Published
) -> None:
    expected = [published.margin(pair.prompt, pair.chosen, pair.rejected) for pair in PAIRS]
    assert min(abs(margin) for margin in expected) > 1e-3
    assert margins(scorer, PAIRS) == near(expected)


def test_long_texts_are_cut_as_published(folder: Path, published: Published) -> None:
    scorer = opened(folder, RunSettings(device="cpu", truncation_side="right"))
    for pair in scorer.prepare([LONG_PROMPT, LONG_RESPONSE]):
        texts = pair.pair
        assert list(pair.chosen.ids) == published.encode(texts.prompt, texts.chosen, texts.rejected)
        assert list(pair.rejected.ids) == published.encode(
            texts.prompt, texts.rejected, texts.chosen
        )
    expected = published.margin(LONG_PROMPT.prompt, LONG_PROMPT.chosen, LONG_PROMPT.rejected)
    assert margins(scorer, [LONG_PROMPT]) == near([expected])


def test_each_side_says_for_itself_whether_it_was_cut(scorer: Scorer) -> None:
    prepared = scorer.prepare([PAIRS[0], LONG_PROMPT, LONG_RESPONSE])
    assert [(pair.chosen.truncated, pair.rejected.truncated) for pair in prepared] == [
        (False, False),
        (True, True),
        (True, False),
    ]
    assert max(len(pair.chosen.ids) for pair in prepared) <= scorer.traits.max_length == 2048


def test_a_prompt_may_lose_its_start_or_its_end(folder: Path) -> None:
    for side, last in (("left", 39), ("right", 0)):
        settings = RunSettings(device="cpu", max_length=60, truncation_side=side)  # type: ignore[arg-type]
        pair = opened(folder, settings).prepare([Pair("s:1", "s", words(*range(40)), "w1", "w2")])
        ids = pair[0].chosen.ids
        source = ids[: ids.index(2) + 1]
        assert (source[:2], len(source)) == ((1, SOURCE), 33)
        assert TOKENS.index(f"w{last}") in source
        assert pair[0].chosen.truncated and pair[0].rejected.truncated


@pytest.mark.parametrize("max_length", [12, 13, 20, 3000])
def test_a_limit_never_cuts_a_marker_off(max_length: int, folder: Path) -> None:
    scorer = opened(folder, RunSettings(device="cpu", max_length=max_length))
    for pair in scorer.prepare([*PAIRS, LONG_PROMPT]):
        for ids in (pair.chosen.ids, pair.rejected.ids):
            assert len(ids) <= scorer.traits.max_length == min(max_length, 2048)
            assert [each for each in ids if each >= SOURCE] == [SOURCE, FIRST, SECOND]


def test_a_limit_that_holds_no_text_is_refused(folder: Path) -> None:
    with pytest.raises(KnownError, match="which 11 tokens cannot hold: 12 is the least"):
        opened(folder, RunSettings(device="cpu", max_length=11))


def test_swapped_responses_have_the_opposite_margin(scorer: Scorer) -> None:
    swapped = [Pair(pair.key, "s", pair.prompt, pair.rejected, pair.chosen) for pair in PAIRS]
    there, back = margins(scorer, PAIRS), margins(scorer, swapped)
    assert there == near([-margin for margin in back])
    rewards = scorer.rewards(scorer.prepare(PAIRS))
    assert all(chosen == -rejected for chosen, rejected in rewards)


def test_equal_responses_tie_exactly(scorer: Scorer) -> None:
    same = Pair("s:1", "s", words(1, 2), words(3, 4), words(3, 4))
    prepared = scorer.prepare([same, *PAIRS])
    assert prepared[0].chosen == prepared[0].rejected
    assert str(scorer.rewards(prepared)[0]) == "(0.0, 0.0)"


@pytest.mark.parametrize("budget", [1, 60, 10**9])
def test_the_batch_does_not_change_a_margin(budget: int, folder: Path, scorer: Scorer) -> None:
    alone = [margins(scorer, [pair])[0] for pair in PAIRS]
    other = opened(folder, RunSettings(device="cpu", budget=budget))
    assert margins(other, PAIRS) == near(alone)
    assert margins(other, PAIRS[::-1])[::-1] == near(alone)


def test_markers_in_a_text_are_no_markers(scorer: Scorer) -> None:
    text = "w1 <|candidate2|> w2 [SEP] <|source|>w3 [CLS]"
    tricky, plain = scorer.prepare(
        [
            Pair("s:1", "s", text, text, "w4"),
            Pair("s:2", "s", words(1, 2, 3), words(1, 2, 3), "w4"),
        ]
    )
    assert (tricky.chosen, tricky.rejected) == (plain.chosen, plain.rejected)


TURNS = (
    Message("user", "w1"),
    Message("assistant", "w2"),
    Message("user", " w3"),
)


def shown(monkeypatch: pytest.MonkeyPatch, scorer: Any, pair: Pair) -> list[str]:
    """The texts that the tokenizer is given."""
    given: list[str] = []
    real = scorer._tokenizer

    def listen(texts: list[str], **options: object) -> Any:
        given.extend(texts)
        return real(texts, **options)

    monkeypatch.setattr(scorer, "_tokenizer", listen)
    scorer.prepare([pair])
    return given


def test_a_conversation_is_written_as_the_authors_write_it(
    monkeypatch: pytest.MonkeyPatch, scorer: Scorer
) -> None:
    pair = Pair("s:1", "s", "transcript", "w4", "w5", TURNS)
    assert shown(monkeypatch, scorer, pair) == [
        "<|source|>Finish the following coversation in each i-th turn by filling in <Response i> "
        "with your response.USER: w1\nAssistant: <Response 1>\nUSER:  w3\nAssistant: <Response 2>",
        "<|source|><Response 1>: w2\n<Response 2>: w4",
        "<|source|><Response 1>: w2\n<Response 2>: w5",
    ]


@pytest.mark.parametrize(
    "turns", [(Message("system", "w9"), *TURNS), TURNS[:2], (TURNS[0], TURNS[2])]
)
def test_another_conversation_is_a_transcript(
    turns: tuple[Message, ...], monkeypatch: pytest.MonkeyPatch, scorer: Scorer
) -> None:
    pair = Pair("s:1", "s", "transcript", "w4", "w5", turns)
    assert shown(monkeypatch, scorer, pair) == [
        "<|source|>transcript",
        "<|source|>w4",
        "<|source|>w5",
    ]


def test_better_pairrm_has_a_layout_of_its_own(
    monkeypatch: pytest.MonkeyPatch, folder: Path
) -> None:
    scorer = opened(folder, name="mightbe/Better-PairRM")
    assert scorer.traits.max_length == 3370
    assert scorer.traits.template == "Better-PairRM, prompts of up to 2030 tokens"
    pair = Pair("s:1", "s", "transcript", "w4 ", "w5", (Message("system", "w9"), *TURNS))
    assert shown(monkeypatch, scorer, pair) == [
        "<|source|>SYSTEM MESSAGE: w9\n\nUSER: w1\n\nASSISTANT: w2\n\nUSER: w3\n\nASSISTANT: ",
        "<|source|>w4 ",
        "<|source|>w5",
    ]


def test_what_the_numbers_rest_on_is_said(folder: Path) -> None:
    traits = opened(folder, RunSettings(device="cpu", dtype="bfloat16")).traits
    assert (traits.dtype, traits.device, traits.max_length) == ("float32", "cpu", 2048)
    assert "not comparable between pairs" in traits.reading


def changed(
    tmp_path: Path,
    weights: dict[str, torch.Tensor],
    change: Callable[[dict[str, torch.Tensor]], object],
) -> Path:
    copy = {name: weight.clone() for name, weight in weights.items()}
    change(copy)
    return write(tmp_path / "model", copy)


def test_weights_that_are_no_numbers_give_none(
    tmp_path: Path, weights: dict[str, torch.Tensor]
) -> None:
    folder = changed(tmp_path, weights, lambda copy: copy["head_layer.4.weight"].fill_(torch.nan))
    for margin in margins(opened(folder), PAIRS):
        assert margin != margin


def test_several_tasks_are_averaged(tmp_path: Path, weights: dict[str, torch.Tensor]) -> None:
    head = weights["head_layer.4.weight"]
    several = {
        **weights,
        "head_layer.4.weight": torch.cat([head, 3 * head]),
        "head_layer.4.bias": torch.zeros(2),
    }
    twice = margins(opened(write(tmp_path / "two", several, n_tasks=2)), PAIRS)
    once = margins(opened(write(tmp_path / "one", weights)), PAIRS)
    assert twice == near([2 * margin for margin in once])


@pytest.mark.parametrize("name", ["head_layer.4.weight", "head_layer.1.bias"])
def test_a_model_without_its_head_is_refused(
    name: str, tmp_path: Path, weights: dict[str, torch.Tensor]
) -> None:
    folder = changed(tmp_path, weights, lambda copy: copy.pop(name))
    with pytest.raises(KnownError, match=f"not a whole reward model: its weights lack {name}"):
        opened(folder)


def test_a_tokenizer_without_the_markers_is_refused(
    tmp_path: Path, weights: dict[str, torch.Tensor]
) -> None:
    folder = write(tmp_path / "model", weights)
    tokenizer(with_prefixes=False).save_pretrained(folder)
    with pytest.raises(KnownError, match=r"<\|source\|> is token 44, its tokenizer says 3\."):
        opened(folder)


def test_a_config_without_the_markers_is_refused(
    tmp_path: Path, weights: dict[str, torch.Tensor]
) -> None:
    folder = write(tmp_path / "model", weights)
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    del config["cand2_prefix_id"]
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    with pytest.raises(KnownError, match=r"could not be loaded: .*cand2_prefix_id"):
        opened(folder)

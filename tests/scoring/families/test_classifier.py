"""Rewards of classifiers, against plain transformers in float32, one sequence at a time."""

import math
import random
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow.parquet as pq
import pytest
import torch
from safetensors.torch import load_file, save_file
from tokenizers import Tokenizer, models, pre_tokenizers, processors
from transformers import (
    AutoModelForSequenceClassification,
    BertConfig,
    BertForSequenceClassification,
    BloomConfig,
    DebertaV2Config,
    Gemma2Config,
    Gemma2PreTrainedModel,
    Gemma3TextConfig,
    GemmaConfig,
    GPT2Config,
    GptOssConfig,
    GptOssPreTrainedModel,
    LlamaConfig,
    LlamaModel,
    MistralConfig,
    Phi3Config,
    PhiConfig,
    PreTrainedTokenizerFast,
    Qwen3Config,
    RobertaConfig,
    T5Config,
)

from scoring.engine.scorer import Scorer
from scoring.errors import KnownError
from scoring.families import open_scorer
from scoring.families.classifier import Classifier
from scoring.run import make_job, score
from scoring.spec import Message, ModelSpec, Pair, RunSettings
from tests.conftest import DEMO_MODEL
from tests.support.rounding import DEMO, assert_near, near

PACKED = "packed, shared prefixes computed once"
CPU = RunSettings(device="cpu", dtype="float32")
WORDS = ["<pad>", "<unk>", "<s>", "</s>", *(f"w{n}" for n in range(4, 60))]
PAD, BOS, EOS = 0, 2, 3
TEMPLATE = "{% for message in messages %}{{ message['content'] + ' ' }}{% endfor %}{{ '</s>' }}"
LIMIT = 200

SMALL: dict[str, Any] = {
    "vocab_size": len(WORDS),
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "max_position_embeddings": 256,
    "num_labels": 1,
    "initializer_range": 0.2,
    "pad_token_id": PAD,
    "bos_token_id": BOS,
    "eos_token_id": EOS,
}


def llama(**changes: Any) -> LlamaConfig:
    return LlamaConfig(**{**SMALL, "num_key_value_heads": 2, **changes})


def qwen3() -> Qwen3Config:
    return Qwen3Config(**SMALL, num_key_value_heads=2, head_dim=8)


def mistral() -> MistralConfig:
    return MistralConfig(**SMALL, num_key_value_heads=2, sliding_window=5)


def gemma() -> GemmaConfig:
    return GemmaConfig(**SMALL, num_key_value_heads=1, head_dim=8)


def gemma2() -> Gemma2Config:
    """Its products are capped where it matters."""
    return Gemma2Config(
        **SMALL, num_key_value_heads=2, head_dim=8, sliding_window=5, attn_logit_softcapping=1.0
    )


def gpt_oss() -> GptOssConfig:
    """Each head of its attention has a sink."""
    return GptOssConfig(**SMALL, num_key_value_heads=2, head_dim=8, num_local_experts=4)


def gemma3() -> Gemma3TextConfig:
    kinds = ["sliding_attention", "full_attention", "sliding_attention"]
    return Gemma3TextConfig(
        **{**SMALL, "num_hidden_layers": 3},
        num_key_value_heads=2,
        head_dim=8,
        sliding_window=5,
        layer_types=kinds,
    )


def phi() -> PhiConfig:
    return PhiConfig(**SMALL)


def phi3(**changes: Any) -> Phi3Config:
    return Phi3Config(**{**SMALL, "num_key_value_heads": 2, **changes})


def gpt2() -> GPT2Config:
    return GPT2Config(
        vocab_size=len(WORDS),
        n_embd=32,
        n_layer=2,
        n_head=2,
        n_positions=256,
        num_labels=1,
        initializer_range=0.2,
        pad_token_id=None,
        eos_token_id=EOS,
        bos_token_id=EOS,
    )


def bloom() -> BloomConfig:
    return BloomConfig(
        vocab_size=len(WORDS),
        hidden_size=32,
        n_layer=2,
        n_head=4,
        num_labels=1,
        initializer_range=0.2,
        pad_token_id=PAD,
        eos_token_id=EOS,
    )


def bert() -> BertConfig:
    return BertConfig(**SMALL)


def roberta() -> RobertaConfig:
    return RobertaConfig(**{**SMALL, "pad_token_id": 1})


def deberta() -> DebertaV2Config:
    return DebertaV2Config(
        **SMALL, relative_attention=True, pos_att_type=["p2c", "c2p"], position_buckets=8
    )


ENCODER = "padded: its rewards come from the whole model"
PATHS: dict[Callable[[], Any], str] = {
    qwen3: PACKED,
    llama: PACKED,
    mistral: PACKED,
    gemma: PACKED,
    gemma2: PACKED,
    gemma3: PACKED,
    phi: PACKED,
    phi3: PACKED,
    gpt2: PACKED,
    bert: ENCODER,
    roberta: ENCODER,
    deberta: ENCODER,
}


OF_EACH_PATH = [llama, bert]
GRID = [
    each if each in OF_EACH_PATH else pytest.param(each, marks=pytest.mark.slow) for each in PATHS
]
"""All architectures, of which `make test` takes one of each path."""


def tokenizer(
    template: str = TEMPLATE, pad: str | None = "<pad>", others: Mapping[str, int] | None = None
) -> PreTrainedTokenizerFast:
    """Whole words and nothing else, so that a test knows the tokens without asking."""
    names = {word: n for n, word in enumerate(WORDS)}
    words = Tokenizer(models.WordLevel({**names, **(others or {})}, "<unk>"))
    words.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    made = PreTrainedTokenizerFast(
        tokenizer_object=words,
        unk_token="<unk>",
        pad_token=pad,
        bos_token="<s>",
        eos_token="</s>",
        model_max_length=LIMIT,
    )
    made.chat_template = template
    return made


def save(
    folder: Path, config: Any, made: PreTrainedTokenizerFast | None = None, scale: float = 1
) -> Path:
    """A random classifier with its tokenizer. scale: of its head, so that rewards lie apart."""
    torch.set_num_threads(1)
    torch.manual_seed(0)
    model = AutoModelForSequenceClassification.from_config(config)
    head = getattr(model, "score", None) or model.classifier
    with torch.no_grad():
        getattr(head, "out_proj", head).weight.mul_(scale)
    model.save_pretrained(folder)
    (made or tokenizer()).save_pretrained(folder)
    return folder


def plain(folder: Path) -> Any:
    """The model with its attention written out; told of no padding, it reads the last token."""
    model = AutoModelForSequenceClassification.from_pretrained(
        folder, dtype=torch.float32, attn_implementation="eager"
    )
    model.config.pad_token_id = None
    return model.eval()


def token_ids(pair: Pair) -> list[list[int]]:
    """Of both conversations, told from the words."""
    prompt = " ".join(message.content for message in pair.messages)
    return [
        [*(WORDS.index(word) for word in f"{prompt} {response}".split()), EOS]
        for response in (pair.chosen, pair.rejected)
    ]


def logits_of(model: Any, pairs: Sequence[Pair]) -> torch.Tensor:
    """[pairs, 2, labels], one sequence at a time."""
    with torch.inference_mode():
        rows = [
            model(input_ids=torch.tensor([ids])).logits[0] for p in pairs for ids in token_ids(p)
        ]
    return torch.stack(rows).view(len(pairs), 2, -1)


def opened(folder: Path, settings: RunSettings = CPU, **spec: Any) -> Scorer:
    return open_scorer(ModelSpec("small", str(folder), "test", **spec), settings)


def rewards(scorer: Scorer, pairs: Sequence[Pair]) -> torch.Tensor:
    return torch.tensor(scorer.rewards(scorer.prepare(pairs)))


def some_pairs() -> list[Pair]:
    """Of all lengths and kinds: what a pair's sides may have in common, and what they may lack."""
    rng = random.Random(0)

    def words(n: int) -> str:
        return " ".join(rng.choice(WORDS[4:]) for _ in range(n))

    prompt, answer = words(8), words(6)
    turns = (Message("user", words(4)), Message("assistant", words(9)), Message("user", words(3)))
    texts: list[tuple[str, str, str]] = [
        *((words(n), words(n), words(2 * n)) for n in (3, 10, 20)),
        (prompt, answer, f"{answer} {words(5)}"),  # chosen a prefix of rejected, but for the end
        (prompt, f"{answer} {words(7)}", answer),
        (prompt, f"{answer} {words(2)}", f"{answer} {words(9)}"),
        (prompt, answer, answer),  # a tie
        (prompt, "", words(4)),
        (prompt, words(3), ""),
        (prompt, words(1), words(1)),  # one token
        (words(30), words(1), words(25)),
        (words(30), words(25), words(1)),
        (words(60), words(80), words(70)),
        (words(2), words(1), words(100)),
        (words(9), "w9 </s>", "w9 </s> </s>"),  # the end within, which may be the padding
    ]
    pairs = [Pair(f"s:{n}", "s", *each) for n, each in enumerate(texts)]
    return [*pairs, Pair("s:turns", "s", "a transcript", words(5), words(2), turns=turns)]


PAIRS = some_pairs()
PREFIX_TEMPLATE = TEMPLATE.replace("{{ '</s>' }}", "")
"""Nothing after the response, so that one sequence can be the start of the other."""


@dataclass(frozen=True)
class Case:
    folder: Path
    scorer: Scorer
    expected: torch.Tensor
    got: torch.Tensor


@pytest.fixture(scope="module", params=PATHS, ids=lambda config: config.__name__)
def config(request: pytest.FixtureRequest) -> Callable[[], Any]:
    made: Callable[[], Any] = request.param
    return made


@pytest.fixture(scope="module")
def case(config: Callable[[], Any], tmp_path_factory: pytest.TempPathFactory) -> Case:
    folder = save(tmp_path_factory.mktemp(config.__name__), config())
    scorer = opened(folder)
    return Case(folder, scorer, logits_of(plain(folder), PAIRS)[..., 0], rewards(scorer, PAIRS))


@pytest.mark.parametrize("config", OF_EACH_PATH, indirect=True)
def test_tokens_are_the_words(case: Case) -> None:
    for pair, tokens in zip(PAIRS, case.scorer.prepare(PAIRS), strict=True):
        assert [list(tokens.chosen.ids), list(tokens.rejected.ids)] == token_ids(pair)


def test_rewards_are_those_of_plain_transformers(case: Case) -> None:
    spread = (case.expected.max() - case.expected.min()).item()
    assert spread > 0.5
    assert_near(case.got, case.expected)


def test_the_path_is_the_one_that_suits_the_architecture(
    case: Case, config: Callable[[], Any]
) -> None:
    assert case.scorer.traits.path == PATHS[config]


@pytest.mark.parametrize("config", GRID, indirect=True)
@pytest.mark.parametrize("budget", [1, 60, 300, 10**6])
def test_a_pair_scores_the_same_whatever_is_beside_it(case: Case, budget: int) -> None:
    settings = RunSettings(device="cpu", dtype="float32", budget=budget, seed=budget)
    scorer = opened(case.folder, settings)
    packs = list(score(make_job(PAIRS, scorer, settings.seed), scorer))
    rows = {row.key: (row.chosen_reward, row.rejected_reward) for p in packs for row in p.rows}
    assert len(packs) > 1 or budget == 10**6
    assert_near(torch.tensor([rows[pair.key] for pair in PAIRS]), case.got)


@pytest.mark.parametrize("config", GRID, indirect=True)
def test_a_pair_scores_the_same_alone_and_among_others(case: Case) -> None:
    alone = torch.cat([rewards(case.scorer, [pair]) for pair in PAIRS])
    assert_near(alone, case.got)
    assert_near(rewards(case.scorer, PAIRS[::-1]).flip(0), case.got)
    assert_near(rewards(case.scorer, PAIRS[4:9]), case.got[4:9])


@pytest.mark.parametrize("config", GRID, indirect=True)
def test_equal_sides_are_a_tie_to_the_last_bit(case: Case) -> None:
    equal = [Pair(p.key, "s", p.prompt, p.chosen, p.chosen, p.turns) for p in PAIRS]
    for pairs in (equal, equal[3:5], equal[:1]):
        got = rewards(case.scorer, pairs)
        assert torch.equal(got[:, 0], got[:, 1])


@pytest.mark.parametrize("config", GRID, indirect=True)
def test_a_sequence_that_begins_another_has_its_own_reward(
    config: Callable[[], Any], tmp_path: Path
) -> None:
    """The end of the shorter one lies amid the longer one; neither reads the other's."""
    folder = save(tmp_path, config(), tokenizer(PREFIX_TEMPLATE))
    scorer = opened(folder)
    pairs = [
        Pair("s:1", "s", "w5 w6", "w7 w8", "w7 w8 w9 w4 w11 w12 w9"),
        Pair("s:2", "s", "w5 w6", "w7 w8 w9 w4 w11 w12 w9", "w7 w8"),
        Pair("s:3", "s", "w5 w6", "", "w7"),
        Pair("s:4", "s", "w5 w6", "w7", ""),
        Pair("s:5", "s", "w5", "w7 w8", "w7 w8"),
    ]
    for pair, tokens in zip(pairs, scorer.prepare(pairs), strict=True):
        assert [[*tokens.chosen.ids, EOS], [*tokens.rejected.ids, EOS]] == token_ids(pair)
    with torch.inference_mode():
        model = plain(folder)
        expected = torch.tensor(
            [
                [model(input_ids=torch.tensor([ids[:-1]])).logits.item() for ids in token_ids(pair)]
                for pair in pairs
            ]
        )
    assert_near(rewards(scorer, pairs), expected)
    assert (expected[:4, 0] - expected[:4, 1]).abs().min() > 1e-3


@pytest.mark.parametrize("side", ["left", "right"])
def test_text_at_the_limit_is_whole_and_one_over_is_cut(
    side: Any, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("limit")
    save(folder, llama())
    scorer = opened(folder, RunSettings(device="cpu", dtype="float32", truncation_side=side))
    assert scorer.traits.max_length == LIMIT
    body = [WORDS[4 + n % 50] for n in range(LIMIT)]
    at, over = " ".join(body[: LIMIT - 2]), " ".join(body[: LIMIT - 1])
    pair = Pair("s:1", "s", "w9", at, over)
    (tokens,) = scorer.prepare([pair])
    whole, longer = token_ids(pair)
    kept = longer[1:] if side == "left" else longer[:-1]
    assert (list(tokens.chosen.ids), tokens.chosen.truncated) == (whole, False)
    assert (list(tokens.rejected.ids), tokens.rejected.truncated) == (kept, True)
    (pack,) = score(make_job([pair], scorer, 0), scorer)
    (row,) = pack.rows
    assert (row.chosen_truncated, row.rejected_truncated) == (False, True)
    assert (row.chosen_tokens, row.rejected_tokens) == (LIMIT, LIMIT)
    with torch.inference_mode():
        expected = [plain(folder)(input_ids=torch.tensor([x])).logits.item() for x in (whole, kept)]
    assert [row.chosen_reward, row.rejected_reward] == near(expected)


@pytest.mark.parametrize("config", [llama, bloom])
@pytest.mark.parametrize("pad", [EOS, PAD, None, 9])
def test_the_score_is_read_at_the_last_token_whatever_pads(
    config: Callable[[], Any], pad: int | None, tmp_path: Path
) -> None:
    made = config()
    made.pad_token_id = pad
    pad_word = None if pad is None else WORDS[pad]
    scorer = opened(save(tmp_path, made, tokenizer(pad=pad_word)))
    assert ("packed" in scorer.traits.path) == (config is llama)
    ends = [Pair("s:end", "s", "w4 w5", "w9", "w9 w9 w9"), *PAIRS]
    expected = logits_of(plain(tmp_path), ends)[..., 0]
    assert_near(rewards(scorer, ends), expected)


@pytest.mark.parametrize("config", [llama, bloom, bert])
@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_weights_that_are_no_numbers_give_no_rewards(
    config: Callable[[], Any], value: float, tmp_path: Path
) -> None:
    save(tmp_path, config())
    model = plain(tmp_path)
    head = getattr(model, "score", None) or model.classifier
    with torch.no_grad():
        head.weight.fill_(value)
    model.save_pretrained(tmp_path)
    scorer = opened(tmp_path)
    assert not rewards(scorer, PAIRS).isfinite().any()
    (pack,) = score(make_job(PAIRS[:3], scorer, 0), scorer)
    assert {(row.chosen_reward, row.rejected_reward, row.outcome) for row in pack.rows} == {
        (None, None, "missing")
    }


@pytest.mark.parametrize("config", [llama, mistral, bloom, bert])
def test_a_poisoned_word_spoils_only_the_pairs_that_hold_it(
    config: Callable[[], Any], tmp_path: Path
) -> None:
    """What both sides share may take it from one of them: such a pair has no margin anyway."""
    save(tmp_path, config())
    model = plain(tmp_path)
    with torch.no_grad():
        model.get_input_embeddings().weight[WORDS.index("w40")] = math.nan
    model.save_pretrained(tmp_path)
    pairs = [
        Pair("s:1", "s", "w5 w6", "w7 w8", "w7 w40"),
        Pair("s:2", "s", "w5", "w40", "w9 w9 w9"),
        Pair("s:3", "s", "w40 w5", "w6", "w7"),
        Pair("s:4", "s", "w11 w5", "w6", "w7"),
    ]
    finite = rewards(opened(tmp_path), pairs).isfinite()
    holds = torch.tensor([[False, True], [True, False], [True, True], [False, False]])
    assert not finite[holds].any()
    assert finite[3].all()


LABELS = 3


@pytest.fixture(scope="module")
def labelled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("labels")
    return save(folder, llama(num_labels=LABELS))


@pytest.fixture(scope="module", params=[llama, bert], ids=["head apart", "whole model"])
def several(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = request.param()
    made.num_labels = LABELS
    return save(tmp_path_factory.mktemp("several"), made)


@pytest.mark.parametrize("label", range(LABELS))
def test_one_of_several_labels_is_the_reward(label: int, several: Path) -> None:
    scorer = opened(several, reading=label)
    expected = logits_of(plain(several), PAIRS)
    assert (expected[..., 0] - expected[..., 1]).abs().max() > 0.1
    assert_near(rewards(scorer, PAIRS), expected[..., label])
    assert scorer.traits.reading == f"label {label} of {LABELS}"


def test_several_labels_may_be_weighted(several: Path) -> None:
    weights = (1.0, -0.5, 0.25)
    scorer = opened(several, reading=weights)
    expected = logits_of(plain(several), PAIRS) @ torch.tensor(weights)
    assert_near(rewards(scorer, PAIRS), expected)
    assert scorer.traits.reading == "labels weighted 1, -0.5, 0.25"


@pytest.mark.parametrize(
    ("reading", "said"),
    [
        (None, "has 3 labels, and which of them is the reward is not known: declare one"),
        (3, r"has 3 labels; there is no label 3 \(0 to 2 are allowed\)"),
        (-1, "there is no label -1"),
        ((1.0, 2.0), "has 3 labels, and 2 weights were given"),
    ],
)
def test_a_reading_that_does_not_fit_is_refused(reading: Any, said: str, labelled: Path) -> None:
    with pytest.raises(KnownError, match=said):
        opened(labelled, reading=reading)


@pytest.mark.parametrize("config", OF_EACH_PATH, indirect=True)
def test_one_label_needs_no_reading(case: Case) -> None:
    assert case.scorer.traits.reading == "its one label"


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
    ("config", "kind"), [(gemma2, Gemma2PreTrainedModel), (gpt_oss, GptOssPreTrainedModel)]
)
def test_caps_and_sinks_of_attention_count_where_a_class_leaves_them_to_sdpa(
    config: Callable[[], Any], kind: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As Gemma 2 of transformers 5.17 does, whose sdpa knows of no cap and says nothing."""
    folder = save(tmp_path, config())
    monkeypatch.setattr(kind, "_supports_sdpa", True)
    scorer = opened(folder)
    assert scorer.traits.path == PACKED
    assert_near(rewards(scorer, PAIRS), logits_of(plain(folder), PAIRS)[..., 0])


def test_heads_are_float32_where_the_model_is_not(tmp_path: Path) -> None:
    """In bfloat16 a reward near 500 would be a multiple of 2."""
    folder = save(tmp_path, llama(), scale=2000)
    half = RunSettings(device="cpu", dtype="bfloat16")
    scorer = opened(folder, half)
    assert (scorer.traits.dtype, scorer.traits.path) == ("bfloat16", PACKED)
    got = rewards(scorer, PAIRS).flatten()
    large = got[got.abs() > 300]
    assert len(large)
    assert (large.bfloat16().float() != large).any()
    expected = logits_of(plain(folder), PAIRS)[..., 0].flatten()
    assert (got - expected).abs().max() < 0.05 * (expected.max() - expected.min())


def test_a_head_of_any_name_is_float32_and_the_rest_of_its_model_is_not(tmp_path: Path) -> None:
    folder = save(tmp_path, bert(), scale=200)
    scorer = opened(folder, RunSettings(device="cpu", dtype="bfloat16"))
    assert isinstance(scorer, Classifier)
    got = rewards(scorer, PAIRS)
    assert (got.bfloat16().float() != got).any()
    model = scorer.loaded.model
    assert {each.dtype for each in model.parameters()} == {torch.bfloat16}
    assert (scorer.traits.dtype, scorer.traits.path) == ("bfloat16", ENCODER)
    expected = logits_of(plain(folder), PAIRS)[..., 0]
    assert (got - expected).abs().max() < 0.1 * (expected.max() - expected.min())


def test_a_head_that_cannot_be_float32_stays_as_it_is_and_that_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Strangers' code may ask its head for sums with what is not of the head."""
    forward = BertForSequenceClassification.forward

    def strict(model: Any, *given: Any, **named: Any) -> Any:
        assert model.classifier.weight.dtype == model.dtype, "mat1 and mat2 differ in dtype"
        return forward(model, *given, **named)

    monkeypatch.setattr(BertForSequenceClassification, "forward", strict)
    scorer = opened(save(tmp_path, bert()), RunSettings(device="cpu", dtype="bfloat16"))
    assert scorer.traits.path == f"{ENCODER}, its head in bfloat16"
    assert rewards(scorer, PAIRS).isfinite().all()


def test_weights_that_a_class_does_not_know_are_told_of(tmp_path: Path) -> None:
    folder = save(tmp_path, llama())
    assert opened(folder).traits.reading == "its one label"
    weights = load_file(folder / "model.safetensors")
    more = {"v_head.0.weight": torch.ones(1, 32), "lm_head.weight": torch.ones(60, 32)}
    save_file({**weights, **more}, folder / "model.safetensors", {"format": "pt"})
    assert opened(folder).traits.reading == (
        "its one label; weights that its class does not know are left out: v_head.0.weight"
    )


@pytest.mark.parametrize("error", [torch.OutOfMemoryError("CUDA out of memory."), MemoryError()])
def test_no_memory_beside_the_weights_is_told_in_a_sentence(
    error: Exception, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fill(*_: Any, **__: Any) -> None:
        raise error

    folder = save(tmp_path, llama())
    monkeypatch.setattr(LlamaModel, "forward", fill)
    with pytest.raises(KnownError, match=r"^small fits in memory, but nothing beside it"):
        opened(folder)


DOUBLED = "{{ bos_token }} " + TEMPLATE


@pytest.fixture(params=["<pad>", "</s>", "w9", None])
def run_rm(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Path, str | None]:
    """A model whose text begins with two BOS, padded in several ways."""
    made = tokenizer(DOUBLED, pad=request.param)
    made.backend_tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A", special_tokens=[("<s>", BOS)]
    )
    pad_id = None if request.param is None else WORDS.index(request.param)
    config = gpt2()  # its positions are absolute, so that where a text starts can be seen
    config.pad_token_id = pad_id
    return save(tmp_path, config, made), request.param


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
            made.apply_chat_template(
                [
                    *(message._asdict() for message in pair.messages),
                    {"role": "assistant", "content": response},
                ],
                tokenize=False,
            )
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


def test_upstream_compatible_rewards_are_run_rms(
    run_rm: tuple[Path, str | None],
) -> None:
    folder, _ = run_rm
    settings = RunSettings(device="cpu", dtype="float32", upstream_compatible=True)
    scorer = opened(folder, settings)
    assert scorer.traits.path == PACKED
    expected = as_run_rm(folder, PAIRS)
    assert_near(rewards(scorer, PAIRS), expected)
    assert (rewards(opened(folder), PAIRS) - expected).abs().max() > 1e-3


def test_upstream_compatible_rewards_are_run_rms_where_token_0_pads_and_ends(
    tmp_path: Path,
) -> None:
    made = tokenizer(TEMPLATE.replace("</s>", "<pad>"))
    made.eos_token = "<pad>"
    folder = save(tmp_path, llama(pad_token_id=PAD, eos_token_id=PAD), made)
    settings = RunSettings(device="cpu", dtype="float32", upstream_compatible=True)
    expected = as_run_rm(folder, PAIRS)
    assert_near(rewards(opened(folder, settings), PAIRS), expected)


def longrope() -> Phi3Config:
    """Its rotations are others for a sequence of more than 64 tokens."""
    return phi3(
        original_max_position_embeddings=64,
        rope_parameters={
            "rope_type": "longrope",
            "rope_theta": 10000.0,
            "original_max_position_embeddings": 64,
            "short_factor": [1.0] * 4,
            "long_factor": [1.0, 2.0, 4.0, 8.0],
            "factor": 4.0,
        },
    )


def test_no_sequence_is_so_long_that_others_turn_with_it(tmp_path: Path) -> None:
    """Beyond the length it was first trained for, every sequence beside it rotates otherwise."""
    folder = save(tmp_path, longrope())
    scorer = opened(folder)
    original = longrope().rope_parameters["original_max_position_embeddings"]
    assert scorer.traits.max_length == original
    prepared = scorer.prepare(PAIRS)
    assert any(pair.chosen.truncated for pair in prepared)
    together = scorer.rewards(prepared)
    for pair, beside in zip(prepared, together, strict=True):
        assert list(scorer.rewards([pair])[0]) == near(beside)


def padded_tokens(lengths: Sequence[int], batch: int) -> int:
    """Tokens computed in batches in the order given, each padded to its longest."""
    starts = range(0, len(lengths), batch)
    return sum(
        max(lengths[start : start + batch]) * len(lengths[start : start + batch])
        for start in starts
    )


@pytest.mark.slow
def test_real_pairs_take_the_packed_path(demo_scorer: Scorer, shared_data: Path) -> None:
    """The first ten pairs of each subset: what enters the model is each unique token, once."""
    rows = pq.read_table(shared_data / "reward-bench" / "filtered.parquet").to_pylist()
    taken: Counter[str] = Counter()
    pairs = []
    for row in rows:
        taken[row["subset"]] += 1
        if taken[row["subset"]] <= 10:
            texts = (row["prompt"], row["chosen"], row["rejected"])
            pairs.append(Pair(f"{row['subset']}:{row['id']}", row["subset"], *texts))
    assert len(pairs) == 230
    assert isinstance(demo_scorer, Classifier)
    entered: list[int] = []
    embedding = demo_scorer.loaded.model.get_input_embeddings()
    hook = embedding.register_forward_hook(lambda _, inputs, __: entered.append(inputs[0].numel()))
    try:
        job = make_job(pairs, demo_scorer, seed=0)
        packs = list(score(job, demo_scorer))
    finally:
        hook.remove()
    assert demo_scorer.traits.path == PACKED
    assert sum(len(pack.rows) for pack in packs) == 230
    unique = sum(job.costs)
    assert sum(pack.tokens for pack in packs) == unique
    assert unique <= sum(entered) <= 113_000
    ready = [pair for _, (pair,) in sorted(job.ready.items())]
    lengths = [len(pair.chosen.ids) for pair in ready]
    lengths += [len(pair.rejected.ids) for pair in ready]
    assert padded_tokens(lengths, 8) == 264_124
    rows_of = {row.key: row for pack in packs for row in pack.rows}
    model = plain(DEMO_MODEL)
    shortest = sorted(ready, key=lambda pair: pair.cost)[:12]
    for prepared in shortest:
        mine = rows_of[prepared.pair.key]
        with torch.inference_mode():
            expected = [
                model(input_ids=torch.tensor([ids])).logits.item()
                for ids in (prepared.chosen, prepared.rejected)
            ]
        assert [mine.chosen_reward, mine.rejected_reward] == near(expected, **DEMO)


class Compiled:
    """Stands in for compiling, to see when it is asked for."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.times = 0
        monkeypatch.setattr("scoring.engine.forward.Packed.compile", self.count)

    def count(self, _: Any) -> None:
        self.times += 1


@pytest.mark.parametrize(
    ("setting", "tokens", "times"),
    [("on", 1, 1), ("off", 10**9, 0), ("auto", 10**9, 0), ("auto", 1, 0)],
)
def test_compiling_waits_until_it_pays(
    setting: Any, tokens: int, times: int, labelled: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a CPU it never does by itself."""
    compiled = Compiled(monkeypatch)
    settings = RunSettings(device="cpu", dtype="float32", compile=setting)
    opened(labelled, settings, reading=0).prepare_for_tokens(tokens)
    assert compiled.times == times


def test_on_a_card_the_runs_of_a_process_count_together(
    labelled: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", str(tmp_path))
    compiled = Compiled(monkeypatch)
    scorer: Any = opened(labelled, RunSettings(device="cpu", dtype="float32"), reading=0)
    on_card: Any = SimpleNamespace(device=torch.device("cuda"), dtype=torch.bfloat16)
    scorer.loaded = replace(scorer.loaded, model=on_card)
    for times in (0, 1, 1, 2):  # this one gives up, and is asked again when as much was spent
        scorer.prepare_for_tokens(1_540_000)
        assert compiled.times == times


@pytest.mark.parametrize("config", OF_EACH_PATH, indirect=True)
def test_a_padded_model_is_not_compiled(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    compiled = Compiled(monkeypatch)
    scorer = opened(case.folder, RunSettings(device="cpu", dtype="float32", compile="on"))
    scorer.prepare_for_tokens(10**9)
    assert compiled.times == int(scorer.traits.path.startswith("packed"))

import math
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import torch
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import (
    AutoConfig,
    AutoModelForCausalLM,
    AutoModelForSequenceClassification,
    AutoTokenizer,
    PreTrainedTokenizerFast,
)

from scoring.engine import vocabulary
from scoring.engine.scorer import Scorer, facts
from scoring.errors import KnownError
from scoring.families import open_scorer
from scoring.run import make_job, score
from scoring.spec import Family, Message, ModelSpec, Pair, RunSettings, ScoredPair
from tests.conftest import DEMO_MODEL
from tests.support.rounding import near, rounding

SMALL: dict[str, Any] = {
    "vocab_size": 8192,
    "hidden_size": 32,
    "intermediate_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "num_key_value_heads": 1,
    "head_dim": 16,
    "max_position_embeddings": 1024,
    "initializer_range": 0.3,
    "pad_token_id": 0,
    "eos_token_id": 2,
    "bos_token_id": None,
}
ARCHITECTURES: dict[str, dict[str, Any]] = {
    "qwen3": {},
    "llama": {},
    "gemma2": {
        "query_pre_attn_scalar": 16,
        "final_logit_softcapping": 5.0,
        "attn_logit_softcapping": 1.0,
    },
    "granite": {"logits_scaling": 4.0},
    "cohere": {"logit_scale": 0.25},
    "phi": {"num_key_value_heads": 2},
    "bloom": {},
}
"""Together: tied and untied heads, soft-capping, scaled logits both ways, a bias, LayerNorm; and
one that is padded."""

PAIRS = [
    Pair("s:1", "s", "Name a colour.", "Red, like a fire engine.", "No."),
    Pair("s:2", "s", "What is 2 + 2?", "4", "It is five, of course.\n\nIs it not?"),
    Pair("s:3", "s", "Count.", "one two three four five", "one two three four six"),
    Pair("s:4", "s", "Count.", "one two three", "one two three four five six"),
    Pair("s:5", "s", "Translate: water", "青い水 🤔", "das Wasser"),
    Pair("s:6", "s", "Say nothing.", "", "Something."),
    Pair("s:7", "s", "Write code.", "\n```\nx = 1\n```", "  x = 1"),
    Pair(
        "s:8",
        "s",
        "a transcript that is not read",
        "Fine.",
        "Bad.",
        (
            Message("system", "Be brief."),
            Message("user", "Hello!"),
            Message("assistant", "Hi."),
            Message("user", "How are you?"),
        ),
    ),
]
CPU: dict[str, Any] = {"device": "cpu", "dtype": "float32", "budget": 150}

Tiny = Callable[..., str]
"""Architecture and seed -> the folder of a tiny random language model."""


tokenizer_of = cache(AutoTokenizer.from_pretrained)


@cache
def model_of(folder: str) -> Any:
    return AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()


def save_tiny(folder: Path, kind: str, seed: int, tokenizer: Any = None, **more: Any) -> str:
    """A random language model; by default with the demo model's tokenizer."""
    torch.manual_seed(seed)
    config = AutoConfig.for_model(kind, **{**SMALL, **ARCHITECTURES.get(kind, {}), **more})
    model = AutoModelForCausalLM.from_config(config)
    bias = getattr(model.get_output_embeddings(), "bias", None)
    if bias is not None:
        torch.nn.init.normal_(bias)
    model.save_pretrained(folder)
    (tokenizer or tokenizer_of(str(DEMO_MODEL))).save_pretrained(folder)
    return str(folder)


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Tiny:
    torch.set_num_threads(1)  # so small models lose more to waiting threads than they gain
    made: dict[tuple[str, int], str] = {}

    def folder_of(kind: str = "qwen3", seed: int = 0) -> str:
        if (kind, seed) not in made:
            made[kind, seed] = save_tiny(tmp_path_factory.mktemp(kind), kind, seed)
        return made[kind, seed]

    return folder_of


@cache
def opened(
    folder: str, reference: str | None = None, family: Family = "dpo", **settings: Any
) -> Scorer:
    beside = ModelSpec("the reference", reference, "r") if reference else None
    spec = ModelSpec("the policy", folder, "p", family, reference=beside)
    return open_scorer(spec, RunSettings(**{**CPU, **settings}))


def scored(scorer: Scorer, pairs: Sequence[Pair] = PAIRS) -> dict[str, ScoredPair]:
    return {row.key: row for pack in score(make_job(pairs, scorer, 0), scorer) for row in pack.rows}


class Naive:
    """One sequence at a time, by plain transformers, over the whole vocabulary.

    The response is every token of the conversation that ends behind the rendered prompt.
    """

    def __init__(self, folder: str, max_length: int = 4096, side: str = "left") -> None:
        self.tokenizer, self.model = tokenizer_of(folder), model_of(folder)
        self.max_length, self.side = max_length, side

    def prompt(self, pair: Pair) -> str:
        messages = [message._asdict() for message in pair.messages]
        text: str = self.tokenizer.apply_chat_template(
            messages, tokenize=False, add_generation_prompt=True
        )
        return text

    def log_probs(self, pair: Pair, response: str) -> list[float]:
        """Of each token of a response that is left after truncation."""
        prompt = self.prompt(pair)
        messages = [*pair.messages, Message("assistant", response)]
        text = self.tokenizer.apply_chat_template(
            [message._asdict() for message in messages], tokenize=False
        )
        assert text.startswith(prompt)
        encoded = self.tokenizer(text, add_special_tokens=False, return_offsets_mapping=True)
        tokens = [
            (token, end > len(prompt))
            for token, (_, end) in zip(encoded.input_ids, encoded.offset_mapping, strict=True)
        ]
        n = self.max_length
        tokens = tokens[-n:] if self.side == "left" else tokens[:n]
        with torch.inference_mode():
            logits = self.model(torch.tensor([[token for token, _ in tokens]])).logits[0]
        log_probs = logits.double().log_softmax(1)
        return [
            log_probs[place - 1, token].item()
            for place, (token, of_response) in enumerate(tokens)
            if of_response and place
        ]

    def sums(self, pair: Pair) -> list[float]:
        """Of the chosen and the rejected response; NaN where nothing is left of one."""
        both = [self.log_probs(pair, text) for text in (pair.chosen, pair.rejected)]
        return [sum(each) if each else math.nan for each in both]


def rewards_of(row: ScoredPair) -> list[float]:
    both = (row.chosen_reward, row.rejected_reward)
    return [math.nan if reward is None else reward for reward in both]


def close(expected: Sequence[float], n_tokens: int = 100) -> Any:
    """Sums of so many log-probabilities of at most 20; one token more or less is off by 1 to 20."""
    return pytest.approx(expected, rel=0, abs=n_tokens * rounding(20), nan_ok=True)


# Against a naive implementation.


@pytest.mark.parametrize("kind", ARCHITECTURES)
def test_rewards_are_those_of_the_equation(kind: str, tiny: Tiny) -> None:
    scorer = opened(tiny(kind), tiny(kind, 1))
    assert scorer.traits.path.startswith("padded" if kind == "bloom" else "packed")
    rows = scored(scorer)
    policy, reference = Naive(tiny(kind)), Naive(tiny(kind, 1))
    seen = []
    for pair in PAIRS:
        ours, theirs = policy.sums(pair), reference.sums(pair)
        expected = [our - their for our, their in zip(ours, theirs, strict=True)]
        assert rewards_of(rows[pair.key]) == close(expected)
        seen += expected
    assert max(seen) - min(seen) > 1
    assert len({round(reward, 2) for reward in seen}) == len(seen)


@pytest.mark.parametrize("kind", ["llama", "bloom"])
def test_longer_pairs_have_the_rewards_of_the_equation(
    kind: str, tiny: Tiny, demo_pairs: list[Pair]
) -> None:
    pairs = demo_pairs[::25]
    rows = scored(opened(tiny(kind), tiny(kind, 1), budget=2000), pairs)
    policy, reference = Naive(tiny(kind)), Naive(tiny(kind, 1))
    for pair in pairs:
        ours, theirs = policy.sums(pair), reference.sums(pair)
        expected = [our - their for our, their in zip(ours, theirs, strict=True)]
        assert rewards_of(rows[pair.key]) == close(expected)


@pytest.mark.parametrize("family", ["logprob-sum", "logprob-mean"])
@pytest.mark.parametrize("kind", ["qwen3", "bloom"])
def test_without_a_reference_log_probabilities_are_summed_or_averaged(
    kind: str, family: Family, tiny: Tiny
) -> None:
    rows = scored(opened(tiny(kind), family=family))
    naive = Naive(tiny(kind))
    for pair in PAIRS:
        both = [naive.log_probs(pair, text) for text in (pair.chosen, pair.rejected)]
        n_tokens = [len(each) if family == "logprob-mean" else 1 for each in both]
        expected = [sum(each) / n for each, n in zip(both, n_tokens, strict=True)]
        assert rewards_of(rows[pair.key]) == close(expected)
        assert max(rewards_of(rows[pair.key])) < 0


def test_an_empty_response_is_its_end_of_turn_alone(tiny: Tiny) -> None:
    pair = PAIRS[5]
    assert pair.chosen == ""
    row = scored(opened(tiny(), family="logprob-mean"), [pair])[pair.key]
    naive = Naive(tiny())
    (end_of_turn,) = naive.log_probs(pair, "")
    assert [row.chosen_reward] == near([end_of_turn])


def test_a_template_that_begins_the_answer_leaves_the_answer_whole(
    tiny: Tiny, tmp_path: Path
) -> None:
    """Where only the prompt to speak ends in a tag, what the response has after it counts."""
    tokenizer = AutoTokenizer.from_pretrained(DEMO_MODEL)
    naive = Naive(tiny())
    tokenizer.chat_template = tokenizer.chat_template.replace(
        "'<|im_start|>assistant\n' }}", "'<|im_start|>assistant\n<think>' }}"
    )
    assert "<think>" in tokenizer.chat_template
    scorer = opened(save_tiny(tmp_path, "qwen3", 0, tokenizer), family="logprob-sum")
    rows = scored(scorer, PAIRS[:3])
    for pair in PAIRS[:3]:
        assert rewards_of(rows[pair.key]) == close(naive.sums(pair))


# What holds exactly.


@pytest.mark.parametrize("beta", [0.5, 0.1, 3.0])
def test_beta_scales_rewards_exactly(beta: float, tiny: Tiny) -> None:
    plain = scored(opened(tiny(), tiny("qwen3", 1)))
    scaled = scored(opened(tiny(), tiny("qwen3", 1), beta=beta))
    for key, row in plain.items():
        assert rewards_of(scaled[key]) == [beta * reward for reward in rewards_of(row)]
        if beta == 0.5:
            assert scaled[key].margin == 0.5 * (row.margin or math.nan)


@pytest.mark.parametrize("kind", ["qwen3", "bloom"])
def test_a_policy_that_is_its_reference_ties_every_pair(kind: str, tiny: Tiny) -> None:
    rows = scored(opened(tiny(kind), tiny(kind)))
    assert [rewards_of(row) for row in rows.values()] == [[0.0, 0.0]] * len(PAIRS)
    assert {row.outcome for row in rows.values()} == {"tie"}


def same_responses() -> list[Pair]:
    words = "one two three four five six seven eight nine ten eleven twelve"
    texts = [words[:n] for n in range(0, len(words), 3)]
    return [Pair(f"same:{n}", "s", "Count.", text, text) for n, text in enumerate(texts)]


def test_identical_responses_tie_exactly(tiny: Tiny, monkeypatch: pytest.MonkeyPatch) -> None:
    """Wherever they stand among the rows of which the vocabulary's chunks are made."""
    same = same_responses()
    for kind in ("qwen3", "bloom"):
        scorers = [
            opened(tiny(kind), tiny(kind, 1), "dpo", budget=333),
            opened(tiny(kind), None, "logprob-sum", budget=333),
            opened(tiny(kind), None, "logprob-mean", budget=333),
        ]
        for rows_at_once in (1, 3, 5, 7, 64, 1024):
            monkeypatch.setattr(vocabulary, "_ROWS", rows_at_once)
            for scorer in scorers:
                rows = scored(scorer, [*same, *PAIRS])
                assert [rows[pair.key].margin for pair in same] == [0.0] * len(same)
                assert rows["s:1"].margin != 0


@pytest.mark.parametrize("rows_at_once", [1, 3, 50])
def test_how_many_rows_are_in_memory_changes_nothing(
    rows_at_once: int, tiny: Tiny, monkeypatch: pytest.MonkeyPatch
) -> None:
    scorer = opened(tiny(), tiny("qwen3", 1))
    before = scored(scorer)
    monkeypatch.setattr(vocabulary, "_ROWS", rows_at_once)
    for key, row in scored(scorer).items():
        assert rewards_of(row) == close(rewards_of(before[key]))


# Truncation.


@pytest.mark.parametrize(
    ("kind", "max_length"),
    [
        *(("qwen3", n) for n in (1, 6, 20)),
        *(pytest.param("qwen3", n, marks=pytest.mark.slow) for n in (2, 9, 14)),
        *(("bloom", n) for n in (1, 9)),
    ],
)
def test_cut_on_the_left_the_tokens_that_are_left_count(
    kind: str, max_length: int, tiny: Tiny
) -> None:
    scorer = opened(tiny(kind), tiny(kind, 1), max_length=max_length)
    policy, reference = (Naive(tiny(kind, seed), max_length) for seed in (0, 1))
    for pair in PAIRS:
        row = scored(scorer, [pair])[pair.key]
        ours, theirs = policy.sums(pair), reference.sums(pair)
        expected = [our - their for our, their in zip(ours, theirs, strict=True)]
        assert rewards_of(row) == close(expected)
        if max_length == 1:
            assert row.outcome == "missing"
    assert any(row.chosen_truncated for row in scored(scorer).values())


@pytest.mark.parametrize(
    ("kind", "n_kept"),
    [
        *(("qwen3", n) for n in (-3, 0, 1, 5)),
        *(("bloom", n) for n in (0, 2)),
        pytest.param("qwen3", 2, marks=pytest.mark.slow),
        *(pytest.param("bloom", n, marks=pytest.mark.slow) for n in (-3, 1, 5)),
    ],
)
def test_cut_on_the_right_a_response_wholly_cut_off_is_missing(
    kind: str, n_kept: int, tiny: Tiny
) -> None:
    """n_kept: tokens of the response that are left, where it has so many."""
    pairs = PAIRS[:1]
    whole = Naive(tiny(kind))
    n_prompt = len(whole.tokenizer(whole.prompt(pairs[0]), add_special_tokens=False).input_ids)
    max_length = n_prompt + n_kept
    scorer = opened(tiny(kind), tiny(kind, 1), max_length=max_length, truncation_side="right")
    row = scored(scorer, pairs)[pairs[0].key]
    policy, reference = (Naive(tiny(kind, seed), max_length, "right") for seed in (0, 1))
    ours, theirs = policy.sums(pairs[0]), reference.sums(pairs[0])
    expected = [our - their for our, their in zip(ours, theirs, strict=True)]
    assert rewards_of(row) == close(expected)
    assert row.chosen_truncated
    assert (row.outcome == "missing") == (n_kept <= 0)
    if n_kept <= 0:
        assert (row.chosen_reward, row.rejected_reward) == (None, None)


@pytest.mark.parametrize("family", ["logprob-sum", "logprob-mean"])
def test_cut_on_the_right_others_in_the_pack_keep_their_rewards(family: Family, tiny: Tiny) -> None:
    scorer = opened(tiny(), family=family, max_length=30, truncation_side="right", budget=999)
    long = Pair("s:9", "s", "Count to a hundred. " * 9, "one", "two")
    rows = scored(scorer, [*PAIRS[:3], long])
    assert rows["s:9"].outcome == "missing"
    naive = Naive(tiny(), 30, "right")
    for pair in PAIRS[:3]:
        both = [naive.log_probs(pair, text) for text in (pair.chosen, pair.rejected)]
        n_tokens = [len(each) if family == "logprob-mean" else 1 for each in both]
        expected = [sum(each) / n for each, n in zip(both, n_tokens, strict=True)]
        assert rewards_of(rows[pair.key]) == close(expected)


# What is refused, and what is said.


def words_tokenizer(words: Sequence[str]) -> PreTrainedTokenizerFast:
    core = Tokenizer(models.WordLevel({word: n for n, word in enumerate(words)}, "<unk>"))
    core.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=core, unk_token="<unk>")
    tokenizer.chat_template = (
        "{% for m in messages %}{{ m['role'] + ' ' + m['content'] + ' ' }}{% endfor %}"
        "{{ 'assistant ' if add_generation_prompt else '' }}"
    )
    return tokenizer


WORDS = ["<unk>", "user", "assistant", "red", "blue", "like", "wine", "a", "is", "it", "."]


def words_model(folder: Path, words: Sequence[str], n_vocabulary: int = 0) -> str:
    size = n_vocabulary or len(words)
    return save_tiny(folder, "qwen3", 0, words_tokenizer(words), vocab_size=size)


def test_a_reference_with_another_vocabulary_is_refused(tiny: Tiny, tmp_path: Path) -> None:
    swapped = [*WORDS[:3], "blue", "red", *WORDS[5:]]
    policy = words_model(tmp_path / "policy", WORDS)
    for reference in (tiny(), words_model(tmp_path / "swapped", swapped)):
        with pytest.raises(KnownError, match="the reference has another vocabulary than the pol"):
            opened(policy, reference)
    with pytest.raises(KnownError, match=r"\(11 and 8,192 tokens\)"):
        opened(tiny(), policy)


def test_a_reference_without_room_for_the_policys_tokens_is_refused(tmp_path: Path) -> None:
    policy = words_model(tmp_path / "policy", [*WORDS, "added"])
    with pytest.raises(KnownError, match="another vocabulary"):
        opened(policy, words_model(tmp_path / "reference", WORDS))


def test_a_policy_may_have_tokens_that_were_added(tmp_path: Path) -> None:
    policy = words_model(tmp_path / "policy", [*WORDS, "added"], 16)
    reference = words_model(tmp_path / "reference", WORDS, 16)
    pair = Pair("s:1", "s", "is it", "red like added", "blue added a wine")
    row = scored(opened(policy, reference), [pair])["s:1"]
    assert row.outcome == "tie"  # their weights are the same


def test_a_reference_with_no_token_in_common_is_refused(tmp_path: Path) -> None:
    policy = words_model(tmp_path / "policy", WORDS)
    other = ["<unk>", *(f"other{n}" for n in range(len(WORDS) - 1))]
    with pytest.raises(KnownError, match="another vocabulary"):
        opened(policy, words_model(tmp_path / "reference", other))


def test_pairs_are_cut_to_what_the_reference_can_read_as_well(tiny: Tiny, tmp_path: Path) -> None:
    reference = save_tiny(tmp_path, "gpt2", 0, max_position_embeddings=40)
    long = Pair("s:1", "s", "Count to a hundred. " * 9, "one", "two")
    row = scored(opened(tiny(), reference), [long])["s:1"]
    assert row.chosen_truncated
    assert row.chosen_tokens == 40


def test_a_reference_that_is_no_language_model_is_refused(tiny: Tiny, tmp_path: Path) -> None:
    config = AutoConfig.for_model("llama", **SMALL, num_labels=1)
    AutoModelForSequenceClassification.from_config(config).save_pretrained(tmp_path)
    AutoTokenizer.from_pretrained(DEMO_MODEL).save_pretrained(tmp_path)
    with pytest.raises(KnownError, match=r"its weights lack lm_head\.weight"):
        opened(tiny(), str(tmp_path))


def test_what_the_rewards_rest_on_is_said(tiny: Tiny) -> None:
    def told(scorer: Scorer) -> Any:
        return facts(scorer, RunSettings(), "demo@1", 3)

    dpo = told(opened(tiny(), tiny("qwen3", 1), beta=0.1))
    assert dpo.reading == "0.1 x log(policy / reference), summed over the response's tokens"
    assert (dpo.family, dpo.reference) == ("dpo", "the reference@r")
    readings = [
        told(opened(tiny(), family=family)).reading for family in ("logprob-sum", "logprob-mean")
    ]
    assert [reading.split()[0] for reading in readings] == ["sum", "mean"]
    assert all("no reference" in reading for reading in readings)


def test_each_models_own_path_is_said(tiny: Tiny) -> None:
    path = opened(tiny(), tiny("bloom")).traits.path
    assert path.startswith("packed")
    assert "; reference padded" in path
    assert "reference" not in opened(tiny(), tiny("qwen3", 1)).traits.path

"""Rewards from log-probabilities, against a naive computation over the whole vocabulary."""

import math
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import AutoTokenizer

from scoring.engine import vocabulary
from scoring.engine.scorer import Scorer, facts
from scoring.errors import KnownError
from scoring.families import open_scorer
from scoring.models.finding import locate
from scoring.spec import Family, ModelSpec, Pair, RunSettings, ScoredPair
from tests.conftest import DEMO_MODEL
from tests.support import small_models
from tests.support.judging import scored
from tests.support.rounding import rounding
from tests.support.small_language_models import (
    CPU,
    PAIRS,
    Naive,
    save_tiny,
    words_tokenizer,
)
from tests.support.small_models import OFFLINE, OPEN

Tiny = Callable[..., str]
"""Architecture and seed -> the folder of a tiny random language model."""


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


def rewards_of(row: ScoredPair) -> list[float]:
    both = (row.chosen_reward, row.rejected_reward)
    return [math.nan if reward is None else reward for reward in both]


def close(expected: Sequence[float], n_tokens: int = 100) -> Any:
    """Sums of so many log-probabilities of at most 20; one token more or less is off by 1 to 20."""
    return pytest.approx(expected, rel=0, abs=n_tokens * rounding(20), nan_ok=True)


def assert_naive(
    rows: dict[str, ScoredPair], pairs: Sequence[Pair], policy: Naive, reference: Naive
) -> list[float]:
    """Rewards are log(policy / reference) of each response; these, of both sides of each pair."""
    seen = []
    for pair in pairs:
        ours, theirs = policy.sums(pair), reference.sums(pair)
        expected = [our - their for our, their in zip(ours, theirs, strict=True)]
        assert rewards_of(rows[pair.key]) == close(expected)
        seen += expected
    return seen


@pytest.mark.parametrize("kind", ["qwen3", "gemma2", "bloom"])
def test_rewards_are_those_of_the_equation(kind: str, tiny: Tiny, demo_pairs: list[Pair]) -> None:
    scorer = opened(tiny(kind), tiny(kind, 1))
    assert scorer.traits.path.startswith("padded" if kind == "bloom" else "packed")
    policy, reference = Naive(tiny(kind)), Naive(tiny(kind, 1))
    seen = assert_naive(scored(scorer, PAIRS), PAIRS, policy, reference)
    assert max(seen) - min(seen) > 1
    assert len({round(reward, 2) for reward in seen}) == len(seen)
    if kind == "qwen3":
        long = demo_pairs[::200]
        rows = scored(opened(tiny(kind), tiny(kind, 1), budget=2000), long)
        assert_naive(rows, long, policy, reference)


@pytest.mark.parametrize(
    ("kind", "family"),
    [
        ("qwen3", "logprob-mean"),
        ("bloom", "logprob-sum"),
        *(("gemma3", "logprob-sum"), ("gpt2", "logprob-mean")),
    ],
)
def test_without_a_reference_log_probabilities_of_any_causal_model_are_summed_or_averaged(
    kind: str, family: Family, tiny: Tiny
) -> None:
    """Of an empty response its end of turn alone."""
    spec, naive = locate(tiny(kind), OPEN, OFFLINE, family=family), Naive(tiny(kind))
    scorer = open_scorer(spec, RunSettings(**CPU))
    rows = scored(scorer, PAIRS)
    for pair in PAIRS:
        both = [naive.log_probs(pair, text) for text in (pair.chosen, pair.rejected)]
        assert len(both[0]) == 1 or pair.chosen
        n_tokens = [len(each) if family == "logprob-mean" else 1 for each in both]
        expected = [sum(each) / n for each, n in zip(both, n_tokens, strict=True)]
        assert rewards_of(rows[pair.key]) == close(expected)
    reading = scorer.traits.reading
    assert reading.startswith(family.removeprefix("logprob-")) and "no reference" in reading


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


def test_beta_scales_rewards_exactly_and_is_said(tiny: Tiny) -> None:
    half = opened(tiny(), tiny("qwen3", 1), beta=0.5)
    plain, scaled = scored(opened(tiny(), tiny("qwen3", 1)), PAIRS), scored(half, PAIRS)
    for key, row in plain.items():
        assert rewards_of(scaled[key]) == [0.5 * reward for reward in rewards_of(row)]
    dpo = facts(half, RunSettings(), "demo@1", 3)
    assert dpo.reading == "0.5 x log(policy / reference), summed over the response's tokens"
    assert (dpo.family, dpo.reference) == ("dpo", "the reference@r")


def test_a_policy_that_is_its_reference_ties_every_pair(tiny: Tiny) -> None:
    rows = scored(opened(tiny("bloom"), tiny("bloom")), PAIRS)
    assert [rewards_of(row) for row in rows.values()] == [[0.0, 0.0]] * len(PAIRS)
    assert {row.outcome for row in rows.values()} == {"tie"}


@pytest.mark.parametrize(("kind", "rows_at_once"), [("qwen3", 5), ("bloom", 7)])
def test_identical_responses_tie_exactly(
    kind: str, rows_at_once: int, tiny: Tiny, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Wherever they stand among the rows of which the vocabulary's chunks are made."""
    words = "one two three four five six seven eight nine ten eleven twelve"
    texts = [words[:n] for n in range(0, len(words), 9)]
    same = [Pair(f"same:{n}", "s", "Count.", text, text) for n, text in enumerate(texts)]
    monkeypatch.setattr(vocabulary, "_ROWS", rows_at_once)
    for reference, family in ((tiny(kind, 1), "dpo"), (None, "logprob-mean")):
        rows = scored(opened(tiny(kind), reference, family, budget=333), [*same, *PAIRS[:2]])
        assert [rows[pair.key].margin for pair in same] == [0.0] * len(same)
        assert rows["s:1"].margin != 0


# Truncation.


@pytest.mark.parametrize(("kind", "max_length"), [("qwen3", 1), ("qwen3", 9), ("bloom", 9)])
def test_cut_on_the_left_the_tokens_that_are_left_count(
    kind: str, max_length: int, tiny: Tiny
) -> None:
    scorer = opened(tiny(kind), tiny(kind, 1), max_length=max_length)
    policy, reference = (Naive(tiny(kind, seed), max_length) for seed in (0, 1))
    rows = scored(scorer, PAIRS)
    assert_naive(rows, PAIRS, policy, reference)
    assert any(row.chosen_truncated for row in rows.values())
    assert max_length > 1 or {row.outcome for row in rows.values()} == {"missing"}


@pytest.mark.parametrize(("kind", "n_kept"), [("qwen3", 0), ("qwen3", 1), ("bloom", 0)])
def test_cut_on_the_right_a_response_wholly_cut_off_is_missing_and_others_beside_it_are_not(
    kind: str, n_kept: int, tiny: Tiny
) -> None:
    """n_kept: tokens of the first response that are left."""
    pairs, whole = PAIRS[:4], Naive(tiny(kind))
    n_prompt = len(whole.tokenizer(whole.prompt(pairs[0]), add_special_tokens=False).input_ids)
    max_length = n_prompt + n_kept
    scorer = opened(tiny(kind), tiny(kind, 1), max_length=max_length, truncation_side="right")
    rows = scored(scorer, pairs)
    policy, reference = (Naive(tiny(kind, seed), max_length, "right") for seed in (0, 1))
    assert_naive(rows, pairs, policy, reference)
    row = rows[pairs[0].key]
    assert row.chosen_truncated
    assert (row.outcome == "missing") == (n_kept == 0)
    assert {each.outcome for each in rows.values()} > {"missing"}


def test_pairs_are_cut_to_what_the_reference_can_read_as_well(tiny: Tiny, tmp_path: Path) -> None:
    reference = save_tiny(tmp_path, "gpt2", 0, max_position_embeddings=40)
    long = Pair("s:1", "s", "Count to a hundred. " * 9, "one", "two")
    row = scored(opened(tiny(), reference), [long])["s:1"]
    assert (row.chosen_truncated, row.chosen_tokens) == (True, 40)
    path = opened(tiny(), tiny("bloom")).traits.path
    assert path.startswith("packed") and "; reference padded" in path


# What is refused.

TEMPLATE = (
    "{% for m in messages %}{{ m['role'] + ' ' + m['content'] + ' ' }}{% endfor %}"
    "{{ 'assistant ' if add_generation_prompt else '' }}"
)
WORDS = ["<unk>", "user", "assistant", "red", "blue", "like", "wine", "a", "is", "it", "."]


def words_model(folder: Path, words: Sequence[str], n_vocabulary: int = 0) -> str:
    size = n_vocabulary or len(words)
    return save_tiny(folder, "qwen3", 0, words_tokenizer(words, TEMPLATE), vocab_size=size)


@pytest.mark.parametrize(
    ("policy", "reference", "sizes"),
    [
        pytest.param(WORDS, None, r"\(8,192 and 11 tokens\)", id="of another size"),
        pytest.param(WORDS, [*WORDS[:3], "blue", "red", *WORDS[5:]], "", id="in another order"),
        pytest.param([*WORDS, "added"], WORDS, "", id="without the policy's added token"),
        pytest.param(WORDS, ["<unk>", *(f"x{n}" for n in range(10))], "", id="all others"),
    ],
)
def test_a_reference_with_another_vocabulary_is_refused(
    policy: list[str], reference: list[str] | None, sizes: str, tiny: Tiny, tmp_path: Path
) -> None:
    ours = words_model(tmp_path / "policy", policy)
    theirs = tiny() if reference is None else words_model(tmp_path / "reference", reference)
    said = f"the reference has another vocabulary than the pol.*{sizes}"
    with pytest.raises(KnownError, match=said):
        opened(ours, theirs)


def test_a_policy_may_have_tokens_that_were_added(tmp_path: Path) -> None:
    policy = words_model(tmp_path / "policy", [*WORDS, "added"], 16)
    reference = words_model(tmp_path / "reference", WORDS, 16)
    pair = Pair("s:1", "s", "is it", "red like added", "blue added a wine")
    row = scored(opened(policy, reference), [pair])["s:1"]
    assert row.outcome == "tie"  # their weights are the same


def test_what_is_no_language_model_is_neither_policy_nor_reference(
    tiny: Tiny, tmp_path: Path
) -> None:
    classifier = small_models.save(tmp_path / "classifier", small_models.llama())
    with pytest.raises(KnownError, match=r"its weights lack lm_head\.weight"):
        opened(tiny(), str(classifier))
    t5 = {"architectures": ["T5ForConditionalGeneration"], "is_encoder_decoder": True}
    small_models.edit_config(classifier, **t5)
    with pytest.raises(KnownError, match="T5ForConditionalGeneration; the family logprob-sum nee"):
        locate(str(classifier), OPEN, OFFLINE, family="logprob-sum")

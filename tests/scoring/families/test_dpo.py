"""Rewards from log-probabilities, against a naive computation over the whole vocabulary."""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
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
from tests.support.judging import scored
from tests.support.rounding import rounding
from tests.support.small_language_models import CPU, PAIRS, Naive, save_tiny, words_tokenizer
from tests.support.small_models import OFFLINE, OPEN

Tiny = Callable[..., str]
"""Architecture and seed -> the folder of a tiny random language model."""


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Tiny:
    torch.set_num_threads(1)  # so small models lose more to waiting threads than they gain

    @cache
    def folder_of(kind: str = "qwen3", seed: int = 0) -> str:
        return save_tiny(tmp_path_factory.mktemp(kind), kind, seed)

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
    scorer: Scorer, pairs: Sequence[Pair], policy: Naive, reference: Naive, beta: float = 1
) -> dict[str, ScoredPair]:
    """Rewards are beta * log(policy / reference) of each response; the rows."""
    rows = scored(scorer, pairs)
    for pair in pairs:
        both = zip(policy.sums(pair), reference.sums(pair), strict=True)
        expected = [beta * (ours - theirs) for ours, theirs in both]
        assert rewards_of(rows[pair.key]) == close(expected)
    return rows


@pytest.mark.parametrize("kind", ["qwen3", "gemma2", "bloom"])
def test_rewards_are_those_of_the_equation_and_the_same_response_ties_to_the_last_bit(
    kind: str, tiny: Tiny, demo_pairs: list[Pair], monkeypatch: pytest.MonkeyPatch
) -> None:
    scorer = opened(tiny(kind), tiny(kind, 1), beta=0.5)
    assert scorer.traits.path.startswith("padded" if kind == "bloom" else "packed")
    policy, reference = Naive(tiny(kind)), Naive(tiny(kind, 1))
    rows = assert_naive(scorer, PAIRS, policy, reference, 0.5)
    seen = [reward for row in rows.values() for reward in rewards_of(row)]
    assert max(seen) - min(seen) > 0.5
    assert len({round(reward, 2) for reward in seen}) == len(seen)
    if kind == "qwen3":
        longer = opened(tiny(kind), tiny(kind, 1), budget=2000)
        assert_naive(longer, demo_pairs[::200], policy, reference)
    dpo = facts(scorer, RunSettings(), "demo@1", 3)
    assert dpo.reading == "0.5 x log(policy / reference), summed over the response's tokens"
    assert (dpo.family, dpo.reference) == ("dpo", "the reference@r")
    monkeypatch.setattr(vocabulary, "_ROWS", 5)  # its chunks begin amid a response
    same = [replace(pair, rejected=pair.chosen) for pair in PAIRS]
    for each in (scorer, opened(tiny(kind), family="logprob-mean")):
        assert {row.margin for row in scored(each, same).values()} == {0.0}


@pytest.mark.parametrize(
    ("kind", "family"),
    [("qwen3", "logprob-mean"), ("bloom", "logprob-sum"), ("gemma3", "logprob-sum")],
)
def test_without_a_reference_they_are_summed(kind: str, family: Family, tiny: Tiny) -> None:
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


def test_an_answer_that_the_template_begins_stays_whole(tiny: Tiny, tmp_path: Path) -> None:
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


@pytest.mark.parametrize("kind", ["qwen3", "bloom"])
@pytest.mark.parametrize(("side", "n_kept"), [("left", 1), ("left", 9), ("right", 0), ("right", 1)])
def test_the_tokens_that_cutting_left_count_and_without_any_a_response_is_missing(
    kind: str, side: Any, n_kept: int, tiny: Tiny
) -> None:
    """n_kept: tokens that are left; if cut on the right, of the first response."""
    whole, max_length = Naive(tiny(kind)), n_kept
    if side == "right":
        prompt = whole.tokenizer(whole.prompt(PAIRS[0]), add_special_tokens=False).input_ids
        max_length += len(prompt)
    scorer = opened(tiny(kind), tiny(kind, 1), max_length=max_length, truncation_side=side)
    policy, reference = (Naive(tiny(kind, seed), max_length, side) for seed in (0, 1))
    row = assert_naive(scorer, PAIRS, policy, reference)["s:1"]
    assert row.chosen_truncated
    assert (row.outcome == "missing") == (max_length == 1 or n_kept == 0)


def test_pairs_are_cut_to_what_the_reference_can_read_as_well(tiny: Tiny, tmp_path: Path) -> None:
    reference = save_tiny(tmp_path, "gpt2", 0, max_position_embeddings=40)
    long = Pair("s:1", "s", "Count to a hundred. " * 9, "one", "two")
    row = scored(opened(tiny(), reference), [long])["s:1"]
    assert (row.chosen_truncated, row.chosen_tokens) == (True, 40)
    path = opened(tiny(), tiny("bloom")).traits.path
    assert path.startswith("packed") and "; reference padded" in path


TEMPLATE = (
    "{% for m in messages %}{{ m['role'] + ' ' + m['content'] + ' ' }}{% endfor %}"
    "{{ 'assistant ' if add_generation_prompt else '' }}"
)
WORDS = ["<unk>", "user", "assistant", "red", "blue", "like", "wine", "a", "is", "it", "."]


def test_a_policy_may_have_added_tokens_and_no_other_vocabulary(tiny: Tiny, tmp_path: Path) -> None:
    def saved(name: str, *words: str) -> str:
        made = words_tokenizer(words, TEMPLATE)
        return save_tiny(tmp_path / name, "qwen3", 0, made, vocab_size=16)

    policy, reference = saved("policy", *WORDS, "added"), saved("reference", *WORDS)
    pair = Pair("s:1", "s", "is it", "red like added", "blue added a wine")
    row = scored(opened(policy, reference), [pair])["s:1"]
    assert row.outcome == "tie"  # their weights are the same
    others = {
        tiny(): r"\(8,192 and 12 tokens\)",
        saved("other", *WORDS[:3], "blue", "red", *WORDS[5:]): "",
        saved("before", *WORDS, "another"): "",
    }
    for other, sizes in others.items():
        said = f"the reference has another vocabulary than the pol.*{sizes}"
        with pytest.raises(KnownError, match=said):
            opened(policy, other)

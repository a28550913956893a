"""Judges and raters of this machine, read by probabilities, against plain transformers."""

import math
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import torch
from tokenizers import pre_tokenizers, processors
from transformers import (
    AutoModelForCausalLM,
    AutoTokenizer,
    T5Config,
    T5ForConditionalGeneration,
)

from scoring.engine.scorer import Scorer
from scoring.errors import KnownError
from scoring.families import open_scorer
from scoring.models.finding import locate
from scoring.spec import Family, Message, ModelSpec, Pair, RunSettings, as_objects
from tests.support.judging import rating_prompt, scored, verdict_prompt
from tests.support.rounding import rounding
from tests.support.small_language_models import CPU, PAIRS, save_tiny, words_tokenizer
from tests.support.small_models import OFFLINE, OPEN

CHAT = (
    "{% for m in messages %}{{ '<' + m['role'] + '> ' + m['content'] + ' ' }}{% endfor %}"
    "{{ '<assistant> ' if add_generation_prompt else '' }}"
)
SAME = [Pair(f"same:{n}", "s", "Count.", "one two " * n, "one two " * n) for n in range(8)]
NUMBERS = [str(number) for number in range(1, 11)]
SPACES = ("", "Ġ", "\u2581")


def split(texts: Iterable[str]) -> list[str]:
    whitespace = pre_tokenizers.Whitespace()
    return [word for text in texts for word, _ in whitespace.pre_tokenize_str(text)]


@pytest.fixture(scope="module", params=[("qwen3", "demo"), ("qwen3", "words"), ("bloom", "both")])
def folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> str:
    """A tiny judge whose 10 is two tokens, one token, or a token with a space before it."""
    torch.set_num_threads(1)
    kind, name = request.param
    home = tmp_path_factory.mktemp(f"{kind}-{name}")
    if name == "demo":
        return save_tiny(home, kind, 0)
    questions = [
        (*verdict_prompt(each, each.chosen, each.rejected), *rating_prompt(each, ""))
        for each in (*PAIRS, *SAME)
    ]
    words = split([CHAT, *(message.content for each in questions for message in each)])
    spaces = ("", "\u2581") if name == "both" else ("",)
    labels = [space + label for space in spaces for label in ("A", "B", *NUMBERS)]
    tokenizer = words_tokenizer([*words, *labels], CHAT)
    return save_tiny(home, kind, 0, tokenizer, vocab_size=len(tokenizer))


@cache
def opened(folder: str, family: Family, **settings: Any) -> Scorer:
    spec = ModelSpec("the judge", folder, "p", family)
    return open_scorer(spec, RunSettings(**{**CPU, "budget": 900, **settings}))


class Naive:
    """Plain transformers, one question at a time, the whole vocabulary at the last token."""

    def __init__(self, folder: str) -> None:
        self.tokenizer = AutoTokenizer.from_pretrained(folder)
        self.known = self.tokenizer.get_vocab()
        self.model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()

    def asked(self, messages: Sequence[Message]) -> list[int]:
        text = self.tokenizer.apply_chat_template(
            as_objects(messages), tokenize=False, add_generation_prompt=True
        )
        ids: list[int] = self.tokenizer(text, add_special_tokens=False).input_ids
        return ids

    def next_token(
        self, ids: Sequence[int], names: Iterable[str], spaces: Sequence[str] = SPACES
    ) -> list[float]:
        """The probability of each name as the next token. spaces: any of which is before it."""
        with torch.inference_mode():
            said = self.model(torch.tensor([ids])).logits[0, -1].double().softmax(0)
        spelt = [[self.known.get(space + name) for space in spaces] for name in names]
        return [sum(said[id_].item() for id_ in ids if id_ is not None) for ids in spelt]

    def verdict(self, messages: Sequence[Message]) -> list[float]:
        """The probabilities of the labels among the two."""
        mass = self.next_token(self.asked(messages), "AB")
        return [each / sum(mass) for each in mass]

    def rating(self, messages: Sequence[Message]) -> float:
        """Expected, by the probabilities of the ten numbers."""
        ids = self.asked(messages)
        mass = self.next_token(ids, NUMBERS)
        if mass[9] == 0:  # begins with a 1
            mass[9] = mass[0] * self.next_token([*ids, self.known["1"]], "0")[0]
            mass[0] -= mass[9]
        return sum(rating * each for rating, each in enumerate(mass, 1)) / sum(mass)


def near(expected: Any, size: float = 1) -> Any:
    """Equal as shares that are made of two logits of at most 10 each. size: ten times a share."""
    return pytest.approx(expected, rel=0, abs=size * rounding(10))


def test_a_verdict_is_the_probability_of_the_label_in_both_orders_and_a_rating_the_expected_one(
    folder: str,
) -> None:
    rows, rated = (scored(opened(folder, family), PAIRS) for family in ("judge", "rater"))
    naive, first, numbers = Naive(folder), list[float](), list[float]()
    for pair in PAIRS:
        row, sides = rows[pair.key], (pair.chosen, pair.rejected)
        orders = [verdict_prompt(pair, *order) for order in (sides, sides[::-1])]
        lengths = [len(naive.asked(each)) for each in orders]
        assert [row.chosen_tokens, row.rejected_tokens] == lengths
        one, other = map(naive.verdict, orders)
        assert row.all_rewards == near([(one[0] + other[1]) / 2, (one[1] + other[0]) / 2])
        ratings = [naive.rating(rating_prompt(pair, text)) for text in sides]
        assert rated[pair.key].all_rewards == near(ratings, 10)
        first += [row.chosen_reward or 0, one[0]]
        numbers += ratings
    assert max(first) - min(first) > 0.05  # they differ by more than any tolerance
    assert 1 <= min(numbers) < max(numbers) - 0.1 <= 9.9


@pytest.mark.parametrize(("family", "budget"), [("judge", 200), ("rater", 3000)])
def test_identical_responses_tie_exactly(family: Family, budget: int, folder: str) -> None:
    rows = scored(opened(folder, family, budget=budget), [*SAME, PAIRS[0]])
    assert [rows[pair.key].margin for pair in SAME] == [0.0] * len(SAME)
    assert rows["s:1"].margin != 0


def test_a_long_question_is_cut_on_the_left_and_what_is_asked_is_said(folder: str) -> None:
    pair = Pair("s:1", "s", "Count. " * 90, "one two", "three")
    for family in ("judge", "rater"):
        scorer = opened(folder, family, max_length=64)
        (row,) = scored(scorer, [pair]).values()
        assert (row.chosen_tokens, row.rejected_tokens) == (64, 64)
        assert (row.chosen_truncated, row.rejected_truncated) == (True, True)
        assert math.isfinite(row.margin or math.nan)
        assert f", {family} prompt:" in scorer.traits.template


@pytest.mark.parametrize(
    ("family", "words", "names"),
    [
        ("judge", ["A"], "A, B"),
        ("rater", ["1", "2", "3", "4", "5", "6", "7", "8", "9"], "1, 2, 3, 4, 5, 6, 7, 8, 9, 10"),
    ],
)
def test_a_vocabulary_without_the_labels_is_refused(
    family: Family, words: list[str], names: str, tmp_path: Path
) -> None:
    tokenizer = words_tokenizer(["user", "assistant", "<", ">", *words], CHAT)
    folder = save_tiny(tmp_path, "qwen3", 0, tokenizer, vocab_size=len(tokenizer))
    with pytest.raises(KnownError, match=f"the judge has no token of its own for .*{names}"):
        opened(folder, family)


# Judges that were trained on one question.

Share = Callable[[Pair, str, str], float]
"""Of a pair and its responses in an order, the probability of A among A and B."""
SIZE = {"d_model": 32, "d_ff": 48, "d_kv": 8, "num_heads": 4, "num_layers": 2}
POST = "POST: {}\n\n RESPONSE A: {}\n\n RESPONSE B: {}\n\n Which response is better? RESPONSE"


def steam(folder: Path) -> tuple[str, Share]:
    """A random T5 of that name, and what it would write first."""

    def asked(pair: Pair, first: str, second: str) -> str:
        return POST.format(" ".join(each.content for each in pair.messages), first, second)

    words = split(asked(pair, pair.chosen, pair.rejected) for pair in PAIRS)
    ends = {"pad_token": "<pad>", "eos_token": "</s>"}
    tokenizer = words_tokenizer([*words, "\u2581A", "\u2581B"], None, **ends)
    tokenizer.backend_tokenizer.post_processor = processors.TemplateProcessing(
        single="$A </s>", special_tokens=[("</s>", tokenizer.eos_token_id)]
    )
    torch.manual_seed(0)
    config = T5Config(
        vocab_size=len(tokenizer),
        **SIZE,
        pad_token_id=tokenizer.pad_token_id,
        eos_token_id=tokenizer.eos_token_id,
        decoder_start_token_id=tokenizer.pad_token_id,
        initializer_factor=2.0,
    )
    model = T5ForConditionalGeneration(config).eval()
    home = folder / "SteamSHP-flan-t5-tiny"
    model.save_pretrained(home)
    tokenizer.save_pretrained(home)

    def share(pair: Pair, first: str, second: str) -> float:
        given = model.generate(
            torch.tensor([tokenizer(asked(pair, first, second)).input_ids]),
            max_new_tokens=1,
            output_logits=True,
            return_dict_in_generate=True,
        )
        weights, names = given.logits[0][0].double().exp(), tokenizer.get_vocab()
        a, b = (weights[names[label]] + weights[names["\u2581" + label]] for label in "AB")
        return float(a / (a + b))

    return str(home), share


LAID_OUT = (
    "\n{% for message in messages %}{% if loop.index0 % 2 == 0 %}\n\n<turn> user\n "
    "{{ message['content'] }}{% else %}\n\n<turn> assistant\n {{ message['content'] }}{% endif %}"
    "{% endfor %}\n\n\n"
)
"""How the authors of the pair preference model write a conversation, by its page."""


def preference(folder: Path) -> tuple[str, Share]:
    """A random Llama of that name, and what it would say next."""
    home = save_tiny(folder / "pair-preference-model-tiny", "llama", 0)
    tokenizer = AutoTokenizer.from_pretrained(home)
    tokenizer.chat_template = "{{ bos_token }}" + CHAT
    bos = tokenizer.convert_ids_to_tokens(5)
    tokenizer.bos_token = bos
    tokenizer.save_pretrained(home)
    naive = Naive(home)

    def share(pair: Pair, first: str, second: str) -> float:
        context = naive.tokenizer.apply_chat_template(
            as_objects(pair.messages), chat_template=LAID_OUT, tokenize=False
        )
        text = f"[CONTEXT] {context} [RESPONSE A] {first} [RESPONSE B] {second} \n"
        asked = naive.tokenizer.apply_chat_template(
            [{"role": "user", "content": text}], tokenize=False
        )
        ids = naive.tokenizer(asked.removeprefix(bos), add_special_tokens=False).input_ids
        a, b = naive.next_token(ids, "AB", spaces=[""])
        return a / (a + b)

    return home, share


@pytest.mark.parametrize("kind", [steam, preference])
def test_a_judge_that_was_trained_on_one_question_is_asked_that(
    kind: Callable[[Path], tuple[str, Share]], tmp_path: Path
) -> None:
    home, share = kind(tmp_path)
    spec = locate(home, OPEN, OFFLINE)
    assert spec.family == "judge"
    judge = open_scorer(spec, RunSettings(**CPU))
    bos = AutoTokenizer.from_pretrained(home).bos_token or ""
    pairs = [*PAIRS, Pair("s:bos", "s", f"Continue {bos} here.", f"{bos} one two", f"three {bos}")]
    expected = []
    for pair in pairs:
        sides = pair.chosen, pair.rejected
        expected.append((share(pair, *sides) + 1 - share(pair, *sides[::-1])) / 2)
    rows = scored(judge, pairs)
    assert [rows[pair.key].chosen_reward for pair in pairs] == near(expected)
    rejected = [rows[pair.key].rejected_reward for pair in pairs]
    assert rejected == near([1 - each for each in expected])
    assert max(expected) - min(expected) > 0.01
    assert judge.traits.template.split(", ")[1].startswith(("SteamSHP ", "pair-preference "))
    with pytest.raises(KnownError, match=r"--chat-template tulu is for .* a question of their own"):
        open_scorer(spec, RunSettings(**CPU, chat_template="tulu"))

"""Judges and raters of this machine, read by probabilities, against plain transformers."""

import math
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import torch
from tokenizers import Tokenizer, models, pre_tokenizers, processors
from transformers import (
    AutoModelForCausalLM,
    AutoTokenizer,
    PreTrainedTokenizerFast,
    T5Config,
    T5ForConditionalGeneration,
)

from scoring.engine.scorer import Scorer
from scoring.errors import KnownError
from scoring.families import open_scorer
from scoring.models.finding import locate
from scoring.run import make_job, score
from scoring.spec import Family, Message, ModelSpec, Pair, RunSettings, ScoredPair
from tests.support.judging import rating_prompt, verdict_prompt
from tests.support.rounding import rounding
from tests.support.small_language_models import CPU, PAIRS, save_tiny
from tests.support.small_models import OFFLINE, OPEN

CHAT = (
    "{% for m in messages %}{{ '<' + m['role'] + '> ' + m['content'] + ' ' }}{% endfor %}"
    "{{ '<assistant> ' if add_generation_prompt else '' }}"
)
SAME = [Pair(f"same:{n}", "s", "Count.", "one two " * n, "one two " * n) for n in range(8)]

Rate = Callable[[list[Message]], float]
"""One question -> what a plain model answers."""


def words_of(pairs: Sequence[Pair]) -> list[str]:
    """Every word of every question about the pairs."""
    asked = [
        message.content
        for pair in pairs
        for message in (
            *verdict_prompt(pair, pair.chosen, pair.rejected),
            *rating_prompt(pair, pair.chosen),
        )
    ]
    split = pre_tokenizers.Whitespace()
    words = [word for text in [*asked, CHAT] for word, _ in split.pre_tokenize_str(text)]
    return list(dict.fromkeys(words))


def words_tokenizer(words: Sequence[str]) -> PreTrainedTokenizerFast:
    """Every word is a token, numbers too."""
    vocabulary = dict.fromkeys(["<unk>", *words])
    core = Tokenizer(models.WordLevel({word: n for n, word in enumerate(vocabulary)}, "<unk>"))
    core.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=core, unk_token="<unk>")
    tokenizer.chat_template = CHAT
    return tokenizer


NUMBERS = [str(number) for number in range(1, 11)]
KINDS = [("qwen3", "demo"), ("qwen3", "words"), ("qwen3", "both"), ("bloom", "demo")]


@pytest.fixture(scope="module", params=KINDS)
def folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> str:
    """A tiny judge whose 10 is two tokens, one token, or a token with a space before it."""
    torch.set_num_threads(1)
    kind, name = request.param
    home = tmp_path_factory.mktemp(f"{kind}-{name}")
    if name == "demo":
        return save_tiny(home, kind, 0)
    words = [*words_of([*PAIRS, *SAME]), "A", "B", *NUMBERS]
    if name == "both":
        words += [f"\u2581{label}" for label in ("A", "B", *NUMBERS)]
    tokenizer = words_tokenizer(words)
    return save_tiny(home, kind, 0, tokenizer, vocab_size=len(tokenizer))


@cache
def opened(folder: str, family: Family, **settings: Any) -> Scorer:
    spec = ModelSpec("the judge", folder, "p", family)
    return open_scorer(spec, RunSettings(**{**CPU, "budget": 900, **settings}))


def scored(scorer: Scorer, pairs: Sequence[Pair]) -> dict[str, ScoredPair]:
    return {row.key: row for pack in score(make_job(pairs, scorer, 0), scorer) for row in pack.rows}


class Naive:
    """Plain transformers, one question at a time, the whole vocabulary at the last token."""

    def __init__(self, folder: str) -> None:
        self.tokenizer = AutoTokenizer.from_pretrained(folder)
        self.model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()

    def asked(self, messages: Sequence[Message]) -> list[int]:
        text = self.tokenizer.apply_chat_template(
            [message._asdict() for message in messages], tokenize=False, add_generation_prompt=True
        )
        ids: list[int] = self.tokenizer(text, add_special_tokens=False).input_ids
        return ids

    def next_token(self, ids: Sequence[int]) -> dict[str, float]:
        """Token, as the vocabulary writes it -> its probability."""
        with torch.inference_mode():
            logits = self.model(torch.tensor([ids])).logits[0, -1]
        probabilities = logits.double().softmax(0).tolist()
        return {word: probabilities[id_] for word, id_ in self.tokenizer.get_vocab().items()}

    def verdict(self, messages: Sequence[Message]) -> dict[str, float]:
        """Label -> its probability among the two."""
        said = self.next_token(self.asked(messages))
        mass = {
            label: sum(said.get(space + label, 0) for space in ("", "Ġ", "\u2581"))
            for label in ("A", "B")
        }
        return {label: each / sum(mass.values()) for label, each in mass.items()}

    def rating(self, messages: Sequence[Message]) -> float:
        """Expected, by the probabilities of the ten numbers."""
        ids = self.asked(messages)
        said = self.next_token(ids)
        mass = {
            int(name): sum(said.get(space + name, 0) for space in ("", "Ġ", "\u2581"))
            for name in NUMBERS
        }
        if mass[10] == 0:  # begins with a 1
            one = self.tokenizer.get_vocab()["1"]
            mass[10] = mass[1] * self.next_token([*ids, one])["0"]
            mass[1] -= mass[10]
        return sum(rating * each for rating, each in mass.items()) / sum(mass.values())


def verdicts(expected: Any) -> Any:
    """Equal as shares that are made of two logits of at most 10 each."""
    return pytest.approx(expected, rel=0, abs=rounding(10))


def ratings(expected: Any) -> Any:
    """The same of what is up to 10 times a share."""
    return pytest.approx(expected, rel=0, abs=10 * rounding(10))


# Judges.


def test_a_verdict_is_the_probability_of_the_label_in_both_orders(folder: str) -> None:
    rows, naive = scored(opened(folder, "judge"), PAIRS), Naive(folder)
    seen: list[float] = []
    for pair in PAIRS:
        first = naive.verdict(verdict_prompt(pair, pair.chosen, pair.rejected))
        second = naive.verdict(verdict_prompt(pair, pair.rejected, pair.chosen))
        row = rows[pair.key]
        expected = [(first["A"] + second["B"]) / 2, (first["B"] + second["A"]) / 2]
        assert [row.chosen_reward, row.rejected_reward] == verdicts(expected)
        lengths = [
            len(naive.asked(verdict_prompt(pair, *texts)))
            for texts in ((pair.chosen, pair.rejected), (pair.rejected, pair.chosen))
        ]
        assert [row.chosen_tokens, row.rejected_tokens] == lengths
        seen += [row.chosen_reward or 0, first["A"]]
    assert max(seen) - min(seen) > 0.05  # they differ by more than any tolerance


@pytest.mark.parametrize("family", ["judge", "rater"])
def test_identical_responses_tie_exactly(family: Family, folder: str) -> None:
    for budget in (200, 3000):
        rows = scored(opened(folder, family, budget=budget), [*SAME, *PAIRS])
        assert [rows[pair.key].margin for pair in SAME] == [0.0] * len(SAME)
        assert rows["s:1"].margin != 0


def test_a_judge_that_always_names_the_first_ties_every_pair(tmp_path: Path) -> None:
    folder = save_tiny(tmp_path, "phi", 0)
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
    a = AutoTokenizer.from_pretrained(folder).get_vocab()["A"]
    with torch.no_grad():
        model.lm_head.bias[a] = 1000.0
    model.save_pretrained(folder)
    for row in scored(opened(folder, "judge"), PAIRS).values():
        assert (row.chosen_reward, row.rejected_reward, row.outcome) == (0.5, 0.5, "tie")


# Raters.


def test_a_rating_is_the_expected_number(folder: str) -> None:
    rows, naive = scored(opened(folder, "rater"), PAIRS), Naive(folder)
    seen = []
    for pair in PAIRS:
        expected = [
            naive.rating(rating_prompt(pair, text)) for text in (pair.chosen, pair.rejected)
        ]
        row = rows[pair.key]
        assert [row.chosen_reward, row.rejected_reward] == ratings(expected)
        seen += expected
    assert 1 <= min(seen) < max(seen) <= 10
    assert max(seen) - min(seen) > 0.1


@pytest.mark.parametrize(
    ("biases", "says"),
    [
        ({"1": 1000}, 1.0),
        ({"7": 1000}, 7.0),
        pytest.param({"1": 1000, "0": 1200}, 10.0, id="a 1 and then surely a 0"),
        pytest.param({"0": 20, "1": 20}, None, id="a 10 takes its share from the 1"),
    ],
)
def test_a_10_is_a_1_and_then_a_0(
    biases: dict[str, float], says: float | None, tmp_path: Path
) -> None:
    folder = save_tiny(tmp_path, "phi", 0)
    vocabulary = AutoTokenizer.from_pretrained(folder).get_vocab()
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
    with torch.no_grad():
        for digit, bias in biases.items():
            model.lm_head.bias[vocabulary[digit]] = bias
    model.save_pretrained(folder)
    rows = scored(opened(folder, "rater"), PAIRS)
    found = [rows[pair.key].chosen_reward for pair in PAIRS]
    if says is None:
        naive = Naive(folder)
        expected = [naive.rating(rating_prompt(pair, pair.chosen)) for pair in PAIRS]
        assert found == ratings(expected)
        assert 2 < min(expected) < max(expected) < 9  # neither is sure
    else:
        assert found == [says] * len(PAIRS)


# Both.


@pytest.mark.parametrize("family", ["judge", "rater"])
def test_a_long_question_is_cut_on_the_left_and_said(family: Family, folder: str) -> None:
    pair = Pair("s:1", "s", "Count. " * 90, "one two", "three")
    (row,) = scored(opened(folder, family, max_length=64), [pair]).values()
    assert (row.chosen_tokens, row.rejected_tokens) == (64, 64)
    assert (row.chosen_truncated, row.rejected_truncated) == (True, True)
    assert math.isfinite(row.margin or math.nan)


@pytest.mark.parametrize(
    ("family", "words", "names"),
    [
        ("judge", ["A"], "A, B"),
        ("judge", ["B"], "A, B"),
        ("judge", [], "A, B"),
        ("rater", ["1", "2", "3", "4", "5", "6", "7", "8", "9"], "1, 2, 3, 4, 5, 6, 7, 8, 9, 10"),
        ("rater", ["1", "2", "3", "4", "5", "6", "7", "9", "10"], "8, 9, 10"),
        ("rater", [], "8, 9, 10"),
    ],
)
def test_a_vocabulary_without_the_labels_is_refused(
    family: Family, words: list[str], names: str, tmp_path: Path
) -> None:
    tokenizer = words_tokenizer(["user", "assistant", "<", ">", *words])
    folder = save_tiny(tmp_path, "qwen3", 0, tokenizer, vocab_size=len(tokenizer))
    with pytest.raises(KnownError, match=f"the judge has no token of its own for .*{names}"):
        opened(folder, family)


def test_the_words_asked_are_part_of_the_template_that_is_said(folder: str) -> None:
    judge, rater = (opened(folder, family).traits for family in ("judge", "rater"))
    assert ", judge prompt:" in judge.template
    assert ", rater prompt:" in rater.template
    assert judge.template.split(",")[0] == rater.template.split(",")[0]
    assert judge.reading != rater.reading


# Judges that were trained on one question.

Share = Callable[[Pair, str, str], float]
"""Of a pair and its responses in an order, the probability of A among A and B."""


def texts_of(pair: Pair) -> list[str]:
    return [message.content for message in pair.messages]


def steam(folder: Path) -> tuple[str, Share]:
    """A random T5 of that name, and what it would write first."""
    post = "POST: {}\n\n RESPONSE A: {}\n\n RESPONSE B: {}\n\n Which response is better? RESPONSE"
    split = pre_tokenizers.Whitespace()
    texts = [text for pair in PAIRS for text in (*texts_of(pair), pair.chosen, pair.rejected)]
    words = [word for text in [*texts, post] for word, _ in split.pre_tokenize_str(text)]
    tokenizer = words_tokenizer(["<pad>", "</s>", *words, "\u2581A", "\u2581B"])
    tokenizer.chat_template = None
    tokenizer.add_special_tokens({"pad_token": "<pad>", "eos_token": "</s>"})
    tokenizer.backend_tokenizer.post_processor = processors.TemplateProcessing(
        single="$A </s>", special_tokens=[("</s>", tokenizer.eos_token_id)]
    )
    torch.manual_seed(0)
    config = T5Config(
        vocab_size=len(tokenizer),
        **{"d_model": 32, "d_ff": 48, "d_kv": 8, "num_heads": 4, "num_layers": 2},
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
        text = post.format(" ".join(texts_of(pair)), first, second)
        given = model.generate(
            torch.tensor([tokenizer(text).input_ids]),
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
        said = [message._asdict() for message in pair.messages]
        context = naive.tokenizer.apply_chat_template(said, chat_template=LAID_OUT, tokenize=False)
        text = f"[CONTEXT] {context} [RESPONSE A] {first} [RESPONSE B] {second} \n"
        asked = naive.tokenizer.apply_chat_template(
            [{"role": "user", "content": text}], tokenize=False
        )
        ids = naive.tokenizer(asked.removeprefix(bos), add_special_tokens=False).input_ids
        following = naive.next_token(ids)
        return following["A"] / (following["A"] + following["B"])

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
    assert [rows[pair.key].chosen_reward for pair in pairs] == verdicts(expected)
    rejected = [rows[pair.key].rejected_reward for pair in pairs]
    assert rejected == verdicts([1 - each for each in expected])
    assert max(expected) - min(expected) > 0.01
    assert judge.traits.template.split(", ")[1].startswith(("SteamSHP ", "pair-preference "))
    with pytest.raises(KnownError, match=r"--chat-template tulu is for .* a question of their own"):
        open_scorer(spec, RunSettings(**CPU, chat_template="tulu"))

"""Judges and raters of this machine, against plain transformers.

They are read by probabilities, or by the verdict or rating that they write.
"""

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from tokenizers import pre_tokenizers, processors
from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer

from scoring.engine.scorer import Scorer
from scoring.errors import KnownError
from scoring.families import open_scorer
from scoring.families.chat import shows_rejected_first
from scoring.families.judge import Draws
from scoring.families.prompts import parse_rating, parse_verdict, questions
from scoring.models.finding import locate
from scoring.spec import Family, Message, ModelSpec, Pair, RunSettings, ScoredPair, as_objects
from tests.support.judging import COLOURS, scored
from tests.support.rounding import rounding
from tests.support.small_language_models import CPU, PAIRS, Naive, save_tiny, words_tokenizer
from tests.support.small_models import OFFLINE, OPEN, letters_tokenizer, save

CHAT = (
    "{% for m in messages %}{{ '<' + m['role'] + '> ' + m['content'] + ' ' }}{% endfor %}"
    "{{ '<assistant> ' if add_generation_prompt else '' }}"
)
NUMBERS = [str(number) for number in range(1, 11)]
SPACES = ("", "Ġ", "\u2581")


def split(texts: Iterable[str], by: Any = None) -> list[str]:
    by = by or pre_tokenizers.Whitespace()
    return [word for text in texts for word, _ in by.pre_tokenize_str(text)]


def texts_asked(pairs: Sequence[Pair], prompt: str = "") -> list[str]:
    """Of raters and of judges."""
    return [
        message.content
        for pair in pairs
        for family in ("rater", "judge")
        for question in questions(family, pair, prompt)
        for message in question
    ]


@pytest.fixture(scope="module", params=[("qwen3", "demo"), ("qwen3", "words"), ("bloom", "both")])
def folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> str:
    """A tiny judge whose 10 is two tokens, one token, or a token with a space before it."""
    torch.set_num_threads(1)
    kind, name = request.param
    home = tmp_path_factory.mktemp(f"{kind}-{name}")
    if name == "demo":
        return save_tiny(home, kind, 0)
    words = split([CHAT, *texts_asked(PAIRS)])
    spaces = ("", "\u2581") if name == "both" else ("",)
    labels = [space + label for space in spaces for label in ("A", "B", *NUMBERS)]
    tokenizer = words_tokenizer([*words, *labels], CHAT)
    return save_tiny(home, kind, 0, tokenizer, vocab_size=len(tokenizer))


@cache
def opened(folder: str, family: Family, **settings: Any) -> Scorer:
    spec = ModelSpec("the judge", folder, "p", family)
    return open_scorer(spec, RunSettings(**{**CPU, "budget": 900, **settings}))


class Asked(Naive):
    """One question at a time, and what is said at its last token."""

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
        known = self.tokenizer.get_vocab()
        spelt = [[known.get(space + name) for space in spaces] for name in names]
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
            mass[9] = mass[0] * self.next_token([*ids, self.tokenizer.get_vocab()["1"]], "0")[0]
            mass[0] -= mass[9]
        return sum(rating * each for rating, each in enumerate(mass, 1)) / sum(mass)

    def written(self, messages: Sequence[Message]) -> str:
        """The likeliest token each time, without a cache."""
        ids = self.asked(messages)
        begin = len(ids)
        while len(ids) < begin + TOKENS:
            with torch.inference_mode():
                token = int(self.model(torch.tensor([ids])).logits[0, -1].argmax())
            if token == self.tokenizer.eos_token_id:
                break
            ids.append(token)
        return str(self.tokenizer.decode(ids[begin:]))


def near(expected: Any, size: float = 1) -> Any:
    """Equal as shares that are made of two logits of at most 10 each. size: ten times a share."""
    return pytest.approx(expected, rel=0, abs=size * rounding(10))


def test_verdicts_are_probabilities_in_both_orders_and_ratings_expected(folder: str) -> None:
    scorers = [opened(folder, family) for family in ("judge", "rater")]
    rows, rated = (scored(each, PAIRS) for each in scorers)
    same = [replace(pair, rejected=pair.chosen) for pair in PAIRS]
    for each in scorers:  # to the last bit
        assert {row.margin for row in scored(each, same).values()} == {0.0}
    naive, first, numbers = Asked(folder), list[float](), list[float]()
    for pair in PAIRS:
        row, orders = rows[pair.key], questions("judge", pair)
        lengths = [len(naive.asked(each)) for each in orders]
        assert [row.chosen_tokens, row.rejected_tokens] == lengths
        one, other = map(naive.verdict, orders)
        assert row.all_rewards == near([(one[0] + other[1]) / 2, (one[1] + other[0]) / 2])
        ratings = [*map(naive.rating, questions("rater", pair))]
        assert rated[pair.key].all_rewards == near(ratings, 10)
        first += [row.chosen_reward or 0, one[0]]
        numbers += ratings
    assert max(first) - min(first) > 0.05  # they differ by more than any tolerance
    assert 1 <= min(numbers) < max(numbers) - 0.1 <= 9.9
    cut = opened(folder, "judge", max_length=64)
    assert ", judge prompt:" in cut.traits.template
    (row,) = scored(cut, [replace(PAIRS[0], prompt="Count. " * 90)]).values()
    assert (row.chosen_tokens, row.chosen_truncated, row.rejected_truncated) == (64, True, True)


# Judges that were trained on one question.

Share = Callable[[Pair, str, str], float]
"""Of a pair and its responses in an order, the probability of A among A and B."""
POST = "POST: {}\n\n RESPONSE A: {}\n\n RESPONSE B: {}\n\n Which response is better? RESPONSE"


def steam(folder: Path) -> tuple[str, Share]:
    """A random T5 of that name, and what it would write first."""

    def asked(pair: Pair, first: str, second: str) -> str:
        return POST.format(" ".join(each.content for each in pair.messages), first, second)

    words = split(asked(pair, pair.chosen, pair.rejected) for pair in PAIRS)
    names = [*words, "\u2581A", "\u2581B"]
    tokenizer = words_tokenizer(names, None, pad_token="<pad>", eos_token="</s>")
    pad, eos = tokenizer.pad_token_id, tokenizer.eos_token_id
    tokenizer.backend_tokenizer.post_processor = processors.TemplateProcessing(
        single="$A </s>", special_tokens=[("</s>", eos)]
    )
    ends = {"pad_token_id": pad, "eos_token_id": eos, "decoder_start_token_id": pad}
    size: dict[str, Any] = {"d_model": 32, "d_ff": 48, "d_kv": 8, "num_heads": 4, "num_layers": 2}
    size |= {"vocab_size": len(tokenizer), "initializer_factor": 2.0}
    config, kind = AutoConfig.for_model("t5", **size, **ends), transformers.AutoModelForSeq2SeqLM
    home = save(folder / "SteamSHP-flan-t5-tiny", config, tokenizer, auto=kind)
    model = kind.from_pretrained(home).eval()

    def share(pair: Pair, first: str, second: str) -> float:
        ids = torch.tensor([tokenizer(asked(pair, first, second)).input_ids])
        logits = model(input_ids=ids, decoder_input_ids=torch.tensor([[pad]])).logits[0, 0]
        weights, names = logits.detach().double().exp(), tokenizer.get_vocab()
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
    naive = Asked(home)

    def share(pair: Pair, first: str, second: str) -> float:
        context = naive.tokenizer.apply_chat_template(
            as_objects(pair.messages), chat_template=LAID_OUT, tokenize=False
        )
        text = f"[CONTEXT] {context} [RESPONSE A] {first} [RESPONSE B] {second} \n"
        ids = naive.tokenizer(f"<user> {text} ", add_special_tokens=False).input_ids
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
    rows, seen = scored(judge, pairs), []
    for pair in pairs:
        sides = pair.chosen, pair.rejected
        seen.append((share(pair, *sides) + 1 - share(pair, *sides[::-1])) / 2)
        assert rows[pair.key].all_rewards == near([seen[-1], 1 - seen[-1]])
    assert max(seen) - min(seen) > 0.01
    assert judge.traits.template.split(", ")[1].startswith(("SteamSHP ", "pair-preference "))


# Those that write.

SAYS = ["[[A]]", "[[B]]", *map(str, range(1, 11)), "hm"]
"""What the model can say, beside its end."""
TOKENS = 6
SIZE: dict[str, Any] = {
    "hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2, "num_attention_heads": 4,
    "num_key_value_heads": 2, "initializer_range": 0.4,
}  # fmt: skip
WRITES = RunSettings(**{**CPU, "budget": 900}, judge_prompt="mt-bench", max_tokens=TOKENS)


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A random model that knows the words of all questions and answers in few."""
    home = tmp_path_factory.mktemp("writer")
    by_space = pre_tokenizers.WhitespaceSplit()
    words = split(texts_asked(COLOURS, "mt-bench"), by_space)
    template = "{% for m in messages %}{{ m['content'] + ' ' }}{% endfor %}"
    tokenizer = words_tokenizer([*SAYS, *words], template, by_space, eos_token="</s>")
    tokenizer.save_pretrained(home)
    torch.manual_seed(3)
    ends = {"max_position_embeddings": 2048, "eos_token_id": 1}
    config = AutoConfig.for_model("llama", vocab_size=len(tokenizer), **SIZE, **ends)
    model = AutoModelForCausalLM.from_config(config)
    with torch.no_grad():
        model.lm_head.weight[[0, *range(2 + len(SAYS), len(tokenizer))]] = 0  # it never says these
    model.generation_config.update(do_sample=True, top_p=0.1, repetition_penalty=3.0)
    model.save_pretrained(home)
    return str(home)


def writer(home: str, family: Family = "judge", **more: Any) -> Any:
    return open_scorer(ModelSpec("org/judge", home, "p", family), replace(WRITES, **more))


def test_a_verdict_or_a_rating_is_what_the_model_writes_greedily(home: str) -> None:
    judge, rater, naive = writer(home), writer(home, "rater"), Asked(home)
    verdicts, ratings = [], []
    for pair in COLOURS:
        swapped = shows_rejected_first(pair, WRITES.seed)
        (question,) = questions("judge", pair, "mt-bench", swapped=swapped)
        named = parse_verdict(naive.written(question), "mt-bench")
        first = {"A": 1.0, "B": 0.0, None: 0.5}[named]
        verdicts.append((1 - first, first) if swapped else (first, 1 - first))
        both = [naive.written(each) for each in questions("rater", pair, "mt-bench")]
        rated = [parse_rating(each, "mt-bench") for each in both]
        ratings.append((0.0, 0.0) if None in rated else (rated[0], rated[1]))
    assert len({*verdicts}) > 1 < len({*ratings})
    assert judge.rewards(judge.prepare(COLOURS)) == verdicts
    assert rater.rewards(rater.prepare(COLOURS)) == ratings
    assert judge.traits.reading.startswith("the verdict it writes")
    assert f"{TOKENS} tokens at most" in judge.traits.reading
    assert "mt-bench judge prompt:" in judge.traits.template


def test_repeats_are_drawn_anew_and_the_first_is_as_alone(home: str) -> None:
    def rows(**more: Any) -> dict[str, ScoredPair]:
        return scored(writer(home, temperature=2.0, seed=7, **more), COLOURS)

    thrice, once = rows(repeats=3, budget=2000), rows()
    assert {key: row.repeats[0] for key, row in thrice.items()} == {
        key: row.all_rewards for key, row in once.items()
    }
    assert any(len({*row.repeats}) > 1 for row in thrice.values())
    assert rows(repeats=3) == thrice


def test_rm_r1_is_asked_and_read_as_its_authors_do(tmp_path: Path) -> None:
    answers = ["<answer>[[A]]</answer>", "<answer>[[B]]</answer>"]
    template = "{% for m in messages %}{{ m['role'] + m['content'] }}{% endfor %}"
    pieces = letters_tokenizer(template)
    pieces.add_tokens(answers)
    pieces.save_pretrained(tmp_path)
    torch.manual_seed(0)
    config = AutoConfig.for_model("qwen2", vocab_size=len(pieces), **SIZE)
    model = AutoModelForCausalLM.from_config(config).eval()
    with torch.no_grad():
        model.lm_head.weight[:-2] = 0
        model.lm_head.weight[-1] = -model.lm_head.weight[-2]  # it says one of both
    model.save_pretrained(tmp_path)
    spec = ModelSpec("gaotang/RM-R1-Qwen2.5-Instruct-7B", str(tmp_path), "p", "judge")
    scorer = open_scorer(spec, replace(WRITES, judge_prompt="upstream", max_tokens=1))
    naive, expected = Asked(str(tmp_path)), []
    for pair in COLOURS[:4]:
        swapped = shows_rejected_first(pair, WRITES.seed)
        (question,) = questions("judge", pair, "rm-r1", swapped=swapped)
        assert [message.role for message in question] == ["system", "user"]
        is_chosen = naive.written(question).startswith(answers[0]) != swapped
        expected.append((float(is_chosen), float(not is_chosen)))
    assert len({*expected}) == 2
    assert scorer.rewards(scorer.prepare(COLOURS[:4])) == expected


@pytest.mark.parametrize("blocks", [64, 1], ids=["with memory enough", "with too little"])
def test_continuous_batching_writes_the_same_or_padded_batches_do(
    blocks: int, home: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    padded = writer(home)
    expected = padded.rewards(padded.prepare(COLOURS))
    pages = transformers.ContinuousBatchingConfig(
        num_blocks=blocks, page_size=32, max_batch_tokens=64
    )
    monkeypatch.setattr("scoring.families.judge._pages", lambda *_: pages)  # as with a GPU
    judge = writer(home)
    judge.keep_answers(tmp_path)
    assert judge.traits.path.endswith("by continuous batching")
    assert judge.rewards(judge.prepare(COLOURS)) == expected
    assert judge.traits.path.endswith("by continuous batching" if blocks > 1 else "padded batches")
    assert len((tmp_path / "answers.jsonl").read_text("utf-8").splitlines()) == len(COLOURS)


def test_what_a_kill_lost_is_written_again_the_same(home: str, tmp_path: Path) -> None:
    told: list[tuple[int, int]] = []

    def rewards(budget: int) -> Any:
        judge = writer(home, temperature=2.0, budget=budget, max_tokens=40)
        judge.keep_answers(tmp_path)
        judge.on_answers = lambda *each: told.append(each)
        assert "temperature 2" in judge.traits.reading
        return judge.rewards(judge.prepare(COLOURS))

    path, whole = tmp_path / "answers.jsonl", rewards(4000)
    lines = path.read_text("utf-8").splitlines(keepends=True)
    assert len(lines) == 8 and told[-1] == (8, 8)
    huge = json.dumps({"question": "q", "text": "", "first": [["A", 10**400]], "cut": False})
    path.write_text("".join([*lines[:2], huge, "\r\n", lines[2][:40]]), "utf-8", newline="")
    assert rewards(300) == whole  # whatever stands beside them
    assert told[-1] == (8, 8)
    known = [each for each in path.read_text("utf-8").splitlines(True) if each in lines]
    assert sorted(known) == sorted(lines)
    assert len({json.loads(each)["text"] for each in lines}) > 1


def test_a_draw_is_one_of_the_softmax_at_its_temperature() -> None:
    logits = torch.tensor([1.0, 0.0, -1.0]).repeat(4000, 1)
    drawn = Draws(range(len(logits)), 2.0, torch.device("cpu"))(logits, logits).argmax(1)
    shares = drawn.bincount(minlength=3) / len(logits)
    torch.testing.assert_close(shares, (logits[0] / 2).softmax(0), atol=0.03, rtol=0)


def test_a_long_question_is_cut_and_told(home: str) -> None:
    rows = scored(writer(home, max_length=70), COLOURS).values()
    assert {(row.chosen_tokens, row.chosen_truncated) for row in rows} == {(70, True)}
    assert not any(row.chosen.truncated for row in writer(home, "rater").prepare(COLOURS))


def test_a_model_that_cannot_name_a_label_or_has_no_room_is_refused(
    home: str, tmp_path: Path
) -> None:
    tokenizer = words_tokenizer(["user", "assistant", "<", ">", "A"], CHAT)
    folder = save_tiny(tmp_path, "qwen3", 0, tokenizer, vocab_size=len(tokenizer))
    with pytest.raises(KnownError, match=r"the judge has no token of its own for .*A, B"):
        opened(folder, "judge")
    with pytest.raises(KnownError, match=r"reads 2,048 tokens, which leaves 8 .*--max-tokens"):
        writer(home, max_tokens=2040)

"""Judges of this machine that write verdicts or ratings, against plain greedy decoding."""

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from tokenizers import pre_tokenizers
from transformers import (
    AutoModelForCausalLM,
    ContinuousBatchingConfig,
    LlamaConfig,
    PreTrainedTokenizerFast,
    Qwen2Config,
    Qwen2Tokenizer,
)

from scoring.errors import KnownError
from scoring.families import open_scorer
from scoring.families.chat import shows_rejected_first
from scoring.families.judge import Draws
from scoring.families.prompts import parse_rating, parse_verdict, questions
from scoring.spec import Family, Message, ModelSpec, Pair, RunSettings, ScoredPair
from tests.support.judging import COLOURS as PAIRS
from tests.support.judging import scored
from tests.support.small_language_models import words_tokenizer
from tests.support.small_models import letters

SAYS = ["[[A]]", "[[B]]", *map(str, range(1, 11)), "hm"]
"""What the model can say, beside its end."""
TOKENS = 6
SIZE: dict[str, Any] = {
    "hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2, "num_attention_heads": 4,
    "num_key_value_heads": 2, "initializer_range": 0.4,
}  # fmt: skip
CPU = RunSettings(
    device="cpu", dtype="float32", judge_prompt="mt-bench", max_tokens=TOKENS, budget=900
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A random model that knows the words of all questions and answers in few."""
    home = tmp_path_factory.mktemp("writer")
    split = pre_tokenizers.WhitespaceSplit()
    texts = [message.content for each in PAIRS for message in asked(each)]
    words = [word for text in texts for word, _ in split.pre_tokenize_str(text)]
    template = "{% for m in messages %}{{ m['content'] + ' ' }}{% endfor %}"
    tokenizer = words_tokenizer([*SAYS, *words], template, split, eos_token="</s>")
    tokenizer.save_pretrained(home)
    torch.manual_seed(3)
    config = LlamaConfig(
        vocab_size=len(tokenizer), **SIZE, max_position_embeddings=2048, eos_token_id=1
    )
    model = AutoModelForCausalLM.from_config(config)
    with torch.no_grad():
        model.lm_head.weight[[0, *range(2 + len(SAYS), len(tokenizer))]] = 0  # it never says these
    model.generation_config.update(do_sample=True, top_p=0.1, repetition_penalty=3.0)
    model.save_pretrained(home)
    return str(home)


def asked(pair: Pair) -> list[Message]:
    """Everything that a judge or a rater can be asked of a pair."""
    ratings = questions("rater", pair, "mt-bench")
    both = [questions("judge", pair, "mt-bench", swapped=swapped)[0] for swapped in (False, True)]
    return [message for question in (*ratings, *both) for message in question]


def opened(folder: str, family: Family = "judge", **more: Any) -> Any:
    return open_scorer(ModelSpec("org/judge", folder, "p", family), replace(CPU, **more))


class Plain:
    """Transformers without a cache, one question at a time, the likeliest token each time."""

    def __init__(self, folder: str) -> None:
        self.tokenizer = PreTrainedTokenizerFast.from_pretrained(folder)
        self.model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()

    def answer(self, question: Sequence[Message]) -> str:
        text = "".join(f"{message.content} " for message in question)
        ids: list[int] = self.tokenizer(text).input_ids
        begin = len(ids)
        while len(ids) < begin + TOKENS:
            with torch.inference_mode():
                token = int(self.model(torch.tensor([ids])).logits[0, -1].argmax())
            if token == self.tokenizer.eos_token_id:
                break
            ids.append(token)
        answer: str = self.tokenizer.decode(ids[begin:])
        return answer


def test_a_verdict_or_a_rating_is_what_the_model_writes_greedily(folder: str) -> None:
    judge, rater, plain = opened(folder), opened(folder, "rater"), Plain(folder)
    verdicts, ratings = [], []
    for pair in PAIRS:
        swapped = shows_rejected_first(pair, RunSettings().seed)
        (question,) = questions("judge", pair, "mt-bench", swapped=swapped)
        named = parse_verdict(plain.answer(question), "mt-bench")
        first = {"A": 1.0, "B": 0.0, None: 0.5}[named]
        chosen = 1 - first if swapped else first
        verdicts.append((chosen, 1 - chosen))
        both = questions("rater", pair, "mt-bench")
        rated = [parse_rating(plain.answer(question), "mt-bench") for question in both]
        ratings.append((0.0, 0.0) if None in rated else (rated[0], rated[1]))
    assert len({*verdicts}) > 1 < len({*ratings})
    assert judge.rewards(judge.prepare(PAIRS)) == verdicts
    assert rater.rewards(rater.prepare(PAIRS)) == ratings
    assert judge.traits.reading.startswith("the verdict it writes")
    assert f"{TOKENS} tokens at most" in judge.traits.reading
    assert "mt-bench judge prompt:" in judge.traits.template


def test_repeats_are_drawn_anew_and_the_first_is_as_alone(folder: str) -> None:
    def rows(**more: Any) -> dict[str, ScoredPair]:
        return scored(opened(folder, temperature=2.0, seed=7, **more), PAIRS)

    thrice, once = rows(repeats=3, budget=2000), rows()
    assert {key: row.repeats[0] for key, row in thrice.items()} == {
        key: row.all_rewards for key, row in once.items()
    }
    assert any(len({*row.repeats}) > 1 for row in thrice.values())
    assert rows(repeats=3) == thrice


def test_rm_r1_is_asked_and_read_as_its_authors_do(tmp_path: Path) -> None:
    answers = ["<answer>[[A]]</answer>", "<answer>[[B]]</answer>"]
    pieces = Qwen2Tokenizer(vocab=letters("<pad>", "<unk>", "<s>", "</s>"), merges=[])
    pieces.add_tokens(answers)
    pieces.chat_template = "{% for m in messages %}{{ m['role'] + m['content'] }}{% endfor %}"
    pieces.save_pretrained(tmp_path)
    torch.manual_seed(0)
    model = AutoModelForCausalLM.from_config(Qwen2Config(vocab_size=len(pieces), **SIZE)).eval()
    with torch.no_grad():
        model.lm_head.weight[:-2] = 0
        model.lm_head.weight[-1] = -model.lm_head.weight[-2]  # it says one of both
    model.save_pretrained(tmp_path)
    spec = ModelSpec("gaotang/RM-R1-Qwen2.5-Instruct-7B", str(tmp_path), "p", "judge")
    scorer = open_scorer(spec, replace(CPU, judge_prompt="upstream", max_tokens=1))
    expected = []
    for pair in PAIRS[:4]:
        swapped = shows_rejected_first(pair, CPU.seed)
        (question,) = questions("judge", pair, "rm-r1", swapped=swapped)
        assert [message.role for message in question] == ["system", "user"]
        ids = pieces("".join(f"{role}{text}" for role, text in question), return_tensors="pt")
        with torch.inference_mode():
            token = int(model(**ids).logits[0, -1].argmax())
        is_chosen = (token == len(pieces) - 2) != swapped
        expected.append((float(is_chosen), float(not is_chosen)))
    assert len({*expected}) == 2
    assert scorer.rewards(scorer.prepare(PAIRS[:4])) == expected


@pytest.mark.parametrize("blocks", [64, 1], ids=["with memory enough", "with too little"])
def test_continuous_batching_writes_the_same_or_padded_batches_do(
    blocks: int, folder: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    padded = opened(folder)
    expected = padded.rewards(padded.prepare(PAIRS))
    pages = ContinuousBatchingConfig(num_blocks=blocks, page_size=32, max_batch_tokens=64)
    monkeypatch.setattr("scoring.families.judge._pages", lambda *_: pages)  # as with a GPU
    judge = opened(folder)
    judge.keep_answers(tmp_path)
    assert judge.traits.path.endswith("by continuous batching")
    assert judge.rewards(judge.prepare(PAIRS)) == expected
    assert judge.traits.path.endswith("by continuous batching" if blocks > 1 else "padded batches")
    assert len((tmp_path / "answers.jsonl").read_text("utf-8").splitlines()) == len(PAIRS)


def test_what_a_kill_lost_in_half_a_batch_is_written_again_the_same_and_nothing_twice(
    folder: str, tmp_path: Path
) -> None:
    told: list[tuple[int, int]] = []

    def rewards(budget: int) -> Any:
        judge = opened(folder, temperature=2.0, budget=budget, max_tokens=40)
        judge.keep_answers(tmp_path)
        judge.on_answers = lambda *each: told.append(each)
        assert "temperature 2" in judge.traits.reading
        return judge.rewards(judge.prepare(PAIRS))

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


def test_a_question_that_is_cut_is_told_and_one_without_room_is_refused(folder: str) -> None:
    rows = scored(opened(folder, max_length=70), PAIRS).values()
    assert {(row.chosen_tokens, row.chosen_truncated) for row in rows} == {(70, True)}
    assert not any(row.chosen.truncated for row in opened(folder, "rater").prepare(PAIRS))
    with pytest.raises(KnownError, match=r"reads 2,048 tokens, which leaves 8 .*--max-tokens"):
        opened(folder, max_tokens=2040)

"""What judges are asked (`prompts.toml`), and how their answers are read.

Answers to upstream's prompts are read as rewardbench/generative.py and scripts/run_generative.py of
allenai/reward-bench do, but for reasoning between <think> and </think>, which is left out; those of
RM-R1 as its authors' copies of these do.
"""

import hashlib
import json
import re
import tomllib
from collections.abc import Sequence
from contextlib import suppress
from functools import cache
from itertools import cycle
from pathlib import Path
from typing import Any

from scoring.benchmarks import benchmark_named, benchmark_of
from scoring.errors import KnownError
from scoring.models.files import trained_question
from scoring.rows import WHOLE_ROW, is_one_of_four
from scoring.rules import is_ties
from scoring.spec import JUDGES, JudgePrompt, Message, Pair

Question = tuple[Message, ...]
LABELS = ("A", "B")
OF_ROWS = ("rewardbench-2", "rewardbench-2-gemini")
"""Upstream's prompts for rows of RewardBench 2; the second for models without a system prompt."""
OURS: tuple[JudgePrompt, ...] = ("default", "probabilities")
"""Settings that mean our own prompt, read by probabilities."""
RATINGS = range(1, 11)
LEAST_TOKENS = 64  # of a model of this machine, below which a question cannot be asked
_DIGITS = {"1": "A", "2": "B", "\N{FULLWIDTH DIGIT ONE}": "A", "\N{FULLWIDTH DIGIT TWO}": "B"}


@cache
def prompt_forms() -> dict[str, dict[str, Any]]:
    """Return the content of `prompts.toml`."""
    return tomllib.loads(Path(__file__).with_name("prompts.toml").read_text(encoding="utf-8"))


def prompt_form(family: str, prompt: str) -> dict[str, Any]:
    """Return how a family is asked and read. prompt: as of `questions`."""
    forms, name = prompt_forms(), family
    if family == "judge" and prompt in forms["trained"]:
        forms, name = forms["trained"], prompt
    elif prompt:
        forms = forms["upstream"]
    if family == "rater" and prompt in OF_ROWS:
        return forms[name] | {"reading": forms[OF_ROWS[0]]["reading_rated"]}
    return forms[name] | (forms[prompt] if family == "judge" and prompt else {})


def choose_prompt(setting: JudgePrompt, model: str) -> str:
    """Return the prompt of a setting; "" for our own, and by the model's name for "upstream"."""
    if setting != "upstream":
        return "" if setting in OURS else setting
    prompts = prompt_forms()["models"].items()
    return next((prompt for part, prompt in prompts if part in model), "mt-bench")


def prompt_for(
    setting: JudgePrompt, family: str | None, model: str, pairs: Sequence[Pair]
) -> JudgePrompt:
    """Return a setting; for rows of RewardBench 2, the prompt that "upstream" means, and "default"
    for judges if every row has one right and three wrong responses, or is of Ties.
    """
    is_default = setting == "default" and family == "judge" and not trained_question(model)
    if not is_default and (setting != "upstream" or family not in JUDGES):
        return setting
    by = benchmark_of({row.subset for row in pairs}, pairs[0].benchmark)
    is_other = by.rule_name != "rewardbench_2" or all(len(row.responses) == 2 for row in pairs)
    fits = all(is_ties(row.subset) or is_one_of_four(row) for row in pairs)
    if is_other or (is_default and not fits):
        return setting
    is_gemini = choose_prompt("upstream", model) == "gemini"
    return "rewardbench-2-gemini" if is_gemini else "rewardbench-2"


def family_for(row: Pair, family: str, prompt: str) -> str:
    """Return how a row is asked about: by prompts of rows as `WHOLE_ROW`, and of *Ties* rated."""
    if prompt not in OF_ROWS or family == "rater":
        return family
    return "rater" if is_ties(row.subset) else WHOLE_ROW


def questions(
    family: str, pair: Pair, prompt: str = "", *, swapped: bool = False
) -> tuple[Question, ...]:
    """Return what a judge is asked in each order, or a rater of each response.

    prompt: "" for our own; as of `models.files.trained_question`; or one of upstream's, by which a
        judge is asked in one order, swapped or not: nothing about conversations longer than it
        knows, or a `KnownError` for one of two turns if it is for one.
    """
    sides = pair.chosen, pair.rejected
    orders = sides, sides[::-1]
    if family == "judge" and prompt in prompt_forms()["upstream"]:
        return _upstream_questions(prompt, pair, *orders[swapped])
    of_ties = prompt in OF_ROWS and is_ties(pair.subset)
    text = prompt_form(family, prompt)["user_ties" if of_ties else "user"]
    if family == "rater":
        return tuple(_filled(text, question=pair.prompt, first=response) for response in sides)
    question, turns = pair.prompt, [message.content for message in pair.messages]
    if prompt == "SteamSHP":
        question = " ".join(turns)
    elif prompt:
        speakers = cycle(("user", "assistant"))
        question = "".join(
            f"\n<turn> {speaker}\n {text}" for speaker, text in zip(speakers, turns, strict=False)
        )
    return tuple(
        _filled(text, question=question, first=first, second=second) for first, second in orders
    )


def row_question(prompt: str, row: Pair, order: Sequence[int]) -> Question:
    """Return one of `OF_ROWS` with four responses. order: the places of those that are shown."""
    form = prompt_forms()["upstream"][prompt]
    shown = zip(("first", "second", "third", "fourth"), order, strict=True)
    fields = {name: row.responses[place] for name, place in shown}
    return _after_system(form, "", _filled(form["user"], question=row.prompt, **fields))


def asks_both_orders(pair: Pair) -> bool:
    """Whether the pair's benchmark gives a judge a vote in each order of its responses."""
    return benchmark_named(pair.benchmark).rule.asks_both_orders


def _filled(text: str, **fields: str) -> Question:
    return (Message("user", text.format(**fields)),)


def _upstream_questions(prompt: str, pair: Pair, first: str, second: str) -> tuple[Question, ...]:
    # One question; none where upstream does not ask and a pair is a tie.
    turns = [message.content for message in pair.messages]
    fields = {"question": turns[0], "first": first, "second": second}
    ending = ""
    if len(turns) == 3:  # a question, its answer, and another question
        ending = "_2"
        fields |= {"first": turns[1], "second": turns[1]}
        fields |= {"question_2": turns[2], "first_2": first, "second_2": second}
    elif len(turns) != 1:
        return ()
    form = prompt_forms()["upstream"][prompt]
    if f"user{ending}" not in form:
        raise KnownError(
            f"The prompt {prompt} is for conversations of one turn, and {pair.key} has two. "
            "Choose other pairs, or mt-bench or gemini."
        )
    return (_after_system(form, ending, _filled(form[f"user{ending}"], **fields)),)


def _after_system(form: dict[str, Any], ending: str, question: Question) -> Question:
    system = form.get(f"system{ending}")
    return (Message("system", system), *question) if system else question


def digest(family: str, prompt: str = "") -> str:
    """Return 12 hex digits of the words that a family uses. Arguments as of `questions`."""
    if prompt in OF_ROWS:
        form = prompt_form(family, prompt)
        words = f"{form.get('system')}{form['user']}{prompt_form('rater', prompt)['user_ties']}"
    else:
        question = questions(family, Pair("", "", "{prompt}", "{A}", "{B}"), prompt)[0]
        words = "".join(message.content for message in question)
    name = f"{prompt} " if prompt and (family == "judge" or prompt in OF_ROWS) else ""
    return f"{name}{family} prompt:{hashlib.sha256(words.encode()).hexdigest()[:12]}"


def labels_of(prompt: str) -> tuple[str, ...]:
    """Return the names of the responses that a prompt shows, in their order."""
    return (*LABELS, "C", "D") if prompt in OF_ROWS else LABELS


def parse_verdict(text: str, prompt: str = "") -> str | None:
    """Return the label by which an answer names the better one; None if it names none.

    >>> parse_verdict("[[B]] and not [[A]]", "mt-bench"), parse_verdict("B", "mt-bench")
    ('A', None)
    >>> parse_verdict("Feedback: ... [RESULT] B", "prometheus"), parse_verdict("B", "prometheus")
    ('B', None)
    >>> parse_verdict("**Result:** B", "atla"), parse_verdict("**Result:** Both", "atla")
    ('B', None)
    >>> parse_verdict("<answer>[[B]]</answer>", "rm-r1"), parse_verdict("[[A]] [[B]]", "rm-r1")
    ('B', None)
    >>> parse_verdict("[[D]], not [[C]]", "rewardbench-2")
    'C'
    """
    if not prompt:  # an answer to our own names one letter alone
        letters = set(re.findall(r"\b([AB])\b", text))
        return letters.pop() if len(letters) == 1 else None
    form = prompt_forms()["upstream"][prompt]
    if prompt == "con-j":
        return _parse_con_j(text.replace("\n", " ").strip(), form["keys"])
    if prompt == "prometheus":
        name = text[-1:] if "[RESULT]" in text else ""
    elif prompt == "atla":
        result = re.search(r"\*\*Result:\*\*\s*(\w+)", text)
        name = result[1] if result else ""
    else:
        labels = labels_of(prompt)
        marks = zip(labels, form.get("marks", [f"[[{each}]]" for each in labels]), strict=True)
        named = [label for label, mark in marks if mark in text]
        name = "" if not named or (len(named) > 1 and form.get("is_single")) else named[0]
    return name if name in labels_of(prompt) else None


def parse_rating(text: str, prompt: str = "") -> float | None:
    r"""Return the rating that an answer gives, 1 to 10; None if it gives none.

    To our own prompt, the first number; to upstream's, a whole number at the end.

    >>> [parse_rating(text, "mt-bench") for text in ("Good.\n\n9", "8/10", "7.", "11")]
    [9.0, 10.0, None, None]
    """
    number = re.search(r"\b([1-9]|10)\b\s*$" if prompt else r"\d+(?:\.\d+)?", text.strip())
    rating = float(number.group()) if number else 0.0
    return rating if RATINGS[0] <= rating <= RATINGS[-1] else None


def _parse_con_j(text: str, keys: list[str]) -> str | None:
    # Code blocks, the whole, then whatever stands in braces.
    for written in (*re.findall(r"```json(.*?)```", text), text, *re.findall(r"{.*?}", text)):
        with suppress(ValueError, RecursionError):
            answer = json.loads(written)
            if isinstance(answer, dict) and keys[0] in answer:
                return _DIGITS.get(str(answer[keys[0]]))
    for key in filter(text.__contains__, keys):
        name, digit = re.escape(key), "([12\N{FULLWIDTH DIGIT ONE}\N{FULLWIDTH DIGIT TWO}])"
        for pattern in (rf'"{name}"\s*:\s*.*?{digit}', f"{name}.*?{digit}", f"{digit}.*?{name}"):
            match = re.search(pattern, text)
            if match:
                return _DIGITS[match[1]]
    return None

"""Prompts of upstream's generative judges, and how their answers are read.

Source: rewardbench/generative.py and scripts/run_generative.py of allenai/reward-bench. Reasoning
between <think> and </think> is left out here before an answer is read.
"""

import json
import re
import tomllib
from contextlib import suppress
from functools import cache
from pathlib import Path

from scoring.errors import KnownError
from scoring.spec import JudgePrompt, Message, Pair

VERDICT_TOKENS, RATING_TOKENS = 2048, 1024
"""Tokens that an answer may have."""

_FILE = Path(__file__).with_name("upstream.toml")
_NAMED = {
    "prometheus": "prometheus",
    "Con-J": "con-j",
    "OffsetBias": "offsetbias",
    "Atla": "atla",
    "gemini": "gemini",
    "RISE-Judge": "rise",
}
"""What a model's name holds -> its prompt, the first that is found."""
_ONE_TURN, _TWO_TURNS = 2, 4
"""Messages of conversations with so many questions, the answer included."""
_DIGITS = {"1": "A", "2": "B", "\N{FULLWIDTH DIGIT ONE}": "A", "\N{FULLWIDTH DIGIT TWO}": "B"}
_CON_J_KEYS = (
    "更好的回答", "更好回答", "更好得回答", "更好地回答", "better_answer", "better answer",
    "更好答案", "更好得答案", "更好的答案", "更好地答案", "更佳回答", "更佳答案", "更好答",
    "最佳答案", "更好答 案", "更好 的 回答", "betterAnswer", "更好 的 回应", "更好得回应回答",
    "答案", "回答",
)  # fmt: skip
_MARKS = {
    "offsetbias": ("Output (a)", "Output (b)"),
    "mt-bench": ("[[A]]", "[[B]]"),
}
"""What an answer holds that names the first response, or the second."""


@cache
def _texts() -> dict[str, dict[str, str]]:
    return tomllib.loads(_FILE.read_text(encoding="utf-8"))


def prompt_for(asked: JudgePrompt, model: str) -> str:
    """The prompt that is meant: "upstream" is one by the model's name, as upstream chooses.

    >>> prompt_for("upstream", "NCSOFT/Llama-3-OffsetBias-8B"), prompt_for("upstream", "gpt-4o")
    ('offsetbias', 'mt-bench')
    >>> prompt_for("atla", "gpt-4o")
    'atla'
    """
    if asked != "upstream":
        return asked
    return next((prompt for part, prompt in _NAMED.items() if part in model), "mt-bench")


def verdict_question(prompt: str, pair: Pair, *, swapped: bool) -> tuple[Message, ...]:
    """Which of two responses is better; () where upstream does not ask and a pair is a tie.

    swapped: show the rejected response first.

    Raises:
        KnownError: the prompt is for one turn, and the pair has two.
    """
    sides = pair.answered(pair.chosen), pair.answered(pair.rejected)
    first, second = (
        [message.content for message in side] for side in (reversed(sides) if swapped else sides)
    )
    if len(first) not in (_ONE_TURN, _TWO_TURNS):
        return ()
    turn = "_2" if len(first) == _TWO_TURNS else ""
    texts = _texts()[prompt]
    if f"user{turn}" not in texts:
        raise KnownError(
            f"The prompt {prompt} is for conversations of one turn, and {pair.key} has two. "
            "Choose other pairs, or mt-bench or gemini."
        )
    shown = dict(zip(("question", "first", "question_2", "first_2"), first, strict=False))
    shown |= zip(("second", "second_2"), second[1::2], strict=False)
    system = texts.get(f"system{turn}")
    asked = [Message("system", system)] if system else []
    return (*asked, Message("user", texts[f"user{turn}"].format(**shown)))


def rating_question(pair: Pair, response: str) -> tuple[Message, ...]:
    """How good a response is; of several turns the transcript is shown."""
    return (
        Message("user", _texts()["rating"]["user"].format(question=pair.prompt, first=response)),
    )


def parse_verdict(prompt: str, text: str) -> str | None:
    """The label by which an answer names the better one, A or B; None where it names none.

    >>> parse_verdict("mt-bench", "[[B]] and not [[A]]"), parse_verdict("mt-bench", "B")
    ('A', None)
    >>> parse_verdict("prometheus", "Feedback: ... [RESULT] B"), parse_verdict("prometheus", "B")
    ('B', None)
    >>> parse_verdict("atla", "**Result:** B"), parse_verdict("atla", "**Result:** Both")
    ('B', None)
    """
    if prompt == "prometheus":
        named = text[-1:] if "[RESULT]" in text else ""
    elif prompt == "atla":
        found = re.search(r"\*\*Result:\*\*\s*(\w+)", text)
        named = found[1] if found else ""
    elif prompt == "con-j":
        return _parse_con_j(text)
    else:
        marks = _MARKS.get(prompt, _MARKS["mt-bench"])
        named = next((label for label, mark in zip("AB", marks, strict=True) if mark in text), "")
    return named if named in ("A", "B") else None


def parse_rating(text: str) -> float | None:
    r"""The number from 1 to 10 that an answer ends with; None where it ends otherwise.

    >>> [parse_rating(text) for text in ("Good.\n\n9", "8/10", "7.", "11")]
    [9.0, 10.0, None, None]
    """
    found = re.search(r"\b([1-9]|10)\b\s*$", text.strip())
    return float(found[1]) if found else None


def _parse_con_j(text: str) -> str | None:
    text = text.replace("\n", " ").strip()
    # Code blocks, the whole, then whatever stands in braces.
    for written in (*re.findall(r"```json(.*?)```", text), text, *re.findall(r"{.*?}", text)):
        with suppress(ValueError, RecursionError):
            found = json.loads(written)
            if isinstance(found, dict) and _CON_J_KEYS[0] in found:
                return _DIGITS.get(str(found[_CON_J_KEYS[0]]))
    for key in filter(text.__contains__, _CON_J_KEYS):
        name, digit = re.escape(key), "([12\N{FULLWIDTH DIGIT ONE}\N{FULLWIDTH DIGIT TWO}])"
        for pattern in (rf'"{name}"\s*:\s*.*?{digit}', f"{name}.*?{digit}", f"{digit}.*?{name}"):
            match = re.search(pattern, text)
            if match:
                return _DIGITS[match[1]]
    return None

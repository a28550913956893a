"""What a judge wrote of a run's pairs, out of its `answers*.jsonl`, which may be large."""

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import product
from pathlib import Path
from typing import NamedTuple, get_args

from scoring.errors import KnownError
from scoring.families.chat import (
    Reply,
    meaning_of,
    pair_questions,
    parse_answer,
    question_key,
)
from scoring.families.prompts import OURS, digest, family_for
from scoring.record import Run
from scoring.rows import parts_of
from scoring.spec import JUDGES, JudgePrompt, Pair, RunFacts

_QUESTION = re.compile(rb'\{"question": "([0-9a-f]{32})"')
_PROMPTS = ("", *(each for each in get_args(JudgePrompt) if each not in (*OURS, "upstream")))


class Answer(NamedTuple):
    """An answer of a judge or rater about a pair.

    shown: the places among the pair's responses of those that it was shown, in their order.
    repeat: which time it was asked, from 0.
    reply: None if none was kept.
    meaning: the probability of each that is shown to be better, or a rating; None if unreadable.
    """

    shown: tuple[int, ...]
    reply: Reply | None
    meaning: tuple[float, ...] | None
    repeat: int = 0

    @property
    def better(self) -> int | None:
        """The place of the response that a judge prefers; None if it prefers none, or rates."""
        best = max(self.meaning or (0.0,))
        if self.meaning is None or len(self.shown) < 2 or self.meaning.count(best) > 1:
            return None
        return self.shown[self.meaning.index(best)]


def has_answers(run: Run) -> bool:
    """Whether what a run's judge wrote is kept, and it is known what it was asked."""
    is_known = _prompt_of(run.facts.family, run.facts.template) is not None
    return is_known and answer_bytes(run.folder) > 0


def read_answers(run: Run, pairs: Iterable[Pair]) -> Iterator[list[Answer]]:
    """Yield what was written of each pair of a run, read answer by answer, or a `KnownError`."""
    facts = run.facts
    prompt = _prompt_of(facts.family, facts.template) or ""
    try:
        places = _answer_places(run.folder, answer_bytes(run.folder))
        for pair in pairs:
            keys = question_keys(facts, pair)
            times = [at for at in range(facts.repeats) for _ in range(len(keys) // facts.repeats)]
            replies = [_read(*places[key]) if key in places else None for key in keys]
            family = family_for(pair, facts.family, prompt)
            meanings = [each and meaning_of(each, family, prompt) for each in replies]
            yield list(map(Answer, keys.values(), replies, meanings, times))
    except OSError as error:
        raise KnownError("The judge's answers cannot be read from the disk.") from error


def question_keys(facts: RunFacts, pair: Pair) -> dict[str, tuple[int, ...]]:
    """Return the questions about a pair by the names of their answers, each with `Answer.shown`."""
    prompt, found = _prompt_of(facts.family, facts.template), dict[str, tuple[int, ...]]()
    if prompt is None:
        return found
    parts = parts_of(pair, family_for(pair, facts.family, prompt))
    for repeat, part in product(range(facts.repeats), parts):
        places = [*map(pair.responses.index, part.responses)]
        if part is pair:
            places = [*range(len(places))]
        for question, shown in pair_questions(facts.family, part, prompt, facts.seed):
            found[question_key(question, repeat)] = tuple(places[place] for place in shown)
    return found


def answer_bytes(folder: Path) -> int:
    """Size of a run's answers, which grows with them; 0 if it has none."""
    return sum(path.stat().st_size for path in folder.glob("answers*.jsonl"))


@lru_cache(maxsize=64)
def _prompt_of(family: str, template: str) -> str | None:
    """The prompt whose answers a run keeps; None if it keeps none."""
    prompts = _PROMPTS if family in JUDGES else ()
    return next((name for name in prompts if template.endswith(digest(family, name))), None)


@lru_cache(maxsize=8)
def _answer_places(folder: Path, _size: int) -> dict[str, tuple[Path, int, int]]:
    """Question -> file, offset and length of its last answer. _size: as of `answer_bytes`."""
    places = {}
    for path in sorted(folder.glob("answers*.jsonl")):
        offset = 0
        with path.open("rb") as file:
            for line in file:
                if (named := _QUESTION.match(line)) is not None and line.endswith(b"\n"):
                    places[named[1].decode()] = (path, offset, len(line))
                offset += len(line)
    return places


def _read(path: Path, offset: int, length: int) -> Reply | None:
    with path.open("rb") as file:
        file.seek(offset)
        found = parse_answer(file.read(length).decode("utf-8", "replace"))
    return found and found[1]

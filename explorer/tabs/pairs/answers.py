"""What a judge wrote of pairs, in the reader as text alone, and in exports."""

from itertools import chain
from string import ascii_uppercase
from typing import Any

from explorer.core.html import note, part
from explorer.reader.listing import harm_css
from explorer.reader.reader import body_of
from explorer.reader.reading import Display
from explorer.reader.scene import Scene
from explorer.results.judged import judge_run
from scoring.errors import KnownError
from scoring.families.answers import Answer, read_answers
from scoring.pairs.opening import as_pairs
from scoring.spec import Pair


def answers_html(now: Scene) -> str:
    """A folded block for each question about the open pair, of the open model and of the other one
    of a comparison; "" where no judge wrote of it.
    """
    if (row := now.open_row) is None:
        return ""
    models = (now.model, now.state.against)
    try:
        written = {model: judge_answers(now, row, model) for model in models}
    except KnownError as error:
        return note(str(error), "wrong")
    written = {model: blocks for model, blocks in written.items() if blocks}
    for each in chain.from_iterable(written.values()):
        each["body"] = body_of(each["text"] or "", "prompt", Display())
    harm = harm_css(now.table.subset_of(row))
    is_alone = [*written] == [now.model]
    answers = (written, is_alone, now.key, harm)
    return part("answers", *answers, of="reader/answers.html") if written else ""


def judge_answers(now: Scene, row: int, model: str) -> list[dict[str, Any]]:
    """Which responses were shown, in their order, and the verdict, in words; the text, None where
    there is none, and whether it was cut off. [] of a model that is no judge's run, and of pairs
    that it was not asked about.

    Raises:
        KnownError: what was written cannot be read.
    """
    field, run = now.field, judge_run(now.field, model)
    if field is None or run is None or not field.matrix.held[field.place(model), row]:
        return []
    [pair] = as_pairs(now.table.arrow, [row])
    [answers] = read_answers(run, [pair])
    return [
        {
            **({"repeat": each.repeat + 1} if run.facts.repeats > 1 else {}),
            "shown": [_name(place, pair, each) for place in each.shown],
            "verdict": _verdict(each, pair),
            "cut": each.reply is not None and each.reply.cut,
            "text": None if each.reply is None else each.reply.text,
        }
        for each in answers
    ]


def _verdict(answer: Answer, pair: Pair) -> str:
    if answer.reply is None:
        return "No answer"
    if answer.meaning is None:
        return "Unreadable"
    if len(answer.shown) == 1:
        return f"{answer.meaning[0]:g} of 10"
    if answer.better is None:
        return "Both alike"
    sure = max(answer.meaning)
    return f"Prefers {_name(answer.better, pair, answer)}" + (f", {sure:.0%}" if sure < 1 else "")


def _name(place: int, pair: Pair, answer: Answer) -> str:
    letter = f"{ascii_uppercase[answer.shown.index(place)]} = " if len(answer.shown) > 2 else ""
    is_chosen = place < pair.n_chosen
    number = place + 1 if is_chosen else place - pair.n_chosen + 1
    side = letter + ("chosen" if is_chosen else "rejected")
    return side + (f" {number}" if number > 1 else "")

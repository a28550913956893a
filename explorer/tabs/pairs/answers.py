"""What a judge wrote of the open pair, as text alone."""

from explorer.core.html import note, part
from explorer.reader.listing import harm_css
from explorer.reader.reader import body_of
from explorer.reader.reading import Display
from explorer.reader.scene import Scene
from scoring.errors import KnownError
from scoring.families.answers import Answer, answers_of
from scoring.pairs.opening import as_pairs
from scoring.spec import Pair


def answers_html(now: Scene) -> str:
    """A folded block for each question that a run's judge was asked; "" where it wrote nothing."""
    run = now.field.runs.get(now.model) if now.field is not None else None
    if run is None or now.open_row is None or not now.pairs.has_texts:
        return ""
    [pair] = as_pairs(now.table.arrow, [now.open_row])
    try:
        answers = answers_of(run, pair)
    except KnownError as error:
        return note(str(error), "wrong")
    if not any(each.reply for each in answers):
        return ""
    blocks = [
        {
            "order": _order(each, pair),
            "verdict": verdict_words(each, pair),
            "is_cut": each.reply is not None and each.reply.cut,
            "body": body_of(each.reply.text, "prompt", Display()) if each.reply else None,
        }
        for each in answers
    ]
    harm = harm_css(pair.subset)
    return part("answers", blocks, pair.key, harm, of="reader/answers.html")


def verdict_words(answer: Answer, pair: Pair) -> str:
    """What an answer says, in few words."""
    if answer.reply is None:
        return "No answer"
    if answer.meaning is None:
        return "Unreadable"
    if len(answer.shown) == 1:
        return f"{answer.meaning[0]:g} of 10"
    if answer.better is None:
        return "Both alike"
    sure = max(answer.meaning)
    return f"Prefers {_name(answer.better, pair)}" + (f", {sure:.0%}" if sure < 1 else "")


def _order(answer: Answer, pair: Pair) -> str:
    names = [_name(place, pair) for place in answer.shown]
    words = "Asked about {}" if len(names) == 1 else "Shown {} first, then {}"
    return words.format(*names)


def _name(place: int, pair: Pair) -> str:
    is_chosen = place < pair.n_chosen
    side = "chosen" if is_chosen else "rejected"
    number = place if is_chosen else place - pair.n_chosen
    return side if number == 0 else f"{side} {number + 1}"

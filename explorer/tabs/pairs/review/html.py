"""What the review panel says: how far a review is, and how far two people agree."""

from collections.abc import Mapping, Sequence

from explorer.core.html import note, part
from explorer.core.text import text
from explorer.tabs.pairs.review.agreement import Agreement
from explorer.tabs.pairs.review.state import VERDICTS, Decision, Review, Verdict

Theirs = tuple[Decision, ...]
"""A colleague's decisions."""

TEMPLATE = "tabs/pairs/review/review.html"
PRESSES = (
    *((verdict, f"mark_{verdict}", "") for verdict in VERDICTS),
    ("undo", "undo", ""),
    ("skip", "skip", ""),
    # The keys of every reader, j and k, press these too.
    ("back", "back", "reader-previous"),
    ("forward", "forward", "reader-next"),
)
"""Press, key of its words, further classes of its button."""
_CHIPS: dict[Verdict, str] = {"keep": "good", "drop": "bad", "unsure": ""}


def progress_html(review: Review, keys: Sequence[str], key: str) -> str:
    """How many pairs are marked, and where the open one stands.

    keys: of the pairs under review, in order.
    """
    verdicts = [review.verdict_of(each) for each in keys]
    marked = len(verdicts) - verdicts.count(None)
    counts = {verdict: f"{verdicts.count(verdict):,}" for verdict in VERDICTS}
    words = text("review.progress", marked=f"{marked:,}", n=f"{len(keys):,}", **counts)
    place = text("review.outside")
    if key in keys:
        place = text("review.place", place=f"{keys.index(key) + 1:,}", n=f"{len(keys):,}")
    verdict = review.verdict_of(key)
    said, css = (_word(verdict), _CHIPS[verdict]) if verdict else (text("review.unmarked"), "")
    return part("progress", words, marked / len(keys), place, said, css, of=TEMPLATE)


def _word(verdict: Verdict) -> str:
    return text(f"review.{verdict}")


def marks_html(part_id: str) -> str:
    """The buttons of a review, whose presses are those of a part of the page."""
    return part("marks", PRESSES, part_id, of=TEMPLATE)


def told_html(words: Sequence[str]) -> str:
    """What happened that a person should know; read out by a screen reader."""
    return part("told", words, of=TEMPLATE)


def agreement_html(found: Agreement, theirs: Theirs) -> str:
    """How far two people agree on what both marked, and what each number means."""
    return part("agreement", found, len(theirs), VERDICTS, of=TEMPLATE) if theirs else ""


def their_answer(theirs: Theirs, mine: Decision) -> Decision | None:
    """What a colleague decided on the same pair, found by its texts, else by its key."""
    by_text = [each for each in theirs if each.text_hash == mine.text_hash]
    same = [each for each in by_text if each.key == mine.key] or by_text
    same = same or [each for each in theirs if (each.source, each.key) == (mine.source, mine.key)]
    return same[-1] if same else None


def differing_choices(
    found: Agreement, standing: Mapping[str, Decision], theirs: Theirs
) -> list[tuple[str, str]]:
    """(label, key) of each pair on which two people disagree."""
    choices = []
    for key in found.differing:
        answer = their_answer(theirs, standing[key])
        verdict = text("review.unmarked") if answer is None else _word(answer.verdict)
        mine = _word(standing[key].verdict)
        choices.append((text("review.differs", pair=key, mine=mine, theirs=verdict), key))
    return choices


def answer_html(review: Review, theirs: Theirs, key: str) -> str:
    """What a colleague decided on the open pair: only once one has decided oneself."""
    mine = review.standing.get(key)
    answer = their_answer(theirs, mine) if mine else None
    if answer is None:
        return ""
    words = text("review.answer", verdict=_word(answer.verdict))
    return note(f"{words} {text('review.their_note', words=answer.note)}" if answer.note else words)

"""What the review panel says: how far a review is, and how far two people agree."""

from collections.abc import Mapping, Sequence
from html import escape

from explorer.core.html import chip, note, percent, tag
from explorer.core.parts import acting
from explorer.core.text import text
from explorer.tabs.pairs.review.agreement import Agreement
from explorer.tabs.pairs.review.state import VERDICTS, Decision, Review, Verdict

Theirs = tuple[Decision, ...]
"""A colleague's decisions."""

_CHIPS: dict[Verdict, str] = {"keep": "good", "drop": "bad", "unsure": ""}


def progress_html(review: Review, keys: Sequence[str], key: str) -> str:
    """How many pairs are marked, and where the open one stands.

    keys: of the pairs under review, in order.
    """
    verdicts = [review.verdict_of(each) for each in keys]
    marked = len(verdicts) - verdicts.count(None)
    counts = {verdict: f"{verdicts.count(verdict):,}" for verdict in VERDICTS}
    words = text("review.progress", marked=f"{marked:,}", n=f"{len(keys):,}", **counts)
    bar = tag("div", tag("i", style=f"width:{100 * marked / len(keys):.1f}%"), css="progress")
    return tag("div", escape(words), css="status") + bar + _place(review, keys, key)


def _place(review: Review, keys: Sequence[str], key: str) -> str:
    if key in keys:
        where = text("review.place", place=f"{keys.index(key) + 1:,}", n=f"{len(keys):,}")
    else:
        where = text("review.outside")
    verdict = review.verdict_of(key)
    marked = chip(_word(verdict), _CHIPS[verdict]) if verdict else chip(text("review.unmarked"))
    return tag("div", f"{escape(where)} {marked}", css="review-place")


def _word(verdict: Verdict) -> str:
    return text(f"review.{verdict}")


def marks_html(part: str) -> str:
    """The buttons of a review. Keys press them (assets/keys.js).

    part: the id of the part whose presses they are.
    """
    buttons = [
        tag(
            "button",
            escape(text(f"review.{words}")),
            f"button review-{press} {css}".strip(),
            type="button",
            data_part=part,
            **acting("press", {"press": press}),
        )
        for press, words, css in (
            *((verdict, f"mark_{verdict}", "") for verdict in VERDICTS),
            ("undo", "undo", ""),
            ("skip", "skip", ""),
            # The keys of every reader, j and k, press these too.
            ("back", "back", "reader-previous"),
            ("forward", "forward", "reader-next"),
        )
    ]
    waiting = tag("span", "", "review-waiting", data_words=text("review.waiting", n="{n}"))
    return tag("div", "".join(buttons) + waiting, css="review-marks")


def told_html(words: Sequence[str]) -> str:
    """What happened that a person should know; read out by a screen reader."""
    return tag("div", "".join(map(note, words)), role="status", aria_live="polite")


def agreement_html(found: Agreement, theirs: Theirs) -> str:
    """How far two people agree on what both marked, and what each number means."""
    if not theirs:
        return ""
    common = note(text("review.common", n=f"{found.n:,}", theirs=f"{len(theirs):,}"))
    if not found.n:
        return common
    observed = text("review.observed", share=percent(found.observed))
    kappa = text("review.kappa_none")
    if found.kappa is not None:
        kappa = text("review.kappa", kappa=f"{found.kappa:.2f}".replace("-", "−"))
    lines = note(observed, "count") + note(kappa, "count")
    return tag("div", common + lines + note(text("review.kappa_means")) + _table(found), "agreed")


def _table(found: Agreement) -> str:
    heads = "".join(tag("th", escape(_word(verdict)), scope="col") for verdict in VERDICTS)
    corner = tag("td", "")
    rows = [tag("thead", tag("tr", corner + heads))]
    for verdict, counts in zip(VERDICTS, found.table, strict=True):
        head = tag("th", escape(text("review.mine", verdict=_word(verdict))), scope="row")
        rows.append(tag("tr", head + "".join(tag("td", f"{count:,}") for count in counts)))
    return tag("table", tag("caption", escape(text("review.table"))) + "".join(rows))


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

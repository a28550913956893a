"""What stands around a comparison: which models, on which pairs, who is alike, the open pair."""

from collections.abc import Iterable, Sequence
from html import escape

import numpy as np

from explorer.core.html import chip, note, percent, points, scroll_table, table_row, tag
from explorer.core.parts import button, segments
from explorer.core.text import text
from explorer.data.search import EVERYTHING
from explorer.reader.listing import reader_bar
from explorer.reader.reader import pair_html
from explorer.reader.searchbar import models_html
from explorer.results.field import MAJORITY, Field
from explorer.tabs.models.compared import Likeness, likenesses
from explorer.tabs.models.scene import Compared, in_section
from explorer.tabs.models.state import MOST_MODELS, WHOSE_PAIRS

LETTERS = "ABCD"
"""What the compared models are called in tables, in their order."""


def compare_head_html(now: Compared, fields: Sequence[Field]) -> str:
    """Fields for the model, for what it is compared with, and for further ones."""
    state = now.state
    html = models_html(fields, state.a, "a", text("compare.a"))
    if not state.a:
        known = any(field.matrix.models for field in fields)
        return tag(
            "div", html + note(text("compare.choose" if known else "compare.none")), "duel-head"
        )
    named = state.b != MAJORITY
    majority = text("fails.majority")
    html += models_html([now.field], state.b if named else "", "b", text("compare.b"), majority)
    if not named:
        return tag("div", html + tag("div", chip(majority), "line"), "duel-head")
    more = "".join(
        button(
            f"{letter}: {model} ✕", "remove", {"value": model}, "chip removable",
            text("compare.remove", model=model),
        )
        for letter, model in zip(LETTERS[2:], state.more, strict=False)
    )  # fmt: skip
    others = button(text("compare.swap"), "swap", css="button") + more
    if len(state.named) < MOST_MODELS:
        added = models_html([now.field], "", "add", text("compare.add"))
        others += tag("div", added, "once")
    return tag("div", html + tag("div", others, "line others"), "duel-head")


def compare_bar_html(now: Compared, notes: Iterable[str]) -> str:
    """On how many pairs they are compared, and of which section, and what to know.

    notes: what was left out of a link.
    """
    html = "".join(note(text("filter.dropped", what=what)) for what in notes)
    if not now.state.a:
        return html
    words = text("compare.shared", n=f"{now.shared.sum():,}")
    count = tag("span", escape(words), css="count", role="status")
    line = tag("div", count + tag("span", "", "chips") + _sections(now), "bar-line")
    known = (~np.isnan(now.outcomes)).sum(axis=1).tolist()
    if now.state.b != MAJORITY and set(known) != {int(now.shared.sum())}:
        each = ", ".join(f"{letter} {n:,}" for letter, n in zip(LETTERS, known, strict=False))
        html = note(text("compare.different", known=each)) + html
    if now.state.b == MAJORITY:
        split = int((~np.isnan(now.outcomes[0])).sum() - now.shared.sum())
        others = now.field.is_other(now.state.a).any()
        html = note(text("compare.about_majority" if others else "compare.alone")) + html
        html += note(text("compare.split", n=f"{split:,}")) if split and others else ""
    if not now.field.has_texts:
        html += note(text("fails.no_texts"), "wrong")
    return line + html + note(text("ties.official"))


def _sections(now: Compared) -> str:
    there = [each for each in WHOSE_PAIRS if in_section(now.field, each).any()]
    if len(there) < 2 or now.state.panel == "ensembles":
        return ""
    names = {each: each or text("compare.all_pairs") for each in there}
    return segments(text("compare.section"), "section", names, now.state.section)


MOST_LISTED = 400


def likeness_html(now: Compared) -> str:
    """The other models of the field, the most alike first."""
    found = likenesses(now)
    if not found:
        return note(text("compare.alone"))
    names = ("model", "correlation", "same", "won", "pairs")
    heads = [text(f"compare.head_{name}") for name in names]
    sought = set(now.sought([each.model for each in found]))
    found = [each for each in found if each.model in sought]
    rows = "".join(_row(now, each) for each in found[:MOST_LISTED])
    label = text("models.panel_agreement")
    html = note(text("compare.agreement_about")) + scroll_table(label, heads, rows, "alike")
    more = len(found) - MOST_LISTED
    return html + (note(text("fails.more", n=f"{more:,}")) if more > 0 else "")


def _row(now: Compared, each: Likeness) -> str:
    r = "–" if each.correlation is None else f"{each.correlation:.2f}".replace("-", "−")
    current = {"aria_current": "true"} if each.model == now.state.b else {}
    return table_row(
        button(each.model, "b", {"value": each.model}, "link"),
        r, percent(each.same), points(each.won), f"{each.n:,}", **current,
    )  # fmt: skip


def differing_html(now: Compared) -> str:
    """Steps through the pairs in which they differ; nothing where no pair is shown."""
    if not _has_reader(now):
        return ""
    title = tag("h2", escape(text("compare.differ")))
    none = "" if len(now.listed) else note(text("compare.same"))
    return tag("div", title + none, "duel") + reader_bar(now.listed, now.state.reading)


def differing_pair_html(now: Compared) -> str:
    """The open pair with the rewards and outcomes of all compared models."""
    if not _has_reader(now):
        return ""
    reading, field = now.state.reading, now.field
    row = field.table.row_of(reading.key) if reading.key else None
    if row is None:
        return pair_html(None, None, reading.display(EVERYTHING))
    verdicts = [field.verdict(model, row) for model in now.state.named]
    cells = field.table.cells(row) if field.has_texts else None
    return pair_html(
        cells, reading.key, reading.display(EVERYTHING), verdicts, source=field.table.source
    )


def _has_reader(now: Compared) -> bool:
    return bool(now.state.a) and now.state.panel in ("compare", "scatter")

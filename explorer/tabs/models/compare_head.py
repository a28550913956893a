"""What stands around a comparison: which models, on which pairs, who is alike, the open pair."""

from collections.abc import Iterable, Sequence
from html import escape

import numpy as np

from explorer.core.html import chip, note, percent, points, scroll_table, table_row, tag
from explorer.core.parts import button, copy_button, segments
from explorer.core.text import text
from explorer.data.search import EVERYTHING
from explorer.reader.listing import reader_bar
from explorer.reader.reader import pair_html
from explorer.reader.searchbar import models_html
from explorer.results.field import MAJORITY, Field
from explorer.tabs.models.compare_state import (
    MOST_MODELS,
    PANELS,
    SECTIONS,
    CompareScene,
    in_section,
)
from explorer.tabs.models.compared import Likeness, likenesses

LETTERS = "ABCD"
"""What the compared models are called in tables, in their order."""


def compare_head_html(now: CompareScene, fields: Sequence[Field]) -> str:
    """Fields for the model, for what it is compared with, and for further ones."""
    view = now.view
    html = models_html(fields, view.a, "a", text("compare.a"))
    if not view.a:
        known = any(field.matrix.models for field in fields)
        return tag(
            "div", html + note(text("compare.choose" if known else "compare.none")), "duel-head"
        )
    named = view.b != MAJORITY
    majority = text("fails.majority")
    html += models_html([now.field], view.b if named else "", "b", text("compare.b"), majority)
    if not named:
        return tag("div", html + tag("div", chip(majority), "line"), "duel-head")
    more = "".join(
        button(
            f"{letter}: {model} ✕", "remove", {"value": model}, "chip removable",
            text("compare.remove", model=model),
        )
        for letter, model in zip(LETTERS[2:], view.more, strict=False)
    )  # fmt: skip
    others = button(text("compare.swap"), "swap", css="button") + more
    if len(view.named) < MOST_MODELS:
        added = models_html([now.field], "", "add", text("compare.add"))
        others += tag("div", added, "once")
    return tag("div", html + tag("div", others, "line others"), "duel-head")


def compare_bar_html(now: CompareScene, notes: Iterable[str], link_base: str) -> str:
    """On how many pairs they are compared, a link, and what to know.

    notes: what was left out of a link. link_base: as of `explorer.core.parts.copy_button`.
    """
    html = "".join(note(text("filter.dropped", what=what)) for what in notes)
    if not now.view.a:
        return html
    words = text("compare.shared", n=f"{now.shared.sum():,}")
    count = tag("span", escape(words), css="count", role="status")
    copy = copy_button(text("filter.copy_link"), "link", link_base)
    line = tag("div", count + tag("span", "", "chips") + copy, "bar-line")
    known = (~np.isnan(now.outcomes)).sum(axis=1).tolist()
    if now.view.b != MAJORITY and set(known) != {int(now.shared.sum())}:
        each = ", ".join(f"{letter} {n:,}" for letter, n in zip(LETTERS, known, strict=False))
        html = note(text("compare.different", known=each)) + html
    if now.view.b == MAJORITY:
        split = int((~np.isnan(now.outcomes[0])).sum() - now.shared.sum())
        others = now.field.is_other(now.view.a).any()
        html = note(text("compare.about_majority" if others else "compare.alone")) + html
        html += note(text("compare.split", n=f"{split:,}")) if split and others else ""
    if not now.field.has_texts:
        html += note(text("fails.no_texts"), "wrong")
    return line + html + note(text("ties.official"))


def choices_html(now: CompareScene) -> str:
    """Which panel, and the pairs of which section."""
    if not now.view.a:
        return ""
    panels: dict[str, str] = {panel: text(f"compare.panel_{panel}") for panel in PANELS}
    html = segments(text("panel.label"), "panel", panels, now.view.panel)
    there = [each for each in SECTIONS if in_section(now.field, each).any()]
    if len(there) > 1 and now.view.panel != "ensembles":
        names = {each: each or text("compare.all_pairs") for each in there}
        html += segments(text("compare.section"), "section", names, now.view.section)
    return tag("div", html, "line")


MOST_LISTED = 400


def likeness_html(now: CompareScene) -> str:
    """The other models of the field, the most alike first."""
    found = likenesses(now)
    if not found:
        return note(text("compare.alone"))
    names = ("model", "correlation", "same", "won", "pairs")
    heads = [text(f"compare.head_{name}") for name in names]
    rows = "".join(_row(now, each) for each in found[:MOST_LISTED])
    label = text("compare.panel_agreement")
    html = note(text("compare.agreement_about")) + scroll_table(label, heads, rows, "alike")
    more = len(found) - MOST_LISTED
    return html + (note(text("fails.more", n=f"{more:,}")) if more > 0 else "")


def _row(now: CompareScene, each: Likeness) -> str:
    r = "–" if each.correlation is None else f"{each.correlation:.2f}".replace("-", "−")
    current = {"aria_current": "true"} if each.model == now.view.b else {}
    return table_row(
        button(each.model, "b", {"value": each.model}, "link"),
        r, percent(each.same), points(each.won), f"{each.n:,}", **current,
    )  # fmt: skip


def differing_html(now: CompareScene) -> str:
    """Steps through the pairs in which they differ; nothing where no pair is shown."""
    if not _has_reader(now):
        return ""
    title = tag("h2", escape(text("compare.differ")))
    none = "" if len(now.listed) else note(text("compare.same"))
    return tag("div", title + none, "duel") + reader_bar(now.listed, now.view.reading)


def differing_pair_html(now: CompareScene) -> str:
    """The open pair with the rewards and outcomes of all compared models."""
    if not _has_reader(now):
        return ""
    reading, field = now.view.reading, now.field
    row = field.table.row_of(reading.key) if reading.key else None
    if row is None:
        return pair_html(None, None, reading.display(EVERYTHING))
    verdicts = [field.verdict(model, row) for model in now.view.named]
    cells = field.table.cells(row) if field.has_texts else None
    return pair_html(
        cells, reading.key, reading.display(EVERYTHING), verdicts, source=field.table.source
    )


def _has_reader(now: CompareScene) -> bool:
    return bool(now.view.a) and now.view.panel in ("table", "scatter")

"""What stands above a comparison: which models, on how many pairs, and what is looked at."""

from collections.abc import Iterable, Sequence
from html import escape

import numpy as np

from explorer.compareview import MOST_MODELS, PANELS, SECTIONS, CompareScene, in_section
from explorer.core.html import chip, note, tag
from explorer.core.parts import button, copy_button, segments
from explorer.core.text import text
from explorer.results.field import MAJORITY, Field
from explorer.ui.failbar import models_html

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

"""What stands around a comparison: which models, on which pairs, who is alike, the open pair."""

from collections.abc import Iterable, Sequence

import numpy as np

from explorer.core.html import note, render
from explorer.core.text import text
from explorer.data.search import EVERYTHING
from explorer.reader.listing import reader_bar
from explorer.reader.reader import pair_html
from explorer.reader.searchbar import model_names
from explorer.results.field import MAJORITY, Field
from explorer.tabs.models.compared import likenesses
from explorer.tabs.models.scene import Compared, in_section
from explorer.tabs.models.state import MOST_MODELS, WHOSE_PAIRS

LETTERS = "ABCD"
"""What the compared models are called in tables, in their order."""


def compare_head_html(now: Compared, fields: Sequence[Field]) -> str:
    """Fields for the model, for what it is compared with, and for further ones."""
    state = now.state
    return render(
        "tabs/models/compare_head.html",
        state=state,
        names=model_names(fields),
        others=model_names([now.field]),
        named="" if state.b == MAJORITY else state.b,
        further=list(zip(LETTERS[2:], state.more, strict=False)),
        may_add=len(state.named) < MOST_MODELS,
    )


def compare_bar_html(now: Compared, notes: Iterable[str]) -> str:
    """On how many pairs they are compared, and of which section, and what to know.

    notes: what was left out of a link.
    """
    state = now.state
    said: list[tuple[str, str]] = [(text("filter.dropped", what=what), "") for what in notes]
    if not state.a:
        return render("tabs/models/compare_bar.html", shared=None, said=said)
    shared = int(now.shared.sum())
    known = (~np.isnan(now.outcomes)).sum(axis=1).tolist()
    if state.b == MAJORITY:
        split, others = known[0] - shared, now.field.is_other(state.a).any()
        said.insert(0, (text("compare.about_majority" if others else "compare.alone"), ""))
        said += [(text("compare.split", n=f"{split:,}"), "")] if split and others else []
    elif set(known) != {shared}:
        each = ", ".join(f"{letter} {n:,}" for letter, n in zip(LETTERS, known, strict=False))
        said.insert(0, (text("compare.different", known=each), ""))
    said += [] if now.field.has_texts else [(text("fails.no_texts"), "wrong")]
    said.append((text("ties.official"), ""))
    sections, section = _sections(now), state.section
    values = {"sections": sections, "section": section, "said": said}
    return render("tabs/models/compare_bar.html", shared=shared, **values)


def _sections(now: Compared) -> dict[str, str]:
    """The sections that can be chosen, in words; none where there is no choice."""
    there = [each for each in WHOSE_PAIRS if in_section(now.field, each).any()]
    if len(there) < 2 or now.state.panel == "ensembles":
        return {}
    return {each: each or text("compare.all_pairs") for each in there}


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
    return render(
        "tabs/models/alike.html",
        heads=heads,
        models=found[:MOST_LISTED],
        b=now.state.b,
        n_more=max(0, len(found) - MOST_LISTED),
    )


def differing_html(now: Compared) -> str:
    """Steps through the pairs in which they differ; nothing where no pair is shown."""
    if not _has_reader(now):
        return ""
    title = render("tabs/models/differing.html", n=len(now.listed))
    return title + reader_bar(now.listed, now.state.reading)


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

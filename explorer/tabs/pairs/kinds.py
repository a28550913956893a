"""What kind of pairs a model fails: its worst slices, and what it wins under each condition."""

from collections.abc import Sequence
from html import escape

from explorer.core.html import note, p_words, percent, points, tag
from explorer.core.parts import button
from explorer.core.text import text
from explorer.data.conditions import KINDS, conditions
from explorer.reader.scene import Scene
from explorer.tabs.pairs.slice_tests import LEAST_RIVALS
from explorer.tabs.pairs.slices import SliceResult, WorstSlices, by_condition, worst_slices

SURPRISING = 0.05

_OF_TESTS = ("expected", "difference", "p")
"""Columns that are known where slices are tested."""


def kinds_html(now: Scene) -> str:
    """The worst slices of two conditions, then every condition, kind by kind."""
    state, field = now.state, now.known
    if not state.model:
        return note(text("fails.kinds_model"))
    known = conditions(field.table)
    if not field.has_texts:
        known = tuple(each for each in known if each.kind in ("section", "subset"))
    outcome, others = field.outcomes(state.model), field.others(state.model)
    worst = worst_slices(outcome, others, known, clusters=field.clusters)
    html = note(text("fails.kinds_about"))
    html += tag("h2", escape(text("fails.worst"))) + note(_said(worst))
    html += _table(worst.slices, text("fails.worst"), worst) if worst.slices else ""
    results = by_condition(outcome, others, known, clusters=field.clusters)
    html += tag("h2", escape(text("fails.each")))
    html += note(text("fails.each_about")) if worst.tested else ""
    for kind in KINDS:
        of_kind = [each for each in results if each.conditions[0].kind == kind]
        if of_kind:
            title = text(f"fails.kind_of_{kind}")
            table = tag("summary", escape(title)) + _table(of_kind, title, worst)
            open_ = {"open": "open"} if kind in ("subset", "longer", "marker") else {}
            html += tag("details", table, data_keep=f"kind-{kind}", **open_)
    return tag("div", html, "kinds-of")


def _said(worst: WorstSlices) -> str:
    rivals = f"{worst.rivals:,}"
    if not worst.tested:
        return text("fails.few_rivals", least=str(LEAST_RIVALS), rivals=rivals)
    looked_at, n = f"{worst.looked_at:,}", f"{worst.significant:,}"
    return text("fails.worst_about", rivals=rivals, looked_at=looked_at, n=n)


def _table(results: Sequence[SliceResult], label: str, worst: WorstSlices) -> str:
    names = ["slice", "won", "interval", "others", "expected", "difference", "n", "p"]
    shown = [name for name in names if worst.tested or name not in _OF_TESTS]
    heads = "".join(
        tag("th", escape(text(f"fails.slice_{name}", rivals=f"{worst.rivals:,}")),
            css="" if name == "slice" else "number", scope="col")
        for name in shown
    )  # fmt: skip
    body = "".join(_row(each, shown) for each in results)
    table = tag("table", tag("thead", tag("tr", heads)) + tag("tbody", body))
    return tag("div", table, "slices", tabindex="0", role="region", aria_label=label)


def _row(result: SliceResult, shown: Sequence[str]) -> str:
    ids = [each.id for each in result.conditions]
    name = button(result.name, "slices", {"value": ids}, "link")
    low, high = percent(result.interval.low, 0), percent(result.interval.high, 0)
    difference = result.difference
    cells = {
        "won": percent(result.won),
        "interval": f"{low} – {high}",
        "others": percent(result.others),
        "expected": percent(result.expected),
        "difference": points(difference),
        "n": f"{result.n:,}",
        "p": p_words(result.p_adjusted),
    }
    css = ""
    if difference is not None and result.p_adjusted <= SURPRISING:
        css = "worse" if difference < 0 else "better"
    written = "".join(tag("td", escape(cells[each]), "number") for each in shown if each in cells)
    return tag("tr", tag("th", name, scope="row") + written, css)

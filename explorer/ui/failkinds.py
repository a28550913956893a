"""What kind of pairs a model fails: its worst slices, and its accuracy under each condition."""

from collections.abc import Sequence
from html import escape

from explorer.conditions import KINDS, conditions
from explorer.failview import FailScene
from explorer.slices import SliceResult, by_condition, worst_slices
from explorer.text import text
from explorer.ui.markup import note, p_words, percent, points, tag
from explorer.ui.relay import button

SURPRISING = 0.05


def kinds_html(now: FailScene) -> str:
    """The worst slices of two conditions, then every condition, kind by kind."""
    view, field = now.view, now.field
    if not view.model:
        return note(text("fails.kinds_model"))
    known = conditions(field.table)
    if not field.has_texts:
        known = tuple(each for each in known if each.kind in ("section", "subset"))
    outcome, others = field.outcomes(view.model), field.others(view.model)
    worst = worst_slices(outcome, others, known)
    said = text("fails.worst_about", looked_at=f"{worst.looked_at:,}", n=f"{worst.significant:,}")
    html = tag("h2", escape(text("fails.worst"))) + note(said)
    html += _table(worst.slices, text("fails.worst")) if worst.slices else ""
    results = by_condition(outcome, others, known)
    html += tag("h2", escape(text("fails.each"))) + note(text("fails.each_about"))
    for kind in KINDS:
        of_kind = [each for each in results if each.conditions[0].kind == kind]
        if of_kind:
            title = text(f"fails.kind_of_{kind}")
            table = tag("summary", escape(title)) + _table(of_kind, title)
            open_ = {"open": "open"} if kind in ("subset", "longer", "marker") else {}
            html += tag("details", table, data_keep=f"kind-{kind}", **open_)
    return tag("div", html, "kinds-of")


def _table(results: Sequence[SliceResult], label: str) -> str:
    names = ("slice", "accuracy", "interval", "others", "expected", "difference", "n", "p")
    heads = "".join(
        tag("th", escape(text(f"fails.slice_{name}")), css="" if name == "slice" else "number",
            scope="col")
        for name in names
    )  # fmt: skip
    body = "".join(_row(each) for each in results)
    table = tag("table", tag("thead", tag("tr", heads)) + tag("tbody", body))
    return tag("div", table, "slices", tabindex="0", role="region", aria_label=label)


def _row(result: SliceResult) -> str:
    ids = [each.id for each in result.conditions]
    name = button(result.name, "slices", {"value": ids}, "link")
    low, high = percent(result.interval.low, 0), percent(result.interval.high, 0)
    cells = (
        percent(result.accuracy), f"{low} – {high}", percent(result.others),
        percent(result.expected), points(result.difference), f"{result.n:,}",
        p_words(result.p_adjusted),
    )  # fmt: skip
    surprising = result.p_adjusted <= SURPRISING
    css = ("worse" if result.difference < 0 else "better") if surprising else ""
    written = "".join(tag("td", escape(cell), "number") for cell in cells)
    return tag("tr", tag("th", name, scope="row") + written, css)

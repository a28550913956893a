"""How alike a model is to each other one, as HTML; each leads to a comparison with it."""

from explorer.compared import Likeness, likenesses
from explorer.compareview import CompareScene
from explorer.core.html import note, percent, points, scroll_table, table_row
from explorer.core.parts import button
from explorer.core.text import text

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

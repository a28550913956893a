"""What a chart of a leaderboard is drawn of and says, and the table below it, as HTML."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from explorer.core.html import note, tag
from explorer.core.text import text
from explorer.tabs.models.chart_data import SubsetSpread
from explorer.tabs.models.figures import Axis
from explorer.tabs.models.length_bias import CATEGORIES, LengthBias, Share


@dataclass(frozen=True)
class Drawn:
    """A chart. notes: plain sentences on what is in it and what not.

    figure: None where there is nothing to draw. controls, table: HTML.
    """

    notes: Sequence[str] = ()
    figure: Any = None
    controls: str = ""
    table: str = ""


def percent_axis(what: str) -> Axis:
    """An axis of percent, in words."""
    return Axis(text("chart.percent", what=what))


@dataclass(frozen=True, slots=True)
class LengthLine:
    """One model, or a baseline; score: 0 to 1."""

    name: str
    score: float | None
    bias: LengthBias


def length_html(lines: Sequence[LengthLine], alone: Sequence[LengthLine], digits: int) -> str:
    """Accuracies by which side is longer, a line a model and the baselines in the last."""
    sides = ("chosen_longer", "rejected_longer", "equal")
    down, pair = {"rowspan": "2"}, {"colspan": "2"}
    first = _heads(("model", "score"), **down)
    first += _heads(sides, **pair) + _heads(("difference", "interval"), **down)
    first += _heads(("categories",), colspan="3")
    second = _heads(("pairs", "accuracy") * 3) + _heads(f"category_{each}" for each in CATEGORIES)
    body = "".join(_length_line(line, digits) for line in lines)
    foot = "".join(_length_line(line, digits) for line in alone)
    head = tag("tr", first) + tag("tr", second)
    return _table(text("chart.length_caption"), head, body, foot) + note(text("chart.length_note"))


def spreads_html(spreads: Sequence[SubsetSpread], digits: int) -> str:
    """How accuracies spread in each subset."""
    names = ("mean", "low", "q1", "median", "q3", "high")
    head = tag("tr", _heads(("subset", "section", "models", *names)))
    body = "".join(
        tag(
            "tr",
            tag("th", escape(each.subset), scope="row")
            + tag("td", escape(each.section or text("chart.no_section")))
            + tag("td", f"{each.n:,}")
            + "".join(_cell(getattr(each, name), digits) for name in names),
        )
        for each in spreads
    )
    return _table(text("chart.spread_caption"), head, body)


def _length_line(line: LengthLine, digits: int) -> str:
    bias = line.bias
    cells = tag("th", tag("bdi", escape(line.name)), scope="row") + _cell(line.score, digits)
    cells += "".join(
        _share(each, digits) for each in (bias.chosen_longer, bias.rejected_longer, bias.equal)
    )
    cells += tag("td", escape(_signed(bias.difference, digits)))
    ends = "–"
    if bias.interval is not None:
        ends = text(
            "figure.ends",
            low=_signed(bias.interval.low, digits),
            high=_signed(bias.interval.high, digits),
        )
    cells += tag("td", escape(ends))
    cells += "".join(_cell(bias.categories[each], digits) for each in CATEGORIES)
    return tag("tr", cells)


def _share(share: Share, digits: int) -> str:
    return tag("td", f"{share.n:,}") + _cell(share.accuracy, digits)


def _cell(value: float | None, digits: int) -> str:
    return tag("td", "–" if value is None else f"{100 * value:.{digits}f}")


def _signed(value: float | None, digits: int) -> str:
    return "–" if value is None else f"{100 * value:+.{digits}f}".replace("-", "−")


def _heads(names: Iterable[str], **attributes: str) -> str:
    return "".join(
        tag("th", escape(text(f"chart.head_{name}")), scope="col", **attributes) for name in names
    )


def _table(caption: str, head: str, body: str, foot: str = "") -> str:
    inside = tag("caption", escape(caption)) + tag("thead", head) + tag("tbody", body)
    inside += tag("tfoot", foot) if foot else ""
    region = {"tabindex": "0", "role": "region", "aria_label": caption}
    return tag("div", tag("table", inside, css="stats"), css="stats-box", **region)

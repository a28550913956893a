"""The table of lengths that stands beside their chart, as HTML."""

from collections.abc import Iterable, Sequence
from html import escape

from explorer.core.html import note, tag
from explorer.core.text import text
from explorer.data.lengths import LengthStats, Spread
from explorer.data.table import Measure, Unit


def stats_html(stats: Sequence[LengthStats], unit: Unit) -> str:
    """Mean, median, 95th percentile and maximum, a line a subset and all pairs in the last.

    stats: as `length_stats` gives them; of chosen and rejected the columns stand in two groups.
    No lines give nothing.
    """
    if not stats:
        return ""
    *lines, total = stats
    measures = tuple(total.spreads)
    what = text("figure.of_responses" if len(measures) > 1 else f"figure.of_{measures[0]}")
    caption = text("figure.by_subset", what=what, unit=text(f"figure.unit_{unit}"))
    table = tag(
        "table",
        tag("caption", escape(caption))
        + tag("thead", _head(measures))
        + tag("tbody", "".join(_line(line, line.subset or "") for line in lines))
        + tag("tfoot", _line(total, text("stats.all"))),
        css="stats",
    )
    hidden = total.n - sum(line.n for line in lines)
    more = note(text("stats.hidden", n=f"{hidden:,}")) if hidden else ""
    # A region that scrolls must be reached by the keyboard, and then has to say what it is.
    region = {"tabindex": "0", "role": "region", "aria_label": caption}
    return tag("div", table, css="stats-box", **region) + more


def _head(measures: Sequence[Measure]) -> str:
    grouped = len(measures) > 1
    down = {"rowspan": "2"} if grouped else {}
    first = [tag("th", escape(words), scope="col", **down) for words in _row_heads()]
    names = [tag("th", escape(words), scope="col") for _ in measures for words in _spread_heads()]
    if not grouped:
        return tag("tr", "".join([*first, *names]))
    across = {"colspan": str(len(_spread_heads())), "scope": "colgroup"}
    groups = [
        tag("th", escape(text(f"figure.side_{measure}")), css=measure, **across)
        for measure in measures
    ]
    return tag("tr", "".join([*first, *groups])) + tag("tr", "".join(names))


def _row_heads() -> list[str]:
    return [text("stats.subset"), text("stats.pairs")]


def _spread_heads() -> list[str]:
    return [
        text("stats.mean"),
        text("stats.median"),
        text("stats.p95"),
        text("stats.maximum"),
    ]


def _line(line: LengthStats, name: str) -> str:
    numbers = [f"{line.n:,}", *_cells(line.spreads.values())]
    cells = "".join(tag("td", number) for number in numbers)
    return tag("tr", tag("th", escape(name), scope="row") + cells)


def _cells(spreads: Iterable[Spread]) -> list[str]:
    written = [
        number
        for spread in spreads
        for number in (
            f"{spread.mean:,.1f}",
            f"{spread.median:,.1f}",
            f"{spread.p95:,.1f}",
            f"{spread.maximum:,}",
        )
    ]
    return [number.replace("-", "−") for number in written]

"""What a chart of a leaderboard is drawn of and says, and the table below it, as HTML."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from explorer.core.html import part
from explorer.core.text import text
from explorer.tabs.models.chart_data import SubsetSpread
from explorer.tabs.models.figures import Axis
from explorer.tabs.models.length_bias import CATEGORIES, LengthBias

TEMPLATE = "tabs/models/chart_table.html"


@dataclass(frozen=True)
class Drawn:
    """A chart. notes: plain sentences on what is in it and what not.

    figure: None where there is nothing to draw. axes: axis -> its column, where one can choose.
    table: HTML.
    """

    notes: Sequence[str] = ()
    figure: Any = None
    axes: Mapping[str, str] = field(default_factory=dict)
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
    return part("lengths", lines, alone, digits, CATEGORIES, of=TEMPLATE)


def spreads_html(spreads: Sequence[SubsetSpread], digits: int) -> str:
    """How accuracies spread in each subset."""
    return part("spreads", spreads, digits, of=TEMPLATE)

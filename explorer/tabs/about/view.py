"""The About tab: what the data is."""

from functools import cache

from explorer.core.address_view import Regions, Sent, View
from explorer.core.html import render
from explorer.data.datacard import data_card
from explorer.data.rebuilding.provenance import coverage
from explorer.data.rebuilding.recipes import untraced
from explorer.runs.visitors import Visitor
from scoring.benchmark import SECTIONS

SUBSET_COLUMNS = {
    "subset": "Subset, and its name in the data",
    "description": "What it is",
    "pairs": "Pairs",
    "raw": "Raw split",
    "collected": "Before filtering",
    "weight": "Weight",
    "length": "Longer by upstream",
    "found": "Found in published files",
    "origin": "Source and licence",
}
"""Of the table of subsets, and how each is headed."""


@cache
def about_html() -> str:
    """The data card, the same for everybody."""
    card = data_card()
    sections = {name: [each for each in card.subsets if each.section == name] for name in SECTIONS}
    return render(
        "tabs/about/about.html",
        card=card,
        columns=SUBSET_COLUMNS,
        sections=sections,
        found=coverage(),
        lacking=untraced(),
    )


def _regions(_query: str, _visitor: Visitor, _sent: Sent) -> tuple[str, Regions]:
    return "tab=about", {"bar": about_html}


ABOUT = View("about", _regions)
"""The tab as a view; it is the same for everybody, whatever an address says of it."""
ABOUT_SKELETON = (
    '<div id="about" class="view" data-tab="about"><div class="view-message" role="alert" hidden>'
    '</div><div data-region="bar"></div></div>'
)

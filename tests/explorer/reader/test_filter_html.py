"""The facets: names that stay text and are sent as they are, with their counts."""

import re
from html import unescape

from explorer.data.table import PairTable
from explorer.reader.filter_html import MOST_SHOWN, facets_html
from explorer.reader.scene import ScenePairs, scene
from explorer.reader.state import PairsState
from scoring.benchmark import SECTIONS
from tests.support.html_reading import HtmlReading
from tests.support.tables import file_table, row, small_table

TAGS = {"details", "summary", "div", "a", "span"}


BOX = re.compile(
    r'<a class="facet-name([^"]*)".*?aria-checked="(\w+)" href="([^"]*)".*?'
    r'class="name">(.*?)</span><span class="n">(.*?)</span>',
    re.DOTALL,
)


class Panel:
    """The panel: its words, and its boxes in their order."""

    def __init__(self, html: str) -> None:
        self.words = HtmlReading(html, TAGS).words
        facets = (part.partition('"') for part in html.split('data-facet="')[1:])
        found = ((facet, box) for facet, _, boxes in facets for box in BOX.findall(boxes))
        self.boxes = [(facet, *map(unescape, box)) for facet, box in found]

    def of(self, wanted: str) -> dict[str, str]:
        """Name -> count, as they are shown; not of whole groups."""
        boxes = [box[1:] for box in self.boxes if box[0] == wanted]
        return {name: count for kind, *_, name, count in boxes if "whole" not in kind}

    def pressed(self, wanted: str) -> PairsState:
        """What is looked at after a name was pressed, the first of several facets'."""
        return next(PairsState.parse(box[3])[0] for box in self.boxes if box[4] == wanted)


def panel(table: PairTable, state: PairsState | None = None) -> Panel:
    return Panel(facets_html(scene(state or PairsState(), ScenePairs(table))))


def test_picked_names_that_the_table_lacks_are_there_to_be_unpicked(demo: PairTable) -> None:
    gone = "<no such subset>"
    shown = panel(demo, PairsState(subset=(gone, "hep-go")))
    assert shown.of("subset")[gone] == "0"
    assert sorted(box[4] for box in shown.boxes if box[2] == "true") == [gone, "hep-go", "none"]
    assert "2 picked" in shown.words


def test_the_most_frequent_of_many_names_are_shown_and_the_rest_counted() -> None:
    names = [f"m{number}" for number in range(MOST_SHOWN + 40)]
    shown = panel(small_table(*(row(chosen_model=each) for each in (*names, "m95", "m95", "m7"))))
    assert len(shown.of("chosen_model")) == MOST_SHOWN
    assert list(shown.of("chosen_model").items())[:2] == [("m95", "3"), ("m7", "2")]
    assert "+ 40 more with fewer pairs" in shown.words


def test_a_press_picks_a_name_beside_others_or_takes_it_away(demo: PairTable) -> None:
    asked = PairsState(longer=("chosen",), key="hep-go:1", page=2, sort="-chosen")
    shown = panel(demo, asked)
    assert shown.pressed("rejected") == PairsState(longer=("chosen", "rejected"), sort="-chosen")
    assert shown.pressed("chosen") == PairsState(sort="-chosen")


def test_sections_and_subsets_are_picked_as_one(demo: PairTable) -> None:
    chat = panel(demo, PairsState(section=("Chat",)))
    left = tuple(each for each in sorted(SECTIONS["Chat"]) if each != "mt-bench-easy")
    assert chat.pressed("mt-bench-easy") == PairsState(subset=left)
    assert chat.pressed("Chat") == PairsState()
    assert panel(demo, PairsState(subset=left)).pressed("mt-bench-easy") == PairsState(
        section=("Chat",)
    )


def test_a_subset_is_called_without_its_section() -> None:
    subsets = ["Helpfulness/Code", "Helpfulness/Chat/Long", "Harmlessness/S1", "/own"]
    arrow = small_table(*(row(subset=each) for each in subsets)).arrow
    table = file_table("a.json", arrow.replace_schema_metadata({"benchmark": "rmb"}))
    assert [*panel(table).of("subset")] == ["Chat/Long", "Code", "S1", "/own"]

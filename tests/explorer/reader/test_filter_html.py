"""The facets: names that stay text and are sent as they are, with their counts."""

from dataclasses import dataclass

from explorer.data.table import PairTable
from explorer.reader.filter_html import MOST_SHOWN, facets_html
from explorer.reader.scene import ScenePairs, scene
from explorer.reader.state import PairsState
from scoring.benchmark import SECTIONS
from tests.support.html_reading import HtmlReading
from tests.support.tables import file_table, row, small_table

TAGS = {"details", "summary", "div", "a", "span"}


@dataclass(frozen=True)
class Box:
    """One name of a facet on screen. after: where it leads."""

    facet: str
    name: str
    count: str
    on: bool
    after: PairsState


class Panel(HtmlReading):
    """The panel as it is read, with its boxes in their order."""

    def __init__(self, html: str) -> None:
        self.boxes: list[Box] = []
        self._links: list[tuple[str, dict[str, str | None]]] = []
        self._facet = ""
        super().__init__(html, TAGS)
        words, counts = self.of_class["name"], self.of_class["n"]
        for (facet, link), said, count in zip(self._links, words, counts, strict=True):
            assert "data-keep" in link
            after, dropped = PairsState.parse(link["href"])
            assert dropped == ()
            on = link["aria-checked"] == "true"
            self.boxes.append(Box(facet, said, count, on, after))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "details":
            self._facet = dict(attrs)["data-facet"] or ""
        if tag == "a":
            is_whole = "whole" in (dict(attrs)["class"] or "").split()
            self._links.append(("section" if is_whole else self._facet, dict(attrs)))
        super().handle_starttag(tag, attrs)

    def of(self, facet: str) -> dict[str, str]:
        """Name -> count, as they are shown."""
        return {box.name: box.count for box in self.boxes if box.facet == facet}

    def pressed(self, name: str) -> PairsState:
        """What is looked at after a name was pressed, the first of several facets'."""
        return next(box.after for box in self.boxes if box.name == name)

    @property
    def ticked(self) -> list[str]:
        return [box.name for box in self.boxes if box.on]


def panel(table: PairTable, state: PairsState | None = None) -> Panel:
    return Panel(facets_html(scene(state or PairsState(), ScenePairs(table))))


def test_picked_names_that_the_table_lacks_are_there_to_be_unpicked(demo: PairTable) -> None:
    gone = "<no such subset>"
    shown = panel(demo, PairsState(subset=(gone, "hep-go")))
    assert shown.of("subset")[gone] == "0"
    assert sorted(shown.ticked) == [gone, "hep-go", "none"]
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
    assert shown.pressed("Safety") == PairsState(
        longer=("chosen",), sort="-chosen", section=("Safety",)
    )


def test_sections_and_subsets_are_picked_as_one(demo: PairTable) -> None:
    chat = panel(demo, PairsState(section=("Chat",)))
    left = tuple(each for each in sorted(SECTIONS["Chat"]) if each != "mt-bench-easy")
    assert chat.pressed("mt-bench-easy") == PairsState(subset=left)
    assert chat.pressed("Safety") == PairsState(section=("Chat", "Safety"))
    assert chat.pressed("Chat") == PairsState()
    assert panel(demo, PairsState(subset=left)).pressed("mt-bench-easy") == PairsState(
        section=("Chat",)
    )
    with_one = panel(demo, PairsState(subset=("hep-go",))).pressed("Chat")
    assert with_one == PairsState(subset=tuple(sorted([*SECTIONS["Chat"], "hep-go"])))


def test_a_subset_is_called_without_its_section() -> None:
    subsets = ["Helpfulness/Code", "Helpfulness/Chat/Long", "Harmlessness/S1", "/own"]
    arrow = small_table(*(row(subset=each) for each in subsets)).arrow
    table = file_table("a.json", arrow.replace_schema_metadata({"benchmark": "rmb"}))
    assert [*panel(table).of("subset")] == ["Chat/Long", "Code", "S1", "/own"]

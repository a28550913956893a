"""The facets: names that can be picked, with their counts; where a press leads, links of golden
texts in tests/explorer/tabs/pairs/addresses say.
"""

import re
from html import unescape

from explorer.data.table import PairTable
from explorer.reader.filter_html import MOST_SHOWN, facets_html
from explorer.reader.scene import ScenePairs, scene
from explorer.reader.state import PairsState
from tests.support.tables import file_table, row, small_table

BOX = re.compile(
    r'aria-checked="(\w+)".*?class="name">(.*?)</span><span class="n">(.*?)</span>', re.DOTALL
)


def facet(name: str, table: PairTable, state: PairsState | None = None) -> list[tuple[str, ...]]:
    """Whether each name of a facet is picked, the name, and its count."""
    html = facets_html(scene(state or PairsState(), ScenePairs(table)))
    names = html.partition(f'data-facet="{name}"')[2].partition("data-facet=")[0]
    return [(*map(unescape, box),) for box in BOX.findall(names)]


def test_picked_names_that_the_table_lacks_are_there_to_be_unpicked(demo: PairTable) -> None:
    gone = "<no such subset>"
    shown = facet("subset", demo, PairsState(subset=(gone, "hep-go")))
    picked = [box for box in shown if box[0] == "true"]
    assert sorted(picked) == [("true", gone, "0"), ("true", "hep-go", "8"), ("true", "none", "0")]


def test_the_most_frequent_of_many_names_are_shown() -> None:
    names = [f"m{number}" for number in range(MOST_SHOWN + 40)]
    table = small_table(*(row(chosen_model=each) for each in (*names, "m95", "m95", "m7")))
    shown = facet("chosen_model", table)
    assert len(shown) == MOST_SHOWN
    assert shown[:2] == [("false", "m95", "3"), ("false", "m7", "2")]


def test_a_subset_is_called_without_its_section() -> None:
    subsets = ["Helpfulness/Code", "Helpfulness/Chat/Long", "Harmlessness/S1", "/own"]
    arrow = small_table(*(row(subset=each) for each in subsets)).arrow
    table = file_table("a.json", arrow.replace_schema_metadata({"benchmark": "rmb"}))
    assert {"Chat/Long", "Code", "S1", "/own"} < {name for _, name, _ in facet("subset", table)}

"""The About tab: the data card as it is read, in an order that can be heard."""

import re
from itertools import pairwise
from pathlib import Path

from explorer.data.datacard import data_card
from explorer.tabs.about.view import SUBSET_COLUMNS, about_html
from scoring.benchmark import SECTIONS
from tests.golden.reading import Outline
from tests.support.golden_files import check_golden

HTML = about_html()


def test_everything_the_card_says_is_shown() -> None:
    read = Outline(HTML)
    text = "\n".join([*read.lines, "", "## Links", *read.links, ""])
    check_golden(Path(__file__).parent / "about.txt", text)


def test_headings_and_the_table_can_be_heard_and_links_lead_out_into_a_tab_of_their_own() -> None:
    levels = [int(each) for each in re.findall(r"<h(\d)", HTML)]
    assert levels[0] == 2
    assert all(after <= before + 1 for before, after in pairwise(levels))
    scopes = re.findall(r'<th[^>]* scope="(\w+)"', HTML)
    assert scopes.count("col") == len(SUBSET_COLUMNS) and scopes.count("rowgroup") == len(SECTIONS)
    assert scopes.count("row") == len(data_card().subsets) + 1
    region = re.search(r'<div class="region"[^>]*>', HTML)
    assert region and 'tabindex="0"' in region[0] and "aria-label=" in region[0]
    links = re.findall(r"<a [^>]*>", HTML)
    outward = ('href="https://', 'rel="noopener"', 'target="_blank"')
    assert all(part in each for each in links for part in outward)

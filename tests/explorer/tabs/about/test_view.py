"""The About tab: the data card as it is read."""

import re
from pathlib import Path

from explorer.tabs.about.view import about_html
from tests.golden.reading import Outline
from tests.support.golden_files import check_golden

HTML = about_html()


def test_everything_the_card_says_is_shown() -> None:
    read = Outline(HTML)
    text = "\n".join([*read.lines, "", "## Links", *read.links, ""])
    check_golden(Path(__file__).parent / "about.txt", text)


def test_links_lead_out_into_a_tab_of_their_own() -> None:
    outward = ('href="https://', 'rel="noopener"', 'target="_blank"')
    assert all(part in each for each in re.findall(r"<a [^>]*>", HTML) for part in outward)

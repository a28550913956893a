"""The data card, in an order that can be heard; and choosing pairs, a file being read once."""

import re
from html import unescape
from itertools import pairwise

import pytest

from explorer.data.datacard import data_card
from explorer.tabs.about.view import SUBSET_COLUMNS, about_html
from scoring.benchmark import COUNTS, SECTIONS
from tests.support.html_reading import HtmlReading

# The data card


TAGS = {
    *("article", "h2", "h3", "p", "a", "b", "dl", "dt", "dd", "ul", "li", "div", "span", "code"),
    *("table", "caption", "thead", "tbody", "tfoot", "tr", "th", "td"),
}
CARD = data_card()
HTML = about_html()
READING = HtmlReading(HTML, TAGS)


def row_of(subset: str) -> str:
    """The row of a subset in the table, as text."""
    row = next(each for each in HTML.split("<tr")[1:] if f"<code>{subset}</code>" in each)
    return unescape(re.sub("<[^>]*>", " ", f"<tr{row}".split("</tr>")[0]))


def test_a_subset_is_told_with_its_counts_source_and_licence(subtests: pytest.Subtests) -> None:
    for card in CARD.subsets:
        with subtests.test(card=card):
            row = row_of(card.subset)
            for part in (card.name, card.description, card.note or "", card.origin.name):
                assert part in row
            assert card.origin.licence in row
            numbers = [f"{each:,}" for each in (card.pairs, card.raw, card.collected, card.weight)]
            assert re.search(r"\s+".join(numbers), row)


def test_the_totals_are_those_of_the_splits() -> None:
    totals = HTML.split("<tfoot")[1]
    assert all(f">{total}<" in totals for total in ("2,985", "5,123", "6,981"))
    assert sum(COUNTS.values()) == 2985


def test_it_is_said_how_many_pairs_are_found_in_published_files() -> None:
    assert "94" in row_of("xstest-should-respond") and "one side: 124" in row_of(
        "xstest-should-respond"
    )
    assert "not looked up" in row_of("donotanswer")
    assert "AI2 published neither" in READING.words


def test_the_two_known_errors_of_the_card_are_said() -> None:
    assert "154 and 250" in READING.words and "3692" in READING.words


def test_headings_go_down_one_step_at_a_time_below_the_pages_own() -> None:
    levels = [int(each) for each in re.findall(r"<h(\d)", HTML)]
    assert levels[0] == 2
    assert all(after <= before + 1 for before, after in pairwise(levels))


def test_the_table_can_be_heard() -> None:
    assert "<caption>" in HTML
    scopes = READING.attributes["th", "scope"]
    assert scopes.count("col") == len(SUBSET_COLUMNS) and scopes.count("rowgroup") == len(SECTIONS)
    assert scopes.count("row") == len(CARD.subsets) + 1
    region = re.search(r'<div class="region"[^>]*>', HTML)
    assert region and 'tabindex="0"' in region[0] and "aria-label=" in region[0]


def test_links_lead_out_into_a_tab_of_their_own() -> None:
    links = READING.attributes["a", "href"]
    assert all(link.startswith("https://") for link in links)
    assert READING.attributes["a", "rel"] == ["noopener"] * len(links)
    assert READING.attributes["a", "target"] == ["_blank"] * len(links)
    wanted = {CARD.dataset_url, CARD.croissant_url, CARD.contact_url, CARD.paper_url}
    wanted |= {f"https://doi.org/{CARD.doi}", *(origin.url for origin in CARD.origins)}
    assert wanted <= set(links)


def test_everything_the_card_says_is_shown() -> None:
    remarks = (*CARD.scoring, *CARD.known_errors, *CARD.cautions)
    texts = [CARD.summary, CARD.licence_note, CARD.content_warning, CARD.contact_note]
    texts += [
        CARD.croissant_note,
        *CARD.lengths.values(),
        *(each.citation for each in CARD.origins),
    ]
    for words in (*texts, *(each.title for each in remarks), *(each.text for each in remarks)):
        assert words in READING.words

"""The table of lengths: every number under its head, names as text, all of it accessible."""

from dataclasses import replace
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from explorer.data.lengths import LengthStats, Longer, Spread
from explorer.data.table import UNITS, Measure, Unit
from explorer.reader.state import PairsState
from explorer.tabs.pairs.lengths import longer_html, stats_html

CHOSEN = Spread(2064.125, 310.2, 1999.5, 3501.0, 40, 4926)
REJECTED = Spread(427.6, 90.1, 400.0, 1200.25, 15, 1569)


class _Cells(HTMLParser):
    """Rows of (tag, attributes, words), and every tag there is."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.rows: list[list[tuple[str, dict[str, str | None], str]]] = []
        self.tags: list[str] = []
        self.words = ""
        self.in_cell = False
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.in_cell |= tag in ("th", "td")
        if tag == "tr":
            self.rows.append([])
        if tag in ("th", "td"):
            self.rows[-1].append((tag, dict(attrs), ""))

    def handle_endtag(self, tag: str) -> None:
        self.in_cell &= tag not in ("th", "td")

    def handle_data(self, data: str) -> None:
        self.words += data
        if self.in_cell:
            tag, attrs, words = self.rows[-1][-1]
            self.rows[-1][-1] = (tag, attrs, words + data)


def line(subset: str | None, n: int, **spreads: Spread) -> LengthStats:
    named: dict[Measure, Spread] = {}
    for measure in ("prompt", "chosen", "rejected", "difference"):
        if measure in spreads:
            named[measure] = spreads[measure]
    return LengthStats(subset, n, named)


def both(subset: str | None, n: int) -> LengthStats:
    return line(subset, n, chosen=CHOSEN, rejected=REJECTED)


def words_of(html: str) -> list[list[str]]:
    return [[words for _, _, words in row] for row in _Cells(html).rows]


def test_chosen_and_rejected_stand_in_two_groups() -> None:
    rows = _Cells(stats_html([both("hep-go", 1234), both(None, 1234)], PairsState())).rows
    groups = [cell for cell in rows[0] if cell[1].get("scope") == "colgroup"]
    assert [(words, attrs["colspan"]) for _, attrs, words in groups] == [
        ("Chosen", "6"),
        ("Rejected", "6"),
    ]
    assert [words for _, _, words in rows[1]] == [
        "Mean", "SD", "Median", "95th percentile", "Minimum", "Maximum",
    ] * 2  # fmt: skip
    numbers = ["1,234", "2,064.1", "310.2", "1,999.5", "3,501.0", "40", "4,926"]
    more = ["427.6", "90.1", "400.0", "1,200.2", "15", "1,569"]
    assert [words for _, _, words in rows[2]] == ["hep-go", *numbers, *more]
    assert [words for _, _, words in rows[3]] == ["All pairs", *numbers, *more]


def test_every_line_begins_with_a_head_and_every_head_says_of_what() -> None:
    lines = [both("a", 2), both("b", 3), both(None, 5)]
    rows = _Cells(stats_html(lines, PairsState())).rows
    for row in rows[2:]:
        assert (row[0][0], row[0][1]["scope"]) == ("th", "row")
        assert {name for name, _, _ in row[1:]} == {"td"}
    assert all(attrs.get("scope") for row in rows for name, attrs, _ in row if name == "th")


def test_one_measure_needs_no_groups() -> None:
    lines = [line("a", 2, prompt=CHOSEN), line(None, 2, prompt=CHOSEN)]
    rows = words_of(stats_html(lines, PairsState(unit="words")))
    assert rows[0] == [
        "Subset", "Pairs", "Mean", "SD", "Median", "95th percentile", "Minimum", "Maximum",
    ]  # fmt: skip
    assert len(rows) == 3


def test_differences_below_zero_have_a_minus_sign() -> None:
    spread = Spread(-12.34, 1.0, -1500.0, 0.0, -2000, -3)
    rows = words_of(stats_html([line(None, 1, difference=spread)], PairsState()))
    assert rows[-1] == ["All pairs", "1", "−12.3", "1.0", "−1,500.0", "0.0", "−2,000", "−3"]


@pytest.mark.parametrize("unit", UNITS)
def test_the_caption_says_what_is_measured_and_in_what(unit: Unit) -> None:
    html = stats_html([both(None, 2)], PairsState(unit=unit))
    name = {"chars": "characters"}.get(unit, unit)
    assert f"<caption>Length of responses in {name}, by subset</caption>" in html


def test_pairs_of_subsets_without_a_line_are_numbered() -> None:
    few, all_of_them = ([both("a", n), both(None, 5)] for n in (2, 5))
    assert "3 pairs are in smaller subsets" in stats_html(few, PairsState())
    assert "smaller" not in stats_html(all_of_them, PairsState())


def test_no_lines_give_nothing() -> None:
    assert stats_html([], PairsState()) == ""


def test_which_response_is_longer_stands_by_section_and_leads_to_its_pairs() -> None:
    lines = [
        Longer("Chat", is_section=True, chosen=1518.5, rejected=510, chosen_longer=2, equal=1,
               rejected_longer=1),
        Longer("<b>", is_section=False, chosen=15, rejected=1500, chosen_longer=1, equal=0,
               rejected_longer=2),
    ]  # fmt: skip
    html = longer_html([*lines, replace(lines[0], name=None)], PairsState(chart="difference"))
    rows = words_of(html)
    assert rows[1][:5] == ["Chat", "4", "1,518", "510", "+1,008"] and rows[1][-1] == "50 %"
    assert rows[2][:5] == ["<b>", "3", "15", "1,500", "−1,485"]
    assert rows[3][0] == "All pairs"
    assert 'href="?tab=pairs&amp;subset=%3Cb%3E&amp;chart=difference"' in html
    assert longer_html([], PairsState()) == ""


@given(st.text(alphabet="<>&\"'/ ab=", min_size=1, max_size=40))
def test_a_name_stays_text_whatever_it_is(name: str) -> None:
    reading = _Cells(stats_html([both(name, 1), both(None, 1)], PairsState()))
    assert set(reading.tags) == {
        "div", "table", "caption", "thead", "tbody", "tfoot", "tr", "th", "td",
    }  # fmt: skip
    assert reading.rows[2][0][2] == name

"""The reader's HTML: inert, whole, and honest about what is missing."""

from html.parser import HTMLParser

from hypothesis import given
from hypothesis import strategies as st

from explorer.ui.reader import pair_html, position_html
from scoring.spec import ScoredPair

TAGS = {"div", "section", "header", "b", "span", "ins", "del"}


class _Reading(HTMLParser):
    """The tags and the text of some HTML."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: set[str] = set()
        self.words = ""
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)

    def handle_data(self, data: str) -> None:
        self.words += data


def _cells(text: str) -> dict[str, str]:
    names = ("prompt", "chosen", "rejected", "chosen_model", "rejected_model", "subset", "key")
    return dict.fromkeys(names, text)


@given(st.text(alphabet="<>&\"'$`{}=/ sciptonrxm\n", max_size=60), st.booleans())
def test_text_stays_text_whatever_it_is(text: str, diff: bool) -> None:
    reading = _Reading(pair_html(_cells(text), text or "k", diff))
    assert reading.tags <= TAGS
    assert text in reading.words


def test_an_empty_response_is_said() -> None:
    assert "(empty)" in pair_html(_cells(""), "k", True)


def test_a_pair_without_its_text_still_shows_its_margin() -> None:
    scored = ScoredPair("s:1", "s", "0" * 16, 0.5, 1.5, 3, 4)
    html = pair_html(None, "s:1", True, scored)
    assert "not at hand" in html and "−1.000" in html


def test_no_open_pair_is_said() -> None:
    assert "There is no pair" in pair_html(None, None, True)


def test_the_position_counts_from_one() -> None:
    assert "2 of 3" in position_html(["a", "b", "c"], "b")
    assert "outside the filter" in position_html(["a"], "z")

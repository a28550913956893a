from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from explorer.reader.diffs import (
    MOST_WORDS,
    SHORTEST_SAME,
    Sides,
    Span,
    automatic,
    char_diff,
    unlike,
    word_diff,
)

letters = st.one_of(
    st.text(max_size=60),
    st.text(alphabet="ab\u0301\u200d\r\n", max_size=60),
    st.lists(
        st.sampled_from(["return x", " + ", "e\u0301", "👩\u200d💻", "\r\n", "日"]), max_size=30
    ).map("".join),
)
texts = st.one_of(
    st.text(max_size=60),
    st.text(alphabet="ab \n\t", max_size=60),
    st.lists(st.sampled_from(["red ", "dog", " ", "\n\n", "é", "日本 "]), max_size=30).map("".join),
)


def joined(spans: list[Span]) -> str:
    return "".join(span.text for span in spans)


Compared = Callable[[str, str], Sides | None]


@pytest.mark.parametrize("compared", [word_diff, char_diff])
@given(texts | letters, texts | letters)
def test_joined_spans_give_the_texts_back_and_what_is_the_same_is_on_both_sides(
    compared: Compared, chosen: str, rejected: str
) -> None:
    spans = compared(chosen, rejected)
    assert spans is not None
    chosen_spans, rejected_spans = spans
    assert (joined(chosen_spans), joined(rejected_spans)) == (chosen, rejected)
    same = [span.text for span in chosen_spans if not span.difference]
    assert same == [span.text for span in rejected_spans if not span.difference]
    for one, other in zip(chosen_spans, rejected_spans, strict=True):
        assert one.difference == other.difference
        assert one.text != other.text or not one.difference


SPANS: dict[tuple[Compared, str, str], tuple[list[Span], list[Span]]] = {
    (word_diff, "", ""): ([], []),
    (word_diff, "a b", ""): ([Span("a b", 1)], [Span("", 1)]),
    (word_diff, "a red dog", "a dog"): (
        [Span("a "), Span("red ", 1), Span("dog")],
        [Span("a "), Span("", 1), Span("dog")],
    ),
    (word_diff, "return x + 1", "return x - 1"): (
        [Span("return x "), Span("+ ", 1), Span("1")],
        [Span("return x "), Span("- ", 1), Span("1")],
    ),
    (word_diff, " ", "\n"): ([Span(" ", 1)], [Span("\n", 1)]),
    (char_diff, "same", "same"): ([Span("same")], [Span("same")]),
    (char_diff, "range(n)", "range(n - 1)"): (
        [Span("range(n"), Span("", 1), Span(")")],
        [Span("range(n"), Span(" - 1", 1), Span(")")],
    ),
    # What both have within "foo" and "oof" is too little to be read as the same.
    (char_diff, "the foo here", "the oxf here"): (
        [Span("the "), Span("foo", 1), Span(" here")],
        [Span("the "), Span("oxf", 1), Span(" here")],
    ),
    # An accent goes with its letter.
    (char_diff, "cafe\u0301 au lait", "cafe au lait"): (
        [Span("caf"), Span("e\u0301", 1), Span(" au lait")],
        [Span("caf"), Span("e", 1), Span(" au lait")],
    ),
}
"""How two texts are compared -> the spans of each."""


@pytest.mark.parametrize(
    "case", SPANS, ids=lambda case: f"{case[0].__name__} {case[1]!r} {case[2]!r}"
)
def test_what_differs_is_marked_in_both(case: tuple[Compared, str, str]) -> None:
    compared, chosen, rejected = case
    assert compared(chosen, rejected) == SPANS[case]


def test_texts_up_to_the_limit_are_compared_and_longer_ones_are_not() -> None:
    half = "".join(f"{number} " for number in range(MOST_WORDS // 2))
    assert word_diff(half, half) == ([Span(half)], [Span(half)])
    assert word_diff(half + "more", half) is None


@given(letters, letters)
def test_what_both_have_between_two_changes_is_long_enough_to_be_read(
    chosen: str, rejected: str
) -> None:
    spans = char_diff(chosen, rejected)
    assert spans is not None
    inner = [span for span in spans[0][1:-1] if not span.difference]
    assert all(len(span.text) >= SHORTEST_SAME for span in inner)


def test_characters_are_compared_where_few_differ() -> None:
    text = "The quick brown fox jumps over the lazy dog."
    assert automatic(text, text.replace("fox", "cat"), "mine") == "characters"
    assert automatic(text, "The quick brown cat jumps over a dead fox.", "mine") == "words"


def test_texts_with_little_in_common_are_not_compared_unless_it_is_asked_for() -> None:
    common, own = "one two three ", "a b c d e f g "
    for more, is_unlike in (("h i j k l m n", False), ("h i j k l m n o", True)):
        chosen, rejected = common + own, f"{common}{more}"
        assert unlike(chosen, rejected) == is_unlike
        assert (automatic(chosen, rejected, "mine") == "off") == is_unlike
    assert not unlike("", "") and unlike("", "a")

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from explorer.data.table import PairTable
from explorer.reader.diffs import (
    DIFFS,
    MOST_CHARACTERS,
    MOST_WORDS,
    SHORTEST_SAME,
    Diff,
    Span,
    automatic,
    char_diff,
    diff_spans,
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


def diff(chosen: str, rejected: str) -> tuple[list[Span], list[Span]]:
    spans = word_diff(chosen, rejected)
    assert spans is not None
    return spans


def joined(spans: list[Span]) -> str:
    return "".join(span.text for span in spans)


@settings(max_examples=300)
@given(texts, texts)
def test_joined_spans_give_the_texts_back(chosen: str, rejected: str) -> None:
    chosen_spans, rejected_spans = diff(chosen, rejected)
    assert joined(chosen_spans) == chosen
    assert joined(rejected_spans) == rejected


@settings(max_examples=300)
@given(texts, texts)
def test_what_is_the_same_is_the_same_on_both_sides(chosen: str, rejected: str) -> None:
    chosen_spans, rejected_spans = diff(chosen, rejected)
    same = [span.text for span in chosen_spans if span.same]
    assert same == [span.text for span in rejected_spans if span.same]
    assert all(span.text for span in chosen_spans + rejected_spans)


@pytest.mark.parametrize(
    ("chosen", "rejected", "chosen_spans", "rejected_spans"),
    [
        ("", "", [], []),
        ("a b", "", [Span("a b", False)], []),
        ("", "a b", [], [Span("a b", False)]),
        ("a b", "a b", [Span("a b", True)], [Span("a b", True)]),
        (
            "a red dog",
            "a dog",
            [Span("a ", True), Span("red ", False), Span("dog", True)],
            [Span("a ", True), Span("dog", True)],
        ),
        (
            "return x + 1",
            "return x - 1",
            [Span("return x ", True), Span("+ ", False), Span("1", True)],
            [Span("return x ", True), Span("- ", False), Span("1", True)],
        ),
        (" ", "\n", [Span(" ", False)], [Span("\n", False)]),
        ("Dog", "dog", [Span("Dog", False)], [Span("dog", False)]),
    ],
)
def test_spans_of_words(
    chosen: str, rejected: str, chosen_spans: list[Span], rejected_spans: list[Span]
) -> None:
    assert diff(chosen, rejected) == (chosen_spans, rejected_spans)


def test_a_word_is_compared_however_often_it_comes() -> None:
    again = "the " * 300
    assert diff(f"x {again}", f"y {again}") == (
        [Span("x ", False), Span(again, True)],
        [Span("y ", False), Span(again, True)],
    )


def test_texts_up_to_the_limit_are_compared_and_longer_ones_are_not() -> None:
    half = MOST_WORDS // 2
    words = [f"{number} " for number in range(half)]
    assert diff("".join(words), "".join(words))[0] == [Span("".join(words), True)]
    assert word_diff("".join([*words, "more"]), "".join(words)) is None
    assert word_diff("", "a " * (MOST_WORDS + 1)) is None


def again_and_again(words: int) -> dict[str, tuple[str, str]]:
    """Texts of one word that stands between others, so that nearly every match is one word."""
    return {
        "one of two": ("a " * words, "b a " * (words // 2)),
        "two of three": ("a a b " * (words // 3), "a b b " * (words // 3)),
        "three of four": (
            "".join(f"a a a c{number} " for number in range(words // 4)),
            "".join(f"a a a r{number} " for number in range(words // 4)),
        ),
    }


@pytest.mark.parametrize("name", again_and_again(0))
def test_a_word_that_comes_again_and_again_is_compared_without_loss(name: str) -> None:
    chosen, rejected = again_and_again(150)[name]
    chosen_spans, rejected_spans = diff(chosen, rejected)
    assert (joined(chosen_spans), joined(rejected_spans)) == (chosen, rejected)


@pytest.mark.parametrize("name", again_and_again(0))
def test_the_longest_texts_are_compared_or_said_to_be_too_long(name: str) -> None:
    chosen, rejected = again_and_again(MOST_WORDS // 2)[name]
    spans = word_diff(chosen, rejected)
    assert spans is None or (joined(spans[0]), joined(spans[1])) == (chosen, rejected)


def test_the_real_split_is_compared_without_loss(real: PairTable) -> None:
    for row in range(0, len(real), 10):
        cells = real.cells(row)
        chosen_spans, rejected_spans = diff(cells["chosen"], cells["rejected"])
        assert joined(chosen_spans) == cells["chosen"]
        assert joined(rejected_spans) == cells["rejected"]
        assert not all(span.same for span in chosen_spans + rejected_spans)


def char_spans(chosen: str, rejected: str) -> tuple[list[Span], list[Span]]:
    spans = char_diff(chosen, rejected)
    assert spans is not None
    return spans


@settings(max_examples=300)
@given(letters, letters)
def test_joined_spans_of_characters_give_the_texts_back(chosen: str, rejected: str) -> None:
    chosen_spans, rejected_spans = char_spans(chosen, rejected)
    assert (joined(chosen_spans), joined(rejected_spans)) == (chosen, rejected)
    same = [span.text for span in chosen_spans if span.same]
    assert same == [span.text for span in rejected_spans if span.same]
    assert all(span.text for span in chosen_spans + rejected_spans)


@settings(max_examples=300)
@given(letters, letters)
def test_what_both_have_between_two_changes_is_long_enough_to_be_read(
    chosen: str, rejected: str
) -> None:
    chosen_spans, _ = char_spans(chosen, rejected)
    inner = [span for span in chosen_spans[1:-1] if span.same]
    assert all(len(span.text) >= SHORTEST_SAME for span in inner)


@pytest.mark.parametrize(
    ("chosen", "rejected", "chosen_spans", "rejected_spans"),
    [
        ("", "", [], []),
        ("ab", "", [Span("ab", False)], []),
        ("same", "same", [Span("same", True)], [Span("same", True)]),
        (
            "range(n)",
            "range(n - 1)",
            [Span("range(n", True), Span(")", True)],
            [Span("range(n", True), Span(" - 1", False), Span(")", True)],
        ),
        # What both have within "foo" and "oof" is too little to be read as the same.
        (
            "the foo here",
            "the oxf here",
            [Span("the ", True), Span("foo", False), Span(" here", True)],
            [Span("the ", True), Span("oxf", False), Span(" here", True)],
        ),
        # An accent goes with its letter.
        (
            "cafe\u0301 au lait",
            "cafe au lait",
            [Span("caf", True), Span("e\u0301", False), Span(" au lait", True)],
            [Span("caf", True), Span("e", False), Span(" au lait", True)],
        ),
    ],
)
def test_spans_of_characters(
    chosen: str, rejected: str, chosen_spans: list[Span], rejected_spans: list[Span]
) -> None:
    assert char_spans(chosen, rejected) == (chosen_spans, rejected_spans)


def test_characters_up_to_the_limit_are_compared_and_more_are_not() -> None:
    half = "a" * (MOST_CHARACTERS // 2)
    assert char_spans(half, half)[0] == [Span(half, True)]
    assert char_diff(half, half + "a") is None


@pytest.mark.parametrize("mode", DIFFS)
@settings(max_examples=50)
@given(texts, texts)
def test_every_diff_gives_the_texts_back(mode: Diff, chosen: str, rejected: str) -> None:
    spans = diff_spans(chosen, rejected, mode)
    assert (spans is None) == (mode == "off")
    if spans is not None:
        assert (joined(spans[0]), joined(spans[1])) == (chosen, rejected)


def test_too_many_characters_are_compared_word_by_word_unless_characters_were_asked_for() -> None:
    long = "word " * (MOST_CHARACTERS // 5)
    assert diff_spans(long, long + "x", "characters") is None
    assert diff_spans(long, long + "x", "auto", "hep-python") == word_diff(long, long + "x")


def test_characters_are_compared_where_few_differ() -> None:
    text = "The quick brown fox jumps over the lazy dog."
    assert automatic(text, text.replace("fox", "cat"), "mine") == "characters"
    assert automatic(text, "Nothing of the kind was ever seen here.", "mine") == "words"


def test_the_real_split_is_compared_by_what_shows_it(real: PairTable) -> None:
    characters: dict[str, int] = {}
    for row in range(0, len(real), 10):
        cells = real.cells(row)
        subset = cells["subset"]
        chosen, rejected = cells["chosen"], cells["rejected"]
        characters.setdefault(subset, 0)
        characters[subset] += automatic(chosen, rejected, subset) == "characters"
        spans = diff_spans(chosen, rejected, "auto", subset)
        assert spans is not None
        assert (joined(spans[0]), joined(spans[1])) == (chosen, rejected)
    assert all(count > 10 for subset, count in characters.items() if subset.startswith("hep-"))
    assert sum(n for subset, n in characters.items() if not subset.startswith("hep-")) < 5

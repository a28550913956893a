import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from explorer.diffs import MOST_WORDS, Span, word_diff
from explorer.table import PairTable

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


@settings(max_examples=300, deadline=None)
@given(texts, texts)
def test_joined_spans_give_the_texts_back(chosen: str, rejected: str) -> None:
    chosen_spans, rejected_spans = diff(chosen, rejected)
    assert joined(chosen_spans) == chosen
    assert joined(rejected_spans) == rejected


@settings(max_examples=300, deadline=None)
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

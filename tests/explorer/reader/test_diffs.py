"""What differs between two texts, what is marked in one, and what of it cannot be seen."""

from collections.abc import Callable
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from explorer.data.datacard import data_card
from explorer.reader.colours import LONGEST_COLOURED, colours
from explorer.reader.diffs import (
    DIFFS,
    MOST_WORDS,
    SHORTEST_SAME,
    Diff,
    Sides,
    Span,
    VisibleSpace,
    char_diff,
    pieces,
    visible,
    word_diff,
)
from explorer.reader.lines import aligned, line_starts

PARTS = ["return x", " + ", "e\u0301", "👩\u200d💻", "\r\n", "日本 ", "red ", "dog", " ", "\n\n"]
texts = (
    st.text(max_size=60)
    | st.text(alphabet="ab\u0301\u200d \r\n\t", max_size=60)
    | st.lists(st.sampled_from(PARTS), max_size=30).map("".join)
)


def joined(spans: list[Span]) -> str:
    return "".join(span.text for span in spans)


Compared = Callable[[str, str], Sides | None]


@pytest.mark.parametrize("compared", [word_diff, char_diff])
@given(texts, texts)
def test_joined_spans_give_the_texts_back_and_what_is_the_same_is_on_both_sides(
    compared: Compared, chosen: str, rejected: str
) -> None:
    spans = compared(chosen, rejected)
    assert spans is not None
    assert [*map(joined, spans)] == [chosen, rejected]
    for one, other in zip(*spans, strict=True):
        assert one.difference == other.difference
        assert (one.text != other.text) == bool(one.difference)
    if compared is char_diff:  # what both have between two changes is long enough to be read
        inner = [span for span in spans[0][1:-1] if not span.difference]
        assert all(len(span.text) >= SHORTEST_SAME for span in inner)


MARKED: list[tuple[Compared, list[tuple[str, str] | str]]] = [
    (word_diff, []),
    (word_diff, [("a b", "")]),
    (word_diff, ["a ", ("red ", ""), "dog"]),
    (word_diff, ["return x ", ("+ ", "- "), "1"]),
    (word_diff, [(" ", "\n")]),
    (char_diff, ["range(n", ("", " - 1"), ")"]),
    # What both have within "foo" and "oof" is too little to be read as the same.
    (char_diff, ["the ", ("foo", "oxf"), " here"]),
    # An accent goes with its letter.
    (char_diff, ["caf", ("e\u0301", "e"), " au"]),
]
"""How two texts are compared, what of them is the same in both, and what stands in each."""


@pytest.mark.parametrize(("compared", "marked"), MARKED)
def test_what_differs_is_marked_in_both(
    compared: Compared, marked: list[tuple[str, str] | str]
) -> None:
    one, other = (
        [Span(each) if isinstance(each, str) else Span(each[side], 1) for each in marked]
        for side in (0, 1)
    )
    assert compared(joined(one), joined(other)) == (one, other)


def test_texts_up_to_the_limit_are_compared_and_longer_ones_are_not() -> None:
    half = "".join(f"{number} " for number in range(MOST_WORDS // 2))
    assert word_diff(half, half) == ([Span(half)], [Span(half)])
    assert word_diff(half + "more", half) is None


@given(
    st.lists(st.builds(Span, st.text(min_size=1, max_size=6), st.integers(0, 3)), max_size=12),
    st.data(),
)
def test_every_character_is_marked_as_its_span_and_hit_say(
    cut: list[Span], data: st.DataObject
) -> None:
    text = joined(cut)
    edges = data.draw(st.sets(st.integers(0, len(text)), max_size=8))
    hits = [*pairwise(sorted(edges))][::2]
    found = pieces(text, cut, hits)
    assert "".join(piece.text for piece in found) == text and all(piece.text for piece in found)
    changed = [span.difference for span in cut for _ in span.text]
    hit = [any(start <= place < end for start, end in hits) for place in range(len(text))]
    assert [piece.difference for piece in found for _ in piece.text] == changed
    assert [piece.hit for piece in found for _ in piece.text] == hit


@given(st.text())
def test_nothing_that_takes_no_ink_is_left_without_a_sign(text: str) -> None:
    assert "".join(shown.text for shown in visible(text)) == text
    for shown in visible(text):
        written = shown.sign or shown.text
        assert written.removesuffix("\t").replace("→\t", "").replace("¶\n", "").isprintable()
        assert " " not in written


@pytest.mark.parametrize(
    ("character", "name"),
    [("\u202e", "RIGHT-TO-LEFT OVERRIDE"), ("\u3164", "HANGUL FILLER"), ("\x00", "")],
)
def test_what_cannot_be_seen_is_named(character: str, name: str) -> None:
    named = VisibleSpace(character, f"U+{ord(character):04X}", name)
    assert visible(f"a{character}b") == [VisibleSpace("a"), named, VisibleSpace("b")]


# Lines beside each other, and the colours of code.

code = st.lists(
    st.sampled_from(["\n", "x = 1", "x = 2\n", "    return x", "\t}\n", "a\r\n", "é\n", "\x0c"])
).map("".join)


def lines_of(text: str) -> list[str]:
    starts = line_starts(text)
    return [text[start:end] for start, end in pairwise([*starts, len(text)])]


@given(code, code, st.sampled_from([mode for mode in DIFFS if mode != "off"]))
def test_every_line_has_its_row_and_equal_lines_stand_beside_each_other(
    chosen: str, rejected: str, mode: Diff
) -> None:
    made = aligned(chosen, rejected, mode)
    assert made is not None
    for spans, rows, words in zip(made.spans, made.rows, (chosen, rejected), strict=True):
        assert "".join(span.text for span in spans) == words
        lines = [row.line for row in rows if row.line]
        assert lines == [*range(1, len(lines_of(words)) + 1)]
    for one, other in zip(*made.rows, strict=True):
        assert one.difference == other.difference and (one.line or other.line)
        if not one.difference:
            assert one.line and other.line
            assert lines_of(chosen)[one.line - 1] == lines_of(rejected)[other.line - 1]


@pytest.mark.parametrize("language", filter(None, (each.language for each in data_card().subsets)))
def test_each_language_has_keywords_strings_numbers_and_comments(language: str) -> None:
    code = f'return f(12, "word") {"#" if language == "Python" else "//"} why\n'
    found = {kind: code[start:end] for (start, end), kind in colours(code, language).items()}
    assert {"keyword", "string", "number", "comment"} <= found.keys()
    assert (found["keyword"].strip(), found["string"]) == ("return", '"word"')
    assert colours(code, "") == colours("1;" * LONGEST_COLOURED, language) == {}

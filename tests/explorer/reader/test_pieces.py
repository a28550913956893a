from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from explorer.reader.diffs import Span, VisibleSpace, pieces, visible

spans = st.lists(st.builds(Span, st.text(min_size=1, max_size=6), st.integers(0, 3)), max_size=12)


@st.composite
def marked(draw: st.DrawFn) -> tuple[str, list[Span], list[tuple[int, int]]]:
    """A text, the same as spans, and hits in it that are in order and do not overlap."""
    cut = draw(spans)
    text = "".join(span.text for span in cut)
    edges = sorted(draw(st.sets(st.integers(0, len(text)), max_size=8)))
    hits = list(pairwise(edges))
    return text, cut, hits[:: draw(st.sampled_from([1, 2]))]


@given(marked())
def test_every_character_is_marked_as_its_span_and_hit_say(
    given_marks: tuple[str, list[Span], list[tuple[int, int]]],
) -> None:
    text, cut, hits = given_marks
    found = pieces(text, cut, hits)
    assert "".join(piece.text for piece in found) == text
    assert all(piece.text for piece in found)
    changed = [span.difference for span in cut for _ in span.text]
    hit = [any(start <= place < end for start, end in hits) for place in range(len(text))]
    assert [piece.difference for piece in found for _ in piece.text] == changed
    assert [piece.hit for piece in found for _ in piece.text] == hit


@given(st.text())
def test_the_shown_text_is_the_text_and_nothing_that_takes_no_ink_is_left_without_a_sign(
    text: str,
) -> None:
    assert "".join(shown.text for shown in visible(text)) == text
    for shown in visible(text):
        written = shown.sign or shown.text
        assert written.removesuffix("\t").replace("→\t", "").replace("¶\n", "").isprintable()
        assert " " not in written


def test_what_cannot_be_seen_is_named() -> None:
    hidden = {
        "\u00a0": "NO-BREAK SPACE",
        "\u200b": "ZERO WIDTH SPACE",
        "\u202e": "RIGHT-TO-LEFT OVERRIDE",
        "\u3164": "HANGUL FILLER",
        "\U000e0041": "TAG LATIN CAPITAL LETTER A",
        "\x00": "",
    }
    for character, name in hidden.items():
        sign = f"U+{ord(character):04X}"
        assert visible(f"a{character}b") == [
            VisibleSpace("a"),
            VisibleSpace(character, sign, name),
            VisibleSpace("b"),
        ]

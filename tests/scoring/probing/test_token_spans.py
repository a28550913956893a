"""Where in a text its tokens stand, and which are the response's."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import processors
from transformers import AutoTokenizer, ByT5Tokenizer

from scoring.engine.formatting import Formatter, TokenSequence
from scoring.engine.formatting import Tokenizer as AnyTokenizer
from scoring.errors import KnownError
from scoring.probing.token_rewards import Piece, locate_tokens, response_span, side_pieces
from scoring.spec import Pair, RunSettings
from tests.conftest import DEMO_MODEL
from tests.support.plain_words import WITH_BOS, words_tokenizer

MIXED = "Red, 青い水 🤔🤔 über…\n\n  naïve\tend "
TRIMMED = WITH_BOS.replace("message['content']", "message['content'] | trim")


@pytest.fixture(scope="module")
def demo() -> AnyTokenizer:
    return AutoTokenizer.from_pretrained(DEMO_MODEL)


def pieces(tokenizer: AnyTokenizer, text: str) -> list[str]:
    ids, spans = locate_tokens(tokenizer, text, special=False)
    assert ids == tuple(tokenizer(text, add_special_tokens=False).input_ids)
    assert len(spans) == len(ids)
    return [text[start:end] for start, end in spans]


def sides(pair: Pair, tokenizer: AnyTokenizer, **settings: object) -> list[list[Piece]]:
    used = Formatter(tokenizer, 10_000, RunSettings(**settings))  # type: ignore[arg-type]
    return side_pieces(used, used.prepare([pair])[0])


def response_of(side: list[Piece]) -> str:
    return "".join(piece for piece, in_response in side if in_response)


@given(text=st.text())
def test_pieces_join_to_the_text(text: str, demo: AnyTokenizer) -> None:
    assert "".join(pieces(demo, text)) == text


def test_offsets_without_their_spaces_or_none_at_all_come_to_the_same(demo: AnyTokenizer) -> None:
    """As Llama 3's post-processor trims them; a token of ByT5 is a byte, found by decoding."""
    trimmed = AutoTokenizer.from_pretrained(DEMO_MODEL)
    trimmed.backend_tokenizer.post_processor = processors.ByteLevel(trim_offsets=True)
    told = trimmed(MIXED, return_offsets_mapping=True).offset_mapping
    assert told != demo(MIXED, return_offsets_mapping=True).offset_mapping
    assert pieces(trimmed, MIXED) == pieces(demo, MIXED)
    assert pieces(demo, "ab 🤔c") == ["ab", " ", "", "", "", "🤔", "c"]
    expected = ["a", " ", "", "é", "", "", "", "🤔", "b", "</s>", "c"]
    assert pieces(ByT5Tokenizer(), "a é🤔b</s>c") == expected


def test_a_response_is_what_the_template_does_not_write() -> None:
    """Which may write the same words, look at them, or leave them out."""
    for text, marked, span in (
        ("<u>end<a>end<end>", "<u>end<a>*<end>", (9, 12)),
        ("<a><<end>", "<a>*<end>", (3, 4)),
        ("<a>think<end>", "<a>no thoughts*<end>", (3, 8)),
        ("<a>words", "<a>", (3, 8)),
    ):
        assert response_span(text, marked, "*") == span


def test_both_sides_are_placed(demo: AnyTokenizer) -> None:
    """Also as a template trims them, and where one begins with a piece of a character."""
    chosen, rejected = sides(Pair("s:1", "s", "end", MIXED, "🤔"), demo)
    assert (response_of(chosen), response_of(rejected)) == (MIXED, "🤔")
    for side in (chosen, rejected):
        assert (side[0], side[-1]) == (("\n", False), ("<|im_end|>", False))
        assert all(in_response for _, in_response in side[1:-1])
    tokenizer = AutoTokenizer.from_pretrained(DEMO_MODEL)
    tokenizer.chat_template = TRIMMED
    chosen, _ = sides(Pair("s:1", "s", "one", " two \n", "three"), tokenizer)
    assert response_of(chosen).strip() == "two"


def test_an_empty_response_or_one_without_a_token_of_its_own_is_refused(
    demo: AnyTokenizer,
) -> None:
    trimming = words_tokenizer(TRIMMED, bos_token="<s>", eos_token="</s>")
    for chosen, rejected, used in (("", "two", demo), ("two", "", demo), (" \n ", "two", trimming)):
        named = "chosen" if chosen != "two" else "rejected"
        with pytest.raises(KnownError, match=f"The {named} response is empty"):
            sides(Pair("s:1", "s", "one", chosen, rejected), used)


def test_truncation_keeps_the_places_and_a_response_that_is_cut_off_is_refused(
    demo: AnyTokenizer,
) -> None:
    pair = Pair("s:1", "s", "one", MIXED, "two")
    whole, _ = sides(pair, demo)
    left, _ = sides(pair, demo, max_length=9)
    assert left == whole[-9:]
    n = len(Formatter(demo, 10_000, RunSettings()).prepare([pair])[0].chosen.ids)
    right, _ = sides(pair, demo, max_length=n - 9, truncation_side="right")
    assert right == whole[:-9]
    with pytest.raises(KnownError, match=f"chosen response is cut off: .* has {n} tokens, of"):
        sides(pair, demo, max_length=3, truncation_side="right")


def test_other_tokens_than_the_models_are_not_placed(demo: AnyTokenizer) -> None:
    """As of a tokenizer that treats a conversation otherwise than its text."""
    used = Formatter(demo, 100, RunSettings())
    (prepared,) = used.prepare([Pair("s:1", "s", "one", "two", "three")])
    tampered = replace(prepared, chosen=TokenSequence((*prepared.chosen.ids[:-1], 5)))
    with pytest.raises(KnownError, match="does not say where in a text its tokens stand"):
        side_pieces(used, tampered)

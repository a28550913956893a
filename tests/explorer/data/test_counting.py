from typing import Any

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from explorer.data.counting import count_chars, count_words

LETTERS = " \t\n\r\f\v\0a\u00a0\u0085é日🌈"
TEXTS = st.text(st.characters(exclude_categories=["Cs"])) | st.text(LETTERS)


def column(*chunks: list[str]) -> "pa.ChunkedArray[Any]":
    return pa.chunked_array([pa.array(chunk, pa.large_string()) for chunk in chunks])


@given(st.lists(st.lists(TEXTS, max_size=6), max_size=4))
def test_characters_and_words_are_those_that_python_counts(chunks: list[list[str]]) -> None:
    texts = pa.chunked_array(
        [pa.array(chunk, pa.large_string()) for chunk in chunks], pa.large_string()
    )
    flat = [text for chunk in chunks for text in chunk]
    assert count_chars(texts).tolist() == [len(text) for text in flat]
    assert count_words(texts).tolist() == [len(text.encode().split()) for text in flat]


@given(st.lists(TEXTS, max_size=8), st.integers(0, 8), st.integers(0, 8))
def test_a_slice_of_a_chunk_is_counted_from_where_it_begins(
    texts: list[str], start: int, size: int
) -> None:
    cut = pa.chunked_array([pa.array(texts, pa.large_string()).slice(start, size)])
    kept = texts[start : start + size]
    assert count_chars(cut).tolist() == [len(text) for text in kept]
    assert count_words(cut).tolist() == [len(text.encode().split()) for text in kept]


def test_a_word_ends_with_its_text() -> None:
    assert count_words(column(["a", "b", "", " ", "c d"], ["e "])).tolist() == [1, 1, 0, 0, 2, 1]


def test_only_ascii_white_space_parts_words() -> None:
    assert count_words(column(["a\u00a0b", "a\u2003b", "a\vb", "日本 語"])).tolist() == [1, 1, 2, 2]


def test_a_column_without_chunks_has_no_counts() -> None:
    nothing = pa.chunked_array([], pa.large_string())
    assert count_words(nothing).tolist() == count_chars(nothing).tolist() == []

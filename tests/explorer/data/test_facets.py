from typing import get_args

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from explorer.data.facets import NONE, Facet, Marker, count_chars, count_words
from explorer.data.table import PairTable
from tests.support.tables import row, small_table


def names_of(table: PairTable, facet: Facet) -> list[str]:
    column = table.facets[facet]
    return [column.names[code] for code in column.codes]


def test_the_longer_side_is_told_in_characters() -> None:
    lengths = (("ab", "a"), ("éé", "ab"), ("", "x"))
    table = small_table(*(row(chosen=chosen, rejected=rejected) for chosen, rejected in lengths))
    assert names_of(table, "longer") == ["chosen", "equal", "rejected"]
    assert table.facets["longer"].names == ["chosen", "equal", "rejected"]


def test_a_prompt_is_shared_where_another_subset_puts_it() -> None:
    put = (("twice", "a"), ("twice", "a"), ("both", "a"), ("both", "b"), ("both", "b"), ("x", "b"))
    table = small_table(*(row(prompt=prompt, subset=subset) for prompt, subset in put))
    assert names_of(table, "shared") == ["no", "no", "yes", "yes", "yes", "no"]


@pytest.mark.parametrize(
    ("written", "language"),
    [
        ("```py\nx\n```", "Python"),
        ("```c++\nx", "C++"),
        ("```CS\nx", "C#"),
        ("``` \n```", "unnamed"),
        ("```\nx\n```\nthen\n```sh\ny\n```", "Shell"),
        ("```123", "unnamed"),
        ("```none", "None"),
        ("`py`", NONE),
    ],
)
def test_the_language_is_what_the_first_named_fence_says(written: str, language: str) -> None:
    assert names_of(small_table(row(prompt=written)), "language") == [language]


def test_a_card_and_then_prompt_chosen_and_rejected_are_looked_at_in_that_order() -> None:
    table = small_table(
        row(prompt="x", chosen="```go", rejected="```rust"),
        row(prompt="```", chosen="x", rejected="```rust"),
        row(prompt="x", chosen="x", rejected="x"),
        row(subset="hep-rust", prompt="```py"),
        row(subset="hep-cpp"),
    )
    assert names_of(table, "language") == ["Go", "Rust", NONE, "Rust", "C++"]
    assert names_of(table, "code") == ["yes", "yes", "no", "yes", "yes"]


# The real benchmark, against counts that were taken elsewhere.


def test_counts_on_the_real_split(real: PairTable) -> None:
    counts = {
        facet: dict(zip(column.names, np.bincount(column.codes).tolist(), strict=False))
        for facet, column in real.facets.items()
    }
    assert counts["longer"] == {"chosen": 1116, "equal": 368, "rejected": 1501}
    assert counts["shared"] == {"yes": 387, "no": 2985 - 387}
    assert counts["section"] == {"Chat": 358, "Chat Hard": 456, "Safety": 740, "Reasoning": 1431}
    assert names_of(real, "chosen_model") == real.arrow["chosen_model"].to_pylist()
    fenced = sum("```" in str([*row.values()]) for row in real.arrow.to_pylist())
    assert counts["code"]["yes"] == 984 + fenced


# Lengths


LETTERS = " \t\n\r\f\v\0a\u00a0\u0085é日🌈"
TEXTS = st.text(st.characters(exclude_categories=["Cs"])) | st.text(LETTERS)


@given(st.lists(st.lists(TEXTS, max_size=6), max_size=4))
def test_characters_and_words_are_those_that_python_counts(chunks: list[list[str]]) -> None:
    texts = pa.chunked_array(
        [pa.array(chunk, pa.large_string()) for chunk in chunks], pa.large_string()
    )
    flat = [text for chunk in chunks for text in chunk]
    assert count_chars(texts).tolist() == [len(text) for text in flat]
    assert count_words(texts).tolist() == [len(text.encode().split()) for text in flat]


# Markers


HAVE: dict[Marker, list[str]] = {
    "fence": ["```py\nx\n```", "So:\n  ```\nx", "~~~\nx"],
    "list": ["- a", "Two:\n* a\n* b", "1. a\n2. b", "  10) a", "• a"],
    "heading": ["# Answer\n\n5", "x\n### More"],
    "bold": ["a **b** c", "**two words**:"],
    "table": ["| a | b |\n|---|---|\n| 1 | 2 |", "a | b\n--- | :---:\n1 | 2"],
    "refusal": [
        "I'm sorry, but no.", "I’m very sorry. No.", "As an AI language model, I have none.",
        "No, I cannot do that.", "Well, I CAN'T.", "Dear user,\n\nI must respectfully decline.",
    ],
    "apology": ["My apologies!", "I apologize.", "x " * 999 + "Sorry."],
}  # fmt: skip
LACK: dict[Marker, list[str]] = {
    "fence": ["`x`", "a ``` b", "~~x~~"],
    "list": ["a - b", "-a", "1.5 m", "2020. x" + "0" * 9, "--- \n"],
    "heading": ["#tag", "a # b", "#include <x>", "####### x", "    # x"],
    "bold": ["a ** b ** c", "2**3", "****", "__init__"],
    "table": ["a | b", "---", "|---|", "-- | --"],
    "refusal": ["Sure!", "A cannot be B", "I cannoli", "x" * 400 + " I cannot do that."],
    "apology": ["a sorrylooking dog", "unapologetic"],
}


@pytest.mark.parametrize("marker", get_args(Marker))
def test_each_is_found_where_it_is_and_nowhere_else(marker: Marker) -> None:
    have, lack = HAVE[marker], LACK[marker]
    texts = [*have, *lack]
    sides = zip(texts, texts[::-1], strict=True)
    table = small_table(*(row(chosen=chosen, rejected=rejected) for chosen, rejected in sides))
    expected = [True] * len(have) + [False] * len(lack)
    assert [side.tolist() for side in table.markers[marker]] == [expected, expected[::-1]]


def test_refusals_are_where_the_benchmark_has_them(real: PairTable) -> None:
    """Of what should be refused, most chosen responses refuse and next to no rejected ones do."""
    chosen, rejected = real.markers["refusal"]
    rows = real.subset_of_row == "refusals-offensive"
    assert chosen[rows].mean() > 0.95 and rejected[rows].mean() < 0.05
    rows = real.subset_of_row == "xstest-should-respond"
    assert rejected[rows].mean() > 0.8 > 0.1 > chosen[rows].mean()

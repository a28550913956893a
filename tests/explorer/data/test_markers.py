import pytest

from explorer.data.markers import MARKERS, Marker
from explorer.data.table import PairTable
from tests.explorer.tables import row, small_table

HAVE: dict[Marker, list[str]] = {
    "fence": ["```py\nx\n```", "So:\n  ```\nx", "~~~\nx"],
    "list": ["- a", "Two:\n* a\n* b", "1. a\n2. b", "  10) a", "• a"],
    "heading": ["# Answer\n\n5", "x\n### More"],
    "bold": ["a **b** c", "**two words**:"],
    "table": ["| a | b |\n|---|---|\n| 1 | 2 |", "a | b\n--- | :---:\n1 | 2"],
    "refusal": [
        "I'm sorry, but no.",
        "I’m very sorry. No.",
        "I am sorry to hear that.",
        "As an AI language model, I have none.",
        "No, I cannot do that.",
        "Well, I CAN'T.",
        "Dear user,\n\nI must respectfully decline.",
        "I won’t help.",
    ],
    "apology": ["My apologies!", "I apologize.", "x " * 999 + "Sorry."],
}
LACK: dict[Marker, list[str]] = {
    "fence": ["`x`", "a ``` b", "~~x~~"],
    "list": ["a - b", "-a", "1.5 m", "2020. x" + "0" * 9, "--- \n"],
    "heading": ["#tag", "a # b", "#include <x>", "####### x", "    # x"],
    "bold": ["a ** b ** c", "2**3", "****", "__init__"],
    "table": ["a | b", "---", "|---|", "-- | --"],
    "refusal": ["Sure!", "A cannot be B", "I cannoli", "x" * 400 + " I cannot do that."],
    "apology": ["a sorrylooking dog", "unapologetic"],
}


def only(table: PairTable, marker: Marker) -> list[list[bool]]:
    return [side.tolist() for side in table.markers[marker]]


@pytest.mark.parametrize("marker", MARKERS)
def test_each_is_found_where_it_is_and_nowhere_else(marker: Marker) -> None:
    have, lack = HAVE[marker], LACK[marker]
    texts = [*have, *lack]
    table = small_table(
        *(
            row(chosen=words, rejected=other)
            for words, other in zip(texts, texts[::-1], strict=True)
        )
    )
    expected = [True] * len(have) + [False] * len(lack)
    assert only(table, marker) == [expected, expected[::-1]]


def test_they_are_found_once_for_a_table() -> None:
    table = small_table(row(), row(chosen="- a"))
    assert table.markers is table.markers
    assert list(table.markers) == list(MARKERS)


def test_refusals_are_where_the_benchmark_has_them(real: PairTable) -> None:
    """Of what should be refused, most chosen responses refuse and next to no rejected ones do."""
    chosen, rejected = real.markers["refusal"]
    for subset, least in (("refusals-offensive", 0.95), ("refusals-dangerous", 0.7)):
        rows = real.subset_of_row == subset
        assert chosen[rows].mean() > least
        assert rejected[rows].mean() < 0.05
    rows = real.subset_of_row == "xstest-should-respond"
    assert rejected[rows].mean() > 0.8 > 0.1 > chosen[rows].mean()


def test_rejected_math_has_headings_and_chosen_has_none(real: PairTable) -> None:
    rows = real.subset_of_row == "math-prm"
    chosen, rejected = real.markers["heading"]
    assert (chosen[rows].sum(), rejected[rows].sum()) == (0, 447)

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from explorer.filters import Filters, matching_rows, rows_per_subset
from explorer.settings import DEMO_PAIRS
from explorer.table import PairTable
from scoring.benchmark import SECTIONS, SUBSETS
from scoring.errors import KnownError
from scoring.pairs import TEXT_COLUMNS, read_pairs

DEMO = PairTable(read_pairs(DEMO_PAIRS, kind="demo"))
TEXTS = [[cells[column] for column in TEXT_COLUMNS] for cells in map(DEMO.cells, range(len(DEMO)))]


def brute_force(sections: list[str], subsets: list[str], query: str) -> list[int]:
    """What `matching_rows` must find, said in the plainest Python."""
    kept = []
    for row, texts in enumerate(TEXTS):
        subset = DEMO.cells(row)["subset"]
        in_section = any(subset in SECTIONS.get(section, ()) for section in sections)
        found = any(query.strip().lower() in text.lower() for text in texts)
        if (in_section or not sections) and (subset in subsets or not subsets) and found:
            kept.append(row)
    return kept


@st.composite
def pieces_of_texts(draw: st.DrawFn) -> str:
    text = draw(st.sampled_from(draw(st.sampled_from(TEXTS))))
    start = draw(st.integers(0, len(text)))
    piece = text[start : start + draw(st.integers(0, 12))]
    return draw(st.sampled_from([piece, piece.upper(), piece.lower(), piece.swapcase()]))


queries = st.one_of(
    pieces_of_texts(),
    st.text(alphabet=r".*+?()[]{}|^$\ #-,;:éÉ日<>/&\"'%_", max_size=4),
)


@settings(max_examples=150, deadline=None)
@given(
    sections=st.lists(st.sampled_from([*SECTIONS, "Nothing"]), max_size=3),
    subsets=st.lists(st.sampled_from([*SUBSETS, "nothing"]), max_size=8),
    query=queries,
)
@example([], [], "")
@example([], [], ".*")
@example([], [], "\\")
@example([], [], "(?i)")
@example([], [], "\\Q.\\E")
@example([], [], "ÉTÉ")
@example([], [], "日本")
@example([], [], "🌈")
@example(["Chat", "Reasoning"], ["hep-rust", "donotanswer"], "FN ")
def test_rows_are_those_that_a_plain_search_finds(
    sections: list[str], subsets: list[str], query: str
) -> None:
    found = matching_rows(DEMO, Filters.of(sections, subsets, query))
    assert found.tolist() == brute_force(sections, subsets, query)


@pytest.mark.parametrize("query", ["let mut", "LET MUT", "É", "日", "$", "🌈"])
def test_the_searches_above_do_find_something(query: str) -> None:
    assert 0 < len(matching_rows(DEMO, Filters(query=query))) < len(DEMO)


def test_no_filter_keeps_every_row() -> None:
    assert matching_rows(DEMO, Filters()).tolist() == list(range(len(DEMO)))


@pytest.mark.parametrize(
    "filters",
    [
        Filters(sections=frozenset({"Nothing"})),
        Filters(subsets=frozenset({"nothing"})),
        Filters(sections=frozenset({"Chat"}), subsets=frozenset({"hep-rust"})),
        Filters(query="no pair holds this sentence"),
    ],
    ids=["unknown section", "unknown subset", "subset of another section", "query"],
)
def test_what_nothing_matches_keeps_nothing(filters: Filters) -> None:
    assert matching_rows(DEMO, filters).tolist() == []


def test_sections_subsets_and_query_are_joined_by_and() -> None:
    both = matching_rows(DEMO, Filters.of(["Reasoning"], ["hep-rust"], "let mut")).tolist()
    rust = matching_rows(DEMO, Filters.of(None, ["hep-rust"], None)).tolist()
    found = matching_rows(DEMO, Filters.of(None, None, "let mut")).tolist()
    assert both == sorted(set(rust) & set(found))
    assert 0 < len(both) < len(rust)


@pytest.mark.parametrize("names", [5, "Chat", {"Chat": 1}, {"Chat"}, [["Chat"]], [None], [1.5]])
def test_names_of_a_wrong_type_are_refused(names: object) -> None:
    with pytest.raises(KnownError, match="lists of names"):
        Filters.of(names, None, "")
    with pytest.raises(KnownError, match="lists of names"):
        Filters.of(None, names, "")


@pytest.mark.parametrize("query", [5, 0, [], {}, b"dog", True])
def test_a_query_of_a_wrong_type_is_refused(query: object) -> None:
    with pytest.raises(KnownError, match=f"must be text, not {type(query).__name__}"):
        Filters.of(None, None, query)


def test_a_query_may_have_500_characters_and_no_more() -> None:
    assert len(Filters.of(None, None, "x" * 500).query) == 500
    with pytest.raises(KnownError, match="501"):
        Filters.of(None, None, "x" * 501)


def test_at_most_500_names_are_taken() -> None:
    assert Filters.of(["Chat"] * 500, None, "").sections == {"Chat"}
    with pytest.raises(KnownError, match="501"):
        Filters.of(None, ["hep-rust"] * 501, "")


@pytest.mark.parametrize("value", [None, [], ()])
def test_nothing_chosen_filters_nothing(value: object) -> None:
    assert Filters.of(value, value, None) == Filters()
    assert Filters.of(value, value, " \n ") == Filters()


@pytest.mark.parametrize("query", ["é" * 500, "K" * 500, "(" * 500, "\x00", "a\nb"])
def test_any_text_can_be_searched_for(query: str) -> None:
    assert matching_rows(DEMO, Filters.of(None, None, query)).tolist() == brute_force([], [], query)


def test_a_lone_surrogate_is_no_error_of_ours() -> None:
    try:
        found = matching_rows(DEMO, Filters.of(None, None, "\ud800"))
    except KnownError:
        return
    assert found.tolist() == []


def test_unwrap_in_the_real_rust_pairs(real: PairTable) -> None:
    expected = [
        row
        for row, cells in enumerate(map(real.cells, range(len(real))))
        if cells["subset"] == "hep-rust"
        and any("unwrap" in cells[column].lower() for column in TEXT_COLUMNS)
    ]
    assert matching_rows(real, Filters.of(None, ["hep-rust"], "Unwrap")).tolist() == expected
    assert 0 < len(expected) < 164


def test_a_sample_takes_as_many_of_each_subset_in_table_order() -> None:
    rows = rows_per_subset(DEMO, 3, seed=0)
    subsets = DEMO.subset_of_row[rows].tolist()
    assert {subset: subsets.count(subset) for subset in subsets} == dict.fromkeys(SUBSETS, 3)
    assert rows.tolist() == sorted(set(rows.tolist()))


def test_a_subset_that_is_smaller_is_taken_whole() -> None:
    rows = rows_per_subset(DEMO, 9, seed=0)
    subsets = DEMO.subset_of_row[rows].tolist()
    assert {subset: subsets.count(subset) for subset in SUBSETS} == {
        subset: min(9, count) for subset, count in DEMO.subset_counts.items()
    }
    assert min(DEMO.subset_counts.values()) < 9
    assert rows_per_subset(DEMO, 10_000, seed=0).tolist() == list(range(len(DEMO)))


def test_a_sample_is_the_same_for_a_seed_and_another_for_another() -> None:
    assert np.array_equal(rows_per_subset(DEMO, 3, seed=7), rows_per_subset(DEMO, 3, seed=7))
    assert not np.array_equal(rows_per_subset(DEMO, 3, seed=7), rows_per_subset(DEMO, 3, seed=8))


def test_a_sample_of_none_is_empty() -> None:
    assert rows_per_subset(DEMO, 0, seed=0).tolist() == []


def test_a_negative_number_takes_nothing() -> None:
    assert rows_per_subset(DEMO, -1, seed=0).tolist() == []

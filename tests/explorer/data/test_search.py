import re

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import explorer.data.search
from explorer.data.search import (
    MOST_MARKED,
    MOST_SOUGHT,
    Query,
    checked_query,
    first_hits,
    found_by,
    hits,
)
from scoring.errors import KnownError
from tests.support.tables import row, small_table

MORE = row(
    prompt="Which pet?",
    subset="Ties",
    chosen=["A dog.", "The second: a Hamster."],
    rejected=["A stone.", "A pebble.", "Gravel\nand sand."],
)
TABLE = small_table(
    row(prompt="A dog?", chosen="Yes, a DOG.", rejected="No, a cat."),
    row(prompt="Été à 日本", chosen="STRASSE", rejected="straße \0 end"),
    MORE,
    row(prompt="1+1 (.*)", chosen="\\Qdog", rejected="שלום עולם"),
    row(prompt="", chosen="", rejected="🌈 flag"),
)


def found(words: object, where: object = "all", *, regex: bool = False, case: bool = False) -> str:
    """The rows that hold what is looked for, as their numbers in a row."""
    mask = found_by(TABLE.arrow, checked_query(words, where, regex, case))
    return "".join(str(number) for number, held in enumerate(mask.tolist()) if held)


@pytest.mark.parametrize(
    ("words", "regex", "case", "rows"),
    [
        ("DOG", False, False, "023"),
        ("été", False, False, "1"),
        ("\0", False, False, "1"),
        (".*", False, False, "3"),
        ("(?i)dog", False, False, ""),
        (None, False, False, "01234"),
        ("DOG", False, True, "0"),
        (r"d.g\.", True, False, "02"),
        (r"\p{Hebrew}+ \p{Hebrew}", True, False, "3"),
        (r"\Q.*", True, False, "3"),
        (r"Gravel.and", True, False, ""),
        ("  ", True, False, ""),
    ],
)
def test_words_are_found_as_they_stand_a_pattern_is_matched_and_case_counts_where_asked_for(
    words: object, regex: bool, case: bool, rows: str
) -> None:
    assert found(words, regex=regex, case=case) == rows


def test_further_responses_are_searched_with_their_side() -> None:
    assert (found("hamster", "chosen"), found("hamster", "rejected")) == ("2", "")
    assert found("pebble", "rejected") == found("^gravel", "rejected", regex=True) == "2"
    assert found("pebble", "chosen") == found("pebble", "prompt") == ""


@pytest.mark.parametrize("pattern", ["(", r"(a)\1", "(a{1000}){1000}", r"[\pL\pN]{900}", "(" * 300])
def test_a_pattern_that_cannot_be_used_is_refused_in_a_sentence(pattern: str) -> None:
    with pytest.raises(KnownError, match=r"Invalid regex .* RE2's, .* Turn off") as caught:
        checked_query(pattern, "all", True, False)
    assert repr(pattern[:80]) in str(caught.value)
    assert checked_query(pattern, "all", False, False).words == pattern
    with pytest.raises(KnownError, match="Invalid regex"):
        found_by(TABLE.arrow, Query(pattern, regex=True))


def test_a_pattern_that_others_choke_on_comes_to_an_end_and_too_long_a_search_is_given_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    table = small_table(row(chosen="x" * 200_000))
    query = checked_query("(x+x+)+y", "all", True, False)
    assert not found_by(table.arrow, query).any()
    assert hits("x" * 200_000, query) == []
    monkeypatch.setattr(explorer.data.search, "_REGEX_SECONDS", 0)
    with pytest.raises(KnownError, match=r"longer than 0 seconds here\. Look for a plain text"):
        found_by(TABLE.arrow, Query("dog"))


@pytest.mark.parametrize(("size", "chunk_rows"), [(1, 5), (7, 2)])
def test_pieces_of_a_column_are_searched_as_the_whole(
    size: int, chunk_rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(explorer.data.search, "_PIECE_BYTES", size)
    more = [row(chosen=each, subset="Ties") for each in (["a", "x1", "日x2"], "c", ["b", "x3"])]
    table = small_table(*more, MORE, *more, chunk_rows=chunk_rows)
    for words, wanted in (("x3", [2, 6]), ("x2", [0, 4]), ("hamster", [3])):
        for arrow, first in ((table.arrow, 0), (table.arrow.slice(1), 1)):
            places = found_by(arrow, Query(words)).nonzero()[0].tolist()
            assert places == [place - first for place in wanted if place >= first]


LETTERS = st.text("abAB .\n+é日🌈", max_size=30)


@given(LETTERS, LETTERS, st.booleans())
@example("aaa", "aa", False)
def test_hits_of_a_text_are_those_that_python_finds(text: str, words: str, case: bool) -> None:
    query = checked_query(words, "all", False, case)
    pattern = re.compile(re.escape(query.words), 0 if case else re.IGNORECASE)
    wanted = [match.span() for match in pattern.finditer(text)] if query.words else []
    assert hits(text, query) == wanted


@pytest.mark.parametrize(
    ("text", "words", "regex", "places"),
    [
        ("ΑΣ ας ασ", "σ", False, [(1, 2), (4, 5), (7, 8)]),
        ("İi", "i", False, [(1, 2)]),
        ("\ue000a\ue001a", "a", False, [(1, 2), (3, 4)]),
        ("a-b\\1", "\\1", False, [(3, 5)]),
        ("aab", "a*", True, [(0, 2)]),
        ("aab", "^", True, []),
        ("é", r"\C", True, []),
        ("abc", "(?P<x>b)(c)", True, [(1, 3)]),
        ("\\0 \\1", r"\\0", True, [(0, 2)]),
    ],
)
def test_hits_of_hostile_texts_and_odd_patterns(
    text: str, words: str, regex: bool, places: list[tuple[int, int]]
) -> None:
    assert hits(text, checked_query(words, "all", regex, False)) == places


def test_what_lies_far_on_in_a_text_is_not_marked() -> None:
    long = "-" * (MOST_MARKED - 3) + "dogdog"
    assert hits(long, Query("dog")) == []  # in the whole text, a match there might go on
    assert hits(f"dog {long}", Query("dog")) == [(0, 3)]
    assert hits(long[:MOST_MARKED], Query("dog")) == [(MOST_MARKED - 3, MOST_MARKED)]


# Python's own search would take ages for what RE2 finds at once, so these patterns are tame.
TAME = st.sampled_from(["a", "ab+", "é|日", r"\.", "b{2}", "(?:ab)+", "🌈", "[^a~]", "(a|b)"])


@given(LETTERS, TAME, st.booleans(), st.sampled_from([0, 5_000, 150_000]))
@settings(max_examples=60)
def test_hits_of_a_pattern_and_the_first_of_a_long_text_are_those_that_python_finds(
    text: str, pattern: str, case: bool, before: int
) -> None:
    wanted = [match.span() for match in re.finditer(pattern, text, 0 if case else re.IGNORECASE)]
    query = Query(pattern, regex=True, case=case)
    assert hits(text, query) == wanted
    found = first_hits("~" * before + text + "~" * 5_000, query)
    assert [start - before for start, _ in found[:1]] == [start for start, _ in wanted[:1]]


def test_the_first_hit_of_a_long_text_is_where_the_whole_text_has_it() -> None:
    text = "é" * 9_000 + "_dog dog\ndog"
    places = {r"\bdog": 9_005, r"dog\z": 9_009, "^dog": None, "é_+": 8_999, r"(?s)_d.*q": None}
    for pattern, place in places.items():
        found = first_hits(text, Query(pattern, regex=True))
        assert (found[0][0] if found else None) == place, pattern
    assert first_hits("~" * MOST_SOUGHT + "dog", Query("dog")) == []
    assert first_hits("<" + "~" * 200_000 + ">", Query("<.*>", regex=True)) == []

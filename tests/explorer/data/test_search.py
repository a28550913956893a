import re

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import explorer.data.search
from explorer.data.search import (
    LONGEST_QUERY,
    MOST_MARKED,
    MOST_SOUGHT,
    PLACES,
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
    ("words", "rows"),
    [
        ("dog", "023"),
        ("DOG", "023"),
        ("  dog ", "023"),
        ("été", "1"),
        ("日", "1"),
        ("\0", "1"),
        ("עולם", "3"),
        ("🌈", "4"),
        (".*", "3"),
        ("\\Qdog", "3"),
        ("(?i)dog", ""),
        ("", "01234"),
        (None, "01234"),
    ],
)
def test_a_text_is_found_as_it_stands_whatever_its_case(words: object, rows: str) -> None:
    assert found(words) == rows


@pytest.mark.parametrize(
    ("words", "rows"), [("DOG", "0"), ("dog", "023"), ("Été", "1"), ("été", "")]
)
def test_case_counts_where_it_is_asked_for(words: str, rows: str) -> None:
    assert found(words, case=True) == rows


@pytest.mark.parametrize(
    ("pattern", "rows"),
    [
        (r"d.g\.", "02"),
        ("^$", "4"),
        (r"^A dog[?.]$", "02"),
        ("stra(ss|ß)e", "1"),
        (r"\p{Hebrew}+ \p{Hebrew}", "3"),
        (r"\Q.*", "3"),
        (r"Gravel.and", ""),
        (r"(?s)Gravel.and", "2"),
        (" ", "01234"),
        ("  ", ""),
    ],
)
def test_a_pattern_is_matched(pattern: str, rows: str) -> None:
    assert found(pattern, regex=True) == rows


def test_further_responses_are_searched_with_their_side() -> None:
    assert found("hamster") == found("hamster", "chosen") == "2" and not found(
        "hamster", "rejected"
    )
    assert found("pebble", "rejected") == found("^gravel", "rejected", regex=True) == "2"
    assert found("pebble", "chosen") == found("pebble", "prompt") == ""


# What is refused.


@pytest.mark.parametrize(
    "pattern",
    [
        *("(", ")", "[", "*", "a**", "a)(b", "(?=dog)", "(?<!x)a", r"(a)\1", "\\", "(?P<1>"),
        *("(a{1000}){1000}", r"[\pL\pN]{900}", "(" * 300),
    ],
)
def test_a_pattern_that_cannot_be_used_is_refused_in_a_sentence(pattern: str) -> None:
    with pytest.raises(KnownError, match=r"Invalid regex .* RE2's, .* Turn off") as caught:
        checked_query(pattern, "all", True, False)
    assert repr(pattern[:80]) in str(caught.value)
    assert checked_query(pattern, "all", False, False).words == pattern
    with pytest.raises(KnownError, match="Invalid regex"):
        found_by(TABLE.arrow, Query(pattern, regex=True))


@given(st.text(), st.sampled_from(PLACES), st.booleans(), st.booleans())
@example("\ud83d\ude00", "all", False, False)
@example("\0", "all", True, False)
@example("\\Q", "all", True, False)
def test_a_checked_query_is_its_own_and_can_be_searched(
    words: str, where: str, regex: bool, case: bool
) -> None:
    try:
        query = checked_query(words, where, regex, case)
    except KnownError:
        assert regex or len(words) > LONGEST_QUERY
        return
    assert checked_query(query.words, query.where, query.regex, query.case) == query
    found_by(TABLE.arrow, query)
    for text in ("", "a dog", "\u00e9\u65e5 \ue000"):
        for start, end in hits(text, query):
            assert 0 <= start < end <= len(text)


# How long it takes.


def test_a_pattern_that_others_choke_on_comes_to_an_end() -> None:
    table = small_table(row(chosen="x" * 200_000))
    query = checked_query("(x+x+)+y", "all", True, False)
    assert not found_by(table.arrow, query).any()
    assert hits("x" * 200_000, query) == []


def test_a_search_that_takes_too_long_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(explorer.data.search, "_REGEX_SECONDS", 0)
    with pytest.raises(KnownError, match=r"longer than 0 seconds here\. Look for a plain text"):
        found_by(TABLE.arrow, Query("dog"))


@pytest.mark.parametrize("size", [1, 7, 30])
@pytest.mark.parametrize("chunk_rows", [2, 5])
def test_pieces_of_a_column_are_searched_as_the_whole(
    size: int, chunk_rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(explorer.data.search, "_PIECE_BYTES", size)
    more = [row(chosen=each, subset="Ties") for each in (["a", "x1", "日x2"], "c", ["b", "x3"])]
    table = small_table(*more, MORE, *more, chunk_rows=chunk_rows)
    for words, wanted in (("x1", [0, 4]), ("x3", [2, 6]), ("x2", [0, 4]), ("hamster", [3])):
        for arrow, first in ((table.arrow, 0), (table.arrow.slice(1), 1)):
            places = found_by(arrow, Query(words)).nonzero()[0].tolist()
            assert places == [place - first for place in wanted if place >= first]
    assert (found("dog"), found("pebble"), found("🌈")) == ("023", "2", "4")


# Where the hits are.

LETTERS = st.text("abAB .\n+é日🌈", max_size=30)


@given(LETTERS, LETTERS, st.booleans())
@example("aaa", "aa", False)
def test_hits_of_a_text_are_those_that_python_finds(text: str, words: str, case: bool) -> None:
    query = checked_query(words, "all", False, case)
    pattern = re.compile(re.escape(query.words), 0 if case else re.IGNORECASE)
    wanted = [match.span() for match in pattern.finditer(text)] if query.words else []
    assert hits(text, query) == wanted


PIECES = st.sampled_from(["a", "b", "A", ".", "[^a]", "(a|b)", "é", "日", "\\.", "\\+", "(?:ab)"])
PATTERNS = st.lists(
    st.tuples(PIECES, st.sampled_from(["", "", "+", "{2}", "{1,2}", "+?"])), min_size=1, max_size=4
).map(lambda pieces: "".join(piece + times for piece, times in pieces))


@given(LETTERS, PATTERNS, st.booleans())
def test_hits_of_a_pattern_are_those_that_python_finds(text: str, pattern: str, case: bool) -> None:
    wanted = re.finditer(pattern, text, 0 if case else re.IGNORECASE)
    query = Query(pattern, regex=True, case=case)
    assert hits(text, query) == [match.span() for match in wanted]


@settings(max_examples=50)
@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=20), st.booleans(), st.data())
def test_a_text_has_hits_where_its_row_is_found(text: str, case: bool, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(text)))
    piece = text[start : data.draw(st.integers(start, len(text)))]
    query = checked_query(data.draw(st.sampled_from([piece, piece.swapcase()])), None, False, case)
    table = small_table(row(prompt="", chosen=text, rejected=""))
    assert found_by(table.arrow, query).tolist() == [bool(hits(text, query) or not query.words)]


@pytest.mark.parametrize(
    ("text", "words", "places"),
    [
        ("a\0b\0", "\0", [(1, 2), (3, 4)]),
        ("שלום עולם", "עולם", [(5, 9)]),
        ("ÉTÉ été", "été", [(0, 3), (4, 7)]),
        ("ΑΣ ας ασ", "σ", [(1, 2), (4, 5), (7, 8)]),
        ("k K \u212a", "k", [(0, 1), (2, 3), (4, 5)]),
        ("İi", "i", [(1, 2)]),
        ("🌈x🌈", "🌈", [(0, 1), (2, 3)]),
        ("\ue000a\ue001a", "a", [(1, 2), (3, 4)]),
        ("\ue000\ue001", "\ue001", [(1, 2)]),
        ("a-b\\1", "\\1", [(3, 5)]),
    ],
)
def test_hits_of_hostile_texts(text: str, words: str, places: list[tuple[int, int]]) -> None:
    assert hits(text, checked_query(words, "all", False, False)) == places


@pytest.mark.parametrize(
    ("text", "pattern", "places"),
    [
        ("a dog\\", r"\Qdog", [(2, 5)]),
        ("a dog\\", "\\Qdog\\", [(2, 6)]),
        ("a.b", r"\Q.\E", [(1, 2)]),
        ("aab", "a*", [(0, 2)]),
        ("aab", r"\b", []),
        ("aab", "^", []),
        ("é", r"\C", []),
        ("ab", r"\C", [(0, 1), (1, 2)]),
        ("a\nb", "(?m)^.", [(0, 1), (2, 3)]),
        ("abc", "(?P<x>b)(c)", [(1, 3)]),
        ("\\0 \\1", r"\\0", [(0, 2)]),
    ],
)
def test_hits_of_odd_patterns(text: str, pattern: str, places: list[tuple[int, int]]) -> None:
    assert hits(text, checked_query(pattern, "all", True, False)) == places


def test_what_lies_far_on_in_a_text_is_not_marked() -> None:
    long = "-" * (MOST_MARKED - 3) + "dogdog"
    assert hits(long, Query("dog")) == []  # in the whole text, a match there might go on
    assert hits(f"dog {long}", Query("dog")) == [(0, 3)]
    assert hits(long[:MOST_MARKED], Query("dog")) == [(MOST_MARKED - 3, MOST_MARKED)]


# Python's own search would take ages for what RE2 finds at once, so these patterns are tame.
TAME = st.sampled_from(["a", "ab+", "é|日", r"\.", "b{2}", "(?:ab)+", "🌈"])


@given(LETTERS, TAME, st.sampled_from([0, 5_000, 150_000]))
@settings(max_examples=60)
def test_the_first_hits_of_a_long_text_are_those_that_python_finds(
    text: str, pattern: str, before: int
) -> None:
    long = "~" * before + text + "~" * 5_000
    wanted = re.finditer(pattern, long, re.IGNORECASE)
    start = next((match.start() for match in wanted), None)
    found = first_hits(long, Query(pattern, regex=True))
    assert (found[0][0] if found else None) == start


@pytest.mark.parametrize(
    ("pattern", "place"),
    [
        (r"\bdog", 9_005),
        ("(?m)^dog", 9_009),
        (r"dog\z", 9_009),
        ("^dog", None),
        ("é_+", 8_999),
        (r"\Qdog", 9_001),
        (r"(?s)_d.*q", None),
    ],
)
def test_the_first_hit_of_a_long_text_is_where_the_whole_text_has_it(
    pattern: str, place: int | None
) -> None:
    found = first_hits("é" * 9_000 + "_dog dog\ndog", Query(pattern, regex=True))
    assert (found[0][0] if found else None) == place


def test_a_first_hit_too_far_on_or_too_long_is_none() -> None:
    assert first_hits("~" * MOST_SOUGHT + "dog", Query("dog")) == []
    assert first_hits("<" + "~" * 50_000 + ">", Query("<.*>", regex=True)) == [(0, 50_002)]
    assert first_hits("<" + "~" * 200_000 + ">", Query("<.*>", regex=True)) == []


# On the benchmark.

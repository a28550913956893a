import re

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from explorer.data import search
from explorer.data.search import Query, checked_query, first_hits, found_by, hits
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


@pytest.mark.parametrize(
    ("words", "where", "how", "rows"),
    [
        ("DOG", "all", "", "023"),
        ("été", "all", "", "1"),
        ("\0", "all", "", "1"),
        (".*", "all", "", "3"),
        ("(?i)dog", "all", "", ""),
        (None, "all", "", "01234"),
        ("DOG", "all", "case", "0"),
        (r"d.g\.", "all", "regex", "02"),
        (r"\p{Hebrew}+ \p{Hebrew}", "all", "regex", "3"),
        (r"\Q.*", "all", "regex", "3"),
        (r"Gravel.and", "all", "regex", ""),
        ("  ", "all", "regex", ""),
        ("hamster", "chosen", "", "2"),
        ("hamster", "rejected", "", ""),
        ("pebble", "rejected", "", "2"),
        ("^gravel", "rejected", "regex", "2"),
        ("pebble", "chosen", "", ""),
        ("pebble", "prompt", "", ""),
    ],
)
def test_rows_are_found_by_words_or_a_pattern_in_all_texts_or_those_of_a_side(
    words: object, where: str, how: str, rows: str
) -> None:
    """rows: the numbers of those that hold what is looked for."""
    mask = found_by(TABLE.arrow, checked_query(words, where, how == "regex", how == "case"))
    assert "".join(str(number) for number in mask.nonzero()[0]) == rows


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
    monkeypatch.setattr(search, "_REGEX_SECONDS", 0)
    with pytest.raises(KnownError, match=r"longer than 0 seconds here\. Look for a plain text"):
        found_by(TABLE.arrow, Query("dog"))


@pytest.mark.parametrize(("size", "chunk_rows"), [(1, 5), (7, 2)])
def test_pieces_of_a_column_are_searched_as_the_whole(
    size: int, chunk_rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search, "_PIECE_BYTES", size)
    more = [row(chosen=each, subset="Ties") for each in (["a", "x1", "日x2"], "c", ["b", "x3"])]
    table = small_table(*more, MORE, *more, chunk_rows=chunk_rows)
    for words, wanted in (("x3", [2, 6]), ("x2", [0, 4]), ("hamster", [3])):
        for arrow, first in ((table.arrow, 0), (table.arrow.slice(1), 1)):
            places = found_by(arrow, Query(words)).nonzero()[0].tolist()
            assert places == [place - first for place in wanted if place >= first]


LETTERS = st.text("abAB .\n+é日🌈", max_size=30)
# Python's own search would take ages for what RE2 finds at once, so these patterns are tame.
TAME = st.sampled_from(["a", "ab+", "é|日", r"\.", "b{2}", "(?:ab)+", "🌈", "[^a~]", "(a|b)"])
WORDS = st.builds(checked_query, LETTERS, st.just("all"), st.just(False), st.booleans())
PATTERNS = st.builds(Query, TAME, regex=st.just(True), case=st.booleans())


@given(LETTERS, WORDS | PATTERNS, st.sampled_from([0, 5_000, 150_000]))
@example("aaa", Query("aa"), 0)
@settings(max_examples=60)
def test_hits_and_the_first_of_a_long_text_are_those_that_python_finds(
    text: str, query: Query, before: int
) -> None:
    pattern = query.words if query.regex else re.escape(query.words)
    found = re.finditer(pattern, text, 0 if query.case else re.IGNORECASE)
    wanted = [match.span() for match in found if query.words]
    assert hits(text, query) == wanted
    first = first_hits("~" * before + text + "~" * 5_000, query)[:1]
    assert [start - before for start, _ in first] == [start for start, _ in wanted[:1]]


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


def test_what_lies_far_on_in_a_text_is_not_marked_but_found_as_the_whole_text_has_it() -> None:
    most = search.MOST_MARKED
    long = "-" * (most - 3) + "dogdog"
    assert hits(long, Query("dog")) == []  # in the whole text, a match there might go on
    assert hits(f"dog {long}", Query("dog")) == [(0, 3)]
    assert hits(long[:most], Query("dog")) == [(most - 3, most)]
    text = "é" * 9_000 + "_dog dog\ndog"
    places = {r"\bdog": 9_005, r"dog\z": 9_009, "^dog": None, "é_+": 8_999, r"(?s)_d.*q": None}
    for pattern, place in places.items():
        found = first_hits(text, Query(pattern, regex=True))
        assert (found[0][0] if found else None) == place, pattern
    assert first_hits("~" * search.MOST_SOUGHT + "dog", Query("dog")) == []
    assert first_hits("<" + "~" * 200_000 + ">", Query("<.*>", regex=True)) == []

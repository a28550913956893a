"""Addresses of the Pairs tab: what adds up, what goes with what, and where links lead."""

from dataclasses import replace

from explorer.data.filters import LengthRange
from explorer.data.search import Query
from explorer.reader.state import (
    PairsState,
    changed,
)

parse = PairsState.parse


def test_the_last_of_several_is_taken_and_names_add_up() -> None:
    state, dropped = parse("sort=chosen&sort=-chosen&code=yes&code=no&code=yes&pair=a&pair=b")
    assert (state.sort, state.key, state.code, dropped) == ("-chosen", "b", ("yes", "no"), ())
    state, _ = parse("range=chosen.chars.1.2&range=chosen.words.5.&range=chosen.chars.3.4")
    assert state.ranges == (
        LengthRange("chosen", "chars", 3, 4),
        LengthRange("chosen", "words", 5, None),
    )


def test_spaces_about_a_search_count_in_an_expression_alone() -> None:
    assert parse("q=++dog+")[0].query == Query("dog")
    assert parse("q=+dog&regex=1&in=chosen&case=1")[0].query == Query(" dog", "chosen", True, True)


def test_what_makes_sense_on_another_table_is_kept() -> None:
    kept = {"sort": "-chosen", "diff": "words", "spaces": True, "panel": "lengths", "unit": "words"}
    state = changed(PairsState("a", subset=("x",), key="x:1", page=2, model="m"), kept)
    assert state.on("b") == changed(PairsState("b"), kept)


def test_a_link_to_other_pairs_begins_the_list_and_opens_no_pair() -> None:
    state = PairsState(key="a:1", page=3, sort="chosen", words="dog")
    assert parse(state.narrowed(subset=("x",)))[0] == PairsState(
        sort="chosen", words="dog", subset=("x",)
    )
    assert state.unfiltered() == PairsState(sort="chosen")


def test_of_another_model_what_depends_on_one_is_left() -> None:
    state = PairsState(model="a", kind="all", against="b", cell="both", margins=(0.0, None))
    assert state.of("c") == PairsState(model="c")
    assert replace(state, against="").of("c") == PairsState(model="c", kind="all")
    assert replace(state, against="").of(None) == PairsState()

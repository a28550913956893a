import json
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import explorer.tabs.pairs.review.state
from explorer.tabs.pairs.review.state import (
    LAST_SECOND,
    LONGEST_FIELD,
    LONGEST_JSON,
    MOST_DECISIONS,
    VERDICTS,
    Decision,
    Review,
    from_json,
    to_json,
)
from scoring.errors import KnownError

HASH = "0123456789abcdef"
any_text = st.text(st.characters(codec=None))
"""Any characters, lone surrogates too."""


@st.composite
def reviews(draw: st.DrawFn) -> Review:
    """Reviews as people make them, of pairs with any names and with any notes."""
    source, subset = draw(st.text(min_size=1, max_size=9)), draw(st.text(min_size=1, max_size=9))
    review = Review(source, subset, draw(st.integers(0, 10**6)))
    keys = draw(st.lists(st.text(min_size=1, max_size=9), min_size=1, max_size=4))
    for _ in range(draw(st.integers(0, 6))):
        review = review.mark(
            draw(st.sampled_from(keys)),
            f"{draw(st.integers(0, 2**64 - 1)):016x}",
            draw(st.sampled_from(VERDICTS)),
            draw(any_text),
            at=draw(st.integers(0, LAST_SECOND)),
        )
    return review


def fields(**changed: object) -> dict[str, Any]:
    """A stored review of one decision, with some of its fields changed."""
    decision = ["s:1", HASH, "keep", "a note", 5]
    whole = {"version": 1, "source": "demo", "subset": "s", "start": 2, "decisions": [decision]}
    return {**whole, **changed}


@given(reviews())
def test_a_review_comes_back_as_it_was(review: Review) -> None:
    text = to_json(review)
    text.encode()  # nothing that a browser could not store
    back = from_json(text)
    assert back == review
    assert back.undo() == review.undo()
    assert back.standing == review.standing


def test_a_person_goes_on_where_they_left() -> None:
    keys = ["s:1", "s:2", "s:3"]
    review = Review("demo", "s").mark("s:1", HASH, "keep", at=1).mark("s:2", HASH, "drop", at=2)
    back = from_json(to_json(review))
    assert back.next_unmarked(keys) == "s:3"
    assert back.mark("s:2", HASH, "keep", at=3).undo().verdict_of("s:2") == "drop"


def test_what_is_stored_stays_readable() -> None:
    decision = Decision("s:1", HASH, "keep", "a note", 5, "demo")
    assert from_json(json.dumps(fields())) == Review("demo", "s", 2, (decision,))


def test_each_wrong_value_is_named(subtests: pytest.Subtests) -> None:
    cases: list[tuple[dict[str, object], str]] = [
        ({"version": 2}, "version 2"),
        ({"version": True}, "version True"),
        ({"version": "1"}, "version '1'"),
        ({"version": None}, "version nothing"),
        ({"version": [[]]}, "version list"),
        ({"source": ""}, "source must be text"),
        ({"source": None}, "source must be text"),
        ({"source": "x" * (LONGEST_FIELD + 1)}, "not 1,001 characters"),
        ({"subset": 5}, "subset must be text"),
        ({"subset": {}}, "subset must be text"),
        ({"start": -1}, "start is a whole number"),
        ({"start": 1.0}, "start is a whole number"),
        ({"start": False}, "start is a whole number"),
        ({"start": float("nan")}, "start is a whole number"),
        ({"decisions": None}, "list, not nothing"),
        ({"decisions": {}}, "list, not dict"),
        ({"decisions": "[]"}, "are a list"),
        ({"decisions": [[]] * (MOST_DECISIONS + 1)}, "this would be 50,001"),
        ({"decisions": [None]}, "Decision 1 is no list"),
        ({"decisions": [["s:1", HASH, "keep", ""]]}, "Decision 1 is no list"),
        ({"decisions": [["s:1", HASH, "keep", "", 0, 0]]}, "Decision 1 is no list"),
        ({"decisions": [{"key": 1, "a": 1, "b": 1, "c": 1, "d": 1}]}, "Decision 1 is no list"),
        ({"decisions": [[["s:1"], HASH, "keep", "", 0]]}, "Decision 1: A key must be"),
        ({"decisions": [["s:1", "x", "keep", "", 0]]}, "Decision 1: A pair's text_hash"),
        ({"decisions": [["s:1", HASH, "kept", "", 0]]}, "Decision 1: A verdict is"),
        ({"decisions": [["s:1", HASH, ["keep"], "", 0]]}, "Decision 1: A verdict is"),
        ({"decisions": [["s:1", HASH, "keep", 5, 0]]}, "Decision 1: A note must be"),
        ({"decisions": [["s:1", HASH, "keep", "x" * 2001, 0]]}, "Decision 1: A note may have"),
        ({"decisions": [["s:1", HASH, "keep", "", float("nan")]]}, "Decision 1: .*not nan"),
        ({"decisions": [["s:1", HASH, "keep", "", float("inf")]]}, "Decision 1: .*not inf"),
        ({"notes": None}, "notes are a list, not nothing"),
        ({"notes": [["s:1"]]}, "list of key and note"),
        ({"notes": [["", "odd"]]}, "A key must be"),
        ({"notes": [["s:1", "x" * 2001]]}, "A note may have"),
        ({"notes": [[]] * (MOST_DECISIONS + 1)}, "this would be 50,001"),
        ({"decisions": [["s:1", HASH, "keep", "", 10**300]]}, "Decision 1: .*not int"),
        ({"decisions": [["s:1", HASH, "keep", "", "0"]]}, "Decision 1: .*seconds"),
    ]
    for changed, message in cases:
        with subtests.test(changed=changed, message=message):
            with pytest.raises(KnownError, match=message) as raised:
                from_json(json.dumps(fields(**changed)))
            assert len(str(raised.value)) < 300


def test_the_second_decision_is_called_the_second() -> None:
    good = fields()["decisions"][0]
    with pytest.raises(KnownError, match=r"^Decision 2:"):
        from_json(json.dumps(fields(decisions=[good, ["", HASH, "keep", "", 0]])))


@pytest.mark.parametrize(
    "text",
    [
        None,
        5,
        b"{}",
        {},
        "",
        "null",
        "NaN",
        "[]",
        "{}",
        '"text"',
        "\ud800",
        '{"version": 1',
        "\x00",
        "1" * 10_000,
        "[" * 100_000,
        '{"version":1,"decisions":' + "[" * 100_000 + "]" * 100_000 + "}",
        '{"version":1,"decisions":' + '{"a":' * 100_000,
    ],
    ids=lambda text: repr(text)[:30],
)
def test_what_is_no_review_is_refused(text: object) -> None:
    with pytest.raises(KnownError):
        from_json(text)


def test_a_value_as_deep_as_can_be_read_is_refused_like_any_other(
    subtests: pytest.Subtests,
) -> None:
    for depth in [100, 700, 800, 850, 900, 950]:
        for place in ["version", "source", "start", "decisions"]:
            with subtests.test(depth=depth, place=place):
                nest = "[" * depth + "]" * depth
                torn = json.dumps(fields(**{place: "HERE"})).replace('"HERE"', nest)
                with pytest.raises(KnownError):
                    from_json(torn)


@given(reviews(), st.data())
def test_a_torn_review_is_refused(review: Review, data: st.DataObject) -> None:
    text = to_json(review)
    with pytest.raises(KnownError, match="cannot be read"):
        from_json(text[: data.draw(st.integers(0, len(text) - 1))])


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | any_text,
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(any_text, inner, max_size=3),
    max_leaves=12,
)


@given(place=st.sampled_from([*fields(), 0, 1, 2, 3, 4]), value=values)
@example(place="source", value="\ud800")
@example(place="subset", value="\udfff")
@example(place=0, value="\ud800:1")
@example(place=3, value="\ud83c")
@example(place=3, value=None)
@example(place=4, value=0.5)
def test_any_value_in_any_place_is_refused_or_gives_a_review_that_can_be_stored(
    place: str | int, value: object
) -> None:
    stored = fields()
    if isinstance(place, int):
        stored["decisions"][0][place] = value
    else:
        stored[place] = value
    try:
        review = from_json(json.dumps(stored))
    except KnownError:
        return
    to_json(review).encode()
    assert from_json(to_json(review)) == review


def test_the_largest_review_without_notes_can_be_stored() -> None:
    decision = Decision("alpacaeval-length:12345", HASH, "unsure", "", 1_800_000_000, "demo")
    review = Review("demo", "s", 0, (decision,) * MOST_DECISIONS)
    assert len(from_json(to_json(review)).decisions) == MOST_DECISIONS


def test_a_text_that_is_too_long_is_refused_both_ways(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(KnownError, match="5,000,000 characters; this one has 5,000,001"):
        from_json(" " * (LONGEST_JSON + 1))
    review = Review("demo", "s").mark("s:1", HASH, "keep", "x" * 300, at=0)
    text = to_json(review)
    monkeypatch.setattr(explorer.tabs.pairs.review.state, "LONGEST_JSON", len(text))
    assert from_json(to_json(review)) == review
    with pytest.raises(KnownError, match="Export its decisions"):
        to_json(review.mark("s:2", HASH, "keep", at=0))

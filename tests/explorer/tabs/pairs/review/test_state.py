from collections.abc import Sequence
from dataclasses import FrozenInstanceError

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from explorer.data.table import PairTable
from explorer.tabs.pairs.review.state import (
    LAST_SECOND,
    LONGEST_FIELD,
    MOST_DECISIONS,
    VERDICTS,
    Decision,
    Review,
    Verdict,
    rows_under,
)
from scoring.errors import KnownError

HASH = "0123456789abcdef"
EMPTY = Review("demo", "s")
KEYS = [f"s:{number}" for number in range(5)]

steps = st.lists(
    st.one_of(st.just("undo"), st.tuples(st.sampled_from(KEYS), st.sampled_from(VERDICTS))),
    max_size=30,
)


def marked(*marks: tuple[str, Verdict], review: Review = EMPTY) -> Review:
    for at, (key, verdict) in enumerate(marks):
        review = review.mark(key, HASH, verdict, at=at)
    return review


@given(steps)
def test_any_history_is_as_if_what_was_undone_had_never_been(
    steps: Sequence[str | tuple[str, Verdict]],
) -> None:
    review, history = EMPTY, list[tuple[str, Verdict]]()
    for step in steps:
        if isinstance(step, str):
            review, history = review.undo(), history[:-1]
        else:
            review, history = review.mark(step[0], HASH, step[1], at=0), [*history, step]
    expected = dict(history)
    assert [(each.key, each.verdict) for each in review.decisions] == history
    assert [review.verdict_of(key) for key in KEYS] == [expected.get(key) for key in KEYS]
    unmarked = [key for key in KEYS if key not in expected]
    assert review.next_unmarked(KEYS) == (unmarked[0] if unmarked else None)


def test_a_mark_says_all_that_was_decided_and_leaves_the_former_review_as_it_was() -> None:
    after = EMPTY.mark("s:1", HASH, "unsure", "odd\nprompt", at=12.9)
    assert after.decisions == (Decision("s:1", HASH, "unsure", "odd\nprompt", 12, "demo"),)
    assert EMPTY.decisions == () and EMPTY.verdict_of("s:1") is None
    with pytest.raises(FrozenInstanceError):
        after.subset = "other"  # type: ignore[misc]


def test_marking_again_replaces_and_undo_restores() -> None:
    once = marked(("s:1", "keep"), ("s:2", "drop"))
    twice = once.mark("s:1", HASH, "unsure", at=9)
    assert twice.verdict_of("s:1") == "unsure"
    assert [twice.verdict_of(key) for key in ("s:1", "s:2")] == ["unsure", "drop"]
    assert list(twice.standing) == ["s:1", "s:2"]
    assert twice.undo() == once
    assert twice.undo().verdict_of("s:1") == "keep"
    assert twice.undo().undo().undo() == EMPTY


def test_undo_of_nothing_is_nothing() -> None:
    assert EMPTY.undo() == EMPTY


@pytest.mark.parametrize(
    ("after", "expected"),
    [
        (None, "s:0"),
        ("s:0", "s:2"),
        ("s:1", "s:2"),
        ("s:2", "s:4"),
        ("s:4", "s:0"),
        ("elsewhere:1", "s:0"),
    ],
)
def test_the_next_unmarked_pair_follows_and_those_passed_over_come_again(
    after: str | None, expected: str
) -> None:
    review = marked(("s:1", "keep"), ("s:3", "drop"))
    assert review.next_unmarked(KEYS, after) == expected


def test_the_only_unmarked_pair_comes_again_and_after_it_none() -> None:
    review = marked(*[(key, "keep") for key in KEYS[:4]])
    assert review.next_unmarked(KEYS, "s:4") == "s:4"
    assert review.mark("s:4", HASH, "drop", at=0).next_unmarked(KEYS, "s:4") is None
    assert EMPTY.next_unmarked([]) is None


@pytest.mark.parametrize("verdict", ["Keep", "", None, 1, ["keep"], {}, "keep " * 999])
def test_a_verdict_is_one_of_three(verdict: object) -> None:
    with pytest.raises(KnownError, match="one of keep, drop, unsure") as raised:
        EMPTY.mark("s:1", HASH, verdict, at=0)
    assert len(str(raised.value)) < 200


@pytest.mark.parametrize("text_hash", ["", HASH.upper(), HASH + "\n", HASH * 2, None, 16])
def test_a_text_hash_has_16_hex_digits(text_hash: object) -> None:
    with pytest.raises(KnownError, match="16 hex digits"):
        EMPTY.mark("s:1", text_hash, "keep", at=0)


@pytest.mark.parametrize("key", ["", None, 5, ["s:1"], "x" * (LONGEST_FIELD + 1)])
def test_a_key_is_text_of_a_sane_length(key: object) -> None:
    with pytest.raises(KnownError, match="key must be text of 1 to 1,000 characters"):
        EMPTY.mark(key, HASH, "keep", at=0)


@pytest.mark.parametrize(
    "at", [float("nan"), float("inf"), -1, -0.5, LAST_SECOND + 1, 10**400, True, None, "0"]
)
def test_a_time_is_one_that_a_calendar_has(at: float) -> None:
    with pytest.raises(KnownError, match="seconds from 1970"):
        EMPTY.mark("s:1", HASH, "keep", at=at)


@pytest.mark.parametrize("at", [0, LAST_SECOND])
def test_the_first_and_the_last_second_are_times(at: int) -> None:
    assert EMPTY.mark("s:1", HASH, "keep", at=at).decisions[0].at == at


def test_a_note_may_have_2000_characters_and_no_more() -> None:
    assert len(EMPTY.mark("s:1", HASH, "keep", "🌈" * 2000, at=0).decisions[0].note) == 2000
    with pytest.raises(KnownError, match="2,000 characters; this one has 2,001"):
        EMPTY.mark("s:1", HASH, "keep", "x" * 2001, at=0)


@pytest.mark.parametrize("note", [5, ["x"], b"x", False])
def test_a_note_is_text(note: object) -> None:
    with pytest.raises(KnownError, match="note must be text"):
        EMPTY.mark("s:1", HASH, "keep", note, at=0)


def test_lone_surrogates_in_a_note_are_shown_as_broken() -> None:
    review = EMPTY.mark("s:1", HASH, "keep", "a\ud800b\udfff \ud83c\udf08", at=0)
    assert review.decisions[0].note == "a\ufffdb\ufffd 🌈"


def test_a_review_may_have_50_000_decisions_and_no_more() -> None:
    decision = Decision("s:1", HASH, "keep", "", 0, "demo")
    almost = Review("demo", "s", 0, (decision,) * (MOST_DECISIONS - 1))
    full = almost.mark("s:2", HASH, "keep", at=0)
    assert len(full.decisions) == 50_000
    with pytest.raises(KnownError, match="50,000 decisions; this would be 50,001"):
        full.mark("s:3", HASH, "keep", at=0)
    assert full.undo().mark("s:3", HASH, "drop", at=0).verdict_of("s:3") == "drop"


@settings(max_examples=40)
@given(st.data())
def test_rows_of_a_subset_are_its_pairs_from_the_start_on(
    demo: PairTable, data: st.DataObject
) -> None:
    subset = data.draw(st.sampled_from(list(demo.subset_counts)))
    every = [row for row in range(len(demo)) if demo.cells(row)["subset"] == subset]
    start = data.draw(st.integers(0, len(every) - 1))
    assert rows_under(demo, subset, start).tolist() == every[start:]
    begun = Review.begin(demo, subset, start)
    assert begun == Review(demo.id, subset, start)


@pytest.mark.parametrize("start", [8, -1, 10**30, 1.0, float("nan"), True, None, "0", [0]])
def test_a_start_is_a_place_in_the_subset(demo: PairTable, start: object) -> None:
    assert demo.subset_counts["hep-go"] == 8
    assert len(rows_under(demo, "hep-go", 7)) == 1
    with pytest.raises(KnownError, match=r"hep-go: 8 pairs, so .* starts at pair 1 to 8, not"):
        rows_under(demo, "hep-go", start)
    with pytest.raises(KnownError, match="starts at pair 1 to 8"):
        Review.begin(demo, "hep-go", start)


@pytest.mark.parametrize("subset", ["hep-GO", "", None, 5, ["hep-go"], "x" * 10**6])
def test_a_subset_is_one_that_the_table_has(demo: PairTable, subset: object) -> None:
    with pytest.raises(KnownError, match="choose one of alpacaeval-easy, ") as raised:
        rows_under(demo, subset)
    assert len(str(raised.value)) < 1000

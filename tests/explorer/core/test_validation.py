"""Values that anybody may have posted are those that are known, or refused in few words."""

from typing import Any

import pytest

from explorer.core.validation import one_of, some_of
from scoring.errors import KnownError

WORDS = ("a", "b", "")


@pytest.mark.parametrize("value", [None, "c", "A", 1, ["a"], {}, "x" * 10**6, float("nan")])
def test_what_is_not_known_is_refused_with_what_is(value: Any) -> None:
    with pytest.raises(KnownError, match="A word is one of a, b, none, not ") as refused:
        one_of("A word", WORDS, value)
    assert len(str(refused.value)) < 120


def test_what_only_equals_one_is_another() -> None:
    assert one_of("A switch", (True, False), True) is True
    for value in (1, 1.0, "True"):
        with pytest.raises(KnownError, match="True, False"):
            one_of("A switch", (True, False), value)


def test_several_are_taken_once_in_the_order_that_is_known() -> None:
    assert some_of("Words", WORDS, ["b", "a", "b"]) == ("a", "b")
    assert some_of("Words", WORDS, []) == ()


@pytest.mark.parametrize("values", [None, "a", 5, {"a": 1}, ["c"], [["a"]]])
def test_no_list_and_a_list_of_others_are_refused(values: Any) -> None:
    with pytest.raises(KnownError, match="Words"):
        some_of("Words", WORDS, values)


def test_a_list_that_is_far_too_long_is_refused_by_its_length() -> None:
    with pytest.raises(KnownError, match="Words: 1,000,000 are too many"):
        some_of("Words", WORDS, ["a"] * 10**6)

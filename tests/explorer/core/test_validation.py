"""Values that anybody may have posted are those that are known, or refused in few words."""

from typing import Any

import pytest

from explorer.core.validation import one_of
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

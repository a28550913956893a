"""Values that anybody may have posted are those that are known, or refused in few words."""

import pytest

from explorer.core.validation import one_of
from scoring.errors import KnownError


@pytest.mark.parametrize("value", [None, "A", "", ["a"], {}, "x" * 10**6, float("nan"), 1, 1.0])
def test_what_is_not_known_or_only_equals_it_is_refused(value: object) -> None:
    assert one_of("A word", ("a", True), True) is True
    with pytest.raises(KnownError, match="A word is one of a, True, not ") as refused:
        one_of("A word", ("a", True), value)
    assert len(str(refused.value)) < 120

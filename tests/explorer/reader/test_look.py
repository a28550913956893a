import pytest

from explorer.reader.reading import checked_diff
from scoring.errors import KnownError


@pytest.mark.parametrize("value", ["letters", "", 1, True, ["words"], {"a": 1}])
def test_what_is_no_diff_is_refused_with_what_there_is(value: object) -> None:
    with pytest.raises(KnownError, match="auto, off, words, characters"):
        checked_diff(value)

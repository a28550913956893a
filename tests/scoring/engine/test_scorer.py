"""What every scorer makes sure of."""

import pytest

from scoring.engine.formatting import Prepared, TokenSequence
from scoring.engine.scorer import check_tokens
from scoring.errors import KnownError
from scoring.spec import Pair

PREPARED = [Prepared(Pair("1", "s", "p", "c", "r"), TokenSequence((0, 9)), TokenSequence((3, 2)))]


def test_the_largest_token_must_have_a_row() -> None:
    for vocabulary in (None, 10):
        check_tokens(PREPARED, vocabulary, "m")
    with pytest.raises(KnownError, match=r"gives token 9, and its weights know 9 tokens"):
        check_tokens(PREPARED, 9, "m")

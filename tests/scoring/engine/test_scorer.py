"""What every scorer makes sure of."""

import pytest

from scoring.engine.formatting import Prepared, TokenSequence
from scoring.engine.scorer import check_tokens
from scoring.errors import KnownError
from scoring.spec import Pair

PREPARED = [Prepared(Pair("1", "s", "p", "c", "r"), TokenSequence((0, 9)), TokenSequence((3, 2)))]


@pytest.mark.parametrize(("vocabulary", "is_known"), [(None, True), (10, True), (9, False)])
def test_the_largest_token_must_have_a_row(vocabulary: int | None, is_known: bool) -> None:
    if is_known:
        check_tokens(PREPARED, vocabulary, "m")
    else:
        with pytest.raises(KnownError, match=r"gives token 9, and its weights know 9 tokens"):
            check_tokens(PREPARED, vocabulary, "m")

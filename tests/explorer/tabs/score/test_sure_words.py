"""How sure a run is, in words."""

import pytest

from explorer.tabs.score.sure_words import sure_words
from scoring.engine.packing import random_order
from scoring.spec import ScoredPair
from scoring.sure import SureInterval, SureRule, Watch


def looked(done: int, width: float = 0.2) -> SureInterval:
    """After so many of 164 pairs, all won."""
    watch = Watch({f"hep-go:{at}": "hep-go" for at in range(164)}, 0, SureRule("score", width))
    keys = [f"hep-go:{place}" for place in random_order(164, 0)[:done]]
    return watch.add(ScoredPair(key, "hep-go", "", 1.0, 0.0, 1, 1) for key in keys)


def test_before_the_first_look_it_says_when_that_is() -> None:
    assert "first look after" in sure_words(looked(3), False)


@pytest.mark.parametrize("done", [110, 164])
def test_a_look_tells_what_is_wanted_and_of_what_it_speaks(done: int) -> None:
    words = sure_words(looked(done, 0.02), False)
    assert "of this selection: 100.0 %" in words and "2.0 wanted" in words
    assert ("Next look after" in words) is (done < 164)


def test_it_says_that_it_ended_because_it_is_sure() -> None:
    assert sure_words(looked(60), True).startswith("Sure enough; ")
    assert "Sure enough" not in sure_words(looked(60), False)
    assert "Sure enough" not in sure_words(looked(3), True)

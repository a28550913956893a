"""What is said before a run; tests/explorer/tabs/score/test_acts_view.py has the rest of the
tab.
"""

from explorer.tabs.score.before_view import found_words
from scoring.hub.search import HubModel


def test_a_gated_model_is_found_as_one() -> None:
    assert found_words(HubModel("org/rm", 1234)) == "org/rm · 1,234 downloads"
    gated = found_words(HubModel("org/rm", 1234, is_gated=True))
    assert gated == "org/rm · 1,234 downloads · gated"

"""Addresses of all tabs: one of each state, a state of each, and what means nothing is named."""

from urllib.parse import quote_plus

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from explorer.core.address import Address
from explorer.core.links import MOST_DROPPED
from explorer.data.filters import LONGEST_NAME
from explorer.data.search import LONGEST_QUERY
from explorer.reader.state import PairsState
from explorer.tabs.data.state import DataState
from explorer.tabs.models.state import ModelsState
from explorer.tabs.score.state import ScoreState
from explorer.tabs.try_it.state import TryState
from scoring.results.files import LONGEST_MODEL
from tests.support.hostile import NAMES

VALUES = (
    *NAMES, "", " a ", "a,b", "100%", "a&b=c", "#", "+ ", "(", "日本\u202e", "1", "2",
    "near", "telling", "-0.5:1.25", "0:0.5", "split", "both", "0123456789abcdef" * 2, "chosen",
    "chosen.chars.1.", "difference.tokens.-5.9.a/b-1.5@c", "-margin", "words", "lengths", "prompt",
    "linear", "org/na.me-1.5@abc.def", "compare", "v2", "subsets", "DPO", "paper", "half", "loss",
    "Chat Hard", "Focus", "size", "licence", "agreement", "Ties", "Chat", "worst", "runs", "keys",
    "section=Safety&q=sorry", "score", "filter", "cut", "17",
)  # fmt: skip
"""Of each parameter of any tab some mean something."""
LONG = "a" * (LONGEST_NAME + 1)
MEANINGLESS: dict[type[Address], tuple[str, ...]] = {
    PairsState: (
        "q=+", "nonsense=1", "=", "=x", "list-page=", "list-page=²", "list-page=" + "9" * 5000,
        "margin=:", "margin=2:1", "margin=nan:", "margin=:inf", "regex=0", "range=chosen.chars",
        "range=chosen.chars.2.1", f"range=chosen.tokens.1.2.{LONG}", f"model={LONG}", "results=é",
    ),
    ModelsState: (
        "digits=2", "board", "prior=0", "by=--Chat", "models=" + "a" * (LONGEST_QUERY + 1),
        "pin=" + "a" * (LONGEST_MODEL + 1), "member=", "results=" + "0" * 65, "pair=a:1",
    ),
    ScoreState: ("search=a", "panel=elsewhere", "page=0", "model=" + "x" * 501),
    TryState: ("model=a", "which=all", "seed=" + "x" * 501),
    DataState: ("source=a", "x=1"),
}  # fmt: skip
"""Tab -> what means something there, and what means nothing."""
OF_TABS = pytest.mark.parametrize("tab", MEANINGLESS, ids=[each.TAB for each in MEANINGLESS])


def comes_back(state: Address) -> str:
    """The link of a state, which says all of it and breaks out of nothing."""
    link = state.href()
    assert type(state).parse(link) == type(state).parse(link[1:]) == (state, ())
    assert link.isascii() and not set(link) & set(" \t\n\0<>\"'#")
    return link


def linked(name: str, value: str) -> str:
    return f"{name}={quote_plus(value)}"


@OF_TABS
def test_every_parameter_takes_values_that_go_through_an_address(tab: type[Address]) -> None:
    beside = {"b": "a=a&", "with": "a=a&b=b&"} if tab is ModelsState else {}
    for name in (each.name for each in tab.PARAMETERS):
        read = [tab.parse(beside.get(name, "") + linked(name, value)) for value in VALUES]
        links = [comes_back(state) for state, dropped in read if not dropped]
        assert any(f"{name}=" in link for link in links), name
        is_text = read[0][1] == ()
        assert not is_text or [dropped for _, dropped in read[: len(NAMES) - 1] if dropped] == []


@OF_TABS
def test_a_part_that_means_nothing_is_named_and_leaves_the_rest(tab: type[Address]) -> None:
    meant, *nothing = MEANINGLESS[tab]
    state, dropped = tab.parse(meant)
    assert state != tab() and dropped == ()
    for part in nothing:
        told = (part if "=" in part else f"{part}=")[:80]
        assert tab.parse(f"?tab=x&{meant}&{part}") == (state, (told,))
    for posted in (None, ["?tab=pairs"]):
        state, dropped = tab.parse(posted)
        assert state == tab() and len(dropped) == 1


PARTS = st.builds(
    linked,
    st.sampled_from([each.name for tab in MEANINGLESS for each in tab.PARAMETERS])
    | st.text(max_size=3),
    st.sampled_from(VALUES) | st.text(max_size=8),
)
ANYTHING = st.text() | st.lists(PARTS, max_size=12).map("&".join)


@given(st.sampled_from([*MEANINGLESS]), ANYTHING)
@example(PairsState, "q=\0&regex=1")
@example(ModelsState, "a=\x85")
@example(PairsState, "subset=a&" * 10**5)
@example(ScoreState, "日" * 10**6)
def test_whatever_an_address_says_its_state_has_one_of_its_own(
    tab: type[Address], query: str
) -> None:
    state, dropped = tab.parse(query)
    comes_back(state)
    assert len(dropped) <= MOST_DROPPED + 1 and all(len(each) <= 80 for each in dropped)

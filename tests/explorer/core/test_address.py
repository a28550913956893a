"""The address of a tab as a value: read from anything, written back without what is usual."""

from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from explorer.core.address import Address, choice, flag, several, text
from explorer.core.links import LONGEST_LINK, MOST_DROPPED

LONGEST = 20


def _short(value: str) -> str:
    if len(value) > LONGEST:
        raise ValueError(value)
    return value


@dataclass(frozen=True)
class Walk(Address):
    """A state with a parameter of each kind."""

    TAB = "walk"
    pace: str = "slow"
    is_alone: bool = True
    to: str = ""
    stops: tuple[str, ...] = ()
    PARAMETERS = (
        choice("pace", ("slow", "fast")),
        flag("together", "is_alone", on=False),
        text("to", _short),
        several("at", _short, 3, "stops"),
    )


NAMES = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=LONGEST)
WALKS = st.builds(
    Walk,
    st.sampled_from(["slow", "fast"]),
    st.booleans(),
    NAMES,
    st.lists(NAMES, unique=True, max_size=3).map(tuple),
)


@given(WALKS)
def test_a_state_comes_back_from_its_link(walk: Walk) -> None:
    assert Walk.parse(walk.href()) == (walk, ())


def test_what_is_as_by_default_is_not_written() -> None:
    assert Walk().href() == "?tab=walk"
    assert Walk(pace="fast").href(pace="slow", is_alone=False) == "?tab=walk&together=1"


@pytest.mark.parametrize(
    ("query", "state", "dropped"),
    [
        ("?tab=walk&pace=far&x=1", Walk(), ("pace=far", "x=1")),
        ("together=0&together=1&to=here", Walk(is_alone=False, to="here"), ("together=0",)),
        ("at=a&at=a&at=b", Walk(stops=("a", "b")), ()),
        ("at=a&at=b&at=c&at=d", Walk(stops=("a", "b", "c")), ("at=d",)),
        ("__theme=dark&view=x", Walk(), ()),
        ("to=" + "x" * 21, Walk(), ("to=" + "x" * 21,)),
        (None, Walk(), ("nothing",)),
        (["to=a"], Walk(), ("list",)),
        ("to=%ED%A0%80%ff", Walk(to="\ufffd" * 4), ()),
    ],
)
def test_nonsense_is_left_out_and_named(query: object, state: Walk, dropped: object) -> None:
    assert Walk.parse(query) == (state, dropped)


def test_a_link_of_any_length_is_read_as_far_as_it_may_be() -> None:
    state, dropped = Walk.parse("pace=fast&" + "&".join(f"x{n}=1" for n in range(LONGEST_LINK)))
    assert state == Walk(pace="fast") and len(dropped) == MOST_DROPPED + 1


def test_a_value_is_put_in_and_taken_out_again() -> None:
    walk = Walk(stops=("a", "b"))
    assert walk.toggled("stops", "a") == ("b",)
    assert walk.toggled("stops", "c") == ("a", "b", "c")

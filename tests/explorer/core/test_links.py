"""Links of a small state: what is written into one, and what is read from anything."""

from dataclasses import dataclass, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from explorer.core.address import Address, Parameter, choice, flag, several, text
from explorer.core.links import LONGEST_LINK, MOST_DROPPED
from scoring.errors import KnownError


def check_hours(value: str) -> int:
    if not 1 <= int(value) <= 9:
        raise KnownError("1 to 9 hours.")
    return int(value)


def check_note(value: str) -> str:
    if "!" in value:
        raise ValueError
    return value


@dataclass(frozen=True)
class Walk(Address):
    """How and where to."""

    TAB = "walk"
    pace: str = "slow"
    dog: bool = True
    hours: int = 1
    stops: tuple[str, ...] = ()
    note: str = ""
    PARAMETERS = (
        choice("by", ("slow", "fast"), "pace"),
        flag("no-dog", "dog", on=False),
        Parameter("h", "hours", check_hours),
        several("at", str, 9, "stops"),
        text("note", check_note),
    )


STATES = st.builds(
    Walk,
    st.sampled_from(["slow", "fast"]),
    st.booleans(),
    st.integers(1, 9),
    st.lists(st.text(st.characters(codec="utf-8")), max_size=4, unique=True).map(tuple),
    st.text(st.characters(codec="utf-8", exclude_characters="!")),
)
LINKS: dict[str, tuple[object, Walk, tuple[str, ...]]] = {
    "nothing is the usual": ("", Walk(), ()),
    "a question mark is no part": ("?by=fast", Walk("fast"), ()),
    "a part each of several": ("at=a&at=b", Walk(stops=("a", "b")), ()),
    "a flag": ("no-dog=1", Walk(dog=False), ()),
    "a flag is set by 1 alone": ("no-dog=0", Walk(), ("no-dog=0",)),
    "nonsense is dropped and told": ("by=far&h=2", Walk(hours=2), ("by=far",)),
    "no name of ours": ("x=1", Walk(), ("x=1",)),
    "no number": ("h=ten", Walk(), ("h=ten",)),
    "what Gradio and Spaces write is not told": ("__theme=dark&logs=build&view=api", Walk(), ()),
    "the later of two": ("h=2&h=3", Walk(hours=3), ()),
    "values of one kind once": ("at=a&at=a&at=b", Walk(stops=("a", "b")), ()),
    "more of one kind than there may be": (
        "&".join(f"at={n}" for n in range(10)), Walk(stops=tuple("012345678")), ("at=9",),
    ),
    "words in other letters": ("note=%C3%A9+a", Walk(note="é a"), ()),
    "half a letter": ("note=%ff", Walk(note="\ufffd"), ()),
    "a surrogate": ("note=a\ud800", Walk(note="a\ufffd"), ()),
    "no text at all": (None, Walk(), ("nothing",)),
    "a long part is told in short": ("x=" + "y" * 200, Walk(), ("x=" + "y" * 78,)),
}  # fmt: skip


@given(STATES)
def test_a_link_leads_back_to_its_state(state: Walk) -> None:
    link = state.query_string
    assert Walk.parse(link) == Walk.parse(f"?{link}") == (state, ())
    assert (link == "") is (state == Walk())


@pytest.mark.parametrize(("query", "state", "dropped"), LINKS.values(), ids=LINKS)
def test_a_link_may_say_anything(query: object, state: Walk, dropped: tuple[str, ...]) -> None:
    assert Walk.parse(query) == (state, dropped)


@given(st.text(max_size=200))
def test_no_text_is_an_error(query: str) -> None:
    assert isinstance(Walk.parse(query)[0], Walk)


def test_a_link_that_is_too_long_is_cut_between_two_parts() -> None:
    fits = "note=" + "x" * (LONGEST_LINK - 5)
    state, dropped = Walk.parse(fits)
    assert Walk.parse(f"?{fits}") == (state, dropped)
    assert dropped == () and len(state.note) == LONGEST_LINK - 5
    before = "by=fast&note=" + "x" * (LONGEST_LINK - 17)
    cut, dropped = Walk.parse(f"{before}&h=23")
    assert (replace(cut, note=""), dropped) == (Walk("fast"), ("…",))  # h=2 was never asked for
    assert Walk.parse(f"{fits}&h=2") == (state, ("…",))
    assert Walk.parse(fits + "x")[0] == Walk()


@pytest.mark.parametrize("more", [0, 1])
def test_of_many_parts_that_mean_nothing_some_are_told(more: int) -> None:
    _, dropped = Walk.parse("&".join(["x=1"] * (MOST_DROPPED + more)))
    assert dropped == ("x=1",) * MOST_DROPPED + ("…",) * more


def test_a_value_is_put_in_and_taken_out_again_and_a_default_is_not_written() -> None:
    walk = Walk(stops=("a", "b"))
    assert (walk.toggled("stops", "a"), walk.toggled("stops", "c")) == (("b",), ("a", "b", "c"))
    assert Walk("fast").href(pace="slow", dog=False) == "?tab=walk&no-dog=1"


def test_an_address_can_be_read_by_a_person() -> None:
    assert Walk(note="org/name@1: a&b").query_string == "note=org/name@1:+a%26b"


def test_a_link_sets_nothing_but_what_its_tab_has() -> None:
    for name in ("pace", "hours", "TAB", "PARAMETERS", "__class__"):
        assert Walk.parse(f"{name}=fast") == (Walk(), (f"{name}=fast",))

"""Links of a small state: what is written into one, and what is read from anything."""

from dataclasses import dataclass, field, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from explorer.core.links import (
    LONGEST_LINK,
    MOST_DROPPED,
    Codec,
    Parameter,
    checked,
    choice,
    flag,
    several,
    within,
)
from scoring.errors import KnownError


@dataclass(frozen=True)
class Walk:
    """How and where to."""

    pace: str = "slow"
    dog: bool = True
    hours: int = 1
    stops: tuple[str, ...] = ()


@dataclass(frozen=True)
class Day:
    """A walk in a day."""

    walk: Walk = field(default_factory=Walk)
    note: str = ""


def check_hours(value: object) -> int:
    if not 1 <= int(str(value)) <= 9:
        raise KnownError("1 to 9 hours.")
    return int(str(value))


def read_note(_: str, text: str) -> str:
    if "!" in text:
        raise ValueError
    return text


LINK = Codec(
    Day(),
    (
        *within(
            "walk",
            (
                choice("by", "pace", ("slow", "fast"), "A pace"),
                flag("no-dog", "dog", on=False),
                checked("h", "hours", check_hours),
                several("at", "stops", lambda value: tuple(map(str, value))),  # type: ignore[call-overload]
            ),
        ),
        Parameter("note", "note", read_note, lambda note: (note,), last=True),
    ),
)
STATES = st.builds(
    Day,
    st.builds(
        Walk,
        st.sampled_from(["slow", "fast"]),
        st.booleans(),
        st.integers(1, 9),
        st.lists(st.text(st.characters(codec="utf-8")), max_size=4).map(tuple),
    ),
    st.text(st.characters(codec="utf-8", exclude_characters="!")),
)
LINKS: dict[str, tuple[object, Day, tuple[str, ...]]] = {
    "nothing is the usual": ("", Day(), ()),
    "a question mark is no part": ("?by=fast", Day(Walk("fast")), ()),
    "a part each of several": ("at=a&at=b", Day(Walk(stops=("a", "b"))), ()),
    "a flag": ("no-dog=1", Day(Walk(dog=False)), ()),
    "a flag is set by 1 alone": ("no-dog=0", Day(), ("no-dog=0",)),
    "nonsense is dropped and told": ("by=far&h=2", Day(Walk(hours=2)), ("by=far",)),
    "no name of ours": ("x=1", Day(), ("x=1",)),
    "no number": ("h=ten", Day(), ("h=ten",)),
    "what Gradio and Spaces write is not told": ("__theme=dark&logs=build&view=api", Day(), ()),
    "the later of two": ("h=2&h=3", Day(Walk(hours=3)), ()),
    "words in other letters": ("note=%C3%A9+a", Day(note="é a"), ()),
    "half a letter": ("note=%ff", Day(note="\ufffd"), ()),
    "a surrogate": ("note=a\ud800", Day(note="a\ufffd"), ()),
    "no text at all": (None, Day(), ("nothing",)),
    "a long part is told in short": ("x=" + "y" * 200, Day(), ("x=" + "y" * 78,)),
}


@given(STATES)
def test_a_link_leads_back_to_its_state(state: Day) -> None:
    link = LINK.encode(state)
    assert LINK.decode(link).state == LINK.decode(f"?{link}").state == state
    assert LINK.decode(link).dropped == ()
    assert (link == "") is (state == Day())


@pytest.mark.parametrize(("query", "state", "dropped"), LINKS.values(), ids=LINKS)
def test_a_link_may_say_anything(query: object, state: Day, dropped: tuple[str, ...]) -> None:
    found = LINK.decode(query)
    assert (found.state, found.dropped) == (state, dropped)


@given(st.text(max_size=200))
def test_no_text_is_an_error(query: str) -> None:
    assert isinstance(LINK.decode(query).state, Day)


def test_a_link_is_read_onto_what_is_there() -> None:
    there = Day(Walk("fast", hours=3), "here")
    assert LINK.decode("h=2", onto=there).state == Day(Walk("fast", hours=2), "here")


def test_what_must_be_read_last_is() -> None:
    heard = []
    codec = Codec(
        Day(),
        (
            Parameter("a", "note", lambda _, text: heard.append(text) or text, tuple, last=True),  # type: ignore[func-returns-value]
            Parameter("b", "note", lambda _, text: heard.append(text) or text, tuple),  # type: ignore[func-returns-value]
        ),
    )
    codec.decode("a=last&b=first&b=second")
    assert heard == ["first", "second", "last"]


def test_a_link_that_is_too_long_is_cut_between_two_parts() -> None:
    fits = "note=" + "x" * (LONGEST_LINK - 5)
    assert LINK.decode(fits) == LINK.decode(f"?{fits}")
    assert LINK.decode(fits).dropped == () and len(LINK.decode(fits).state.note) == LONGEST_LINK - 5
    before = "by=fast&note=" + "x" * (LONGEST_LINK - 17)
    cut = LINK.decode(f"{before}&h=23")
    assert (cut.state.walk, cut.dropped) == (Walk("fast"), ("…",))  # h=2 was never asked for
    assert LINK.decode(f"{fits}&h=2") == replace(LINK.decode(fits), dropped=("…",))
    assert LINK.decode(fits + "x").state == Day()


@pytest.mark.parametrize("more", [0, 1])
def test_of_many_parts_that_mean_nothing_some_are_told(more: int) -> None:
    dropped = LINK.decode("&".join(["x=1"] * (MOST_DROPPED + more))).dropped
    assert dropped == ("x=1",) * MOST_DROPPED + ("…",) * more


def test_an_address_can_be_read_by_a_person() -> None:
    state = Day(note="org/name@1: a&b")
    assert LINK.encode(state) == "note=org/name@1:+a%26b"


def test_an_act_sets_what_it_may_to_what_that_can_be() -> None:
    assert LINK.moved(Day(), "walk.pace", "fast") == Day(Walk("fast"))
    assert LINK.moved(Day(), "walk.hours", 9) == Day(Walk(hours=9))
    for path, value, message in [
        ("walk.pace", "far", "A pace"),
        ("walk.pace", ["fast"], "A pace"),
        ("walk.hours", 10, "1 to 9"),
        ("walk.dog", False, "There is no act"),
        ("note", "x", "There is no act"),
        ("walk", Walk(), "There is no act"),
    ]:
        with pytest.raises(KnownError, match=message):
            LINK.moved(Day(), path, value)

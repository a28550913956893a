"""Links of a small state; those of the tabs are tried in `test_states.py`."""

from dataclasses import dataclass

import pytest

from explorer.core.address import Address, choice, flag, several, text
from explorer.core.links import LONGEST_LINK, MOST_DROPPED


@dataclass(frozen=True)
class Walk(Address):
    """How and where to."""

    TAB = "walk"
    pace: str = "slow"
    dog: bool = True
    stops: tuple[str, ...] = ()
    note: str = ""
    PARAMETERS = (
        choice("by", ("slow", "fast"), "pace"),
        flag("no-dog", "dog", on=False),
        several("at", str, 9, "stops"),
        text("note", str),
    )


WRONG = ("x=1",) * MOST_DROPPED
FITS = "note=" + "x" * (LONGEST_LINK - 5)
LINKS: dict[str, tuple[str, Walk, tuple[str, ...]]] = {
    "a part each of several, each once": ("at=a&at=a&at=b", Walk(stops=("a", "b")), ()),
    "a flag is set by 1 alone": ("no-dog=0", Walk(), ("no-dog=0",)),
    "nonsense is dropped and told": ("by=far&no-dog=1", Walk(dog=False), ("by=far",)),
    "what Gradio and Spaces write is not told": ("__theme=dark&logs=build&view=api", Walk(), ()),
    "more of one kind than there may be": (
        "&".join(f"at={n}" for n in range(10)), Walk(stops=tuple("012345678")), ("at=9",),
    ),
    "half a letter and a surrogate": ("note=%ff\ud800", Walk(note="\ufffd\ufffd"), ()),
    "of many that mean nothing some": ("x=1&" * (MOST_DROPPED + 1), Walk(), (*WRONG, "…")),
    "names of its fields and its class": ("pace=fast&TAB=x", Walk(), ("pace=fast", "TAB=x")),
    "as much as is read": (FITS, Walk(note="x" * (LONGEST_LINK - 5)), ()),
    "more is cut between two parts": (f"by=fast&{FITS}", Walk("fast"), ("…",)),
}  # fmt: skip


@pytest.mark.parametrize(("query", "state", "dropped"), LINKS.values(), ids=LINKS)
def test_a_link_may_say_anything(query: str, state: Walk, dropped: tuple[str, ...]) -> None:
    assert Walk.parse(query) == (state, dropped)


def test_a_link_can_be_read_by_a_person_and_holds_no_default() -> None:
    walk = Walk(stops=("a", "b"))
    assert (walk.toggled("stops", "a"), walk.toggled("stops", "c")) == (("b",), ("a", "b", "c"))
    assert Walk("fast").href(pace="slow", dog=False) == "?tab=walk&no-dog=1"
    assert Walk(note="org/name@1: a&b").query_string == "note=org/name@1:+a%26b"

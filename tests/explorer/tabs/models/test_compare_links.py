import pytest
from hypothesis import given
from hypothesis import strategies as st

from explorer.core.links import LONGEST_LINK
from explorer.reader.diffs import DIFFS
from explorer.reader.reading import Reading
from explorer.results.ensembles import WAYS
from explorer.results.field import MAJORITY
from explorer.tabs.models.compare_state import (
    COMPARE_LINK,
    MOST_MEMBERS,
    PANELS,
    SECTIONS,
    CompareState,
)

LETTERS = st.characters(exclude_categories=["Cs"])
NAMES = st.text(LETTERS, min_size=1, max_size=30) | st.sampled_from(["a,b", "100%", "a&b=c#+"])
MODELS = NAMES.filter(lambda name: name != MAJORITY)


@st.composite
def views(draw: st.DrawFn) -> CompareState:
    models = draw(st.lists(MODELS, unique=True, max_size=4))
    a, b, *more = [*models, *[""] * 2][: max(2, len(models))]
    return CompareState(
        a,
        b or MAJORITY,
        tuple(more),
        draw(st.sampled_from(SECTIONS)),
        draw(st.sampled_from(PANELS)),
        tuple(draw(st.lists(NAMES, unique=True, max_size=MOST_MEMBERS))),
        draw(st.sampled_from(WAYS)),
        draw(NAMES | st.just("")),
        Reading(
            draw(NAMES | st.just("")), 1, draw(st.sampled_from(DIFFS)), *draw(st.tuples(
                st.booleans(), st.booleans()
            ))
        ),
    )  # fmt: skip


@given(views())
def test_a_link_says_the_whole_view(view: CompareState) -> None:
    link = COMPARE_LINK.encode(view)
    assert COMPARE_LINK.decode(link).view == view
    assert COMPARE_LINK.decode(f"?tab=compare&{link}").dropped == ()
    assert link.isascii() and not set(link) & set(" \t\n\0<>\"'#")


def test_a_plain_view_has_a_plain_link() -> None:
    assert COMPARE_LINK.encode(CompareState()) == ""
    assert COMPARE_LINK.decode("").view == CompareState()


@pytest.mark.parametrize(
    "part",
    [
        "b=m", "b=", "with=m", "with=n", "with=", "with=*", "a=" + "x" * 2000, "section=Prior",
        "part=pie", "way=best", "member=" + "x" * 2000, "subset=hep-go", "list-page=2", "q=x",
        "diff=sideways", "=", "nothing",
    ],
)  # fmt: skip
def test_a_part_that_means_nothing_is_named_and_leaves_the_rest(part: str) -> None:
    link = f"a=m&b=n&with=o&pair=a:1&{part}" if part != "b=m" else "a=m&with=o&pair=a:1&b=m"
    decoded = COMPARE_LINK.decode(link)
    expected = CompareState("m", "n", ("o",), reading=Reading("a:1"))
    if part == "b=m":  # without the second there is no third
        assert decoded.view == CompareState("m", reading=Reading("a:1"))
        assert decoded.dropped == ("b=m", "with=o")
        return
    assert decoded.view == expected
    assert decoded.dropped == ((part if "=" in part else f"{part}=")[:80],)


def test_more_models_or_members_than_there_can_be_are_dropped() -> None:
    decoded = COMPARE_LINK.decode("a=1&b=2&with=3&with=4&with=5&with=6")
    assert (decoded.view.named, decoded.dropped) == (tuple("1234"), ("with=5", "with=6"))
    members = "&".join(f"member={at}" for at in range(MOST_MEMBERS + 1))
    decoded = COMPARE_LINK.decode(members)
    assert len(decoded.view.members) == MOST_MEMBERS
    assert decoded.dropped == (f"member={MOST_MEMBERS}",)


@given(st.text(max_size=200) | st.lists(
    st.builds("{}={}".format, st.sampled_from(["a", "b", "with", "member", "pair", "way"]),
              st.text(max_size=3))
).map("&".join))  # fmt: skip
def test_whatever_a_link_says_its_view_has_a_link_of_its_own(query: str) -> None:
    view = COMPARE_LINK.decode(query).view
    again = COMPARE_LINK.decode(COMPARE_LINK.encode(view))
    assert (again.view, again.dropped) == (view, ())


@pytest.mark.parametrize("value", [None, 5, b"a=m", ["a=m"], True])
def test_what_is_no_text_is_no_view(value: object) -> None:
    assert COMPARE_LINK.decode(value).view == CompareState()
    assert COMPARE_LINK.decode("a=" + "x" * LONGEST_LINK).view == CompareState()

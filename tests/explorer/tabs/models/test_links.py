import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from explorer.core.links import LONGEST_LINK
from explorer.data.name_search import checked_search
from explorer.tabs.models.state import (
    BENCHMARKS,
    BOARD_LINK,
    CHARTS,
    COLUMNS,
    DIGITS,
    HIDEABLE,
    MISSING,
    MODEL_TYPES,
    NUMBERS,
    RULE_OPTIONS,
    TABLES,
    TIES,
    BoardState,
    in_order,
)
from scoring.errors import KnownError, shown
from scoring.results.files import LONGEST_NAME

LETTERS = st.characters(exclude_categories=["Cs"])
NAMES = st.text(LETTERS, min_size=1, max_size=12) | st.text(
    "a,%&=#+;?/:@.. \t\n\0é日🌈\u202e'\"<>", min_size=1, max_size=8
)
SEARCHES = st.sampled_from(["", "llama,8b", r"^org/.*\d+b$, x", "(a|b)+", "a&b=c", "100%", "日本"])


@st.composite
def searches(draw: st.DrawFn) -> str:
    try:
        return checked_search(draw(NAMES))
    except KnownError:
        return draw(SEARCHES)


@st.composite
def views(draw: st.DrawFn) -> BoardState:
    sort = draw(st.sampled_from(["", *COLUMNS]))
    types = draw(st.sets(st.sampled_from(MODEL_TYPES)))
    return BoardState(
        benchmark=draw(st.sampled_from(BENCHMARKS)),
        table=draw(st.sampled_from(TABLES)),
        search=draw(searches() | SEARCHES),
        types=tuple(each for each in MODEL_TYPES if each in types),
        prior_sets=draw(st.booleans()),
        rule=draw(st.sampled_from(RULE_OPTIONS)),
        ties=draw(st.sampled_from(TIES)),
        missing=draw(st.sampled_from(MISSING)),
        sort=sort,
        ascending=bool(sort) and draw(st.booleans()),
        hidden=in_order(draw(st.lists(st.sampled_from(HIDEABLE), max_size=5))),
        pins=tuple(draw(st.lists(NAMES, max_size=4, unique=True))),
        digits=draw(st.sampled_from(DIGITS)),
        own=draw(st.booleans()),
        chart=draw(st.sampled_from(CHARTS)),
        x=draw(st.sampled_from(["", *NUMBERS])),
        y=draw(st.sampled_from(["", *NUMBERS])),
    )


@settings(max_examples=500)
@given(views())
@example(BoardState())
@example(BoardState(pins=("", "a,b", "100%", "a&b=c", "#", "+ ")[1:], search="a%2C,b"))
@example(BoardState(hidden=HIDEABLE, types=MODEL_TYPES))
def test_a_link_says_all_of_a_view(view: BoardState) -> None:
    link = BOARD_LINK.encode(view)
    decoded = BOARD_LINK.decode(link)
    assert decoded.view == view
    assert decoded.dropped == ()
    assert BOARD_LINK.decode(f"?{link}").view == view
    assert link.isascii()
    assert not set(link) & set(" \t\n\0<>\"'#")


def test_a_view_with_nothing_special_has_an_empty_link() -> None:
    assert BOARD_LINK.encode(BoardState()) == ""
    assert BOARD_LINK.decode("").view == BOARD_LINK.decode("?").view == BoardState()


def test_a_link_is_written_so_that_a_person_can_read_it() -> None:
    view = BoardState(
        "v1", "subsets", "llama,8b", ("DPO", "Generative"), True, "paper", "half", "loss", "hep-go",
        True, ("size", "math-prm"), ("org/b", "org/a"), 2, False, "tradeoff", "Chat Hard", "size",
    )  # fmt: skip
    assert BOARD_LINK.encode(view).split("&") == [
        "table=subsets",
        "models=llama%2C8b",
        "type=DPO",
        "type=Generative",
        "prior=1",
        "rule=paper",
        "ties=half",
        "missing=loss",
        "by=hep-go",
        "hide=size",
        "hide=math-prm",
        "pin=org/b",
        "pin=org/a",
        "digits=2",
        "without-own=1",
        "plot=tradeoff",
        "x=Chat+Hard",
        "y=size",
    ]


def test_a_part_that_means_nothing_is_named_and_leaves_the_rest(subtests: pytest.Subtests) -> None:
    cases: list[str] = [
        "nonsense=1",
        "=",
        "=x",
        "board=v3",
        "board",
        "table=all",
        "models=(",
        "models=" + "a" * 501,
        "type=unheard",
        "prior=0",
        "prior=true",
        "rule=mine",
        "ties=win",
        "missing=",
        "by=",
        "by=-",
        "by=--Chat",
        "by=rank",
        "hide=model",
        "hide=nothing",
        "pin=",
        "pin=" + "a" * (LONGEST_NAME + 1),
        "digits=0",
        "digits=5",
        "digits=1.0",
        "digits=" + "9" * 5000,
        "without-own=0",
        "plot=",
        "plot=pie",
        "x=",
        "x=model",
        "y=nothing",
    ]
    for part in cases:
        with subtests.test(part=part):
            decoded = BOARD_LINK.decode(f"pin=a&{part}&pin=b")
            assert decoded.view == BoardState(pins=("a", "b"))
            assert decoded.dropped == ((part if "=" in part else f"{part}=")[:80],)


@pytest.mark.parametrize("value", [None, 5, b"board=v2", ["board=v2"], True])
def test_what_is_no_text_is_no_view(value: object) -> None:
    decoded = BOARD_LINK.decode(value)
    assert (decoded.view, decoded.dropped) == (BoardState(), (shown(value),))


@pytest.mark.parametrize("unit", ["a", "&", "pin=a&", "type=DPO&", "%00", "models=a&", "\ud800"])
def test_a_megabyte_is_cut(unit: str) -> None:
    decoded = BOARD_LINK.decode(unit * (10**6 // len(unit)))
    assert decoded.dropped[0] == "…"
    assert len(BOARD_LINK.encode(decoded.view)) <= LONGEST_LINK


PARTS = st.builds(
    "{}={}".format,
    st.sampled_from([*(each.name for each in BOARD_LINK.parameters), "tab"]) | st.text(max_size=3),
    st.sampled_from([*COLUMNS, *MODEL_TYPES, *RULE_OPTIONS, "1", "v2", "-Chat", "("])
    | st.text(max_size=8),
)


@settings(max_examples=500)
@given(st.text() | st.lists(PARTS, max_size=12).map("&".join))
def test_whatever_a_link_says_its_view_has_a_link_of_its_own(query_string: str) -> None:
    decoded = BOARD_LINK.decode(query_string)
    again = BOARD_LINK.decode(BOARD_LINK.encode(decoded.view))
    assert again.view == decoded.view
    assert again.dropped == ()
    assert all(isinstance(each, str) and len(each) <= 80 for each in decoded.dropped)

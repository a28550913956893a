"""The addresses of the Models tab, and what a state says of a board's rows and columns."""

from dataclasses import fields, replace
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from explorer.core.links import MOST_DROPPED
from explorer.data.search import LONGEST_QUERY
from explorer.results.board import Board, build_board
from explorer.results.field import MAJORITY
from explorer.results.published import Results
from explorer.tabs.models.ranked import columns_of, visible_columns, visible_rows
from explorer.tabs.models.state import (
    BOARD_COLUMNS,
    HIDEABLE,
    MODEL_TYPES,
    MODELS_PANELS,
    NUMBER_COLUMNS,
    OPTIONAL,
    ModelsState,
)
from scoring.benchmark import SECTIONS, SUBSETS
from scoring.errors import KnownError
from scoring.results.accuracies import Aggregate
from scoring.results.files import LONGEST_MODEL
from tests.support.board_data import FOUR, SOURCE, matrix_of
from tests.support.boards import HOSTILE, comparing

DEFAULT = ModelsState()
VALUES: dict[str, tuple[Any, ...]] = {
    "panel": MODELS_PANELS,
    "search": ("llama,8b", r"^org/.*\d+b$, x", "(", "a&b=c+d", "100%", "日本\u202e"),
    "own": (False,),
    "benchmark": ("v2",),
    "table": ("subsets", "prior"),
    "types": (("DPO",), MODEL_TYPES),
    "prior_sets": (True,),
    "rule": ("paper", "prior-full"),
    "ties": ("half",),
    "missing": ("loss",),
    "sort": ("Chat Hard", "-score", "-hep-go", "model", "Focus"),
    "hidden": (("size", "math-prm"), HIDEABLE),
    "added": (("licence",), OPTIONAL),
    "pins": (HOSTILE, ("a,b", "100%", "a&b=c", "#", "+ ")),
    "open": (*HOSTILE, " a "),
    "ticked": HOSTILE[:3],
    "digits": (2, 4),
    "chart": ("agreement", "tradeoff"),
    "x": ("size", "Chat Hard"),
    "y": ("Ties", "shp"),
    "a": HOSTILE[:3],
    "section": tuple(SECTIONS),
    "members": (HOSTILE[:2],),
    "way": ("worst",),
    "results": ("0123456789abcdef" * 2,),
}
"""Field -> values that are not its default; b and more go with a."""
SEVERAL = [
    comparing("m", "n"),
    comparing("m", "n", ("o", "<p>")),
    comparing("m", b="n", more=("o",)),
]


def assert_round_trip(state: ModelsState) -> None:
    link = state.href()
    assert ModelsState.parse(link) == ModelsState.parse(link[1:]) == (state, ())
    assert link.isascii() and not set(link) & set(" \t\n\0<>\"'#")


def test_every_field_goes_through_an_address() -> None:
    assert {*VALUES, "b", "more"} == {each.name for each in fields(ModelsState)}
    assert {each.field for each in ModelsState.PARAMETERS} == {*VALUES, "b", "more"}
    states = [replace(DEFAULT, **{name: value}) for name, some in VALUES.items() for value in some]
    for state in (*states, *SEVERAL):
        assert_round_trip(state)


NAMES = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=12)
NAMES |= st.text("a,%&=#+;?/:@.. \t\n\0é日🌈\u202e'\"<>", min_size=1, max_size=8)
COMPARED = st.lists(NAMES.filter(lambda name: name != MAJORITY), unique=True, max_size=4)


@st.composite
def states(draw: st.DrawFn) -> ModelsState:
    known = {name: draw(st.sampled_from(values)) for name, values in VALUES.items()}
    kept = {name: known[name] for name in draw(st.sets(st.sampled_from([*VALUES])))}
    a, b, *more = [*draw(COMPARED), "", MAJORITY][:4] if draw(st.booleans()) else ("", MAJORITY)
    more = [each for each in more if each not in ("", MAJORITY)]
    pins = tuple(draw(st.lists(NAMES, max_size=4, unique=True)))
    named = {"a": a, "b": b or MAJORITY, "more": tuple(more), "pins": pins}
    return ModelsState(**{**kept, **named, "open": draw(NAMES | st.just(""))})


@given(states())
def test_combinations_go_through_an_address(state: ModelsState) -> None:
    assert_round_trip(state)


def test_an_address_is_written_so_that_a_person_can_read_it_without_defaults() -> None:
    assert DEFAULT.href() == "?tab=models"
    state = ModelsState(
        "scatter", "llama,8b", False, "v1", "subsets", ("DPO",), True, "paper", "half", "loss",
        "-hep-go", ("size", "math-prm"), ("licence",), ("org/b",), "org/d", "org/e", 2, "tradeoff",
        "Chat Hard", "size", "org/a", "org/b", ("org/c",), "Chat", ("org/f",), "worst", "0a",
    )  # fmt: skip
    assert state.href() == (
        "?tab=models&panel=scatter&table=subsets&models=llama%2C8b&type=DPO&prior=1&rule=paper"
        "&ties=half&missing=loss&by=-hep-go&hide=size&hide=math-prm&show=licence&pin=org/b"
        "&model=org/d&chosen=org/e&digits=2&without-own=1&plot=tradeoff&x=Chat+Hard&y=size&a=org/a"
        "&b=org/b&with=org/c&section=Chat&member=org/f&way=worst&results=0a"
    )


# Nonsense.


@pytest.mark.parametrize(
    "part",
    [
        "nonsense=1", "=", "=x", "board=v3", "board", "table=all", "type=unheard", "prior=0",
        "models=" + "a" * (LONGEST_QUERY + 1), "rule=mine", "ties=win", "missing=", "by=", "by=-",
        "by=--Chat", "by=rank", "hide=model", "hide=nothing", "pin=", "digits=0", "digits=1.0",
        "pin=" + "a" * (LONGEST_MODEL + 1), "digits=" + "9" * 5000, "without-own=0", "plot=",
        "plot=pie", "x=", "x=model", "y=rank", "section=Prior", "panel=table", "way=best",
        "member=", "member=" + "x" * (LONGEST_MODEL + 1), "a=" + "x" * 2000, "results=",
        "results=é", "results=a/b", "results=" + "0" * 65, "source=demo", "pair=a:1",
    ],
)  # fmt: skip
def test_what_means_nothing_is_named_once_and_leaves_the_rest(part: str) -> None:
    state, dropped = ModelsState.parse(f"?tab=models&pin=a&{part}&pin=b")
    assert state == ModelsState(pins=("a", "b"))
    assert dropped == ((part if "=" in part else f"{part}=")[:80],)


@pytest.mark.parametrize(
    ("link", "state", "dropped"),
    [
        ("b=n", DEFAULT, ["b=n"]),
        ("with=n&section=Chat", ModelsState(section="Chat"), ["with=n"]),
        ("a=m&b=m", comparing("m", panel="board"), ["b=m"]),
        ("a=m&b=m&with=o", comparing("m", "o", panel="board"), ["b=m"]),
        ("a=m&with=o&with=m", comparing("m", "o", panel="board"), ["with=m"]),
        ("a=m&b=n&with=n", comparing("m", "n", panel="board"), ["with=n"]),
        ("a=m&b=&with=", comparing("m", panel="board"), []),
        ("a=m&b=*&with=*", comparing("m", panel="board"), ["with=*"]),
        ("a=1&b=2&with=3&with=4&with=5", comparing("1", "2", ("3", "4"), "board"), ["with=5"]),
        ("a=1&a=2&b=3&b=4", comparing("2", "4", panel="board"), []),
        ("board=v2&board=v1&digits=2&digits=3", ModelsState(digits=3), []),
        ("by=Chat&by=&prior=1&prior=1", ModelsState(sort="Chat", prior_sets=True), ["by="]),
        ("pin=a&pin=a&type=DPO&type=DPO", ModelsState(pins=("a",), types=("DPO",)), []),
        ("tab=models&view=x&__theme=dark&logs=1", DEFAULT, []),
    ],
)
def test_models_stand_once_and_of_what_is_repeated_the_last_counts(
    link: str, state: ModelsState, dropped: list[str]
) -> None:
    assert ModelsState.parse(f"?tab=models&{link}") == (state, tuple(dropped))


PARTS = st.builds(
    "{}={}".format,
    st.sampled_from([*(each.name for each in ModelsState.PARAMETERS), "tab"]) | st.text(max_size=3),
    st.sampled_from([*BOARD_COLUMNS, *MODEL_TYPES, *MODELS_PANELS, "1", "v2", "-Chat", "(", "*"])
    | st.text(max_size=8),
)


@given(st.text() | st.lists(PARTS, max_size=12).map("&".join))
@example("a=\x85")
def test_whatever_an_address_says_its_state_has_one_of_its_own(query: str) -> None:
    state, dropped = ModelsState.parse(query)
    assert_round_trip(state)
    assert len(dropped) <= MOST_DROPPED + 1
    assert all(isinstance(each, str) and len(each) <= 80 for each in dropped)
    assert state.digits in (1, 2, 3, 4) and type(state.digits) is int
    assert state.column in ("", *BOARD_COLUMNS) and {state.x, state.y} <= {"", *NUMBER_COLUMNS}


# Where presses lead.


def test_presses_lead_to_the_states_that_they_say() -> None:
    def leads(link: str) -> ModelsState:
        state, dropped = ModelsState.parse(link)
        assert not dropped
        return state

    state = ModelsState(search="a", digits=2, pins=("p",), hidden=("size",), sort="Chat")
    for column in ("model", "organisation", "licence", "type", "failures"):
        assert leads(DEFAULT.sorted_by(column)).sort == column
    assert leads(ModelsState(sort="model").sorted_by("model")).sort == "-model"
    assert leads(DEFAULT.sorted_by("Chat")).sort == "-Chat"
    assert leads(ModelsState(sort="-Chat").sorted_by("Chat")).sort == "Chat"
    assert leads(DEFAULT.ticking("m")).ticked == "m"
    assert leads(ModelsState(ticked="m").ticking("m")) == DEFAULT
    assert leads(ModelsState(ticked="m", open="o", section="Chat").ticking("n")) == comparing(
        "m", "n"
    )
    assert leads(state.reset()) == ModelsState(digits=2, pins=("p",))
    full = comparing("m", "n", ("o",), section="Chat", members=("x",), way="worst")
    assert leads(full.comparing(a="1", b="2")) == comparing("1", "2")


# Rows and columns.

MODELS = {
    "org/llama-8b": ("DPO", 0.5),
    "org/Gemma-2B": ("Seq. Classifier", 0.9),
    "a, b": ("Generative RM PoLL", 0.7),
    "x/(y)": (None, 0.6),
}


@pytest.fixture(scope="module")
def board() -> Board:
    aggregates = [
        Aggregate(name, kind, dict.fromkeys(SUBSETS, value))
        for name, (kind, value) in MODELS.items()
    ]
    aggregates.append(Aggregate("part", "DPO", {"hep-go": 1.0}))
    mine = matrix_of({"mine": [1.0, 0.0, 0.0, 0.0]}, FOUR)
    return build_board(Results(SOURCE, tuple(aggregates)), "v1", outcomes=mine, own=("mine",))


@pytest.mark.parametrize("search", ["(", "llama,(", "a{2,1}(", r"(?=x)", r"(a)\1", "[", "*"])
def test_a_bad_expression_is_refused_by_name(board: Board, search: str) -> None:
    with pytest.raises(KnownError, match="Invalid regex"):
        visible_rows(board, ModelsState(search=search))


ALL = ["org/Gemma-2B", "a, b", "x/(y)", "org/llama-8b", "part", "mine"]
SEEN: dict[str, tuple[dict[str, Any], list[str]]] = {
    "all, best first": ({}, ALL),
    "a part of a name": ({"search": "llama"}, ["org/llama-8b"]),
    "alternatives, in any case": ({"search": "LLAMA, ^x/"}, ["x/(y)", "org/llama-8b"]),
    "empty alternatives": ({"search": " , ,gemma,"}, ["org/Gemma-2B"]),
    "an expression": ({"search": r"\d+b$"}, ["org/Gemma-2B", "org/llama-8b"]),
    "a comma within a name": ({"search": "a|b,"}, [*ALL[:2], "org/llama-8b", "part"]),
    "nothing found": ({"search": "nothing"}, []),
    "a kind, which own runs lack": ({"types": ("Generative",)}, ["a, b", "mine"]),
    "unknown kinds": ({"types": ("DPO", "unknown")}, ["x/(y)", "org/llama-8b", "part", "mine"]),
    "without own runs": ({"types": ("Generative",), "own": False}, ["a, b"]),
    "pins beside a search": (
        {"pins": ("part", "gone", "x/(y)"), "search": "gemma"}, ["part", "x/(y)", "org/Gemma-2B"],
    ),
    "pins before a sort": (
        {"pins": ("part", "x/(y)"), "sort": "score"},
        ["part", "x/(y)", "mine", "org/llama-8b", "a, b", "org/Gemma-2B"],
    ),
    "highest first": (
        {"sort": "-Chat"}, ["mine", "org/Gemma-2B", "a, b", "x/(y)", "org/llama-8b", "part"],
    ),
    "lowest first, unknown last": (
        {"sort": "Chat"}, ["org/llama-8b", "x/(y)", "a, b", "org/Gemma-2B", "mine", "part"],
    ),
    "largest first": ({"sort": "-size"}, ["org/llama-8b", *ALL[:3], "part", "mine"]),
    "by name": (
        {"sort": "model"}, ["a, b", "mine", "org/Gemma-2B", "org/llama-8b", "part", "x/(y)"],
    ),
    "most failures last": ({"sort": "failures"}, ["mine", *ALL[:-1]]),
    "by a column that this board has not": ({"sort": "Focus"}, ALL),
}  # fmt: skip
"""What is asked -> the models, in order."""


@pytest.mark.parametrize("name", SEEN)
def test_rows_are_those_that_are_asked_for_in_that_order(name: str, board: Board) -> None:
    asked, models = SEEN[name]
    assert [*visible_rows(board, ModelsState(**asked)).index] == models


def test_columns_are_those_of_the_table_that_are_not_hidden(board: Board) -> None:
    facts = ("model", "organisation", "licence", "type", "size", "score")
    assert columns_of(board, DEFAULT) == (*facts, *SECTIONS, "failures")
    assert columns_of(board, ModelsState(table="subsets")) == (*facts, *SUBSETS, "failures")
    state = ModelsState(hidden=("size", "Safety", "failures"))
    rest = ("type", "score", "Chat", "Chat Hard", "Reasoning")
    assert visible_columns(board, state) == ("model", *rest)
    state = replace(state, added=("organisation",))
    assert visible_columns(board, state) == ("model", "organisation", *rest)

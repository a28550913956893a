"""The addresses of the Models tab, and what a state says of a board's rows and columns."""

from dataclasses import fields, replace
from typing import Any
from urllib.parse import urlencode

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from explorer.core.links import LONGEST_LINK, MOST_DROPPED
from explorer.data.search import LONGEST_QUERY, checked_search, matching_names
from explorer.results.board import Board, build_board
from explorer.results.field import MAJORITY
from explorer.results.published import Results, read_snapshot
from explorer.stats.rules import PRIOR_PAIRS, V2_PAIRS
from explorer.tabs.models.ranked import columns_of, visible_columns, visible_rows
from explorer.tabs.models.state import (
    BOARD_COLUMNS,
    HIDEABLE,
    MODEL_TYPES,
    MODELS_PANELS,
    MOST_MEMBERS,
    MOST_PINS,
    NUMBER_COLUMNS,
    OPTIONAL,
    ModelsState,
    rule_of,
    type_of,
)
from scoring.benchmark import SECTIONS, SUBSETS
from scoring.errors import KnownError, shown
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


def asked(*parts: tuple[str, object]) -> tuple[ModelsState, tuple[str, ...]]:
    return ModelsState.parse(f"?{urlencode(parts)}")


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


def test_so_many_pins_members_and_models_and_no_more() -> None:
    state, dropped = asked(*(("pin", f"m{at}") for at in range(MOST_PINS + 30)))
    assert len(state.pins) == MOST_PINS
    assert dropped == (*(f"pin=m{MOST_PINS + at}" for at in range(MOST_DROPPED)), "…")
    state, dropped = asked(*(("member", at) for at in range(MOST_MEMBERS + 1)))
    assert len(state.members) == MOST_MEMBERS and dropped == (f"member={MOST_MEMBERS}",)
    state, dropped = asked(("a", 1), ("b", 2), *(("with", at) for at in range(3, 10)))
    assert state.named == ("1", "2", "3", "4") and len(dropped) == 5


@pytest.mark.parametrize("value", [None, 5, b"board=v2", ["board=v2"], True])
def test_what_is_no_text_is_no_address(value: object) -> None:
    assert ModelsState.parse(value) == (DEFAULT, (shown(value),))


@pytest.mark.parametrize("unit", ["a", "&", "pin=a&", "type=DPO&", "%00", "models=a&", "\ud800"])
@pytest.mark.parametrize("n", [LONGEST_LINK + 1, 10**6])
def test_what_is_too_long_is_cut(unit: str, n: int) -> None:
    state, dropped = ModelsState.parse(unit * (n // len(unit) + 1))
    assert dropped[0] == "…" and len(state.href()) <= LONGEST_LINK


def test_lone_surrogates_are_replaced() -> None:
    for part in ("\ud800", "%ED%A0%80"):
        state, _ = ModelsState.parse(f"?a=x{part}&pin={part}&models={part}")
        assert_round_trip(state)
        assert state.a.startswith("x\ufffd") and state.pins and state.search


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


def names(board: Board, **changed: Any) -> list[str]:
    return [*visible_rows(board, ModelsState(**changed)).index]


ALL = ["org/Gemma-2B", "a, b", "x/(y)", "org/llama-8b", "part", "mine"]


def test_all_rows_are_shown_best_first(board: Board) -> None:
    assert names(board) == ALL


@pytest.mark.parametrize(
    ("search", "found"),
    [
        ("llama", ["org/llama-8b"]),
        ("LLAMA, ^x/", ["x/(y)", "org/llama-8b"]),
        (" , ,gemma,", ["org/Gemma-2B"]),
        (r"\d+b$", ["org/Gemma-2B", "org/llama-8b"]),
        (r"\(y\)", ["x/(y)"]),
        ("nothing", []),
        ("a|b,", ["org/Gemma-2B", "a, b", "org/llama-8b", "part"]),
    ],
)
def test_a_search_is_expressions_with_commas_between(
    board: Board, search: str, found: list[str]
) -> None:
    assert names(board, search=search) == found


@pytest.mark.parametrize("search", ["(", "llama,(", "a{2,1}(", r"(?=x)", r"(a)\1", "[", "*"])
def test_a_bad_expression_is_refused_by_name(board: Board, search: str) -> None:
    with pytest.raises(KnownError, match="Invalid regex"):
        visible_rows(board, ModelsState(search=search))


def test_expressions_that_others_choke_on_come_to_an_end() -> None:
    hostile = ["a" * 10_000 + "!"] * 500
    assert matching_names(hostile, "(a+)+$,(a|a)*b,(a*)*c") == [False] * 500


def test_types_are_kinds_and_own_runs_have_none(board: Board) -> None:
    assert names(board, types=("Generative",)) == ["a, b", "mine"]
    assert names(board, types=("DPO", "unknown")) == ["x/(y)", "org/llama-8b", "part", "mine"]
    assert names(board, types=("Generative",), own=False) == ["a, b"]
    assert {type_of(kind) for kind in ("generative", "Generative RM")} == {"Generative"}


def test_pins_stay_on_top_whatever_is_filtered(board: Board) -> None:
    pins = ("part", "gone", "x/(y)")
    assert names(board, pins=pins, search="gemma") == ["part", "x/(y)", "org/Gemma-2B"]
    assert names(board, pins=pins, sort="score")[:3] == ["part", "x/(y)", "mine"]


def test_a_column_sorts_in_both_directions_and_what_is_unknown_comes_last(board: Board) -> None:
    assert names(board, sort="-Chat") == [
        "mine", "org/Gemma-2B", "a, b", "x/(y)", "org/llama-8b", "part",
    ]  # fmt: skip
    assert names(board, sort="Chat")[-1] == "part"
    assert names(board, sort="-size") == ["org/llama-8b", "org/Gemma-2B", *ALL[1:3], "part", "mine"]
    assert names(board, sort="model") == [
        "a, b", "mine", "org/Gemma-2B", "org/llama-8b", "part", "x/(y)",
    ]  # fmt: skip
    assert names(board, sort="type")[:2] == ["org/llama-8b", "part"]
    assert names(board, sort="-organisation") == ["x/(y)", *ALL[:1], *ALL[3:4], "a, b", *ALL[4:]]
    assert names(board, sort="failures") == ["mine", *ALL[:-1]]
    assert names(board, sort="Focus") == ALL  # which this board has not


def test_the_tables_have_their_columns(board: Board) -> None:
    facts = ("model", "organisation", "licence", "type", "size", "score")
    assert columns_of(board, ModelsState()) == (*facts, *SECTIONS, "failures")
    assert columns_of(board, ModelsState(table="subsets")) == (*facts, *SUBSETS, "failures")
    state = ModelsState.parse("?hide=size&hide=Safety&hide=failures")[0]
    shown = visible_columns(board, state)
    assert shown == ("model", "type", "score", "Chat", "Chat Hard", "Reasoning")
    state = ModelsState.parse(state.href() + "&show=organisation")[0]
    assert visible_columns(board, state) == ("model", "organisation", *shown[1:])
    prior = ModelsState(table="prior")
    snapshot = build_board(read_snapshot(), rule_of(prior))
    assert columns_of(snapshot, prior) == (*facts, *PRIOR_PAIRS)
    assert snapshot.table["mtbench_gpt4"].notna().any()
    for state in (ModelsState(benchmark="v2"), ModelsState(benchmark="v2", table="subsets")):
        assert columns_of(build_board(read_snapshot(), "v2"), state) == (*facts, *V2_PAIRS)


def test_each_view_has_its_rule() -> None:
    assert rule_of(ModelsState(rule="paper")) == "paper"
    assert rule_of(ModelsState(rule="prior-full")) == "v1_prior_full"
    assert rule_of(ModelsState(benchmark="v2", rule="paper", prior_sets=True)) == "v2"


def test_a_search_is_mended_and_bounded() -> None:
    assert checked_search(" a\ud800 ") == "a\ufffd"
    assert checked_search(None) == ""
    with pytest.raises(KnownError, match="501"):
        checked_search("x" * 501)

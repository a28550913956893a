from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from explorer.data.search import LONGEST_QUERY, checked_search, matching_names
from explorer.results.board import Board, build_board
from explorer.results.published import Results, read_snapshot
from explorer.stats.rules import PRIOR_PAIRS, V2_PAIRS
from explorer.tabs.models.scene import columns_of, shown_columns, shown_rows
from explorer.tabs.models.state import (
    BOARD_COLUMNS,
    CHARTS,
    HIDEABLE,
    MODEL_TYPES,
    MOST_PINS,
    NUMBER_COLUMNS,
    ModelsState,
    move,
    rule_of,
    type_of,
)
from scoring.benchmark import SECTIONS, SUBSETS
from scoring.errors import KnownError
from scoring.results.accuracies import Aggregate
from scoring.results.files import LONGEST_MODEL
from tests.explorer.board_data import FOUR, SOURCE, matrix_of

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
    return [*shown_rows(board, ModelsState(**changed)).index]


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
    with pytest.raises(KnownError, match="no regular expression"):
        shown_rows(board, ModelsState(search=search))
    with pytest.raises(KnownError, match="no regular expression"):
        move(ModelsState(), "search", {"value": search})


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
    assert names(board, pins=pins, sort="score", ascending=True)[:3] == [
        "part",
        "x/(y)",
        "mine",
    ]


def test_a_column_sorts_in_both_directions_and_what_is_unknown_comes_last(board: Board) -> None:
    assert names(board, sort="Chat") == [
        "mine", "org/Gemma-2B", "a, b", "x/(y)", "org/llama-8b", "part",
    ]  # fmt: skip
    assert names(board, sort="Chat", ascending=True)[-1] == "part"
    assert names(board, sort="size") == ["org/llama-8b", "org/Gemma-2B", *ALL[1:3], "part", "mine"]
    assert names(board, sort="model", ascending=True) == [
        "a, b", "mine", "org/Gemma-2B", "org/llama-8b", "part", "x/(y)",
    ]  # fmt: skip
    assert names(board, sort="type", ascending=True)[:2] == ["org/llama-8b", "part"]
    assert names(board, sort="Focus") == ALL  # which this board has not


def test_the_tables_have_their_columns(board: Board) -> None:
    facts = ("model", "type", "size", "score")
    assert columns_of(board, ModelsState()) == (*facts, *SECTIONS)
    assert columns_of(board, ModelsState(table="subsets")) == (*facts, *SUBSETS)
    hidden = ("size", "Safety")
    assert shown_columns(board, ModelsState(hidden=hidden)) == (
        "model", "type", "score", "Chat", "Chat Hard", "Reasoning",
    )  # fmt: skip
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


# Acts.


def test_acts_change_what_they_name() -> None:
    state = ModelsState()
    for act, value in {
        "benchmark": "v2", "table": "prior", "search": "a,b", "prior_sets": True, "rule": "paper",
        "ties": "half", "missing": "loss", "digits": 3, "own": False, "chart": "tradeoff",
        "x": "size", "y": "math-prm",
    }.items():  # fmt: skip
        state = move(state, act, {"value": value})
        assert getattr(state, act) == value
    state = move(state, "types", {"value": ["unknown", "DPO", "DPO"]})
    assert state.types == ("DPO", "unknown")
    state = move(state, "hidden", {"value": ["hep-go", "type"]})
    assert state.hidden == ("type", "hep-go")
    among = ["type", "size", "score"]
    state = move(state, "pick", {"facet": "columns", "names": among[::2], "among": among})
    assert state.hidden == ("size", "hep-go")
    state = move(move(state, "pin", {"value": "b"}), "pin", {"value": "a"})
    assert state.pins == ("b", "a")
    assert move(state, "pin", {"value": "b"}).pins == ("a", "b")
    assert move(state, "unpin", {"value": "b"}).pins == ("a",)
    fresh = move(state, "reset", {})
    kept = {"chart": "tradeoff", "x": "size", "y": "math-prm"}
    assert fresh == ModelsState(benchmark="v2", table="prior", pins=("b", "a"), digits=3, **kept)  # type: ignore[arg-type]


def test_sorting_by_a_column_again_turns_it_round() -> None:
    state = move(ModelsState(), "sort", {"value": "model"})
    assert (state.sort, state.ascending) == ("model", True)
    assert not move(state, "sort", {"value": "model"}).ascending
    assert not move(state, "sort", {"value": "score"}).ascending
    assert move(state, "sort", {"value": "score", "ascending": True}).ascending
    assert move(state, "sort", {"value": ""}) == ModelsState()


BAD: list[object] = [None, 5, 1.5, "nonsense", [], {}, [[]], "x" * 10**6, "\ud800", True, "1", -1]
ACTS = [
    "benchmark", "table", "search", "types", "prior_sets", "rule", "ties", "missing", "hidden",
    "pins", "digits", "own", "pin", "unpin", "sort", "chart", "x", "y",
]  # fmt: skip


def is_valid(state: ModelsState) -> bool:
    return (
        len(state.search) <= LONGEST_QUERY
        and set(state.types) <= set(MODEL_TYPES)
        and set(state.hidden) <= set(HIDEABLE)
        and len(state.pins) <= MOST_PINS
        and all(0 < len(pin) <= LONGEST_MODEL and pin.isprintable for pin in state.pins)
        and state.digits in (1, 2, 3, 4)
        and type(state.digits) is int
        and type(state.own) is type(state.prior_sets) is bool
        and state.sort in ("", *BOARD_COLUMNS)
        and not (state.ascending and not state.sort)
        and state.chart in CHARTS
        and {state.x, state.y} <= {"", *NUMBER_COLUMNS}
    )


@pytest.mark.parametrize("act", ACTS)
def test_any_value_gives_a_view_or_a_known_error(act: str, subtests: pytest.Subtests) -> None:
    for value in BAD:
        with subtests.test(value=repr(value)[:20]):
            try:
                assert is_valid(move(ModelsState(), act, {"value": value}))
            except KnownError as error:
                assert len(str(error)) < 2000


@given(
    st.sampled_from([*ACTS, "reset", "nonsense", "__init__"]),
    st.dictionaries(
        st.sampled_from(["value", "ascending"]),
        st.recursive(
            st.none() | st.booleans() | st.integers() | st.floats() | st.text()
            | st.sampled_from([*BOARD_COLUMNS, *MODEL_TYPES, *CHARTS]),
            lambda inner: st.lists(inner, max_size=3),
            max_leaves=4,
        ),
    ),
)  # fmt: skip
def test_whatever_is_posted_the_view_is_valid_or_refused(act: str, sent: dict[str, Any]) -> None:
    try:
        state = move(ModelsState(search="a", digits=2), act, sent)
    except KnownError:
        return
    assert is_valid(state)


def test_an_axis_is_a_column_of_numbers() -> None:
    for axis in ("x", "y"):
        for column in ("model", "type", "rank"):
            with pytest.raises(KnownError, match="column of numbers"):
                move(ModelsState(), axis, {"value": column})
    assert move(ModelsState(x="size"), "x", {"value": ""}) == ModelsState()


def test_an_act_that_there_is_not_is_refused() -> None:
    with pytest.raises(KnownError, match="no act 'explode'"):
        move(ModelsState(), "explode", {})


def test_so_many_pins_and_no_more() -> None:
    state = replace(ModelsState(), pins=tuple(f"m{n}" for n in range(MOST_PINS)))
    with pytest.raises(KnownError, match="Unpin one"):
        move(state, "pin", {"value": "one more"})
    assert len(move(state, "pin", {"value": "m3"}).pins) == MOST_PINS


def test_a_search_is_mended_and_bounded() -> None:
    assert checked_search(" a\ud800 ") == "a\ufffd"
    assert checked_search(None) == ""
    with pytest.raises(KnownError, match="501"):
        checked_search("x" * 501)

"""The addresses of the Models tab, and what a state says of a board's rows."""

from typing import Any

import pytest

from explorer.results.board import Board, build_board
from explorer.results.published import Results
from explorer.tabs.models.ranked import visible_rows
from explorer.tabs.models.state import ModelsState
from scoring.benchmark import SUBSETS
from scoring.results.accuracies import Aggregate
from tests.support.board_data import FOUR, SOURCE, matrix_of
from tests.support.boards import comparing

DEFAULT = ModelsState()


@pytest.mark.parametrize(
    ("link", "state", "dropped"),
    [
        ("b=n", DEFAULT, ["b=n"]),
        ("a=m&b=m", comparing("m", panel="board"), ["b=m"]),
        ("a=1&b=2&with=3&with=4&with=5", comparing("1", "2", ("3", "4"), "board"), ["with=5"]),
        ("board=v2&board=v1&digits=2&digits=3", ModelsState(digits=3), []),
        ("pin=a&pin=a&view=x&__theme=dark&logs=1", ModelsState(pins=("a",)), []),
    ],
)
def test_models_stand_once_and_of_what_is_repeated_the_last_counts(
    link: str, state: ModelsState, dropped: list[str]
) -> None:
    assert ModelsState.parse(f"?tab=models&{link}") == (state, tuple(dropped))


def test_presses_lead_to_the_states_that_they_say() -> None:
    def leads(link: str) -> ModelsState:
        state, dropped = ModelsState.parse(link)
        assert not dropped
        return state

    state = ModelsState(search="a", digits=2, pins=("p",), hidden=("size",), sort="Chat")
    assert leads(DEFAULT.sorted_by("Chat")).sort == "-Chat"
    assert leads(ModelsState(sort="-Chat").sorted_by("Chat")).sort == "Chat"
    assert leads(DEFAULT.ticking("m")).ticked == "m"
    assert leads(ModelsState(ticked="m", open="o", section="Chat").ticking("n")) == comparing(
        "m", "n"
    )
    assert leads(state.reset()) == ModelsState(digits=2, pins=("p",))
    full = comparing("m", "n", ("o",), section="Chat", members=("x",), way="worst")
    assert leads(full.comparing(a="1", b="2")) == comparing("1", "2")


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


ALL = ["org/Gemma-2B", "a, b", "x/(y)", "org/llama-8b", "part", "mine"]
SEEN: dict[str, tuple[dict[str, Any], list[str]]] = {
    "alternatives, in any case": ({"search": "LLAMA, ^x/"}, ["x/(y)", "org/llama-8b"]),
    "an expression": ({"search": r"\d+b$"}, ["org/Gemma-2B", "org/llama-8b"]),
    "a comma within a name": ({"search": "a|b,"}, [*ALL[:2], "org/llama-8b", "part"]),
    "without own runs": ({"types": ("Generative",), "own": False}, ["a, b"]),
    "pins beside a search": (
        {"pins": ("part", "gone", "x/(y)"), "search": "gemma"}, ["part", "x/(y)", "org/Gemma-2B"],
    ),
    "lowest first, unknown last": (
        {"sort": "Chat"}, ["org/llama-8b", "x/(y)", "a, b", "org/Gemma-2B", "mine", "part"],
    ),
    "largest first": ({"sort": "-size"}, ["org/llama-8b", *ALL[:3], "part", "mine"]),
    "by a column that this board has not": ({"sort": "Focus"}, ALL),
}  # fmt: skip
"""What is asked -> the models, in order."""


@pytest.mark.parametrize("name", SEEN)
def test_rows_are_those_that_are_asked_for_in_that_order(name: str, board: Board) -> None:
    asked, models = SEEN[name]
    assert [*visible_rows(board, ModelsState(**asked)).index] == models

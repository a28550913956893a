from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from explorer.data.table import PairTable
from explorer.reader.reading import Reading
from explorer.results.field import MAJORITY, Field
from explorer.tabs.models.scene import ModelsData, Ranked, compared, fitting, next_scene
from explorer.tabs.models.state import MOST_MEMBERS, ModelsState
from scoring.benchmark import SECTIONS
from scoring.errors import KnownError
from tests.explorer.board_data import real_results
from tests.explorer.boards import comparing
from tests.explorer.rival_fields import HOSTILE, elsewhere, field_of, rivals

TWO = comparing("org/a", "org/b")
FOUR = comparing("org/a", "org/b", (HOSTILE, "half"))


def no_board(state: ModelsState) -> Ranked:
    raise AssertionError("a board was asked for")


MODELS = ModelsData(no_board, field_of)


def after(state: ModelsState, act: str, **sent: object) -> ModelsState:
    return next_scene(state, MODELS, act, sent).state


def differing(state: ModelsState) -> list[int]:
    return [*map(int, compared(state, rivals()).listed.rows)]


def test_what_a_loses_is_listed_first_and_of_that_what_most_others_win() -> None:
    assert differing(TWO) == [6, 2, 1, 5]
    assert differing(replace(TWO, section="Chat")) == [6, 5]
    assert differing(comparing("org/b", "org/a")) == [1, 5, 6, 2]


def test_several_are_compared_on_the_pairs_that_all_have() -> None:
    scene = compared(FOUR, rivals())
    assert scene.shared.tolist() == [True] * 4 + [False] * 4
    assert sorted(scene.listed.rows.tolist()) == [0, 1, 2, 3]
    assert scene.outcomes.shape == (4, 8)


def test_the_majority_is_of_all_others() -> None:
    scene = compared(comparing("half"), rivals())
    # The other three win rows 0 to 3 in 2, 2, 2 and 2 cases.
    assert scene.outcomes[1, :4].tolist() == [1, 1, 1, 1]
    assert sorted(scene.listed.rows.tolist()) == [2, 3]


def test_nothing_is_compared_before_a_model_is_chosen() -> None:
    scene = compared(comparing(), rivals())
    assert scene.outcomes.shape == (0, 8) and len(scene.listed) == 0
    assert scene.state.reading == Reading()


def test_a_first_model_stands_against_the_majority_then_against_others() -> None:
    state = after(comparing(), "a", value="org/a")
    assert (state.a, state.b, state.reading.key) == ("org/a", MAJORITY, "mt-bench-easy:6")
    state = after(state, "b", value="org/b")
    state = after(after(state, "add", value=HOSTILE), "add", value="half")
    assert state.named == FOUR.named
    assert after(state, "swap").named == ("org/b", "org/a", HOSTILE, "half")
    assert after(state, "remove", value=HOSTILE).named == ("org/a", "org/b", "half")
    without = after(state, "b", value="")
    assert without.named == ("org/a", HOSTILE, "half")
    assert after(after(without, "b", value=""), "b", value="").b == MAJORITY
    assert after(state, "a", value="") == replace(comparing(), source=state.source)


def test_steps_go_through_the_pairs_in_which_they_differ() -> None:
    state, seen = compared(TWO, rivals()).state, []
    for _ in range(4):
        seen.append(state.reading.key)
        state = after(state, "step", value=1)
    assert seen == ["mt-bench-easy:6", "hep-go:2", "hep-go:1", "mt-bench-easy:5"]
    assert state.reading.key == seen[0]
    assert state.reading.page == 1


def test_the_open_pair_stays_where_they_differ_in_it_still() -> None:
    opened = after(TWO, "open", value="hep-go:1")
    assert after(opened, "section", value="Reasoning").reading.key == "hep-go:1"
    assert after(opened, "panel", value="agreement").reading.key == "hep-go:1"
    assert after(opened, "section", value="Chat").reading.key == "mt-bench-easy:6"
    equal = after(opened, "open", value="own:7")
    assert equal.reading.key == "own:7"


def test_a_model_on_other_pairs_leaves_the_others_behind() -> None:
    state = replace(FOUR, members=("org/a", "org/b"))
    moved = after(state, "a", value="elsewhere")
    assert moved.named == ("elsewhere",) and moved.members == ()
    assert after(moved, "a", value="org/a").named == ("org/a",)


@pytest.mark.parametrize("act", ["b", "add"])
def test_models_on_different_pairs_are_not_compared(act: str) -> None:
    with pytest.raises(KnownError, match="results of different pairs") as refused:
        after(TWO, act, value="elsewhere")
    assert "8 pairs" in str(refused.value) and "2 pairs" in str(refused.value)


NONSENSE: list[tuple[ModelsState, str, dict[str, object]]] = [
    (TWO, act, {"value": value})
    for act in ("a", "b", "add")
    for value in (None, 5, ["org/a"], "gone", "x" * 5000, "org/a", "org/b", MAJORITY)
    if (act, value) not in (("a", "org/a"), ("b", "org/b"), ("b", MAJORITY))
]


def test_what_cannot_be_is_refused(subtests: pytest.Subtests) -> None:
    cases: list[tuple[ModelsState, str, dict[str, object]]] = [
        *NONSENSE,
        (TWO, "add", {"value": ""}),
        (FOUR, "add", {"value": "fifth"}),
        (comparing("org/a"), "add", {"value": "half"}),
        (comparing("org/a"), "swap", {}),
        (comparing(), "b", {"value": "org/b"}),
        (TWO, "section", {"value": "<b>"}),
        (TWO, "panel", {}),
        (TWO, "way", {"value": "best"}),
        (TWO, "pick", {"names": "org/a"}),
        (TWO, "pick", {"names": [5]}),
        (TWO, "pick", {"names": ["elsewhere"]}),
        (TWO, "pick", {"names": [str(at) for at in range(MOST_MEMBERS + 1)]}),
        (TWO, "open", {"value": "gone:1"}),
        (TWO, "fly", {}),
    ]
    for state, act, sent in cases:
        with subtests.test(state=state, act=act, sent=sent), pytest.raises(KnownError):
            next_scene(state, MODELS, act, sent)


def test_a_view_that_is_not_possible_here_is_cut_down_and_told() -> None:
    state = comparing("org/a", "elsewhere", ("gone", "half"), members=("org/b", "gone"))
    fitted, dropped = fitting(state, field_of)
    assert (fitted.named, fitted.members) == (("org/a", "half"), ("org/b",))
    assert [part in words for part, words in zip(
        ("different pairs", "gone", "member=gone"), dropped, strict=True
    )] == [True] * 3  # fmt: skip
    fitted, dropped = fitting(replace(state, a="gone", panel="scatter"), field_of)
    assert fitted == comparing(panel="scatter") and len(dropped) == 1


def test_the_source_is_told_where_texts_are_at_hand() -> None:
    assert compared(TWO, rivals()).state.source == rivals().table.id
    textless = replace(elsewhere(), has_texts=False)
    assert compared(comparing("elsewhere"), textless).state.source == ""


def test_real_models_differ_where_a_count_by_hand_says(shared_data: Path, real: PairTable) -> None:
    _, _, matrix = real_results(shared_data)
    field = Field(real, matrix, {}, ("real",))
    subsets = real.subset_of_row
    for one in range(0, 66, 11):
        names = matrix.models[one], matrix.models[one - 7]
        for section in ("", "Chat Hard", "Reasoning"):
            scene = compared(comparing(*names, section=section), field)
            a, b = matrix.outcomes[one], matrix.outcomes[one - 7]
            expected = [
                row
                for row in range(len(real))
                if not np.isnan(a[row] + b[row])
                and (a[row] == 1) != (b[row] == 1)
                and (not section or subsets[row] in SECTIONS[section])
            ]
            assert sorted(scene.listed.rows.tolist()) == expected
            lost = [bool(a[row] != 1) for row in scene.listed.rows.tolist()]
            assert lost == sorted(lost, reverse=True)

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from explorer.data.table import PairTable
from explorer.reader.reading import Reading
from explorer.results.field import MAJORITY, Field
from explorer.tabs.models.compare_state import (
    MOST_MEMBERS,
    CompareState,
    compare_scene,
    fitting_compare,
    next_compare_scene,
)
from scoring.benchmark import SECTIONS
from scoring.errors import KnownError
from tests.explorer.board_data import real_results
from tests.explorer.rival_fields import HOSTILE, elsewhere, field_of, rivals

TWO = CompareState("org/a", "org/b")
FOUR = CompareState("org/a", "org/b", (HOSTILE, "half"))


def after(view: CompareState, act: str, **sent: object) -> CompareState:
    return next_compare_scene(view, field_of, act, sent).view


def differing(view: CompareState) -> list[int]:
    return [*map(int, compare_scene(view, rivals()).listed.rows)]


def test_what_a_loses_is_listed_first_and_of_that_what_most_others_win() -> None:
    assert differing(TWO) == [6, 2, 1, 5]
    assert differing(replace(TWO, section="Chat")) == [6, 5]
    assert differing(CompareState("org/b", "org/a")) == [1, 5, 6, 2]


def test_several_are_compared_on_the_pairs_that_all_have() -> None:
    scene = compare_scene(FOUR, rivals())
    assert scene.shared.tolist() == [True] * 4 + [False] * 4
    assert sorted(scene.listed.rows.tolist()) == [0, 1, 2, 3]
    assert scene.outcomes.shape == (4, 8)


def test_the_majority_is_of_all_others() -> None:
    scene = compare_scene(CompareState("half"), rivals())
    # The other three win rows 0 to 3 in 2, 2, 2 and 2 cases.
    assert scene.outcomes[1, :4].tolist() == [1, 1, 1, 1]
    assert sorted(scene.listed.rows.tolist()) == [2, 3]


def test_nothing_is_compared_before_a_model_is_chosen() -> None:
    scene = compare_scene(CompareState(), rivals())
    assert scene.outcomes.shape == (0, 8) and len(scene.listed) == 0
    assert scene.view.reading == Reading()


def test_a_first_model_stands_against_the_majority_then_against_others() -> None:
    view = after(CompareState(), "a", value="org/a")
    assert (view.a, view.b, view.reading.key) == ("org/a", MAJORITY, "mt-bench-easy:6")
    view = after(view, "b", value="org/b")
    view = after(after(view, "add", value=HOSTILE), "add", value="half")
    assert view.named == FOUR.named
    assert after(view, "swap").named == ("org/b", "org/a", HOSTILE, "half")
    assert after(view, "remove", value=HOSTILE).named == ("org/a", "org/b", "half")
    without = after(view, "b", value="")
    assert without.named == ("org/a", HOSTILE, "half")
    assert after(after(without, "b", value=""), "b", value="").b == MAJORITY
    assert after(view, "a", value="") == replace(CompareState(), source=view.source)


def test_steps_go_through_the_pairs_in_which_they_differ() -> None:
    view, seen = compare_scene(TWO, rivals()).view, []
    for _ in range(4):
        seen.append(view.reading.key)
        view = after(view, "step", value=1)
    assert seen == ["mt-bench-easy:6", "hep-go:2", "hep-go:1", "mt-bench-easy:5"]
    assert view.reading.key == seen[0]
    assert view.reading.page == 1


def test_the_open_pair_stays_where_they_differ_in_it_still() -> None:
    opened = after(TWO, "open", value="hep-go:1")
    assert after(opened, "section", value="Reasoning").reading.key == "hep-go:1"
    assert after(opened, "panel", value="agreement").reading.key == "hep-go:1"
    assert after(opened, "section", value="Chat").reading.key == "mt-bench-easy:6"
    equal = after(opened, "open", value="own:7")
    assert equal.reading.key == "own:7"


def test_a_model_on_other_pairs_leaves_the_others_behind() -> None:
    view = replace(FOUR, members=("org/a", "org/b"))
    moved = after(view, "a", value="elsewhere")
    assert moved.named == ("elsewhere",) and moved.members == ()
    assert after(moved, "a", value="org/a").named == ("org/a",)


@pytest.mark.parametrize("act", ["b", "add"])
def test_models_on_different_pairs_are_not_compared(act: str) -> None:
    with pytest.raises(KnownError, match="results of different pairs") as refused:
        after(TWO, act, value="elsewhere")
    assert "8 pairs" in str(refused.value) and "2 pairs" in str(refused.value)


NONSENSE: list[tuple[CompareState, str, dict[str, object]]] = [
    (TWO, act, {"value": value})
    for act in ("a", "b", "add")
    for value in (None, 5, ["org/a"], "gone", "x" * 5000, "org/a", "org/b", MAJORITY)
    if (act, value) not in (("a", "org/a"), ("b", "org/b"), ("b", MAJORITY))
]


def test_what_cannot_be_is_refused(subtests: pytest.Subtests) -> None:
    cases: list[tuple[CompareState, str, dict[str, object]]] = [
        *NONSENSE,
        (TWO, "add", {"value": ""}),
        (FOUR, "add", {"value": "fifth"}),
        (CompareState("org/a"), "add", {"value": "half"}),
        (CompareState("org/a"), "swap", {}),
        (CompareState(), "b", {"value": "org/b"}),
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
    for view, act, sent in cases:
        with subtests.test(view=view, act=act, sent=sent), pytest.raises(KnownError):
            next_compare_scene(view, field_of, act, sent)


def test_a_view_that_is_not_possible_here_is_cut_down_and_told() -> None:
    view = CompareState("org/a", "elsewhere", ("gone", "half"), members=("org/b", "gone"))
    fitted, dropped = fitting_compare(view, field_of)
    assert (fitted.named, fitted.members) == (("org/a", "half"), ("org/b",))
    assert [part in words for part, words in zip(
        ("different pairs", "gone", "member=gone"), dropped, strict=True
    )] == [True] * 3  # fmt: skip
    fitted, dropped = fitting_compare(replace(view, a="gone", panel="scatter"), field_of)
    assert fitted == CompareState(panel="scatter") and len(dropped) == 1


def test_the_source_is_told_where_texts_are_at_hand() -> None:
    assert compare_scene(TWO, rivals()).view.source == rivals().table.id
    textless = replace(elsewhere(), has_texts=False)
    assert compare_scene(CompareState("elsewhere"), textless).view.source == ""


def test_real_models_differ_where_a_count_by_hand_says(shared_data: Path, real: PairTable) -> None:
    _, _, matrix = real_results(shared_data)
    field = Field(real, matrix, {}, ("real",))
    subsets = real.subset_of_row
    for one in range(0, 66, 11):
        names = matrix.models[one], matrix.models[one - 7]
        for section in ("", "Chat Hard", "Reasoning"):
            scene = compare_scene(CompareState(*names, section=section), field)
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

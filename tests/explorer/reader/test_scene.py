from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from explorer.data.table import PairTable
from explorer.reader.scene import Scene, SeenPairs, kind_masks, next_scene, scene, shown_again
from explorer.reader.state import OUTCOME_KINDS, PairsState, move
from explorer.results.field import MAJORITY, Field
from explorer.stats.difficulty import difficulty
from explorer.stats.matrix import OutcomeMatrix, order_of
from scoring.errors import KnownError
from tests.explorer.board_data import real_results
from tests.explorer.tables import row, small_table

NAN = float("nan")
ROWS = [
    row(id=str(number), chosen="c" * (number + 1), rejected="r" * 4, subset=subset)
    for number, subset in enumerate(["hep-go"] * 4 + ["donotanswer"] * 4)
]
CHOSEN = [2.0, 1.0, 0.0, -3.0, 5.0, 1.0, NAN, 0.0]
"""Against rewards of 0.5, but for the last, which is a tie."""


def field() -> Field:
    """A model with rewards, "a"; one with outcomes alone, "b"; one that has half of the pairs."""
    table = small_table(*ROWS)
    chosen = np.full((3, 8), NAN, np.float32)
    chosen[0] = CHOSEN
    rejected = np.full((3, 8), NAN, np.float32)
    rejected[0] = [0.5] * 7 + [0.0]
    first = np.where(np.isnan(chosen[0]), NAN, chosen[0] > rejected[0])
    second, third = [1, 0, 1, 1, 0.5, 1, 0, 1], [1, 1, 1, 1, *[NAN] * 4]
    outcomes = np.array([first, second, third], np.float32)
    held = np.ones((3, 8), np.bool_)
    held[2, 4:] = False
    equal = np.zeros((3, 8), np.bool_)
    equal[0, 7] = True
    matrix = OutcomeMatrix(
        ("a", "b", "half"), ("DPO", None, None), ("1", "2", "3"), order_of(table),
        outcomes, held, equal, chosen, rejected,
    )  # fmt: skip
    return Field(table, matrix, {}, ("key",))


def shown(state: PairsState, of: Field | None = None) -> Scene:
    of = of or field()
    return scene(state, SeenPairs(of.table, of))


def listed(state: PairsState) -> list[int]:
    return [int(row) for row in shown(state).listed.rows]


@pytest.mark.parametrize(
    ("model", "kind", "rows"),
    [
        ("a", "losses", [3, 2]),
        ("a", "ties", [7]),
        ("a", "missing", [6]),
        ("a", "near", [7, 2]),
        ("a", "confident", [3]),
        ("a", "wins", [4, 0, 1, 5]),
        ("a", "all", [3, 2, 7, 1, 5, 0, 4, 6]),  # what is not known comes last
        ("b", "ties", [4]),
        ("half", "missing", []),
        ("half", "wins", [1, 2, 3, 0]),
    ],
)
def test_kinds_are_what_they_say_and_stand_in_a_fitting_order(
    model: str, kind: str, rows: list[int]
) -> None:
    view = move(PairsState().of(model), "kind", {"value": kind})
    assert listed(view) == rows


def test_pairs_that_are_in_no_file_are_of_no_kind() -> None:
    masks = kind_masks(field(), "half")
    assert masks["all"].tolist() == [True] * 4 + [False] * 4
    assert set(masks) == set(OUTCOME_KINDS)


def test_the_count_of_a_kind_is_the_length_of_its_list() -> None:
    for model in ("a", "b", "half"):
        now = shown(PairsState().of(model))
        for kind in OUTCOME_KINDS:
            of_kind = shown(move(now.state, "kind", {"value": kind}))
            assert len(of_kind.listed) == now.counts[kind]


def test_slices_and_filters_are_joined() -> None:
    view = PairsState(outcomes=True, model="a", kind="all", slices=("longer:rejected",))
    assert sorted(listed(view)) == [0, 1, 2]
    view = move(view, "pick", {"facet": "subset", "names": ["donotanswer"]})
    assert listed(view) == []


def test_a_cell_of_a_comparison_is_a_list() -> None:
    view = replace(PairsState(outcomes=True, model="a", kind="all"), against="b")
    assert sorted(listed(replace(view, cell="only_b"))) == [2, 3, 7]
    assert sorted(listed(replace(view, cell="only_a"))) == [1, 4]
    assert sorted(listed(replace(view, cell="both"))) == [0, 5]
    assert listed(replace(view, cell="neither")) == []
    majority = replace(
        PairsState(outcomes=True, model="b", kind="all"), against=MAJORITY, cell="only_b"
    )
    assert listed(majority) == [1, 4]


def test_margins_in_a_range_are_kept_and_all_counts_follow() -> None:
    """Margins of "a" are 1.5, 0.5, -0.5, -3.5, 4.5, 0.5, none, 0."""
    every = PairsState(outcomes=True, model="a", kind="all")
    now = next_scene(every, pairs_of, "margin", {"low": "-0.5", "high": "0.5"})
    assert sorted(now.listed.rows.tolist()) == [1, 2, 5, 7]
    assert (now.counts["wins"], now.counts["losses"], now.counts["missing"]) == (2, 1, 0)
    assert now.filtered.counts["subset"].sum() == 4
    view = next_scene(now.state, pairs_of, "pick", {"facet": "subset", "names": ["hep-go"]}).state
    assert sorted(listed(view)) == [1, 2]
    assert sorted(listed(move(view, "margin", {"low": 1}))) == [0]
    assert sorted(listed(move(view, "margin", {"low": "", "high": None}))) == [0, 1, 2, 3]
    for act, sent in (("reset", {}), ("model", {"value": "half"})):
        assert next_scene(view, pairs_of, act, sent).state.margins is None


def test_margins_of_what_has_none_are_refused_and_left_out_of_a_link() -> None:
    for model in ("", "b"):
        with pytest.raises(KnownError):
            next_scene(PairsState(outcomes=True, model=model), pairs_of, "margin", {"low": 1})
        state = PairsState(outcomes=True, model=model, margins=(None, 1.5))
        now, dropped = shown_again(state, pairs_of)
        assert (now.state.margins, dropped) == (None, ("margin=:1.5",))


@pytest.mark.parametrize(
    ("order", "rows"),
    [
        ("margin", [3, 2]),
        ("-margin", [2, 3]),
        ("difference", [2, 3]),
        ("-surprise", [2, 3]),
        ("difficulty", [2, 3]),
    ],
)
def test_the_list_can_be_sorted(order: str, rows: list[int]) -> None:
    assert listed(move(PairsState(outcomes=True, model="a"), "sort", {"value": order})) == rows


def pairs_of(state: PairsState) -> SeenPairs:
    found = field()
    if state.model:
        found.place(state.model)
    return SeenPairs(found.table, found)


def test_another_kind_keeps_the_open_pair_where_it_is_still_listed() -> None:
    view = shown(PairsState(outcomes=True, model="a", kind="all")).state
    opened = next_scene(view, pairs_of, "open", {"value": "hep-go:2"}).state
    now = next_scene(opened, pairs_of, "kind", {"value": "losses"})
    assert now.state.reading.key == "hep-go:2"
    assert next_scene(opened, pairs_of, "kind", {"value": "wins"}).state.reading.key == (
        "donotanswer:4"
    )


def test_kinds_that_need_rewards_are_left_with_a_model_that_has_none() -> None:
    now = next_scene(
        PairsState(outcomes=True, model="a", kind="near"), pairs_of, "model", {"value": "b"}
    )
    assert (now.state.model, now.state.kind) == ("b", "losses")


@pytest.mark.parametrize(
    ("act", "sent"),
    [
        ("model", {"value": "unknown"}),
        ("model", {"value": 5}),
        ("model", {"value": "x" * 5000}),
        ("kind", {"value": "hard"}),
        ("sort", {"value": "<b>"}),
        ("slice", {"value": "longer:nobody"}),
        ("slice", {"value": None}),
        ("slices", {"value": ["longer:rejected"] * 5 + ["a", "b", "c", "d"]}),
        ("cell", {}),
        ("against", {"value": "unknown"}),
        ("margin", {"low": 1, "high": 0}),
        ("margin", {"low": "nan"}),
        ("margin", {"high": float("inf")}),
        ("margin", {"low": "few"}),
        ("margin", {"low": True}),
        ("margin", {"low": [1]}),
        ("margin", {"high": 10**400}),
        ("open", {"value": "gone:1"}),
        ("fly", {}),
    ],
)
def test_what_cannot_be_is_refused(act: str, sent: dict[str, object]) -> None:
    with pytest.raises(KnownError):
        next_scene(PairsState(outcomes=True, model="a"), pairs_of, act, sent)


def test_a_view_that_is_not_possible_here_is_cut_down_and_told() -> None:
    view = PairsState(outcomes=True, model="gone", slices=("longer:rejected",))
    now, dropped = shown_again(view, pairs_of)
    assert now.state.model == "" and "gone" in dropped[0]
    known = ("no:such", "longer:rejected")
    now, dropped = shown_again(PairsState(outcomes=True, model="a", slices=known), pairs_of)
    assert (now.state.slices, dropped) == (("longer:rejected",), ("slice=no:such",))


def test_where_a_model_is_gone_its_pairs_are_shown_alone_or_others_where_they_are_gone_too() -> (
    None
):
    def left(state: PairsState) -> SeenPairs:
        if state.model or state.source == "gone":
            raise KnownError("It is gone.")
        return SeenPairs(pairs_of(PairsState()).table)

    view = replace(PairsState("gone").of("gone"), sort="margin")
    now, dropped = shown_again(view, left)
    assert (now.field, now.state.sort, dropped) == (None, "", ("It is gone.",))
    assert now.state.source == now.table.id


def test_hard_pairs_are_those_that_most_models_fail() -> None:
    now = shown(PairsState(outcomes=True, field_kind="every"))
    share = difficulty(field().matrix.outcomes).share[now.listed.rows]
    assert (np.diff(share[~np.isnan(share)]) <= 0).all()


def test_real_failures_are_what_a_count_by_hand_gives(shared_data: Path, real: PairTable) -> None:
    _, _, matrix = real_results(shared_data)
    whole = Field(real, matrix, {}, ("real",))
    for place in range(0, len(matrix.models), 6):
        model = matrix.models[place]
        now = shown(PairsState().of(model), whole)
        outcomes = matrix.outcomes[place]
        assert sorted(now.listed.rows.tolist()) == np.flatnonzero(outcomes == 0).tolist()
        others = np.delete(matrix.outcomes, place, axis=0)
        won = [float(np.mean(others[:, row] == 1)) for row in now.listed.rows.tolist()]
        assert won == sorted(won, reverse=True)  # the most surprising loss first

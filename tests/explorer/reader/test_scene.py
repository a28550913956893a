from dataclasses import replace

import pytest

from explorer.data.search import Query
from explorer.reader.scene import Scene, ScenePairs, scene
from explorer.reader.state import PairsState, changed
from explorer.results.field import Field
from tests.support.fields import small_field
from tests.support.tables import row, small_table

ROWS = [
    row(id=str(number), chosen="c" * (number + 1), rejected="r" * 4, subset=subset)
    for number, subset in enumerate(["hep-go"] * 4 + ["donotanswer"] * 4)
]


def shown(state: PairsState, of: Field | None = None) -> Scene:
    of = of or small_field(*ROWS, model="a")
    return scene(state, ScenePairs(of.table, of))


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
        ("half", "wins", [1, 2, 3, 0]),
    ],
)
def test_kinds_are_what_they_say_and_stand_in_a_fitting_order(
    model: str, kind: str, rows: list[int]
) -> None:
    assert listed(PairsState(model=model, kind=kind)) == rows  # type: ignore[arg-type]


def test_margins_in_a_range_are_kept_and_all_counts_follow() -> None:
    """Margins of "a" are 1.5, 0.5, -0.5, -3.5, 4.5, 0.5, none, 0."""
    view = PairsState(model="a", kind="all", margins=(-0.5, 0.5))
    now = shown(view)
    assert sorted(now.listed.rows.tolist()) == [1, 2, 5, 7]
    assert (now.counts["wins"], now.counts["losses"], now.counts["missing"]) == (2, 1, 0)
    assert now.filtered.counts["subset"].sum() == 4
    assert sorted(listed(replace(view, subset=("hep-go",), margins=(1.0, None)))) == [0]


TABLE = small_table(*(row(subset="odd" if number % 2 else "even") for number in range(60)))
"""Without outcomes."""
EVEN = PairsState(subset=("even",))


def alone(state: PairsState) -> Scene:
    return scene(state, ScenePairs(TABLE))


PLACES: dict[str, tuple[PairsState, tuple[str, int | None, int]]] = {
    "the first of all": (PairsState(), ("even:0", 0, 1)),
    "the first of a page": (replace(EVEN, page=10**7), ("even:50", 25, 2)),
    "the one that is asked for, on its page": (
        replace(EVEN, key="even:58", page=9), ("even:58", 29, 2),
    ),
    "one outside the list": (replace(EVEN, key="odd:1", page=2), ("odd:1", None, 2)),
    "the one that was open": (replace(EVEN, keep="even:58"), ("even:58", 29, 2)),
    "the first, as the list lacks what was open": (replace(EVEN, keep="odd:59"), ("even:0", 0, 1)),
    "the one that is asked for, not what was open": (
        replace(EVEN, keep="even:58", key="even:2"), ("even:2", 1, 1),
    ),
}  # fmt: skip
"""Which pair is open -> the state, and the pair, its place in the list and the page of that."""


@pytest.mark.parametrize("name", PLACES)
def test_a_pair_is_open_and_the_list_is_on_its_page(name: str) -> None:
    state, place = PLACES[name]
    now = alone(state)
    assert (now.key, now.place, now.page) == place


def test_any_pair_is_another_one_of_the_list() -> None:
    found = {alone(replace(EVEN, random=True, keep="even:4")).key for _ in range(300)}
    assert "even:4" not in found and len(found) > 20
    assert all(each.startswith("even") for each in found)


# What addresses say, and where links lead.

parse = PairsState.parse


def test_spaces_about_a_search_count_in_an_expression_alone() -> None:
    assert parse("q=++dog+")[0].query == Query("dog")
    assert parse("q=+dog&regex=1&in=chosen&case=1")[0].query == Query(" dog", "chosen", True, True)


def test_what_makes_sense_on_another_table_is_kept() -> None:
    kept = {"sort": "-chosen", "diff": "words", "spaces": True, "panel": "lengths", "unit": "words"}
    state = changed(PairsState("a", subset=("x",), key="x:1", page=2, model="m"), kept)
    assert state.on("b") == changed(PairsState("b"), kept)


def test_a_link_to_other_pairs_begins_the_list_and_opens_no_pair() -> None:
    state = PairsState(key="a:1", page=3, sort="chosen", words="dog")
    narrowed, _ = parse(state.narrowed(subset=("x",)))
    assert narrowed == PairsState(sort="chosen", words="dog", subset=("x",))


def test_of_another_model_what_depends_on_one_is_left() -> None:
    state = PairsState(model="a", kind="all", against="b", cell="both", margins=(0.0, None))
    assert state.of("c") == PairsState(model="c")
    assert replace(state, against="").of("c") == PairsState(model="c", kind="all")

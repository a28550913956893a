from dataclasses import replace

import pytest

from explorer.data.facets import FACETS
from explorer.data.search import Query
from explorer.reader.scene import Scene, ScenePairs, scene
from explorer.reader.state import PairsState, changed
from explorer.results.field import MAJORITY, Field
from explorer.runs.visitors import Visitor
from tests.support.browsing import library_of, scenes_of
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


def test_a_cell_of_a_comparison_is_a_list() -> None:
    view = replace(PairsState(model="a", kind="all"), against="b")
    assert sorted(listed(replace(view, cell="only_b"))) == [2, 3, 7]
    assert sorted(listed(replace(view, cell="only_a"))) == [1, 4]
    assert sorted(listed(replace(view, cell="both"))) == [0, 5]
    assert listed(replace(view, model="b", against=MAJORITY, cell="only_b")) == [1, 4]


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
NOBODY = Visitor()


def alone(state: PairsState) -> Scene:
    return scene(state, ScenePairs(TABLE))


def place(state: PairsState) -> tuple[str, int | None, int]:
    now = alone(state)
    return now.key, now.place, now.page


def test_without_a_key_the_first_pair_of_the_page_is_open() -> None:
    assert place(PairsState()) == ("even:0", 0, 1)
    assert place(replace(EVEN, page=10**7)) == ("even:50", 25, 2)
    assert alone(replace(EVEN, page=2)).state.key == ""


def test_the_list_is_on_the_page_of_the_open_pair_where_that_is_listed() -> None:
    now = alone(replace(EVEN, key="even:58", page=9))
    assert (now.key, now.place, now.page, now.state.page) == ("even:58", 29, 2, 1)
    assert place(replace(EVEN, key="odd:1", page=2)) == ("odd:1", None, 2)


def test_a_pair_is_kept_open_where_it_is_listed() -> None:
    kept = alone(replace(EVEN, keep="even:58"))
    assert (kept.key, kept.state.key, kept.state.keep) == ("even:58", "even:58", "")
    assert place(replace(EVEN, keep="odd:59")) == ("even:0", 0, 1)
    assert place(replace(EVEN, keep="even:58", key="even:2")) == ("even:2", 1, 1)


def test_any_pair_is_another_one_of_the_list() -> None:
    found = {place(replace(EVEN, random=True, keep="even:4"))[0] for _ in range(300)}
    assert "even:4" not in found and len(found) > 20
    assert all(each.startswith("even") for each in found)


def test_what_of_an_address_is_not_here_is_left_and_named() -> None:
    scenes = scenes_of(library_of(TABLE))
    lost: dict[str, tuple[str, ...]] = dict.fromkeys(FACETS, ("gone",))
    asked = PairsState(slices=("no:such", "subset:even"), margins=(None, 1.5), sort="margin")
    seen = scenes.shown(replace(asked, **lost, key="no:such", panel="slices"), NOBODY)  # type: ignore[arg-type]
    assert seen.asked == PairsState(TABLE.id, slices=("subset:even",))
    assert set(seen.dropped) == {
        "margin=:1.5", "slice=no:such", *(f"{facet}=gone" for facet in FACETS)
    }  # fmt: skip
    assert "There is no pair 'no:such' here" in " ".join(seen.notes)


def test_pairs_that_are_not_here_are_told_and_a_datasets_can_be_fetched() -> None:
    scenes = scenes_of(library_of(TABLE))
    for source, missing in (("org/set:test@1", "org/set:test@1"), ("/etc/passwd", ""), ("x", "")):
        seen = scenes.shown(PairsState(source, subset=("even",)), NOBODY)
        assert (seen.missing, len(seen.notes)) == (missing, 1)
        assert (seen.scene.table, seen.asked) == (TABLE, PairsState(TABLE.id, subset=("even",)))


def test_a_search_that_is_no_expression_shows_all_and_stays_in_the_field() -> None:
    seen = scenes_of(library_of(TABLE)).shown(PairsState(words="(", regex=True), NOBODY)
    assert len(seen.scene.listed) == 60
    assert seen.asked.words == "("
    assert "Invalid regex" in seen.notes[0]


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

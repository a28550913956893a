"""A board's HTML: inert whatever models are called, honest in all cells, one choice pressed."""

import re
from collections.abc import Sequence
from dataclasses import replace
from html import unescape
from itertools import product
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest

from explorer.api.results import BoardEndpoints
from explorer.results.board import Board, BoardRow, build_board
from explorer.results.published import Results
from explorer.stats import intervals as statistics
from explorer.stats.rules import RULES
from explorer.stats.uncertainty import measure
from explorer.tabs.models.board_html import (
    PAIRED,
    RANKED,
    _axis,
    about_html,
    bar_html,
    board_html,
    drawer_html,
    share_group,
    short_board_html,
)
from explorer.tabs.models.exports import BOARD_FORMATS
from explorer.tabs.models.ranked import MOST_BOARD_ROWS
from explorer.tabs.models.state import (
    BOARD_BENCHMARKS,
    CHARTS,
    DIGITS,
    MISSING,
    RULE_OPTIONS,
    TABLES,
    TIES,
    ModelsState,
)
from scoring.benchmark import SUBSETS, V2_COUNTS
from scoring.results.accuracies import Aggregate
from scoring.results.files import Omission
from tests.support.board_data import (
    EVERY,
    FOUR,
    NOTHING,
    SOURCE,
    coin_flips,
    matrix_of,
    real_results,
    repeated,
    results_of,
    rows_in,
)
from tests.support.boards import HOSTILE, comparing, hostile_board, linked_states, ranked, reading
from tests.support.html_reading import HtmlReading, body_rows

VIEW = ModelsState()


def html_of(board: Board, state: ModelsState = VIEW, **seen: Any) -> str:
    return board_html(ranked(board, state, **seen))


def seen(board: Board, state: ModelsState = VIEW) -> HtmlReading:
    return reading(html_of(board, state))


def models(table: HtmlReading) -> list[str]:
    """The models in their order."""
    return table.of_class["name"]


def drawer_of(board: Board, model: object, **seen: Any) -> str:
    """The drawer of a model."""
    return drawer_html(ranked(board, ModelsState(open=str(model)), **seen))


def intervals(board: Board, state: ModelsState = VIEW) -> list[str]:
    return re.findall(r"<small(?: title=[^>]*)?>(.*?)</small>", html_of(board, state))


# Hostile names.


def test_hostile_names_stay_text() -> None:
    table = seen(hostile_board())
    assert models(table) == [*HOSTILE]
    links = linked_states(table)
    assert [each.pins for each in links if each.pins] == [(name,) for name in HOSTILE]
    assert [each.open for each in links if each.open] == [*HOSTILE]
    labels = table.attributes["a", "aria-label"]
    assert all(any(name in label for label in labels) for name in HOSTILE)


def test_every_column_of_numbers_says_its_name_for_those_below() -> None:
    table = seen(hostile_board(), ModelsState(table="subsets"))
    columns = table.attributes["th", "data-column"]
    assert columns == ["model", "type", "size", "score", *SUBSETS]
    assert len(table.of_class["number"]) == (len(HOSTILE) + 1) * (len(columns) - 1)


def test_only_a_name_that_is_a_model_of_the_hub_is_a_link() -> None:
    link = "https://huggingface.co/org/" + "x" * 500
    drawers = [reading(drawer_of(hostile_board(), name)) for name in HOSTILE]
    links = [each for drawer in drawers for each in drawer.attributes["a", "href"]]
    assert [each for each in links if not each.startswith("?tab=")] == [link]
    assert drawers[HOSTILE.index("org/" + "x" * 500)].attributes["a", "rel"] == ["noopener"]


def test_hostile_kinds_of_models_stay_text() -> None:
    kinds = [Aggregate(f"m{at}", kind, {"hep-go": 0.5}) for at, kind in enumerate(HOSTILE)]
    table = seen(build_board(Results(SOURCE, tuple(kinds)), "v1"))
    assert table.of_class["type"][1:] == [*HOSTILE]


# What is pressed.


def test_a_star_is_filled_where_a_model_is_pinned() -> None:
    board = results_of({"a": 0.9, "b": 0.5})
    table = seen(build_board(board, "v1"), ModelsState(pins=("b",)))
    assert table.of_class["pin"] == ["★", "☆"]
    names = zip(table.of_class["pin"], linked_states(table)[-4::2], strict=True)
    assert [(star, each.pins) for star, each in names] == [("★", ()), ("☆", ("b", "a"))]
    assert len(table.of_class["pinned"]) == 1 and "b" in table.of_class["pinned"][0]


@pytest.mark.parametrize("sort", ["Chat", "-Chat"])
def test_the_column_that_is_sorted_by_says_so_and_leads_to_the_other_order(sort: str) -> None:
    table = seen(hostile_board(), ModelsState(sort=sort))
    links = linked_states(table)[:8]
    sorts = [each.column for each in links]
    order = "descending" if sort.startswith("-") else "ascending"
    assert sorts == ["model", "type", "size", "score", "Chat", "Chat Hard", "Safety", "Reasoning"]
    orders = table.attributes["th", "aria-sort"]
    assert dict(zip(sorts, orders, strict=True)) == {**dict.fromkeys(sorts, "none"), "Chat": order}
    assert models(table) == [*(HOSTILE if sort.startswith("-") else reversed(HOSTILE))]
    leads = [each.sort for each in links]
    assert leads[4] == ("Chat" if sort == "-Chat" else "-Chat") and leads[:2] == ["model", "type"]


def test_the_columns_are_those_that_are_not_hidden_and_those_that_are_asked_for() -> None:
    table = seen(hostile_board(), ModelsState(hidden=("type", "Safety")))
    heads = table.attributes["th", "data-column"]
    assert heads == ["model", "size", "score", "Chat", "Chat Hard", "Reasoning"]
    table = seen(hostile_board(), ModelsState(added=("organisation",)))
    assert table.attributes["th", "data-column"][:3] == ["model", "organisation", "type"]
    named = dict(zip(models(table), table.of_class["organisation"][1:], strict=True))
    assert named == {name: name.partition("/")[0] if "/" in name else "–" for name in HOSTILE}


# Numbers.


def test_the_best_of_a_column_stands_out_among_the_rows_that_are_shown() -> None:
    board = build_board(results_of({"a1": 0.9, "a2": 0.6, "b1": 0.3}), "v1")
    for search, best in (("", "90.0"), ("a2|b1", "60.0"), ("b1", "30.0")):
        found = seen(board, ModelsState(search=search)).of_class["best"]
        assert len(found) == 5 and all(each.startswith(best) for each in found)


def test_scores_are_drawn_on_one_axis_with_their_intervals() -> None:
    board = build_board(results_of({"a": 0.9, "b": 0.3}), "v1")
    marks, a, b = seen(board).of_class["whisker"]
    assert (marks[:2], marks[-3:]) == ("20", "100") and a == b == ""
    drawn = seen(board).attributes["bdi", "style"]
    assert drawn == ["left:87.5%", "left:12.5%"]
    assert marks == "2030405060708090100"
    narrow, *_ = seen(board, ModelsState(table="subsets")).of_class["whisker"]
    assert narrow == "20406080100"


def test_the_axis_begins_where_the_lowest_interval_does() -> None:
    ends: list[BoardRow] = [{"score": 0.5, "score_low": 0.0}, {"score": 0.3, "score_low": None}]
    assert [min(_axis(listed, "score", 1)) for listed in (ends, ends[1:])] == [0, 30]


def test_intervals_stand_in_brackets_where_they_are_unpaired() -> None:
    shares = {"good": 0.9, "bad": 0.3}
    matrix = matrix_of({name: coin_flips(share) for name, share in shares.items()}, EVERY * 4)
    bare = build_board(NOTHING, "v1", outcomes=matrix)
    assert len(intervals(bare)) == 2 * 5
    assert all(re.fullmatch(r"\([\d.]+–[\d.]+\)", each) for each in intervals(bare))
    assert "Tie group" not in html_of(bare)

    sure = measure(matrix, RULES["v1"], ranked=bare.comparable, replicates=50)
    board = build_board(NOTHING, "v1", outcomes=matrix).measured(sure)
    assert len(intervals(board)) == 2 * 6  # with those of ranks
    assert seen(board).attributes["div", "style"] == ["--ends:3;--steps:5"]
    assert all(re.fullmatch(r"[\d.]+–[\d.]+", each) for each in intervals(board))
    assert seen(board).of_class["group"] == ["Tie group", "1", "2"]


def test_of_models_without_outcomes_intervals_stay_in_brackets_beside_measured_ones() -> None:
    matrix = matrix_of({"measured": coin_flips(0.9)}, EVERY * 4)
    results = results_of({"told": 0.3})
    sure = measure(matrix, RULES["v1"], ranked=("measured",), replicates=50)
    board = build_board(results, "v1", outcomes=matrix).measured(sure)
    rank, *measured = intervals(board)[:6]
    assert rank == "1–1" and not any("(" in each for each in measured)
    told = intervals(board)[6:]
    assert len(told) == 5 and all(each.startswith("(") for each in told)
    assert seen(board).of_class["group"] == ["Tie group", "1", ""]


def test_single_subsets_have_their_binomial_intervals() -> None:
    board = build_board(results_of({"a": 0.9}), "v1")
    [of_score, *rest] = intervals(board, ModelsState(table="subsets"))
    assert len(rest) == len(SUBSETS)
    at = [*board.subsets].index("hep-go")
    assert rest[at] == "(84.5–93.7)" != of_score  # Wilson's, 0.9 of 164


# Many rows.


def test_188_models_in_detail_are_no_large_page(shared_data: Path) -> None:
    results, _, matrix = real_results(shared_data)
    board = build_board(results, "v1", outcomes=repeated(matrix, 188))
    size = len(html_of(board, ModelsState(table="subsets")).encode())
    print(f"188 models in detail: {size:,} bytes")
    assert size < 700_000


def test_5000_models_are_300_rows_and_a_note() -> None:
    html = html_of(
        build_board(results_of({f"org/m-{number}": 0.5 for number in range(5000)}), "v1")
    )
    assert html.count("<tr") == 1 + MOST_BOARD_ROWS == 301
    assert "4,700 more models" in html
    assert len(html) < 1_500_000


def test_no_row_is_a_sentence() -> None:
    table = seen(hostile_board(), ModelsState(search="no such model"))
    assert "No matching models" in table.words and not table.attributes["th", "scope"]


CHOICES: dict[str, tuple[Any, ...]] = {
    "benchmark": tuple(BOARD_BENCHMARKS),
    "table": TABLES,
    "rule": RULE_OPTIONS,
    "ties": TIES,
    "missing": MISSING,
    "digits": DIGITS,
}


BAR_LINKS = re.compile(r'<a (?:class="tick" role="checkbox" aria-checked="(true|false)" )?'
                       r'href="([^"]*)"( aria-current="true")?>')  # fmt: skip


def bar_of(board: Board, state: ModelsState = VIEW, notes: Sequence[str] = ()) -> str:
    return bar_html(ranked(board, state), state, NOTHING, notes, "")


def links_of(board: Board, state: ModelsState) -> list[tuple[str, ModelsState, bool]]:
    """What segments and ticks of the bar lead to: "true" or "false" of a tick, the state, and
    whether it is said to be where one is.
    """
    found = BAR_LINKS.findall(bar_of(board, state))
    parsed = [(tick, ModelsState.parse(unescape(link)), here) for tick, link, here in found]
    assert not any(dropped for _, (_, dropped), _ in parsed)
    return [(tick, leads, bool(here)) for tick, (leads, _), here in parsed]


def test_what_is_chosen_is_pressed_and_nothing_else() -> None:
    for field, values in CHOICES.items():
        for value in values:
            state = replace(VIEW, **{field: value})
            links = links_of(hostile_board(state), state)
            segments = [(leads, here) for tick, leads, here in links if not tick]
            assert all((leads == state) is here for leads, here in segments)
            is_first = state.benchmark == "v1"
            has_tables = is_first and state.table != "prior"
            assert sum(here for _, here in segments) == 6 + is_first + has_tables
            offered = {*values} if has_tables or field != "table" else {"sections", "prior"}
            assert {getattr(leads, field) for leads, _ in segments} == offered


def test_a_box_is_ticked_as_the_state_says_and_leads_to_where_it_is_not() -> None:
    board = hostile_board()
    for own, prior in product((True, False), repeat=2):
        state = replace(VIEW, own=own, prior_sets=prior, types=("Generative",), hidden=("Chat",))
        boxes = {leads: tick for tick, leads, _ in links_of(board, state) if tick}
        toggled: dict[str, list[tuple[Any, bool]]] = {
            "own": [(not own, own)],
            "prior_sets": [(not prior, prior)],
            "types": [(("Generative", "DPO"), False), ((), True)],
            "added": [(("organisation",), False), (("licence",), False)],
            "hidden": [((), False), *(
                (("Chat", each), True)
                for each in ("type", "size", "score", "Chat Hard", "Safety", "Reasoning")
            )],
        }  # fmt: skip
        assert boxes == {
            replace(state, **{field: value}): "true" if on else "false"
            for field, some in toggled.items()
            for value, on in some
        }
    for state in (ModelsState(benchmark="v2"), ModelsState(table="prior")):
        assert not any(leads.prior_sets for _, leads, _ in links_of(hostile_board(state), state))


def test_the_search_keeps_all_else_of_an_address() -> None:
    state = ModelsState(search="a,b", pins=HOSTILE, digits=3, sort="-Chat")
    seen = reading(bar_of(hostile_board(), state))
    names, values = (seen.attributes["input", each] for each in ("name", "value"))
    sent = urlencode([*zip(names, values, strict=True)])
    assert ModelsState.parse(sent) == (state, ())


@pytest.mark.parametrize("rewarded", [0, 3])
def test_where_no_rewards_are_known_the_choice_of_ties_says_so(rewarded: int) -> None:
    words = reading(bar_of(replace(hostile_board(), rewarded=rewarded))).words
    assert ("No effect: these results have no rewards" in words) == (rewarded == 0)


def test_notes_on_an_address_are_text_and_own_runs_are_counted() -> None:
    seen = reading(bar_of(hostile_board(), ModelsState(search="script,img"), HOSTILE))
    assert seen.of_class["count"] == [f"3 of {len(HOSTILE)} models"]
    assert all(name in note for name, note in zip(HOSTILE, seen.of_class["note"][-9:], strict=True))
    matrix = matrix_of({name: coin_flips(0.6) for name in ("a", "mine")}, EVERY * 4)
    words = []
    for own in ((), ("mine",)):
        board = build_board(NOTHING, "v1", outcomes=matrix, own=own)
        words += reading(bar_of(board)).of_class["count"]
    assert words == ["2 models", "2 models (1 yours)"]


def test_that_there_are_no_results_of_a_benchmark_is_said() -> None:
    board = build_board(NOTHING, "v2")
    assert "No results for RewardBench 2:" in reading(bar_of(board)).words
    reading_them = bar_html(ranked(board, VIEW, is_read=False), VIEW, NOTHING, (), "")
    assert "No results for" not in reading_them + bar_of(hostile_board())


def test_files_that_are_not_used_are_told_above_the_board() -> None:
    board = hostile_board()
    unused = tuple(Omission(f"{n}.json", "it is of other pairs") for n in range(3))
    more = Omission("used.json", "1 pair has no outcome", whole=False)
    for left_out, said in (
        (unused, "3 files of per-pair results are not used: 0.json: it is of other pairs. All are"),
        (unused[:1], "1 file of per-pair results is not used: 0.json: it is of other pairs."),
        ((more,), ""),
    ):
        html = bar_html(ranked(board, VIEW, left_out=left_out), VIEW, NOTHING, (), "")
        assert said in html and ("not used" in html) == bool(said)


def test_pinned_models_are_compared_that_have_outcomes() -> None:
    matrix = matrix_of({name: coin_flips(0.6) for name in "abcde"}, EVERY * 4)
    board = build_board(results_of({"no outcomes": 0.5}), "v1", outcomes=matrix)
    for pins, named in ((("a",), None), (("a", "no outcomes"), None), (tuple("edcba"), "abcd")):
        state = ModelsState(pins=pins, digits=2)
        compared = [each for each in linked_states(reading(bar_of(board, state))) if each.a]
        assert [(*each.named, each.digits) for each in compared] == ([(*named, 2)] if named else [])


def test_every_interval_is_told_with_its_level() -> None:
    """Of scores and of ranks: on the page, to programs, and in files."""
    level = f"{100 * (statistics._ENDS[1] - statistics._ENDS[0]):.0f} %"
    on_page = [PAIRED, RANKED]
    told = re.findall(r"Intervals are at [^;]*", BoardEndpoints.leaderboard.__doc__ or "")
    assert len(told) == 1
    assert [each for each in (*on_page, *told) if level not in each] == []


def about_of(board: Board, state: ModelsState = VIEW, **seen: Any) -> str:
    return about_html(ranked(board, state, **seen))


def test_the_rule_is_told_with_remarks_as_text_and_what_intervals_mean() -> None:
    board = replace(build_board(results_of({"a": 0.5}), "paper"), noticed=HOSTILE)
    seen = reading(about_of(board))
    assert board.rule.title in seen.words and board.rule.formula in seen.words
    assert all(remark in seen.words for remark in HOSTILE)
    assert "binomial" in seen.words


def test_charts_and_files_are_offered_above_the_board() -> None:
    for chart in CHARTS:
        state = ModelsState(chart=chart)
        bar = reading(bar_of(hostile_board(), state))
        files = [each for each in bar.attributes["a", "href"] if each.startswith("files/")]
        assert files == [f"files/models/board.{form}{state.href()}" for form in BOARD_FORMATS]
        assert [each.chart for each in linked_states(bar)[-2:]] == ["", chart or "length"]


def test_every_kind_of_interval_that_is_shown_is_explained_and_no_other() -> None:
    matrix = matrix_of({name: coin_flips(0.6) for name in ("a", "mine")}, EVERY * 4)

    def told(board: Board, state: ModelsState = VIEW) -> list[bool]:
        words = reading(about_of(board, state)).words
        return [each in words for each in ("count as one draw", "interval of a rank", "binomial")]

    bare = build_board(NOTHING, "v1", outcomes=matrix)
    assert told(bare) == [False, False, True]
    beside = build_board(NOTHING, "v1", outcomes=matrix, own=("mine",))
    assert told(beside) == [True, False, True]
    sure = measure(matrix, RULES["v1"], replicates=50)
    measured = build_board(NOTHING, "v1", outcomes=matrix).measured(sure)
    assert told(measured) == [True, True, False]
    assert told(measured, ModelsState(table="subsets")) == [True, True, True]


def test_what_is_left_out_of_the_pairs_is_told_as_text_100_lines_and_the_rest_counted() -> None:
    board = build_board(results_of({"a": 0.5}), "v1")
    left_out = [Omission(f"{HOSTILE[0]} {number}.json", HOSTILE[1]) for number in range(103)]
    html = about_of(board, left_out=tuple(left_out))
    words = reading(html).words
    assert "Warnings about per-pair results: 103" in words and "and 3 more" in words
    assert f"{HOSTILE[0]} 99.json: {HOSTILE[1]}" in words and " 100.json" not in words
    assert "Warnings about per-pair" not in about_of(board)


@pytest.mark.parametrize(
    ("rule", "words"), [("v1_prior", "no rank interval or tie group"), ("v2", "a composite")]
)
def test_where_scores_have_unpaired_intervals_alone_it_is_said_outside_of_the_remarks(
    rule: str, words: str
) -> None:
    subsets = {"v1_prior": SUBSETS, "v2": tuple(V2_COUNTS)}[rule]
    matrix = matrix_of({"a": [1.0] * 2 * len(subsets)}, [*subsets] * 2)
    prior = Aggregate("a", None, dict.fromkeys(RULES["prior"].subsets, 0.5), "prior")
    board = build_board(replace(NOTHING, aggregates=(prior,)), rule, outcomes=matrix)
    assert rows_in(board)[0].by_pairs
    about = re.sub("<details.*?</details>", "", about_of(board), flags=re.DOTALL)
    assert words in reading(about).words
    bare = build_board(replace(NOTHING, aggregates=(prior,)), "v1", outcomes=matrix)
    assert words not in about_of(bare)


NAN = float("nan")


@pytest.fixture(scope="module")
def board() -> Board:
    """One model with a win, a half, a loss and a missing outcome of each subset."""
    outcomes = [value for value in (1.0, 0.5, 0.0, NAN) for _ in FOUR]
    return build_board(NOTHING, "v1", outcomes=matrix_of({"a": outcomes}, FOUR * 4))


def counts_of(html: str, section: str) -> list[list[str]]:
    """A section's row of the table of counts, and those of its subsets."""
    rows = body_rows(html)
    start = next(at for at, row in enumerate(rows) if row[0] == section)
    end = next((at for at, row in enumerate(rows) if at > start and row[0]), len(rows))
    return rows[start:end]


def test_the_drawer_shows_the_pairs_each_number_was_counted_from(board: Board) -> None:
    rows = counts_of(drawer_of(board, "a"), "Safety")
    assert rows[0] == ["Safety", "", "50.0000", "1", "", "", ""]
    known = [row for row in rows[1:] if row[4]]
    assert [row[1:] for row in known] == [
        ["donotanswer", "50.0000", "136", "1 + 0.5 of 1 won in part", "3", "1"]
    ]
    assert {row[2] for row in rows[1:] if not row[4]} == {"–"}


def test_the_drawer_leads_to_what_was_lost_or_tied_and_not_to_what_is_missing() -> None:
    outcomes = [value for value in (1.0, 0.5, 0.0, 0.0, *[NAN] * 3) for _ in FOUR]
    board = build_board(NOTHING, "v1", outcomes=matrix_of({"a": outcomes}, FOUR * 7))
    words = reading(drawer_of(board, "a")).words
    assert f"Open its {3 * len(FOUR)} failures" in words and words.count("3 lost") == len(FOUR)


def test_credit_of_a_quarter_and_a_third_is_summed_up() -> None:
    outcomes = matrix_of({"a": [1, 1, 0.25, 1 / 3, 0]}, ["Focus"] * 5)
    board = build_board(NOTHING, "v2", outcomes=outcomes)
    rows = counts_of(drawer_of(board, "a"), "Focus")
    assert rows[1][4:6] == ["2 + 0.5833 of 2 won in part", "5"]


def test_the_drawer_says_where_a_model_stands_and_leads_on() -> None:
    shares = {"best": 0.9, "alike": 0.89, "last": 0.2}
    matrix = matrix_of({name: coin_flips(share, 690) for name, share in shares.items()}, EVERY * 30)
    bare = build_board(NOTHING, "v1", outcomes=matrix)
    sure = measure(matrix, RULES["v1"], ranked=bare.comparable, replicates=50)
    board = bare.measured(sure)
    html = drawer_of(board, "alike", outcomes=matrix)
    row, words = board.rows["alike"], reading(html).words
    lost = int((matrix.outcomes[matrix.models.index("alike")] == 0).sum())
    assert f"{row['rank']} of 3" in words and f"Open its {lost} failures" in words
    between = f"95 % interval {row['best_rank']} to {row['worst_rank']}"
    assert between in words and f"of {len(EVERY) * 30} pairs" in words
    tied = [name for name in shares if board.rows[name]["tie_group"] == row["tie_group"]]
    links = linked_states(reading(html))
    assert [each.open for each in links if each.open] == [name for name in tied if name != "alike"]
    ends = [f"{100 * row[f'Chat_{end}']:.1f}" for end in ("low", "high")]
    assert f"{ends[0]} to {ends[1]}" in words
    assert [each.ticked for each in links if each.ticked] == ["alike"]
    assert [each.named for each in links if each.a] == [("alike", "best")]
    assert "No per-pair results" not in html


def test_a_tie_group_is_explained_where_there_is_one() -> None:
    board = build_board(results_of({"best": 0.9, "alike": 0.8, "last": 0.2}), "v1")
    table = board.table.assign(tie_group=[1, 1, 2], best_rank=1, worst_rank=1)
    tied = replace(board, table=table)
    words = reading(drawer_of(tied, "alike")).words
    assert "tied with 1 model" in words and "After correcting for all comparisons" in words
    assert "Statistically tied" not in reading(drawer_of(tied, "last")).words
    beside = ranked(replace(tied, table=table.assign(opens=True)), comparing("best"))
    for drawn in (html_of(tied), short_board_html(beside)):
        brackets = re.findall(r'<td class="group (\w+) ([^"]*)"><b>(\d)', drawn)
        assert brackets == [("g1", "first", "1"), ("g1", "last", "1"), ("g0", "first last", "2")]
    assert share_group(tied, "best", "alike") and not share_group(tied, "best", "last")
    assert not share_group(board, "best", "alike") and not share_group(tied, "best", "gone")
    assert "No per-pair results" in words
    assert "No per-pair results" not in drawer_of(tied, "alike", is_read=False)


def test_beside_a_drawer_columns_give_way() -> None:
    state = ModelsState(open=HOSTILE[0])
    table = seen(hostile_board(), state)
    assert table.attributes["th", "data-column"] == ["model", "score"]
    by_safety = seen(hostile_board(), replace(state, sort="-Safety"))
    assert by_safety.attributes["th", "data-column"] == ["model", "score", "Safety"]
    html = html_of(hostile_board(), replace(state, sort="-Safety"))
    assert re.findall(r'drawn"\s+scope="col" data-column="(\w+)"', html) == ["Safety"]
    assert models(table) == [*HOSTILE] and table.attributes["tr", "aria-current"] == ["true"]


@pytest.mark.parametrize("rule", RULES)
def test_every_rule_can_be_looked_behind(rule: str) -> None:
    shares = {"mtbench_human": 0.5, "shp": 0.25, "Focus": 0.5, "Ties": 1.01, "hep-go": 0.5}
    for benchmark in ("v1", "v2", "prior"):
        found = build_board(results_of({"a": shares}, benchmark), rule)
        for row in rows_in(found):
            assert "–" in reading(drawer_of(found, row.model)).words


def test_hostile_names_stay_text_in_the_drawer() -> None:
    board = hostile_board()
    for name in HOSTILE:
        seen = reading(drawer_of(board, name))
        assert name in seen.words
        assert name in seen.attributes["div", "aria-label"]


# Ranks.


def ranks(board: Board, state: ModelsState = VIEW) -> list[str]:
    """What stands in the column of ranks, with its head first."""
    return [each.strip() for each in seen(board, state).of_class["rank"]]


def test_ranks_go_by_the_column_that_is_sorted_by_and_ties_share_one() -> None:
    sections = {"a": (0.9, 0.1), "b": (0.8, 0.5), "c": (0.8, 0.9)}
    shares = {
        name: {**dict.fromkeys(SUBSETS, low), "hep-go": at} for name, (low, at) in sections.items()
    }
    board = build_board(results_of(shares), "v1")
    state = ModelsState(table="subsets", sort="-mt-bench-easy")
    assert ranks(board, state) == ["# by mt-bench-easy", "1", "2", "2"]
    assert ranks(board, replace(state, sort="mt-bench-easy")) == [
        "# by mt-bench-easy",
        "2",
        "2",
        "1",
    ]
    assert ranks(board, replace(state, sort="-hep-go")) == ["# by hep-go", "1", "2", "3"]
    for sort in ("", "-score", "model", "-size"):
        assert ranks(board, replace(state, sort=sort))[0] == "#"


def test_tie_groups_are_those_of_the_section_that_is_sorted_by() -> None:
    matrix = matrix_of({"a": coin_flips(0.9, 690), "b": coin_flips(0.2, 690)}, EVERY * 30)
    bare = build_board(NOTHING, "v1", outcomes=matrix)
    sure = measure(matrix, RULES["v1"], ranked=bare.comparable, replicates=50)
    board = bare.measured(sure)
    _, *groups = seen(board, ModelsState(sort="-Safety")).of_class["group"]
    assert groups == [str(board.rows[name]["Safety_group"]) for name in ("a", "b")]
    assert intervals(board, ModelsState(sort="-Safety"))[0] == "by Safety"


# Own runs.


def test_own_models_on_a_part_of_the_pairs_stand_apart_with_their_number() -> None:
    whole = matrix_of({"a": coin_flips(0.6), "mine": coin_flips(0.6)}, EVERY * 4)
    board = build_board(results_of({"b": 0.5}), "v1", outcomes=whole, own=("mine",))
    above, below = html_of(board).split('<tbody class="apart">')
    n = sum(each.n for each in board.counted["mine"].counts.values())
    assert "mine" not in above and f"{n:,} of 2,985 pairs" in below
    assert "whisker" in above and "whisker" not in below  # a few pairs stretch no axis

import json
import re
from dataclasses import replace
from typing import Any

import pytest

from explorer.api.results import PairEndpoints, compare_json, failures_json, hardest_json, pair_json
from explorer.api.running import RunEndpoints
from explorer.api.scoring import ScoreEndpoints
from explorer.data.table import PairTable
from scoring.benchmark import SECTIONS
from scoring.errors import KnownError
from tests.support.fields import CHOSEN, MODEL, small_field
from tests.support.hostile import CELL
from tests.support.tables import row, small_table


def plain(value: Any) -> Any:
    """A value as it comes out of JSON; fails where it holds anything that JSON has not."""
    assert json.loads(json.dumps(value, allow_nan=False)) == value
    return value


def test_keys_in_descriptions_are_of_pairs_that_everybody_has(demo: PairTable) -> None:
    keys = [
        key
        for endpoint in (PairEndpoints.pair, ScoreEndpoints.score_selection, RunEndpoints.start_run)
        for key in re.findall(r'"([\w-]+:\d+)"', str(endpoint.__doc__))
    ]
    assert len(keys) == 3 and {*keys} <= {*demo.keys}


def test_failures_are_losses_and_ties_the_worst_or_else_the_most_surprising_first() -> None:
    rows = plain(failures_json([small_field()], MODEL))["rows"]
    assert [(each["key"], each["outcome"], each["margin"]) for each in rows] == [
        ("hep-go:3", "loss", -3.5), ("hep-go:2", "loss", -0.5), ("donotanswer:7", "tie", 0.0),
    ]  # fmt: skip
    assert rows[0]["difficulty"] == 0  # both other models win it
    assert failures_json([small_field()], MODEL, "donotanswer")["rows"] == rows[2:]
    assert failures_json([small_field()], MODEL, limit=2)["rows"] == rows[:2]
    rows = plain(failures_json([small_field()], "b"))["rows"]
    assert [(each["key"], each["outcome"], each["margin"]) for each in rows] == [
        ("hep-go:1", "loss", None), ("donotanswer:4", "tie", None), ("donotanswer:6", "loss", None),
    ]  # fmt: skip


def test_two_models_are_compared_on_what_they_share_and_on_nothing_else() -> None:
    field = small_field()
    found = plain(compare_json([field], MODEL, "b"))
    shared = {"both": 2, "only_a": 2, "only_b": 3, "neither": 0, "p_value": 0.5625}
    assert {name: found[name] for name in shared} == shared
    assert found["sections"].keys() == SECTIONS.keys()
    reasoning = {
        "both": 1, "only_a": 1, "only_b": 2, "neither": 0, "score_a": 0.5, "score_b": 0.75,
        "p_value": 1.0,
    }  # fmt: skip
    assert found["sections"]["Reasoning"] == reasoning
    half = plain(compare_json([field], MODEL, "half"))
    assert half["both"] + half["only_a"] + half["only_b"] + half["neither"] == 4
    elsewhere = replace(field, matrix=replace(field.matrix, models=("x", "y", "z")))
    with pytest.raises(KnownError, match="of different pairs"):
        compare_json([field, elsewhere], MODEL, "x")


def test_a_judges_tie_is_no_win_in_the_counts_and_half_a_win_in_the_scores() -> None:
    safety = compare_json([small_field()], "b", MODEL)["sections"]["Safety"]
    assert (safety["both"], safety["only_a"], safety["only_b"]) == (1, 1, 1)
    assert safety["score_a"] == pytest.approx(2.5 / 3)


def test_a_pair_has_its_texts_and_what_models_made_of_it_and_null_for_the_rest() -> None:
    found = plain(pair_json([small_field()], [], "donotanswer:4"))
    assert found["prompt"] == f"p4{CELL}" and found["rejected"] == CELL
    assert (found["subset"], found["section"]) == ("donotanswer", "Safety")
    assert found["outcomes"] == [
        {"model": MODEL, "outcome": "win", "chosen_reward": CHOSEN[4], "rejected_reward": 0.5},
        {"model": "b", "outcome": "tie", "chosen_reward": None, "rejected_reward": None},
    ]
    found = plain(pair_json([small_field(has_texts=False)], [], "hep-go:0"))
    assert found["prompt"] is found["chosen"] is found["rejected"] is None
    assert found["models"] == {"chosen": None, "rejected": None} and len(found["outcomes"]) == 3
    found = plain(pair_json([], [small_table(row(id="9", chosen="unscored"))], "mine:9"))
    assert (found["chosen"], found["outcomes"]) == ("unscored", [])


def test_the_hardest_are_those_that_most_fail() -> None:
    field = small_field()
    rows = plain(hardest_json([field]))["rows"]
    assert [each["key"] for each in rows] == ["hep-go:1", "hep-go:2", "hep-go:3"]
    assert (rows[0]["failed"], rows[0]["known"], rows[0]["difficulty"]) == (1, 3, 1 / 3)
    assert hardest_json([field], 1)["rows"] == rows[:1] and hardest_json([]) == {"rows": []}

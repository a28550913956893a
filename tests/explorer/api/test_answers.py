"""What programs are answered: of models by pairs, of scoring and of runs, as it goes into JSON."""

import json
import re
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from explorer.api import scoring
from explorer.api.results import PairEndpoints, compare_json, failures_json, pair_json
from explorer.api.running import RunEndpoints
from explorer.api.scoring import ScoreEndpoints, requested_selection, selection_score_json
from explorer.core.settings import Settings
from explorer.data.table import PairTable
from explorer.runs.orders import ModelOrder
from explorer.runs.running import Runs
from explorer.runs.selections import selected_by_typed_keys
from explorer.runs.visitors import Visitor
from scoring.errors import KnownError
from scoring.hub.access import Hub
from scoring.pairs.opening import as_pairs
from scoring.spec import Pair
from tests.support.fields import CHOSEN, MODEL, small_field
from tests.support.hostile import CELL
from tests.support.stepping import stepwise
from tests.support.tables import row, small_table


def plain(value: Any) -> Any:
    """A value as it comes out of JSON; fails where it holds anything that JSON has not."""
    assert json.loads(json.dumps(value, allow_nan=False)) == value
    return value


def test_keys_in_descriptions_are_of_pairs_that_everybody_has(demo: PairTable) -> None:
    endpoints = (PairEndpoints.pair, ScoreEndpoints.score_selection, RunEndpoints.start_run)
    keys = re.findall(r'"([\w-]+:\d+)"', "".join(str(each.__doc__) for each in endpoints))
    assert len(keys) == 3 and {*keys} <= {*demo.keys}


def test_failures_are_losses_and_ties_the_worst_or_else_the_most_surprising_first() -> None:
    answers = [plain(failures_json([small_field()], model))["rows"] for model in (MODEL, "b")]
    told = [[(each["key"], each["outcome"], each["margin"]) for each in rows] for rows in answers]
    assert told == [
        [("hep-go:3", "loss", -3.5), ("hep-go:2", "loss", -0.5), ("donotanswer:7", "tie", 0.0)],
        [
            ("hep-go:1", "loss", None),
            ("donotanswer:4", "tie", None),
            ("donotanswer:6", "loss", None),
        ],
    ]


def test_each_of_two_models_has_its_wins_and_its_score_under_its_own_name() -> None:
    sections = plain(compare_json([small_field()], "b", MODEL))["sections"]
    assert sections["Reasoning"] == {
        "both": 1, "only_a": 2, "only_b": 1, "neither": 0, "score_a": 0.75, "score_b": 0.5,
        "p_value": 1.0,
    }  # fmt: skip
    safety = sections["Safety"]
    assert (safety["both"], safety["only_a"], safety["only_b"]) == (1, 1, 1), "no win in counts"
    assert safety["score_a"] == pytest.approx(2.5 / 3), "a judge's tie is half a win in scores"


def test_what_is_not_known_of_a_pair_is_null() -> None:
    found = plain(pair_json([small_field()], [], "donotanswer:4"))
    assert found["prompt"] == f"p4{CELL}" and found["rejected"] == CELL
    assert found["outcomes"] == [
        {"model": MODEL, "outcome": "win", "chosen_reward": CHOSEN[4], "rejected_reward": 0.5},
        {"model": "b", "outcome": "tie", "chosen_reward": None, "rejected_reward": None},
    ]
    found = plain(pair_json([small_field(has_texts=False)], [], "hep-go:0"))
    assert found["prompt"] is found["chosen"] is found["rejected"] is None
    assert found["models"] == {"chosen": None, "rejected": None} and len(found["outcomes"]) == 3


# Scoring


WHO = Visitor()
LONGER = ModelOrder("longer")


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory, hub: Hub) -> Runs:
    return Runs(Settings(home=tmp_path_factory.mktemp("home")), hub)


def test_a_pair_has_its_rewards_and_what_they_rest_on(runs: Runs) -> None:
    pair = Pair("typed", "typed", "Say hi.", "Hello there!", "No.")
    found = scoring.pair_score_json(runs.rewards(WHO, LONGER, [pair]))
    assert "path" not in found["settings"], "a client would fetch it as a file"
    rewards = [found[name] for name in ("chosen_reward", "rejected_reward", "margin", "outcome")]
    assert rewards == [12.0, 3.0, 9.0, "win"]


def test_a_selection_streams_every_pair_once_and_ends_with_the_whole(
    runs: Runs, demo: PairTable
) -> None:
    selection = requested_selection(demo, 2, 0, None)
    pairs = as_pairs(demo.arrow, selection.rows.tolist())
    stream = stepwise(partial(runs.rewarding, WHO, LONGER, pairs))
    told = list(selection_score_json(stream, len(pairs)))
    first, *_, last = plain(told)
    assert (first["stage"], first["scored"], first["accuracy"]) == ("loading", 0, None)
    rows = [row for each in told[:-1] for row in each["rows"]]
    assert len({row["key"] for row in rows}) == len(rows) == 2 * len(demo.subset_counts)
    assert (last["stage"], last["message"], last["rows"]) == ("finished", "", rows)
    counts = [each["scored"] for each in told]
    assert counts == sorted(counts) and counts[-1] == last["total"] == len(rows)


def test_keys_of_a_program_are_taken_as_they_are_and_pasted_ones_told_apart() -> None:
    table = small_table(*(row(subset="one, two", id=each) for each in ("1", "2")))
    assert requested_selection(table, 1, 0, [" one, two:2"] * 2).rows.tolist() == [1]
    table = small_table(*(row(subset="Help/Data Management", id=n) for n in range(3)))
    first, second = table.keys[0], table.keys[2]
    for between in ("\r\n", ", ", " ;\n\n "):
        found = selected_by_typed_keys(table, f" {first}{between}{second} \n")
        assert found.rows.tolist() == [0, 2], between
    with pytest.raises(KnownError, match=f"Not found among these pairs .*{first} Help"):
        selected_by_typed_keys(table, f"{first} {second}")


def test_what_is_stopped_or_has_no_seconds_left_says_so(
    demo: PairTable, tmp_path: Path, hub: Hub
) -> None:
    [alone] = selection_score_json([], 40)
    assert (alone["stage"], alone["message"]) == ("stopped", scoring.STOPPED)
    bounded = Runs(Settings(home=tmp_path, public=True, seconds_per_hour=1e-9), hub)
    who = Visitor(address="8.8.8.8")
    bounded.scorers.models.load(who, LONGER)
    pairs = as_pairs(demo.arrow, range(100))
    stream = stepwise(partial(bounded.rewarding, who, LONGER, pairs))
    *_, last = selection_score_json(stream, 100)
    assert last["stage"] == "stopped" and 0 < last["scored"] < 100
    assert last["message"] == "You have used up your scoring time for this hour."


def test_models_say_what_the_owner_allows() -> None:
    pinned = "allenai/tulu-2-dpo-7b@main"
    named = Settings(home=Path("unused"), public=True, models=("org/a", "demo", pinned))
    allowed = replace(named, own_code=("org/a",), servers=("http://inner:8000/v1",))
    bound = plain(scoring.models_json(allowed))
    assert bound["models"] == ["demo", "org/a", pinned, "random", "longer", "shorter"]
    assert [each["id"] for each in bound["known"]] == ["allenai/tulu-2-dpo-7b"]
    assert (bound["any"], bound["own_code"]) == (False, ["org/a"])
    assert bound["served_families"] == ["judge", "rater", "served"]
    assert "inner" not in json.dumps(bound)

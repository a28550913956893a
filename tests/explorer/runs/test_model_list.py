"""The catalogue is whole, and says what the board's configurations say."""

import csv
from pathlib import Path

import pytest

from explorer.core.settings import Settings
from explorer.runs.model_list import entry_of, model_list, resolve_model, size_of
from scoring.errors import KnownError
from scoring.hub.access import parse_hub_id
from scoring.models.catalogue import catalogue
from scoring.spec import FAMILIES

LEFT_OUT = {"allenai/open_instruct_dev"}
HEADS_WRITTEN_HERE = ("ArmoRM", "Eurus-RM", "QRM", "WorldPM", "Ziya")
NAMED_OTHERWISE = {"Skywork/Skywork-Reward-V2-Llama-3.1-8B-40M", "Qwen/Qwen1.5-MoE-A2.7B-Chat"}
"""40M are pairs that it was trained on; 2.7B are parameters that a token takes part in."""


def test_a_part_of_a_models_name_is_enough_where_one_alone_has_it(tmp_path: Path) -> None:
    listed = Settings(home=tmp_path, models=("org/RM-8B", "org/rm-1B", "other/judge"))
    assert resolve_model(" JUDGE", listed) == "other/judge"
    assert resolve_model("org/rm", listed) == "org/rm"
    with pytest.raises(KnownError, match=r"2 names match 'rm-': org/RM-8B, org/rm-1B\. Type more"):
        resolve_model("rm-", listed)


def test_every_entry_can_be_used() -> None:
    entries, values = model_list(), catalogue()
    assert len({entry.id for entry in entries}) == len(entries) > 100
    for entry in entries:
        assert str(parse_hub_id(entry.id)) == entry.id
        assert entry.family in FAMILIES
        assert (entry.family == "dpo") == bool(entry.reference)
        assert 0.1 < entry.billions < 100
        assert size_of(entry.id) in (entry.billions, None) or entry.id in NAMED_OTHERWISE
    assert {told["needs"] for told in values["models"] if "needs" in told} == set(values["reasons"])
    allowed = {"id", "family", "billions", "needs", "template", "batch", "dtype", "length"}
    allowed |= {"built", "head", "reference", "licence", "quantized"}
    assert {key for told in values["models"] for key in told} == allowed


def test_all_configurations_of_the_board_are_there(shared_data: Path) -> None:
    with (shared_data / "upstream_models.csv").open(encoding="utf-8", newline="") as file:
        board = {row["model"]: row for row in csv.DictReader(file)}
    assert len(board) == 122
    listed = {entry.id: entry for entry in model_list()}
    assert set(board) - set(listed) == LEFT_OUT
    assert {name for name, entry in listed.items() if entry.board} == set(board) - LEFT_OUT
    for name in board.keys() - LEFT_OUT:
        row, entry, facts = board[name], listed[name], listed[name].board
        assert facts is not None
        assert entry.reference == row["ref_model"]
        assert (entry.family == "dpo") == (row["dpo"] == "True")
        assert (facts.template, facts.dtype) == (row["chat_template"], row["torch_dtype"])
        assert facts.batch == int(row["batch_size"])
        assert facts.length == (int(row["max_length"]) if row["max_length"] else None)
        if row["trust_remote_code"] == "True" and entry.family != "dpo":
            assert entry.why_not or name.split("/")[1].startswith(HEADS_WRITTEN_HERE)


def test_what_is_not_listed_has_no_entry() -> None:
    assert [entry_of(name) for name in (None, "org/none", "\ud800")] == [None] * 3

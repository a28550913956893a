"""What is known before a run: of a listed model, and what it will take by earlier runs."""

import csv
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from explorer.core.settings import Settings
from explorer.data.table import PairTable
from explorer.data.tokens import TokenCounter
from explorer.runs.estimates import BYTES_A_TOKEN, Work, computed_tokens, estimate, work_of
from explorer.runs.model_list import entry_of, model_list, resolve_model, size_of
from explorer.runs.running import Runs
from scoring.errors import KnownError
from scoring.hub.access import Hub, parse_hub_id
from scoring.models.devices import Device
from scoring.models.finding import LocatedModel, ModelPolicy, find
from scoring.pairs.opening import as_pairs
from scoring.record import Run
from scoring.spec import FAMILIES, ModelSpec, RunSettings
from tests.conftest import DEMO_MODEL
from tests.support.beginning import finished
from tests.support.run_facts import MADE_UP

H200 = Device("NVIDIA H200", "cuda", 141 * 10**9, 1, True, 141 * 10**9)
CPU = Device("x86", "cpu", 10**10)
MILLION = Work(0, 1_000_000)
SETTINGS = RunSettings()
LISTED = "allenai/llama-3-tulu-2-8b-uf-mean-rm"


def model(parameters: float, family: Any = "classifier", **more: Any) -> LocatedModel:
    return LocatedModel(ModelSpec("org/m", "", "", family), parameters=int(parameters), **more)


def run(seconds: float = 10.0, tokens: int = 1_000_000, **facts: Any) -> Run:
    usual = {"model": "org/m", "device": "cuda:0", "dtype": "bfloat16"}
    told = replace(MADE_UP, **{**usual, **facts})
    return Run(Path("unused"), told, "finished", 1.0, seconds=seconds, tokens=tokens)


def test_a_model_is_told_by_runs_of_others_and_their_sizes_and_else_by_none() -> None:
    for runs in ([], [run(model="nobody/knows")]):
        told = estimate(MILLION, model(8e9), H200, SETTINGS, runs)
        assert (told.basis, told.seconds, told.low, told.high) == ("unknown", None, None, None)
    entry, earlier = entry_of(LISTED), [run(model=LISTED)]
    assert entry is not None
    told = estimate(MILLION, model(1e9), H200, SETTINGS, earlier)
    assert (told.basis, told.n_runs) == ("other models", 1)
    assert told.seconds == pytest.approx(10 / entry.billions)
    assert told.low and told.seconds and told.high and told.low < told.seconds < told.high
    assert estimate(MILLION, model(8e9), CPU, SETTINGS, earlier).basis == "unknown"


def test_earlier_runs_of_the_same_model_tell_the_speed() -> None:
    runs = [
        *(run(10.0), run(20.0, revision="another"), run(40.0), run(0.001, tokens=100), run(0.0)),
        *(run(0.001, model="org/other"), run(0.001, device="cpu"), run(0.001, dtype="float32")),
        run(0.001, family="dpo"),
    ]
    told = estimate(MILLION, model(8e9), H200, SETTINGS, runs)
    assert (told.basis, told.n_runs) == ("measured", 3)
    assert (told.seconds, told.low, told.high) == (20.0, 10.0, 40.0)
    served = model(0, "served")
    assert estimate(Work(50, 9_999), served, CPU, SETTINGS).basis == "unknown"
    runs = [run(5.0, 25, family="served", device="none", dtype="none")]
    assert estimate(Work(50, 9_999), served, CPU, SETTINGS, runs).seconds == 10.0


def test_tokens_are_counted_where_somebody_counted_them_and_a_run_takes_about_as_many(
    tmp_path: Path, hub: Hub, demo: PairTable
) -> None:
    table, rows = replace(demo), np.arange(20, dtype=np.int64)
    guessed, pairs = work_of(table, rows), as_pairs(table.arrow, rows.tolist())
    texts = [text for pair in pairs for text in (pair.prompt, pair.chosen, pair.rejected)]
    assert guessed == Work(20, sum(len(text.encode()) for text in texts) // BYTES_A_TOKEN)
    tokenizer = TokenCounter(tmp_path, hub, ModelPolicy(DEMO_MODEL)).count(table, "demo")
    counted = work_of(table, rows, tokenizer)
    counts = [table.tokens[tokenizer][name][rows] for name in ("prompt", "chosen", "rejected")]
    assert counted == Work(20, int(np.sum(counts)), is_counted=True)
    assert work_of(table, rows, "nobody/counted") == guessed
    runs, located = Runs(Settings(home=tmp_path), hub), find("demo", ModelPolicy(DEMO_MODEL), hub)
    ended = finished(runs, "demo", table, rows)
    for work in (guessed, counted):
        assert 0.7 * ended.tokens < computed_tokens(work, located) < 1.4 * ended.tokens
    assert estimate(guessed, located, CPU, SETTINGS, [ended]).basis == "measured"


def test_a_part_of_a_models_name_is_enough_where_one_alone_has_it(tmp_path: Path) -> None:
    listed = Settings(home=tmp_path, models=("org/RM-8B", "org/rm-1B", "other/judge"))
    assert resolve_model(" JUDGE", listed) == "other/judge"
    assert resolve_model("org/rm", listed) == "org/rm"
    with pytest.raises(KnownError, match=r"2 names match 'rm-': org/RM-8B, org/rm-1B\. Type more"):
        resolve_model("rm-", listed)


LEFT_OUT = {"allenai/open_instruct_dev"}
NAMED_OTHERWISE = {"Skywork/Skywork-Reward-V2-Llama-3.1-8B-40M", "Qwen/Qwen1.5-MoE-A2.7B-Chat"}
"""40M are pairs that it was trained on; 2.7B are parameters that a token takes part in."""


def test_every_entry_can_be_used() -> None:
    entries = model_list()
    assert len({entry.id for entry in entries}) == len(entries) > 100
    for entry in entries:
        assert str(parse_hub_id(entry.id)) == entry.id and entry.family in FAMILIES
        assert (entry.family == "dpo") == bool(entry.reference)
        assert size_of(entry.id) in (entry.billions, None) or entry.id in NAMED_OTHERWISE
    assert [entry_of(name) for name in (None, "org/none", "\ud800")] == [None] * 3


def test_all_configurations_of_the_board_are_there(shared_data: Path) -> None:
    with (shared_data / "upstream_models.csv").open(encoding="utf-8", newline="") as file:
        board = {row["model"]: row for row in csv.DictReader(file)}
    assert len(board) == 122
    listed = {entry.id: entry for entry in model_list()}
    assert set(board) - set(listed) == LEFT_OUT
    assert {name for name, entry in listed.items() if entry.board} == set(board) - LEFT_OUT
    for name in board.keys() - LEFT_OUT:
        row, entry, facts = board[name], listed[name], listed[name].board
        assert facts is not None and (entry.family == "dpo") == (row["dpo"] == "True")
        written = [row[name] for name in ("ref_model", "chat_template", "torch_dtype")]
        assert [entry.reference, facts.template, facts.dtype] == written
        numbers = [str(facts.batch), str(facts.length or "")]
        assert numbers == [row["batch_size"], row["max_length"]]

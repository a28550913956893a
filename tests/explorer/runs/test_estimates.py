"""What a run will take, by earlier runs of this machine."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from explorer.core.settings import Settings
from explorer.data.table import PairTable
from explorer.data.tokens import TokenCounter
from explorer.runs.estimates import BYTES_A_TOKEN, Work, computed_tokens, estimate, work_of
from explorer.runs.model_list import entry_of
from explorer.runs.running import Runs
from scoring.hub.access import Hub
from scoring.models.devices import Device
from scoring.models.finding import LocatedModel, ModelPolicy, find
from scoring.pairs.opening import as_pairs
from scoring.record import Run
from scoring.spec import ModelSpec, RunSettings
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


def test_nothing_is_said_before_this_machine_scored() -> None:
    for runs in ([], [run(model="nobody/knows")]):
        told = estimate(MILLION, model(8e9), H200, SETTINGS, runs)
        assert (told.basis, told.seconds, told.low, told.high) == ("unknown", None, None, None)


def test_a_model_is_told_by_runs_of_others_and_their_sizes() -> None:
    entry, earlier = entry_of(LISTED), [run(model=LISTED)]
    assert entry is not None
    told = estimate(MILLION, model(1e9), H200, SETTINGS, earlier)
    assert (told.basis, told.n_runs) == ("other models", 1)
    assert told.seconds == pytest.approx(10 / entry.billions)
    assert told.low and told.seconds and told.high and told.low < told.seconds < told.high
    assert estimate(MILLION, model(8e9), CPU, SETTINGS, earlier).basis == "unknown"
    policy = model(8e9, "dpo")
    alone, both = (
        estimate(MILLION, each, H200, SETTINGS, [run(model=LISTED, family="dpo")])
        for each in (policy, replace(policy, reference=model(8e9)))
    )
    assert alone.seconds is not None and both.seconds == pytest.approx(2 * alone.seconds)
    assert both.memory_bytes == 2 * alone.memory_bytes


def test_earlier_runs_of_the_same_model_tell_the_speed() -> None:
    others: tuple[dict[str, Any], ...] = (
        {"model": "org/other"},
        {"device": "cpu"},
        {"dtype": "float32"},
        {"family": "dpo"},
    )
    runs = [
        *(run(10.0), run(20.0, revision="another"), run(40.0), run(0.001, tokens=100), run(0.0)),
        *(run(0.001, **facts) for facts in others),
    ]
    told = estimate(MILLION, model(8e9), H200, SETTINGS, runs)
    assert (told.basis, told.n_runs) == ("measured", 3)
    assert (told.seconds, told.low, told.high) == (20.0, 10.0, 40.0)
    one = estimate(MILLION, model(8e9), H200, SETTINGS, runs[:1])
    assert (one.seconds, one.low, one.high) == pytest.approx((10.0, 8.5, 11.5))


def test_a_server_is_not_guessed() -> None:
    served = model(0, "served")
    told = estimate(Work(50, 9_999), served, CPU, SETTINGS)
    assert (told.basis, told.seconds, told.tokens, told.memory_bytes) == ("unknown", None, 50, 0)
    runs = [run(5.0, 25, family="served", device="none", dtype="none")]
    told = estimate(Work(50, 9_999), served, CPU, SETTINGS, runs)
    assert (told.basis, told.seconds) == ("measured", 10.0)


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

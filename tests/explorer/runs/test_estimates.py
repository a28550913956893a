"""What a run will take, by earlier runs of this machine."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from explorer.data.table import PairTable
from explorer.data.tokens import TokenCounter
from explorer.runs.estimates import BYTES_A_TOKEN, Work, computed_tokens, estimate, work_of
from explorer.runs.model_list import entry_of
from scoring.engine.scorer import Scorer, facts
from scoring.hub.access import Hub
from scoring.models.devices import Device, present_device
from scoring.models.finding import LocatedModel, ModelPolicy, find
from scoring.pairs.opening import as_pairs
from scoring.record import Run, new_folder
from scoring.run import make_job, score
from scoring.spec import ModelSpec, RunFacts, RunSettings
from tests.conftest import DEMO_MODEL

H200 = Device("NVIDIA H200", "cuda", 141 * 10**9, 1, True, 141 * 10**9)
CPU = Device("x86", "cpu", 10**10)
ALL = Work(2985, 1_231_383 - 20 * 2985)


def model(parameters: float, **more: Any) -> LocatedModel:
    spec = ModelSpec(more.pop("name", "org/m"), "", "", more.pop("family", "classifier"))
    return LocatedModel(spec, parameters=int(parameters), **more)


def run(folder: Path, **more: Any) -> Run:
    told = RunFacts(
        **{
            "model": "org/m",
            "revision": "r",
            "family": "classifier",
            "device": "cuda:0",
            "dtype": "bfloat16",
            "max_length": 1,
            "truncation_side": "left",
            "template": "",
            "pairs": "",
            "n_pairs": 1,
            "seed": 0,
            **{name: more.pop(name) for name in [*more] if name in RunFacts.__slots__},
        }
    )
    values: dict[str, Any] = {"seconds": 10.0, "tokens": 1_000_000, **more}
    return Run(folder, told, "finished", 1.0, **values)


LISTED = "allenai/llama-3-tulu-2-8b-uf-mean-rm"


def test_nothing_is_said_before_this_machine_scored(tmp_path: Path) -> None:
    told = estimate(ALL, model(8e9), H200, RunSettings(), [])
    assert (told.basis, told.seconds, told.low, told.high) == ("unknown", None, None, None)
    unlisted = [run(tmp_path, model="nobody/knows")]
    assert estimate(ALL, model(8e9), H200, RunSettings(), unlisted).basis == "unknown"


def test_a_model_is_told_by_runs_of_others_and_their_sizes(tmp_path: Path) -> None:
    entry = entry_of(LISTED)
    assert entry is not None
    earlier = [run(tmp_path, model=LISTED, seconds=10.0)]
    work = Work(0, 1_000_000)
    told = estimate(work, model(1e9), H200, RunSettings(), earlier)
    assert (told.basis, told.n_runs) == ("other models", 1)
    assert told.seconds == pytest.approx(10 / entry.billions)
    assert told.low and told.seconds and told.high and told.low < told.seconds < told.high
    assert estimate(work, model(8e9), CPU, RunSettings(), earlier).basis == "unknown"
    alone, both = (
        estimate(work, each, H200, RunSettings(), [run(tmp_path, model=LISTED, family="dpo")])
        for each in (model(8e9, family="dpo"), model(8e9, family="dpo", reference=model(8e9)))
    )
    assert alone.seconds is not None and both.seconds == pytest.approx(2 * alone.seconds)
    assert both.memory_bytes == 2 * alone.memory_bytes


def test_earlier_runs_of_the_same_model_tell_the_speed(tmp_path: Path) -> None:
    runs = [
        run(tmp_path, seconds=10.0),
        run(tmp_path, seconds=20.0, revision="another"),
        run(tmp_path, seconds=40.0),
        run(tmp_path, seconds=0.001, model="org/other"),
        run(tmp_path, seconds=0.001, device="cpu"),
        run(tmp_path, seconds=0.001, dtype="float32"),
        run(tmp_path, seconds=0.001, family="dpo"),
        run(tmp_path, seconds=0.001, tokens=100),
        run(tmp_path, seconds=0.0),
    ]
    told = estimate(Work(0, 1_000_000), model(8e9), H200, RunSettings(), runs)
    assert (told.basis, told.n_runs) == ("measured", 3)
    assert (told.seconds, told.low, told.high) == (20.0, 10.0, 40.0)
    (one,) = [estimate(Work(0, 1_000_000), model(8e9), H200, RunSettings(), runs[:1])]
    assert one.seconds == 10.0
    assert (one.low, one.high) == pytest.approx((8.5, 11.5))


def test_a_rule_or_a_server_is_not_guessed(tmp_path: Path) -> None:
    served = model(0, family="served")
    told = estimate(Work(50, 9_999), served, CPU, RunSettings())
    assert (told.basis, told.seconds, told.tokens, told.memory_bytes) == ("unknown", None, 50, 0)
    runs = [run(tmp_path, family="served", device="none", dtype="none", tokens=25, seconds=5.0)]
    told = estimate(Work(50, 9_999), served, CPU, RunSettings(), runs)
    assert (told.basis, told.seconds) == ("measured", 10.0)


def test_tokens_are_counted_where_somebody_counted_them(tmp_path: Path, hub: Hub) -> None:
    from explorer.core.settings import DEMO_PAIRS
    from scoring.pairs.opening import read_pairs

    table = PairTable(read_pairs(DEMO_PAIRS, kind="demo"))
    rows = np.arange(0, len(table), 2, dtype=np.int64)
    guessed = work_of(table, rows)
    pairs = as_pairs(table.arrow, rows.tolist())
    texts = [text for pair in pairs for text in (pair.prompt, pair.chosen, pair.rejected)]
    assert guessed == Work(len(rows), sum(len(text.encode()) for text in texts) // BYTES_A_TOKEN)
    counter = TokenCounter(tmp_path, hub, ModelPolicy(DEMO_MODEL))
    tokenizer = counter.count(table, "demo")
    counted = work_of(table, rows, tokenizer)
    assert (counted.pairs, counted.is_counted) == (len(rows), True)
    assert counted.tokens == sum(
        int(table.tokens[tokenizer][name][rows].sum()) for name in ("prompt", "chosen", "rejected")
    )
    assert work_of(table, rows, "nobody/counted") == guessed
    assert work_of(table, rows[:0]) == Work(0, 0)


def test_a_real_run_takes_about_the_tokens_that_were_expected_and_tells_its_speed(
    demo: PairTable, demo_scorer: Scorer, tmp_path: Path
) -> None:
    rows = np.arange(20, dtype=np.int64)
    pairs, settings = as_pairs(demo.arrow, rows.tolist()), RunSettings()
    job = make_job(pairs, demo_scorer, 0)
    assert isinstance(job.plan, tuple)
    told = facts(demo_scorer, settings, demo.id, len(pairs))
    stored = Run.create(new_folder(tmp_path), told, job.plan, [pair.key for pair in pairs])
    list(stored.record(score(job, demo_scorer)))
    ended = stored.mark_ended("finished")
    seen = find("demo", ModelPolicy(DEMO_MODEL), Hub(offline=True))
    expected = computed_tokens(work_of(demo, rows), seen)
    assert 0.7 * ended.tokens < expected < 1.4 * ended.tokens
    again = estimate(work_of(demo, rows), seen, present_device("cpu"), settings, [ended])
    assert again.basis == "measured"
    assert again.seconds == pytest.approx(expected * ended.seconds / ended.tokens)

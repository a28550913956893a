"""A run's numbers as others read them, against their schema and their reader.

tests/data/every_eval_ever has the schema as that project published it (0.3.0), and its licence.
"""

import json
import random
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema  # type: ignore[import-untyped]
import pytest
import yaml  # type: ignore[import-untyped]
from huggingface_hub import EvalResultEntry, parse_eval_result_entries

import scoring
from scoring.benchmarks import Benchmark, bundled_benchmarks
from scoring.record import Run
from scoring.results.exchange import EXCHANGE_FORMATS, ExchangeFormat, exchange_file, write_exchange
from scoring.spec import RunFacts, ScoredPack, ScoredPair
from scoring.summary import summarise_run
from tests.conftest import ROOT
from tests.support.golden_files import check_golden
from tests.support.run_facts import MADE_UP

SCHEMA = json.loads((ROOT / "tests/data/every_eval_ever/eval.schema.json").read_text())
COMMIT = "0123456789" * 4
ON_HUB = replace(MADE_UP, revision=COMMIT, pairs=f"org/pairs:test@{COMMIT}", selection="all pairs")


def stored(folder: Path, rows: list[ScoredPair], facts: RunFacts = ON_HUB) -> Run:
    """A finished run of these rows."""
    facts = replace(facts, n_pairs=max(facts.n_pairs, len(rows)))
    run = Run.create(folder / "run", facts, (tuple(range(len(rows))),), [row.key for row in rows])
    list(run.record([ScoredPack(0, tuple(rows), len(rows))]))
    return run.mark_ended("finished")


def row(subset: str, id_: object, *rewards: float | None, n_chosen: int = 1) -> ScoredPair:
    several = rewards if len(rewards) > 2 else ()
    sides = rewards[0], rewards[n_chosen]
    counts = {"rewards": several, "n_chosen": n_chosen} if several else {}
    return ScoredPair(f"{subset}:{id_}", subset, "0" * 16, *sides, 1, 1, **counts)  # type: ignore[arg-type]


def rows_of(benchmark: Benchmark) -> Iterator[ScoredPair]:
    """Three rows of each subset, of the shape that its rule reads."""
    subsets = [each.replace("*", "one") for each in benchmark.subsets] or ["its own", "another"]
    draw = random.Random(1).random
    n_chosen = benchmark.row.n_chosen or 1
    n = 4 if benchmark.rule_name == "rewardbench_2" else n_chosen + (benchmark.row.n_rejected or 1)
    for subset in subsets:
        ids = ("ref:1", "tied:1", "tied:2") if subset == "Ties" else range(3)
        for id_ in ids:
            right = 2 if str(id_).startswith("tied") else n_chosen
            yield row(subset, id_, *(draw() for _ in range(n)), n_chosen=right)


def log_of(run: Run) -> dict[str, Any]:
    """As every_eval_ever has it, once its schema and what it checks beside that take it."""
    path, text = exchange_file(run, "every-eval-ever")
    assert path.parts[:2] == ("every-eval-ever", "data") and len(path.parts) == 6
    log: dict[str, Any] = json.loads(text)
    jsonschema.Draft7Validator(SCHEMA).validate(log)
    for each in log["evaluation_results"]:
        bounds, score = each["metric_config"], each["score_details"]["score"]
        assert bounds["min_score"] <= score <= bounds["max_score"]
    names = [each["evaluation_result_id"] for each in log["evaluation_results"]]
    assert len(names) == len(set(names))
    return log


def entries_of(run: Run) -> dict[str, EvalResultEntry]:
    """As the Hub's own client reads them."""
    path, text = exchange_file(run, "eval-results")
    assert path.parts[0] == ".eval_results" and path.suffix == ".yaml"
    entries = parse_eval_result_entries(yaml.safe_load(text))
    return {entry.task_id: entry for entry in entries}


@pytest.mark.parametrize("name", bundled_benchmarks())
def test_every_benchmark_has_both_files_with_its_numbers(name: str, tmp_path: Path) -> None:
    benchmark = bundled_benchmarks()[name]
    run = stored(tmp_path, list(rows_of(benchmark)), replace(ON_HUB, benchmark=name))
    summary = summarise_run(run.rows(), run.facts)
    known = {each: score for each, score in summary.sections.items() if score is not None}
    assert len(known) == len(benchmark.sections)
    for subset, tally in summary.subsets.items():
        if benchmark.section_of(subset) is None or benchmark.groups:
            known[subset] = tally.accuracy or 0.0
    results = {
        each["evaluation_name"]: each["score_details"]["score"]
        for each in log_of(run)["evaluation_results"]
    }
    assert {f"{name}.{each}": score for each, score in known.items()}.items() <= results.items()
    has_score = benchmark.overall != "none" and not benchmark.counts
    assert results.get(name) == (summary.score if has_score else None)
    part = " (partial)" if benchmark.boards else ""  # of those it is known how many pairs they have
    percent = {f"{each}{part * (each != name)}": 100 * score for each, score in results.items()}
    values = {each: entry.value for each, entry in entries_of(run).items()}
    assert values == pytest.approx(percent, abs=0.00501)


OF_THE_DAY = {
    r"\d{4}-\d\d-\d\dT[\d:]+Z": "DATE",
    r"[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}": "UUID",
    r"\b\d{10}(\.\d{3})?\b": "SECONDS",
}


@pytest.mark.parametrize("form", EXCHANGE_FORMATS)
def test_of_a_part_each_number_says_so_and_what_it_rests_on_without_folders_of_this_machine(
    form: ExchangeFormat, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Models of local folders go by their names."""
    released = (ROOT / "CHANGELOG.md").read_text().partition("\n## [")[2].partition("]")[0]
    assert scoring.__version__ == released
    monkeypatch.setattr(scoring, "__version__", "VERSION")
    facts = replace(
        ON_HUB,
        model="/home/somebody/my models/v2",
        tokenizer="~/secret place/tokenizer@0123",
        reference="../hidden/base@0123",
        n_pairs=9,
        selection="failed by /home/somebody/model",
        versions={"torch": "9.1"},
    )
    run = stored(tmp_path, [row("s", 1, 1.0, 0.0), row("s", 2, 0.0, 1.0)], facts)
    path, text = exchange_file(run, form)
    for word in ("somebody", "my models", "secret", "hidden", "/home", ".."):
        assert word not in text and word not in str(path)
    golden = ROOT / "tests/scoring/results/exchanged" / f"{form}.txt"
    check_golden(golden, f"{path}\n\n{text}\n", OF_THE_DAY)


def test_odd_names_stay_text(tmp_path: Path) -> None:
    names = ["- a: [b", "\ud800\x00\x1b", "no", "score", "all pairs", "../x", "s" * 5000]
    facts = replace(ON_HUB, model="\ud800/../<b>\n", template="{%\ud800", pairs="../odd\ud800@1")
    run = stored(tmp_path, [row(each, 1, 1.0, 0.0) for each in names], facts)
    results = log_of(run)["evaluation_results"]
    assert len(results) == 1 + len(names)
    [path] = write_exchange(run, ["every-eval-ever"])
    assert path.is_relative_to(run.folder / "every-eval-ever" / "data") and path.exists()
    hub = stored(tmp_path / "hub", run.rows(), replace(ON_HUB, template="\x1b: {"))
    found = {name.removeprefix("org-pairs-test.") for name in entries_of(hub)}
    assert {"- a: [b", "no", "../x", "all pairs", "all pairs (subset)"} < found
    assert len(write_exchange(hub, EXCHANGE_FORMATS)) == 2

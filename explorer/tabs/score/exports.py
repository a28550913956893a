"""A run's pairs as a file: their rewards and outcomes, and what the numbers rest on."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Literal, get_args

from explorer.core.files import as_json, csv_file, jsonl_file, whole
from explorer.runs.cards import card_of
from explorer.runs.facts import run_facts
from scoring.benchmarks import benchmark_of
from scoring.record import Run

RunFormat = Literal["csv", "jsonl", "json"]
RUN_FORMATS: tuple[RunFormat, ...] = get_args(RunFormat)


def export_run(run: Run, form: RunFormat, path: Path) -> None:
    """Write a run's file: "csv" and "jsonl" have a line a pair, "json" all facts and every pair.

    Raises:
        KnownError: the run cannot be read, or the disk does not take it.
    """
    scored = run.rows()
    several = any(row.rewards for row in scored)
    benchmark = benchmark_of({row.subset for row in scored}, run.facts.benchmark)
    rows = [
        as_json(
            {
                "key": row.key,
                "subset": row.subset,
                "section": benchmark.group_of(row.subset),
                "outcome": row.outcome,
                "margin": row.margin,
            }
            | (asdict(row) if several else row.values())
        )
        for row in scored
    ]
    if form == "csv":
        with csv_file(path, bom=False) as write_row:
            for values in (rows[0] if rows else (), *(row.values() for row in rows)):
                write_row(values)
    elif form == "jsonl":
        with jsonl_file(path) as write_line:
            for row in rows:
                write_line(row)
    else:
        sure = card_of(run).sure
        whole_run = {"facts": asdict(run.facts), "told": run_facts(run), "pairs": rows}
        with whole(path) as part:
            part.write_text(json.dumps({**whole_run, "sure": sure and asdict(sure)}), "utf-8")

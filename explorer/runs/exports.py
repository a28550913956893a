"""A run's pairs as a file: their rewards and outcomes, and what the numbers rest on."""

import csv
import json
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any, Literal, get_args

from explorer.core.files import cell
from explorer.data.export import unwritable, whole
from explorer.runs.cards import card_of
from explorer.runs.facts import run_facts
from scoring.benchmark import section_of
from scoring.errors import KnownError, shown
from scoring.record import Run

RunFormat = Literal["csv", "jsonl", "json"]
RUN_FORMATS: tuple[RunFormat, ...] = get_args(RunFormat)


def export_run(run: Run, form: object, folder: Path) -> Path:
    """Write a run's file: "csv" and "jsonl" have a line a pair, "json" all facts and every pair.

    Raises:
        KnownError: no such format, the run cannot be read, or the disk does not take it.
    """
    if form not in RUN_FORMATS:
        raise KnownError(f"There is no format {shown(form)}; {', '.join(RUN_FORMATS)} are there.")
    path = folder / f"run-{run.id[:15]}.{form}"
    rows = list(_rows(run))
    try:
        with whole(path) as part, part.open("w", encoding="utf-8", newline="") as file:
            if form == "csv":
                writer = csv.writer(file)
                writer.writerow(rows[0] if rows else ())
                for row in rows:
                    writer.writerow([_cell(value) for value in row.values()])
            elif form == "jsonl":
                file.writelines(json.dumps(row) + "\n" for row in rows)
            else:
                sure = card_of(run).sure
                whole_run = {"facts": asdict(run.facts), "told": run_facts(run), "pairs": rows}
                json.dump({**whole_run, "sure": sure and asdict(sure)}, file)
    except OSError as error:
        raise unwritable(path, error) from error
    return path


def _rows(run: Run) -> Iterator[dict[str, Any]]:
    for row in run.rows():
        yield {
            "key": row.key,
            "subset": row.subset,
            "section": section_of(row.subset),
            "outcome": row.outcome,
            "margin": row.margin,
            **{name: value for name, value in asdict(row).items() if name not in ("key", "subset")},
        }


def _cell(value: object) -> object:
    return cell(value) if isinstance(value, str) else value

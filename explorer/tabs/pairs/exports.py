"""The export panel: files of what the Pairs tab lists, and code that selects the same.

Files of pairs alone are those of `explorer.data.export`. With what models made of the pairs, in the
order of the list:

- CSV is for spreadsheets: a line for each pair, a conversation as its transcript, and cells as
  `explorer.core.files` makes them. Further responses of a pair are left out.
- JSONL is TRL's preference format with an explicit prompt, conversational. TRL's trainers drop the
  other columns. The margin is called `model_margin`, as a column `margin` is none of these:
  `RewardTrainer` takes it off the difference of rewards in its loss.
- Markdown is a report to read and to send on: see `explorer.tabs.pairs.fail_report`.
"""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Literal, get_args

from explorer.core.files import File, as_json, csv_file, jsonl_file, write_lines, written_file
from explorer.core.html import render
from explorer.data.export import Format, batches, export, export_name, preferences, snippet
from explorer.reader.filter_html import listed_words
from explorer.reader.scene import NO_TEXTS, Scene
from explorer.results.judged import judge_run
from explorer.tabs.pairs.answers import judge_answers
from explorer.tabs.pairs.fail_report import report_lines
from explorer.tabs.pairs.notes import PairNotes
from scoring.errors import KnownError

FailFormat = Literal["csv", "jsonl", "md"]
FAIL_FORMATS: tuple[FailFormat, ...] = get_args(FailFormat)

_FORMATS: dict[Format, str] = {
    "csv": "CSV (spreadsheets)",
    "parquet": "Parquet",
    "jsonl": "JSONL (TRL)",
}
_FAIL_FORMATS: dict[FailFormat, str] = {
    "csv": "CSV (spreadsheets)",
    "jsonl": "JSONL (TRL)",
    "md": "Report (Markdown)",
}
_TEXTS = ("chosen_model", "rejected_model", "prompt", "chosen", "rejected")


def export_html(now: Scene) -> str:
    """Links to the files of what is listed, and Python that selects the same."""
    rows = now.listed.rows
    code = snippet(now.table, rows, listed_words(now)) if len(rows) else ""
    return render(
        "tabs/pairs/export.html",
        query=now.state.href(),
        has_texts=now.pairs.has_texts,
        forms=_FORMATS,
        outcome_forms=_FAIL_FORMATS,
        has_outcomes=now.field is not None,
        code=code,
    )


def pairs_file(now: Scene, form: Format) -> File:
    """A file of what is listed.

    Raises:
        KnownError: nothing is, the texts are not at hand, or the file cannot be written.
    """
    if not now.pairs.has_texts:
        raise KnownError(NO_TEXTS)
    rows, table = now.listed.rows, now.table
    name = export_name(table, rows, form)
    return written_file(name, lambda path: export(table, rows, form, path, listed_words(now)))


def outcomes_file(now: Scene, form: FailFormat, notes: PairNotes) -> File:
    """The same with what models made of the pairs; raises as `export_fails`."""
    name = fail_file_name(now, form)
    return written_file(name, lambda path: export_fails(now, form, path, notes))


def export_fails(now: Scene, form: FailFormat, path: Path, notes: PairNotes) -> None:
    """Write what is listed.

    Raises:
        KnownError: no pairs, no texts where the format is made of them, or the file cannot be
            written.
    """
    if not len(now.listed):
        raise KnownError("No pair matches. Choose another outcome, or remove a filter.")
    if form == "jsonl" and not now.known.has_texts:
        raise KnownError(
            "JSONL needs the texts of the pairs, which are not loaded. Open their dataset from "
            "the menu at the top, or choose CSV or the report."
        )
    if form == "md":
        write_lines(path, report_lines(now, notes))
    else:
        (_csv if form == "csv" else _jsonl)(now, notes, path)


def fail_file_name(now: Scene, form: FailFormat) -> str:
    """A short name for the file, safe wherever it is saved: model, kind, pairs."""
    name = now.model
    model = re.sub(r"[^A-Za-z0-9_]+", "-", name.rpartition("/")[2])[:60].strip("-")
    of = model or ("model" if name else "all-models")
    return f"{of}-{now.state.listed_kind}-{len(now.listed)}-pairs.{form}"


def _csv(now: Scene, notes: PairNotes, path: Path) -> None:
    texts = _TEXTS if now.known.has_texts else ()
    with csv_file(path) as write:
        for place, (facts, cells) in enumerate(_pairs(now, notes)):
            if "judge" in facts:
                words = (f"{each['verdict']}: {each['text'] or ''}" for each in facts["judge"])
                facts["judge"] = "\n\n".join(word.removesuffix(": ") for word in words)
            if not place:
                write([*facts, *texts])
            write([*facts.values(), *(cells[name] for name in texts)])


def _jsonl(now: Scene, notes: PairNotes, path: Path) -> None:
    with jsonl_file(path) as write:
        for facts, cells in _pairs(now, notes):
            told = {"key": facts["key"], "note": facts["note"]}
            if now.model:
                told |= {
                    "model": now.model,
                    "outcome": facts["outcome"],
                    "model_margin": facts["margin"],
                }
            if "judge" in facts:
                told["judge"] = facts["judge"]
            for line in preferences(cells, as_number=False):
                write(line | told)


def _pairs(now: Scene, notes: PairNotes) -> Iterator[tuple[dict[str, Any], Mapping[str, Any]]]:
    """Each pair of the list: what is known of it, and its columns."""
    at = iter(now.listed.rows.tolist())
    for batch in batches(now.table.arrow, now.listed.rows):
        for cells in batch.to_pylist():
            yield _pair_facts(now, next(at), notes), cells


def _pair_facts(now: Scene, row: int, notes: PairNotes) -> dict[str, Any]:
    """What is known of one pair but its texts; None where it is not known.

    Of a model, its outcome ("win", "loss", "tie" or "missing"), margin and rewards. difficulty: the
    share of the other models that fail it, of all where no model is looked at, which is failed /
    known. item_rest: as `explorer.stats.difficulty.item_rest`, with the rest of its subset. judge:
    of a judge's run, what it wrote, as of `judge_answers`.
    """
    field, model = now.known, now.model
    subset = field.table.subset_of(row)
    facts: dict[str, Any] = {
        "key": field.table.key_of(row),
        "subset": subset,
        "section": field.table.benchmark.group_of(subset),
    }
    if model:
        verdict = field.verdict(model, row)
        names = ("outcome", "margin", "chosen_reward", "rejected_reward")
        facts |= {name: getattr(verdict, name) for name in names}
    hard = field.difficulty(model)
    facts |= {
        "difficulty": hard.share[row],
        "failed": hard.failed[row],
        "known": hard.known[row],
        "item_rest": field.telling.correlation[row],
        "note": notes.of(field, row),
    }
    if judge_run(field, model) is not None:
        facts["judge"] = judge_answers(now, row, model)
    return as_json(facts)

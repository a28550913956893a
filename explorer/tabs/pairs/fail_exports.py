"""What the Pairs tab lists as a file, whole or not at all, in the order of the list.

- CSV is for spreadsheets: a line for each pair, a conversation as its transcript, and cells as
  `explorer.core.files` makes them. Further responses of a pair are left out.
- JSONL is TRL's preference format with an explicit prompt, conversational, as
  `explorer.data.export` writes it. TRL's trainers drop the other columns. The margin is called
  `model_margin`, as a column `margin` is none of these: `RewardTrainer` takes it off the difference
  of rewards in its loss.
- Markdown is a report to read and to send on: see `explorer.tabs.pairs.fail_report`.
"""

import re
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, get_args

from explorer.core.files import as_json, csv_file, jsonl_file, write_lines
from explorer.core.text import text
from explorer.data.export import batches, preferences
from explorer.reader.scene import Scene
from explorer.tabs.pairs.fail_report import report_lines
from explorer.tabs.pairs.notes import PairNotes
from scoring.benchmark import section_of
from scoring.errors import KnownError, shown

FailFormat = Literal["csv", "jsonl", "md"]
FAIL_FORMATS: tuple[FailFormat, ...] = get_args(FailFormat)
TOLD_EVERY = 500
"""Pairs between two words on how far it is."""
_TEXTS = ("chosen_model", "rejected_model", "prompt", "chosen", "rejected")

_Writing = Generator[int, None, None]


def export_fails(
    now: Scene, form: FailFormat, path: Path, notes: PairNotes, selection: Sequence[str] = ()
) -> _Writing:
    """Write what is listed, telling now and then how many pairs are written.

    The file is there once the generator has ended; closed earlier, it leaves nothing behind.

    Args:
        now: its list.
        form: of the file.
        path: where.
        notes: of the person.
        selection: the filters in words; only the report repeats them.

    Raises:
        KnownError: an unknown format, no pairs, no texts where the format is made of them, or the
            file cannot be written.
    """
    if form not in FAIL_FORMATS:
        raise KnownError(f"A file can be {', '.join(FAIL_FORMATS)}, not {shown(form)}.")
    if not len(now.listed):
        raise KnownError(text("fails.none"))
    if form == "jsonl" and not now.known.has_texts:
        raise KnownError(text("failexport.needs_texts"))
    yield from _WRITERS[form](now, notes, selection, path)


def fail_file_name(now: Scene, form: FailFormat) -> str:
    """A short name for the file, safe wherever it is saved: model, kind, pairs."""
    state = now.state
    model = re.sub(r"[^A-Za-z0-9_]+", "-", state.model.rpartition("/")[2])[:60].strip("-")
    kind = state.kind if state.model else state.field_kind
    of = model or ("model" if state.model else "all-models")
    return f"{of}-{kind}-{len(now.listed)}-pairs.{form}"


def pair_facts(now: Scene, row: int, notes: PairNotes) -> dict[str, Any]:
    """What is known of one pair but its texts; None where it is not known.

    Of a model, its outcome ("win", "loss", "tie" or "missing"), margin and rewards. difficulty: the
    share of the other models that fail it, of all where no model is looked at, which is failed /
    known. item_rest: as `explorer.stats.difficulty.item_rest`, with the rest of its subset.
    """
    field, model = now.known, now.state.model
    subset = field.table.subset_of(row)
    facts: dict[str, Any] = {
        "key": field.table.key_of(row),
        "subset": subset,
        "section": section_of(subset),
    }
    if model:
        verdict = field.verdict(model, row)
        facts |= {
            "outcome": verdict.outcome,
            "margin": verdict.margin,
            "chosen_reward": verdict.chosen_reward,
            "rejected_reward": verdict.rejected_reward,
        }
    hard = field.difficulty(model)
    facts |= {
        "difficulty": hard.share[row],
        "failed": hard.failed[row],
        "known": hard.known[row],
        "item_rest": field.telling.correlation[row],
        "note": notes.of(field, row),
    }
    return as_json(facts)


def _pairs(now: Scene, notes: PairNotes) -> Iterator[tuple[dict[str, Any], Mapping[str, Any]]]:
    """Each pair of the list: what is known of it, and its columns."""
    rows = now.listed.rows
    at = iter(rows.tolist())
    for batch in batches(now.known.table.arrow, rows):
        for cells in batch.to_pylist():
            yield pair_facts(now, next(at), notes), cells


def _csv(now: Scene, notes: PairNotes, _: Sequence[str], path: Path) -> _Writing:
    texts = _TEXTS if now.known.has_texts else ()
    with csv_file(path) as write:
        for done, (facts, cells) in enumerate(_pairs(now, notes)):
            if not done:
                write([*facts, *texts])
            write([*facts.values(), *(cells[name] for name in texts)])
            if done % TOLD_EVERY == 0:
                yield done + 1


def _jsonl(now: Scene, notes: PairNotes, _: Sequence[str], path: Path) -> _Writing:
    with jsonl_file(path) as write:
        for done, (facts, cells) in enumerate(_pairs(now, notes)):
            told = {"key": facts["key"], "note": facts["note"]}
            if now.state.model:
                told |= {
                    "model": now.state.model,
                    "outcome": facts["outcome"],
                    "model_margin": facts["margin"],
                }
            for line in preferences(cells, as_number=False):
                write(line | told)
            if done % TOLD_EVERY == 0:
                yield done + 1


def _markdown(now: Scene, notes: PairNotes, selection: Sequence[str], path: Path) -> _Writing:
    yield 0
    write_lines(path, report_lines(now, notes, selection))


_WRITERS: dict[FailFormat, Callable[[Scene, PairNotes, Sequence[str], Path], _Writing]] = {
    "csv": _csv,
    "jsonl": _jsonl,
    "md": _markdown,
}

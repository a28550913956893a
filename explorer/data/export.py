"""Pairs out of a table: as CSV for spreadsheets, as Parquet, JSONL or Python for programs.

- Parquet has upstream's columns and types. Where a prompt is a conversation, all prompts are lists
  of messages; where a pair has further responses, all rows are written as RewardBench 2 writes its:
  `chosen` and `rejected` lists, `models` of the chosen and then of the rejected.
- JSONL is TRL's preference format with an explicit prompt. TRL knows one response a side, so a pair
  of further responses is one line for each chosen with each rejected, and "-2-1" at its id means
  the second chosen with the first rejected.
- CSV is for spreadsheets alone: a conversation is its transcript, a cell that would be run as a
  formula begins with an apostrophe, control characters are replaced by their pictures, and a
  spreadsheet may cut what is longer than 32,767 characters. Parquet and JSONL are exact.
"""

import csv
import glob
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path, PurePosixPath
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from explorer.core.files import csv_file, jsonl_file, parquet_file
from explorer.core.settings import DEMO_PAIRS, ROOT
from explorer.data.facets import bytes_of_each
from explorer.data.table import PairTable, Rows
from scoring.errors import KnownError, counted
from scoring.pairs.opening import take_rows

Format = Literal["csv", "parquet", "jsonl"]
FORMATS: tuple[Format, ...] = get_args(Format)
UPSTREAM_COLUMNS = (
    "prompt", "chosen", "chosen_model", "rejected", "rejected_model", "subset", "id",
)  # fmt: skip
EXPORT_BATCH_ROWS = 2_000
"""Rows at most that are Python objects at once."""
BATCH_BYTES = 32_000_000
"""Of the texts of those rows, where they are more than one."""

_MESSAGES = pa.list_(pa.struct([("role", pa.string()), ("content", pa.string())]))
_TEXTS = pa.list_(pa.string())
_NUMBER = r"\A(?:0|[1-9][0-9]{0,17})\z"
_SHEET_COLUMNS = (
    "key", "subset", "id", "prompt", "chosen", "rejected", "chosen_model", "rejected_model",
)  # fmt: skip

_Row = Mapping[str, Any]
Write = Callable[[pa.Table], None]


class _Layout(NamedTuple):
    """What a whole selection decides of a file, whose columns have one type each.

    numbers: all ids are whole numbers. dialogues: a prompt is a conversation. several: a pair has
    further responses.
    """

    numbers: bool
    dialogues: bool
    several: bool


def export(
    table: PairTable, rows: Rows, form: Format, path: Path, selection: Sequence[str] = ()
) -> None:
    """Write pairs to a file, which is there whole or not at all.

    rows: in the order in which they are written.
    selection: how the rows were chosen, in words; kept in Parquet's schema, with the source and
        its revision.

    Raises:
        KnownError: no rows, or the file cannot be written.
    """
    if not len(rows):
        raise KnownError("There is no pair to export. Take a filter away, or reset them.")
    source = {"source": str(table.source), "revision": table.source.revision}
    about = {**source, "selection": list(selection)}
    with _WRITERS[form](path, _layout(table.arrow, rows), about) as write:
        for batch in batches(table.arrow, rows):
            write(batch)


def export_name(table: PairTable, rows: Rows, form: Format) -> str:
    """A short name for the file of an export, safe wherever it is saved: source, split, pairs."""
    source = table.source
    name = PurePosixPath(source.name)
    parts = [name.stem if source.kind == "file" else name.name, source.split or ""]
    safe = [re.sub(r"[^A-Za-z0-9_]+", "-", part)[:60].strip("-") for part in parts]
    return "-".join(filter(None, [safe[0] or "pairs", safe[1], f"{len(rows)}-pairs.{form}"]))


def batches(arrow: pa.Table, rows: Rows) -> Iterator[pa.Table]:
    """The rows in order, some at a time: `EXPORT_BATCH_ROWS`, or `BATCH_BYTES` of texts."""
    sizes = [
        np.sum([bytes_of_each(column) for column in batch.columns], axis=0)
        for batch in arrow.to_batches()
    ]
    ends = np.cumsum(np.concatenate([np.zeros(0, np.int64), *sizes])[rows])
    begin = 0
    while begin < len(rows):
        before = ends[begin - 1] if begin else 0
        fitting = int(np.searchsorted(ends, before + BATCH_BYTES, side="right"))
        end = min(max(begin + 1, fitting), begin + EXPORT_BATCH_ROWS)
        yield take_rows(arrow, rows[begin:end])
        begin = end


def _layout(arrow: pa.Table, rows: Rows) -> _Layout:
    numbers, dialogues, several = True, False, False
    columns = ("id", "turns", "more_chosen", "more_rejected")
    for batch in batches(arrow.select(columns), rows):
        numbers &= bool(pc.all(pc.match_substring_regex(batch["id"], _NUMBER)).as_py())
        dialogues |= pc.max(pc.binary_length(batch["turns"])).as_py() > 0
        several |= any(
            pc.max(pc.list_value_length(batch[name])).as_py() > 0 for name in columns[2:]
        )
    return _Layout(numbers, dialogues, several)


def _messages(row: _Row) -> list[dict[str, str]]:
    turns = json.loads(row["turns"]) if row["turns"] else [("user", row["prompt"])]
    return [{"role": role, "content": content} for role, content in turns]


def _responses(row: _Row, side: str) -> list[tuple[str, str]]:
    """(text, model) of a side's responses, the first one first."""
    further = ((each["text"], each["model"]) for each in row[f"more_{side}"])
    return [(row[side], row[f"{side}_model"]), *further]


@contextmanager
def _parquet(path: Path, layout: _Layout, about: _Row) -> Iterator[Write]:
    schema = _schema(layout)
    with parquet_file(path, schema, about) as write_table:

        def write(batch: pa.Table) -> None:
            columns: dict[str, Any] = {
                name: batch[name] for name in schema.names if name in batch.column_names
            }
            if layout.dialogues or layout.several:
                columns |= _lists(batch.to_pylist(), layout)
            write_table(pa.table(columns, schema=schema))

        yield write


def _schema(layout: _Layout) -> pa.Schema:
    types: dict[str, pa.DataType] = dict.fromkeys(UPSTREAM_COLUMNS, pa.string())
    if layout.dialogues:
        types["prompt"] = _MESSAGES
    if layout.several:
        types |= {"chosen": _TEXTS, "rejected": _TEXTS, "models": _TEXTS}
        for name in ("num_correct", "num_incorrect", "total_completions"):
            types[name] = pa.int64()
        del types["chosen_model"], types["rejected_model"]
    if layout.numbers:
        types["id"] = pa.int64()
    return pa.schema(types.items())


def _lists(rows: Sequence[_Row], layout: _Layout) -> dict[str, list[Any]]:
    """The columns that hold more than text."""
    columns: dict[str, list[Any]] = {}
    if layout.dialogues:
        columns["prompt"] = [_messages(row) for row in rows]
    if layout.several:
        chosen = [_responses(row, "chosen") for row in rows]
        rejected = [_responses(row, "rejected") for row in rows]
        both = [[*good, *bad] for good, bad in zip(chosen, rejected, strict=True)]
        for name, lists in (("chosen", chosen), ("rejected", rejected)):
            columns[name] = [[text for text, _ in each] for each in lists]
        columns["models"] = [[model for _, model in each] for each in both]
        lists_of = {"num_correct": chosen, "num_incorrect": rejected, "total_completions": both}
        columns |= {name: [len(each) for each in lists] for name, lists in lists_of.items()}
    return columns


@contextmanager
def _jsonl(path: Path, layout: _Layout, _: _Row) -> Iterator[Write]:
    as_number = layout.numbers and not layout.several
    with jsonl_file(path) as write_line:

        def write(batch: pa.Table) -> None:
            for row in batch.to_pylist():
                for line in preferences(row, as_number=as_number):
                    write_line(line)

        yield write


def preferences(row: _Row, *, as_number: bool) -> Iterator[dict[str, Any]]:
    """A row of a table in TRL's preference format: each chosen with each rejected response.

    as_number: whether the ids are numbers.
    """
    chosen, rejected = _responses(row, "chosen"), _responses(row, "rejected")
    for place, (good, good_model) in enumerate(chosen, start=1):
        for other, (bad, bad_model) in enumerate(rejected, start=1):
            alone = len(chosen) == len(rejected) == 1
            row_id = row["id"] if alone else f"{row['id']}-{place}-{other}"
            yield {
                "prompt": _messages(row),
                "chosen": [{"role": "assistant", "content": good}],
                "rejected": [{"role": "assistant", "content": bad}],
                "subset": row["subset"],
                "id": int(row_id) if as_number else row_id,
                "chosen_model": good_model,
                "rejected_model": bad_model,
            }


@contextmanager
def _csv(path: Path, layout: _Layout, _: _Row) -> Iterator[Write]:
    sides = ("chosen", "rejected") if layout.several else ()
    with csv_file(path, quoting=csv.QUOTE_ALL) as write_row:
        write_row([*_SHEET_COLUMNS, *(f"further_{side}" for side in sides)])

        def write(batch: pa.Table) -> None:
            for row in batch.to_pylist():
                texts = [row[name] for name in _SHEET_COLUMNS]
                write_row(texts + [_further(row, side) for side in sides])

        yield write


def _further(row: _Row, side: str) -> str:
    """A side's further responses to read, each below its model."""
    return "\n\n".join(f"[{model}]\n{text}" for text, model in _responses(row, side)[1:])


_WRITERS: dict[Format, Callable[[Path, _Layout, _Row], AbstractContextManager[Write]]] = {
    "csv": _csv,
    "parquet": _parquet,
    "jsonl": _jsonl,
}


MOST_EXPORTED_RUNS = 2_000
"""Runs of successive rows that a snippet lists; a selection of more is loaded from its export."""
_LONGEST_LINE = 200
"""Characters of a filter that are shown."""
WIDTH = 100


def snippet(table: PairTable, rows: Rows, filters: Sequence[str]) -> str:
    """A Python program after which `pairs` is a `datasets.Dataset` of the rows, in their order.

    rows: of the table.
    filters: how they were chosen, in words, one each.
    """
    n_source = len(table) + len(table.pairs.left_out)
    runs = _runs(np.delete(np.arange(n_source), table.pairs.left_out)[rows])
    lines = [
        "from datasets import load_dataset",
        "",
        _comment(f"{len(rows):,} of the {counted(len(table), 'pair', 'pairs')} of {table.source}"),
        *(_comment(f"- {each}") for each in filters),
    ]
    has_several = bool(table.benchmark.row.responses)
    if len(runs) > MOST_EXPORTED_RUNS or has_several:
        export = export_name(table, rows, "parquet")
        places = counted(MOST_EXPORTED_RUNS, "place", "places")
        why = f"They lie in more than {places} of the source, too many to list"
        why = "A row of the source has several pairs" if has_several else why
        lines.append(_comment(f"{why}: export them, then run this beside {export}."))
        lines.append(f"pairs = load_dataset('parquet', data_files={export!r}, split='train')")
    else:
        lines += _loaded(table)
        if runs != [(0, n_source)]:
            lines += [*_listed(runs), "pairs = pairs.select(rows)"]
    return "\n".join([*lines, f"assert len(pairs) == {len(rows)}", ""])


def _loaded(table: PairTable) -> list[str]:
    source = table.source
    if source.kind == "hub":
        configuration, _, split = (source.split or "").rpartition("/")
        asked = repr(source.name) + (f", {configuration!r}" if configuration else "")
        pinned = f"split={split!r}, revision={source.revision!r}"
        return ["pairs = load_dataset(", f"    {asked}, {pinned}", ")"]
    # The name of a file would be taken for a pattern.
    demo = DEMO_PAIRS.relative_to(ROOT).as_posix()
    name = demo if source.kind == "demo" else glob.escape(source.name)
    ending = name.rpartition(".")[2].lower()
    loader = ending if ending in ("parquet", "csv") else "json"
    exact = ", keep_default_na=False" if loader == "csv" else ""
    return [
        _comment("The path is relative: run this in the folder that holds it."),
        f"pairs = load_dataset({loader!r}, data_files={name!r}, split='train'{exact})",
    ]


def _runs(numbers: Rows) -> list[tuple[int, int]]:
    """Successive numbers as (first, last + 1)."""
    begins = np.flatnonzero(np.diff(numbers, prepend=-2) != 1)
    firsts = numbers[begins]
    lengths = np.diff(begins, append=len(numbers))
    return list(zip(firsts.tolist(), (firsts + lengths).tolist(), strict=True))


def _listed(runs: Sequence[tuple[int, int]]) -> list[str]:
    """A list of all numbers of the runs, as lines of Python."""
    items = [
        f"*range({first}, {end})" if end - first > 2 else ", ".join(map(str, range(first, end)))
        for first, end in runs
    ]
    whole = f"rows = [{', '.join(items)}]"
    if len(whole) <= WIDTH:
        return [whole]
    lines = [""]
    for item in items:
        if len(lines[-1]) + len(item) + 6 > WIDTH:
            lines.append("")
        lines[-1] += f" {item}," if lines[-1] else f"{item},"
    return ["rows = [", *(f"    {line}" for line in lines), "]"]


def _comment(words: str) -> str:
    r"""Anything as one line of comment."""
    cut = words[: _LONGEST_LINE + 1]
    line = "".join(char if char.isprintable() else repr(char)[1:-1] for char in cut)
    return f"# {line if len(line) <= _LONGEST_LINE else line[: _LONGEST_LINE - 1] + '…'}"

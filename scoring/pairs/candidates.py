"""Prompts with any number of responses, none of which is said to be right: for best of n.

A row has a list of responses (`responses`, `completions`, `outputs`, `output`, `generations` or
`candidates`), or chosen and rejected ones, of which all are taken, or one response (`completion`,
or the last of `messages`, as TRL's formats have it): rows of one prompt are then taken together.
"""

import json
from collections.abc import Mapping
from itertools import chain
from pathlib import Path
from typing import Any

from scoring.errors import KnownError, counted
from scoring.limits import Limits, OnProgress, Step
from scoring.pairs.checking import CheckedRows, Checker
from scoring.pairs.rows import Row, read_batches, rows_of, type_name
from scoring.pairs.shapes import WANTED, answers, holds_messages, what_is_missing
from scoring.spec import as_objects

LISTS = ("responses", "completions", "outputs", "output", "generations", "candidates")
_SINGLE = ("completion", "messages")
_COLUMNS = (*WANTED, *LISTS, *_SINGLE, "model", "generator")
_MOST_NOTES = 50


def candidate_rows(
    paths: Mapping[str, Path],
    shown: str,
    default_subset: str,
    limits: Limits,
    tell: OnProgress,
    *,
    benchmark: str = "",
) -> CheckedRows:
    """Read and check rows, as `opening.checked_rows`; the first response of each is called chosen.

    All of them, the first too, are called rejected, so that a row of one is a pair.

    Raises:
        KnownError: naming the file and, where it applies, row and column.
    """
    rows: dict[object, dict[str, Any]] = {}
    left_out: list[str] = []
    number = 0
    for name, path in paths.items():
        for batch in read_batches(path, name, _COLUMNS):
            for row in chain.from_iterable(rows_of(batch)):
                number += 1
                place = f"{shown}, row {number}"
                found = _candidates(row, place)
                if isinstance(found, str):
                    left_out.append(f"{place}: {found}; the row is left out.")
                    continue
                first = rows.setdefault(found.pop("group", number), found)
                if first is not found:
                    first["responses"] += found["responses"]
                    first["models"] += found["models"]
            limits.check_rows(number, shown)
        tell(Step("reading", number, None))
    if not rows:
        why = f" {left_out[0]}" if left_out else ""
        raise KnownError(f"{shown} has no row with a prompt and a response.{why}")
    checker = Checker(shown, default_subset, is_judged=False)
    checker.add([_as_pair(row) for row in rows.values()])
    checked = checker.finish()
    notes = [*left_out[:_MOST_NOTES], *checked.notes]
    repeating = sum(len(set(row["responses"])) < len(row["responses"]) for row in rows.values())
    if repeating:
        notes.append(
            f"{shown}: a response stands twice in {counted(repeating, 'row', 'rows')}; it has one "
            "reward."
        )
    return CheckedRows(checked.table, tuple(notes), checked.left_out)


def _candidates(row: Row, place: str) -> dict[str, Any] | str:
    """The prompt and responses of a row; or why it has none. "group": of rows with one prompt."""
    values = _response_values(row, place)
    if isinstance(values, str):
        return values
    turns, found = answers(row, values, place)
    if not turns:
        return "prompt is null"
    responses = list(chain.from_iterable(found))
    models = row.get("models")
    if not isinstance(models, list) or len(models) != len(responses):
        writer = next((row[name] for name in ("model", "generator") if row.get(name)), None)
        models = [writer] * len(responses)
    about = {name: row.get(name) for name in ("id", "subset")}
    group = {"group": json.dumps([turns, about["subset"]], default=str)}
    is_single = values.keys() <= {f"column {column}" for column in _SINGLE}
    return {
        **about,
        **(group if is_single else {}),
        "prompt": as_objects(turns),
        "responses": responses,
        "models": list(models),
    }


def _response_values(row: Row, place: str) -> dict[str, Any] | str:
    """The values of a row that hold responses, by where they stand; or why there are none."""
    column = next((name for name in (*LISTS, *_SINGLE) if row.get(name) is not None), None)
    if column in LISTS:
        listed = row[column]
        if not isinstance(listed, list):
            raise KnownError(f"{place}, column {column}: {type_name(listed)}, must be a list.")
        if not listed:
            return f"{column} is an empty list"
        values = {f"column {column}, response {at}": one for at, one in enumerate(listed, 1)}
    elif row.get("chosen") is not None or row.get("rejected") is not None:
        sides = {f"column {side}": row.get(side) for side in ("chosen", "rejected")}
        return what_is_missing(row) or sides
    elif column is None:
        return "it has no response"
    else:
        values = {f"column {column}": row[column]}
    for where, value in values.items():
        if isinstance(value, list) and not holds_messages(value):
            raise KnownError(f"{place}, {where}: a list, must be text or a list of messages.")
    return values


def _as_pair(row: dict[str, Any]) -> dict[str, Any]:
    return {
        **{name: row[name] for name in ("id", "subset", "prompt")},
        "chosen": row["responses"][:1],
        "rejected": row["responses"],
        "models": [row["models"][0], *row["models"]],
    }

"""Prompts with any number of responses, none of which is said to be right: for best of n.

A row has a list of responses (`responses`, `completions`, `outputs`, `output`, `generations` or
`candidates`), or chosen and rejected ones, of which all are taken, or one response (`completion`,
or the last of `messages`, as TRL's formats have it): rows of one prompt are then taken together.
Rows of a benchmark with a column for each response say which are right, too.
"""

import json
from itertools import chain
from typing import Any

from scoring.errors import KnownError, counted
from scoring.limits import OnProgress, Step
from scoring.pairs.checking import CheckedRows, Checker
from scoring.pairs.layouts import RIGHT, columns_of_layouts, with_candidates
from scoring.pairs.rows import Row, RowFiles, read_batches, rows_of, type_name
from scoring.pairs.shapes import WANTED, answers, holds_messages, what_is_missing
from scoring.spec import as_objects

LISTS = ("responses", "completions", "outputs", "output", "generations", "candidates")
_SINGLE = ("completion", "messages")
_COLUMNS = (*WANTED, *LISTS, *_SINGLE, "model", "generator")
_MOST_NOTES = 50


def candidate_rows(files: RowFiles, tell: OnProgress) -> CheckedRows:
    """Read and check rows, as `opening.checked_rows`; the first response of each is called chosen.

    All of them, the first too, are called rejected, so that a row of one is a pair.
    """
    shown = files.shown
    columns = [*dict.fromkeys([*_COLUMNS, *columns_of_layouts()])]
    rows: dict[object, dict[str, Any]] = {}
    left_out: list[str] = []
    number = 0
    for name, path in files.paths.items():
        for batch in read_batches(path, name, columns):
            for row in chain.from_iterable(rows_of(batch)):
                number += 1
                place = f"{shown}, row {number}"
                pair = _candidates(with_candidates(row, place), place)
                if isinstance(pair, str):
                    left_out.append(f"{place}: {pair}; the row is left out.")
                    continue
                first = rows.setdefault(pair.pop("group", number), pair)
                if first is not pair:
                    first["rejected"] += pair["rejected"]
                    first["models"] += pair["models"][1:]
            files.limits.check_rows(number, shown)
        tell(Step("reading", number, None))
    if not rows:
        why = f" {left_out[0]}" if left_out else ""
        raise KnownError(f"{shown} has no row with a prompt and a response.{why}")
    checker = Checker(shown, files.default_subset, is_judged=False)
    right = [row.pop(RIGHT) for row in rows.values()]
    checker.add([*rows.values()], further={RIGHT: right} if any(right) else None)
    checked = checker.finish()
    notes = [*left_out[:_MOST_NOTES], *checked.notes]
    repeating = sum(len(set(row["rejected"])) < len(row["rejected"]) for row in rows.values())
    if repeating:
        notes.append(
            f"{shown}: a response stands twice in {counted(repeating, 'row', 'rows')}; it has one "
            "reward."
        )
    return checked._replace(notes=tuple(notes))


def _candidates(row: Row, place: str) -> dict[str, Any] | str:
    """A row as a pair of its first response and all, or why it has none; of one response with the
    "group" of all with its prompt.
    """
    column = next((name for name in (*LISTS, *_SINGLE) if row.get(name) is not None), None)
    sides = {f"column {side}": row.get(side) for side in ("chosen", "rejected")}
    is_judged = column not in LISTS and any(each is not None for each in sides.values())
    if is_judged:
        why = what_is_missing(row)
        if why is not None:
            return why
        values = sides
    elif column is None:
        return "it has no response"
    elif column in _SINGLE:
        values = {f"column {column}": row[column]}
    elif not isinstance(row[column], list):
        raise KnownError(f"{place}, column {column}: {type_name(row[column])}, must be a list.")
    elif not row[column]:
        return f"{column} is an empty list"
    else:
        values = {f"column {column}, response {at}": one for at, one in enumerate(row[column], 1)}
    for where, value in values.items():
        if isinstance(value, list) and not is_judged and not holds_messages(value):
            raise KnownError(f"{place}, {where}: a list, must be text or a list of messages.")
    turns, found = answers(row, values, place)
    if not turns:
        return "prompt is null"
    responses = list(chain.from_iterable(found))
    models, subset = row.get("models"), row.get("subset")
    if not isinstance(models, list) or len(models) != len(responses):
        writer = next((row[name] for name in ("model", "generator") if row.get(name)), None)
        models = [writer] * len(responses)
    pair: dict[str, Any] = {
        "id": row.get("id"),
        "subset": subset,
        "prompt": as_objects(turns),
        "chosen": responses[:1],
        "rejected": responses,
        "models": [models[0], *models],
        RIGHT: str(row.get(RIGHT, "")),
    }
    if column in _SINGLE and not is_judged:
        pair["group"] = json.dumps([turns, subset], default=str)
    return pair

"""Prompts with any number of responses, none of which is said to be right: for best of n.

A row has a list of responses (`responses`, `completions`, `outputs`, `output`, `generations` or
`candidates`), or chosen and rejected ones, of which all are taken, or one response (`completion`,
or the last of `messages`, as TRL's formats have it): rows of one prompt are then taken together.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from scoring.errors import KnownError, counted
from scoring.limits import Limits, OnProgress, Step
from scoring.pairs.checking import CheckedRows, Checker
from scoring.pairs.rows import Row, read_batches, rows_of, type_name
from scoring.pairs.shapes import PROMPT_COLUMNS, WANTED, holds_messages, what_is_missing

LISTS = ("responses", "completions", "outputs", "output", "generations", "candidates")
_COLUMNS = (*WANTED, *LISTS, "completion", "messages", "model", "generator")
_OF_PAIRS = ("chosen equals rejected", "a response stands twice")
"""What is told of pairs and is of no meaning here."""


def candidate_rows(
    paths: Mapping[str, Path], shown: str, default_subset: str, limits: Limits, tell: OnProgress
) -> CheckedRows:
    """As `opening.checked_rows`: of each row the first response is called chosen, and all of them,
    the first too, rejected; so that a row of one is a pair.

    Raises:
        KnownError: naming the file and, where it applies, row and column.
    """
    rows: list[dict[str, Any]] = []
    of_prompt: dict[str, dict[str, Any]] = {}
    left_out: list[str] = []
    number = 0
    for name, path in paths.items():
        for batch in read_batches(path, name, _COLUMNS):
            for some in rows_of(batch):
                for row in some:
                    number += 1
                    place = f"{shown}, row {number}"
                    found = _row(row, place)
                    if isinstance(found, str):
                        left_out.append(f"{place}: {found}; the row is left out.")
                        continue
                    known = found.pop("with", None)
                    if known in of_prompt:
                        of_prompt[known]["responses"] += found["responses"]
                        of_prompt[known]["models"] += found["models"]
                        continue
                    rows.append(found)
                    if known:
                        of_prompt[known] = found
                limits.check_rows(number, shown)
        tell(Step("reading", number, None))
    if not rows:
        why = f" {left_out[0]}" if left_out else ""
        raise KnownError(f"{shown} has no row with a prompt and a response.{why}")
    checker = Checker(shown, default_subset)
    checker.add([_as_pair(row) for row in rows])
    checked = checker.finish()
    notes = [note for note in checked.notes if not any(words in note for words in _OF_PAIRS)]
    twice = sum(len(set(row["responses"])) < len(row["responses"]) for row in rows)
    if twice:
        notes.append(
            f"{shown}: a response stands twice in {counted(twice, 'row', 'rows')}; it has one "
            "reward."
        )
    return CheckedRows(checked.table, (*left_out[:50], *notes), checked.left_out)


def _row(row: Row, place: str) -> dict[str, Any] | str:
    """The prompt and responses of a row; or why it has none. "with": rows that belong together."""
    about = {name: row.get(name) for name in ("id", "subset")}
    prompt = next((row[name] for name in PROMPT_COLUMNS if row.get(name) is not None), None)
    column = next((name for name in LISTS if row.get(name) is not None), None)
    writer = next((row[name] for name in ("model", "generator") if row.get(name)), None)
    models = row.get("models")
    if column is not None:
        given = row[column]
        if not isinstance(given, list):
            raise KnownError(f"{place}, column {column}: {type_name(given)}, must be a list.")
        if not given:
            return f"{column} is an empty list"
        said = f"{place}, column {column}, response"
        many = [_one(each, prompt, f"{said} {at}") for at, each in enumerate(given, start=1)]
        prompt, texts = many[0][0], [text for _, text in many]
        if any(before != prompt for before, _ in many):
            raise KnownError(f"{place}, column {column}: they do not answer the same messages.")
    elif row.get("chosen") is not None or row.get("rejected") is not None:
        missing = what_is_missing(row)
        if missing:
            return missing
        texts = []
        for side in ("chosen", "rejected"):
            several = isinstance(row[side], list) and not holds_messages(row[side])
            each_of = row[side] if several else [row[side]]
            found = [_one(each, prompt, f"{place}, column {side}") for each in each_of]
            prompt, texts = found[0][0], [*texts, *(text for _, text in found)]
    elif row.get("completion") is not None or row.get("messages") is not None:
        given = row.get("completion") if row.get("completion") is not None else row["messages"]
        prompt, text = _one(given, prompt, place)
        if prompt is None:
            return "prompt is null"
        key = json.dumps([prompt, about["subset"]], default=str)
        return {**about, "prompt": prompt, "responses": [text], "models": [writer], "with": key}
    else:
        return "it has no response"
    if prompt is None:
        return "prompt is null"
    if not isinstance(models, list) or len(models) != len(texts):
        models = [writer] * len(texts)
    return {**about, "prompt": prompt, "responses": texts, "models": list(models)}


def _one(given: Any, prompt: Any, place: str) -> tuple[Any, str]:
    """What a response answers, and its text. given: text, or messages that end with it."""
    if isinstance(given, str):
        return prompt, given
    if not holds_messages(given):
        raise KnownError(f"{place}: {type_name(given)}, must be text or a list of messages.")
    *before, last = given
    if not isinstance(last, dict) or last.get("role") != "assistant":
        raise KnownError(f"{place}: its last message is not of the assistant.")
    if not isinstance(last.get("content"), str):
        said = type_name(last.get("content"))
        raise KnownError(f"{place}: the content of its last message is {said}, must be text.")
    if before and prompt is not None and before != _messages(prompt):
        raise KnownError(f"{place}: its messages before the last are not those of the prompt.")
    return (before or prompt), last["content"]


def _messages(prompt: Any) -> Sequence[Any]:
    return prompt if isinstance(prompt, list) else [{"role": "user", "content": prompt}]


def _as_pair(row: dict[str, Any]) -> dict[str, Any]:
    return {
        **{name: row[name] for name in ("id", "subset", "prompt")},
        "chosen": row["responses"][:1],
        "rejected": row["responses"],
        "models": [row["models"][0], *row["models"]],
    }

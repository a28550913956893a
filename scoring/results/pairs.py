"""Results of each pair in upstream's layout (`eval-set-scores/`, `pref-sets-scores/`).

A file is one object of parallel lists, most of it texts: of them a hash of each pair is read, if
they are untemplated. Upstream's command line writes `<org>/<model>_outputs.jsonl` instead, an
object a pair (rewardbench/rewardbench.py).
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scoring.errors import KnownError, counted
from scoring.limits import MEGABYTE
from scoring.pairs.rows import type_name
from scoring.pairs.shapes import pair_texts, transcript
from scoring.results.files import REFERENCE_FREE, model_of, printable, read_lines, read_object
from scoring.results.order import PairOrder, Singles, coded
from scoring.rules import RULES, is_ties
from scoring.spec import RunFacts, ScoredPair, text_hash
from scoring.summary import tie_worth

Doubles = NDArray[np.float64]
MOST_OUTCOMES_BYTES = 400 * MEGABYTE
"""Most bytes of a file; upstream's largest, of prior sets, has 77 MB."""
_LONGEST_CELL = 1000
"""Characters of an id or of a subset's name."""
_TEXTS = ("text_chosen", "text_rejected", "chosen", "rejected", "prompt", "text", "messages")
_SIDES = ("scores_chosen", "scores_rejected")
_LINE_KEYS = ("subset", "id", "results", *_SIDES)
"""Keys that are read of each line of upstream's command line; its texts are templated."""


@dataclass(frozen=True, eq=False, slots=True)
class Ragged:
    """Lists of numbers of various lengths: row i is `values[offsets[i] : offsets[i + 1]]`.

    In double precision: a composite is made of their differences.
    """

    values: Doubles
    offsets: NDArray[np.int64]

    def row(self, place: int) -> Doubles:
        """One of the lists."""
        return self.values[self.offsets[place] : self.offsets[place + 1]]


@dataclass(frozen=True, eq=False, slots=True)
class PairResults:
    """Outcomes of one model on each pair, in the order of the file.

    results: 0 to 1, NaN if missing; a judge's undecided pair is 0.5. Where a file lacks a reward,
        or has an infinite one, NaN whatever it stores: upstream compares with NaN and stores 0.
    equal: both scores are known and equal, as precisely as the file has them, and it is no win.
    scores_chosen, scores_rejected: rewards, NaN if missing or infinite; None without them, or if
        all are null. Of RewardBench 2, those that decide a row.
    scores, num_correct: RewardBench 2's rewards of all responses, the right ones first, and how
        many are right; else None.
    notes: values taken as missing, and contradictions, in words.
    """

    model: str
    model_type: str | None
    order: PairOrder
    results: Singles
    equal: NDArray[np.bool_]
    scores_chosen: Singles | None = None
    scores_rejected: Singles | None = None
    scores: Ragged | None = None
    num_correct: NDArray[np.int32] | None = None
    notes: tuple[str, ...] = ()


def _read_number(value: object) -> float:
    """A number, or a list of one; NaN for null."""
    if isinstance(value, list):
        if len(value) != 1:
            raise KnownError(f"a list of {len(value):,}, must be 1")
        value = value[0]
    if value is None:
        return math.nan
    if not isinstance(value, int | float):
        raise KnownError(f"{type_name(value)}, must be a number")
    return float(value)


def _read_share(value: object) -> float:
    number = _read_number(value)
    if number < 0 or number > 1:
        raise KnownError(f"{number:g}, not between 0 and 1")
    return number


def _read_numbers(value: object) -> list[float]:
    values = [] if value is None else value if isinstance(value, list) else [value]
    return [_read_number(each) for each in values]


def _read_count(value: object) -> int:
    if type(value) is not int or not 0 <= value < 10**6:
        raise KnownError(f"{str(value)[:20]}, must be a count")
    return value


def _read_subset(value: object) -> str:
    if not isinstance(value, str) or len(value) > _LONGEST_CELL:
        raise KnownError(f"{type_name(value)}, must be a short text")
    return value


def _read_id(value: object) -> str | None:
    """An id as text; None for what can be none."""
    number = int(value) if isinstance(value, float) and value.is_integer() else value
    is_id = type(number) in (int, str) and len(str(number)) <= _LONGEST_CELL
    return printable(str(number)) if is_id else None


def _ragged(lists: Sequence[Sequence[float | None]]) -> Ragged:
    values = np.array([value for row in lists for value in row], np.float64)
    return Ragged(values, np.cumsum([0, *map(len, lists)], dtype=np.int64))


_doubles = partial(np.array, dtype=np.float64)
_READERS: dict[str, tuple[Callable[[object], Any], Callable[[list[Any]], Any]]] = {
    "results": (_read_share, _doubles),
    "subset": (_read_subset, list),
    "id": (_read_id, list),
    "scores_chosen": (_read_number, _doubles),
    "scores_rejected": (_read_number, _doubles),
    "scores": (_read_numbers, _ragged),
    "num_correct": (_read_count, partial(np.array, dtype=np.int32)),
}
"""Column -> how one of its values is read, and what all of them become."""


def read_pair_results(path: Path, name: str | None = None) -> PairResults:
    """Read one file of results of each pair, or raise a `KnownError` with the reason alone.

    name: the file's in its source, which may say more of the model than the file.
    """
    name = path.name if name is None else name
    if name.lower().endswith(".jsonl"):
        values = _columns_of_lines(path, name)
    else:
        values = read_object(path, MOST_OUTCOMES_BYTES, "an object of results")
    columns = _read_columns(values)
    model, kind = model_of(values, name)
    if kind == "DPO" and model.endswith(REFERENCE_FREE):
        kind = "DPO Ref. Free"
    order = _order(columns, values)
    notes: list[str] = []
    results, chosen, rejected = columns["results"], *map(columns.get, _SIDES)
    scores, num_correct = columns.get("scores"), columns.get("num_correct")
    for side in (each for each in _SIDES if each in columns):
        _drop_infinite(columns[side], side, notes)
    if scores is not None:
        _drop_infinite(scores.values, "scores", notes)
    equal = np.zeros(len(order), np.bool_)
    if chosen is not None and rejected is not None:
        equal = _compare_rewards(results, chosen, rejected, notes)
    elif scores is not None and num_correct is not None:
        chosen, rejected = _decisive_rewards(results, order, scores, num_correct)
    chosen, rejected = (each if each is None else each.astype("f4") for each in (chosen, rejected))
    outcomes = (results.astype(np.float32), equal, chosen, rejected)
    return PairResults(model, kind, order, *outcomes, scores, num_correct, tuple(notes))


def _columns_of_lines(path: Path, name: str) -> dict[str, Any]:
    rows = []
    for row in read_lines(path, MOST_OUTCOMES_BYTES, "an object of results"):
        if "judgments" in row:
            row = _line_of_judgebench(row)  # noqa: PLW2901
        if "text" in row and "scores_chosen" not in row:
            raise KnownError("it holds rewards of single texts, not of pairs")
        rows.append(row)
    values: dict[str, Any] = {
        key: [row.get(key) for row in rows]
        for key in _LINE_KEYS
        if any(row.get(key) is not None for row in rows)
    }
    named = next((row["model"] for row in rows if row.get("model")), "")
    return {**values, "model": named or name[: -len(".jsonl")].removesuffix("_outputs")}


def _line_of_judgebench(row: Mapping[str, Any]) -> dict[str, Any]:
    """A line of `outputs/*.jsonl` of ScalerLab/JudgeBench as upstream's command line has it."""
    label, flipped = str(row.get("label")), {"A>B": "B>A", "B>A": "A>B"}
    try:
        first, *second = row["judgments"]
        decisions = [first["decision"], *(flipped.get(each["decision"]) for each in second)]
        votes = [(each == label) - (each == flipped[label]) for each in decisions]
        judgment = first["judgment"]
        scores = judgment.get("scores") or (None, None)
        chosen, rejected = scores if label == "A>B" else scores[::-1]
        model = judgment.get("judge_model")
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        reason = "it is no JudgeBench output: a label or a judgment is not there"
        raise KnownError(reason) from error
    about = {"id": row.get("pair_id"), "subset": row.get("source"), "model": model}
    won = float(sum(votes) > 0)
    return about | {"results": won, "scores_chosen": chosen, "scores_rejected": rejected}


def _read_columns(values: Mapping[str, Any]) -> dict[str, Any]:
    """Read the columns that a file has, except its texts."""
    results = values.get("results")
    if not isinstance(results, list):
        raise KnownError("it has no list of per-pair results")
    if not results:
        raise KnownError("it has no outcomes")
    for name in (*_TEXTS, *_READERS):
        column = values.get(name)
        if isinstance(column, list) and len(column) != len(results):
            n_rows = counted(len(column), "row", "rows")
            raise KnownError(f"{name} has {n_rows}, and results has {len(results):,}")
    columns: dict[str, Any] = {}
    for name, (read, convert) in _READERS.items():
        column = values.get(name, [])
        if not isinstance(column, list | None):
            raise KnownError(f"{name} is {type_name(column)}, must be a list")
        if not column or (name != "results" and all(each in (None, [None]) for each in column)):
            continue  # nothing but null is as good as none
        cells = []
        for row, value in enumerate(column, start=1):
            try:
                cells.append(read(value))
            except OverflowError as error:
                raise KnownError(f"{name}: a number too large") from error
            except KnownError as error:
                raise KnownError(f"{name}, row {row:,}: {error}") from error
        columns[name] = convert(cells)
    return columns


def _order(columns: Mapping[str, list[Any]], values: Mapping[str, Any]) -> PairOrder:
    if "subset" not in columns:
        raise KnownError("it does not say of which subset each pair is")
    subsets, codes = coded(columns["subset"])
    names = tuple(map(printable, subsets))
    if len(set(names)) < len(names):
        raise KnownError("two of its subsets differ in nothing that can be shown")
    ids = columns.get("id", [None])
    return PairOrder(names, codes, None if None in ids else ids, _hashes(values))


def _hashes(values: Mapping[str, Any]) -> list[str] | None:
    """The hash of each pair whose texts are messages, or stand beside their prompt.

    Of a row of RewardBench 2 that is of its first right and first wrong response.
    """
    chosen = values.get("text_chosen", values.get("chosen"))
    rejected = values.get("text_rejected", values.get("rejected"))
    rows, n_right = values.get("text"), values.get("num_correct")
    if isinstance(chosen, list) and isinstance(rejected, list):
        sides = list(zip(chosen, rejected, strict=True))
    elif chosen is None and isinstance(rows, list) and isinstance(n_right, list):
        sides = [
            (row[0], row[n])
            if isinstance(row, list) and type(n) is int and 0 < n < len(row)
            else (None, None)
            for row, n in zip(rows, n_right, strict=True)
        ]
    else:
        return None
    prompts = values.get("prompt")
    if not isinstance(prompts, list):
        prompts = [None] * len(sides)
    hashes = [_hash(prompt, *side) for prompt, side in zip(prompts, sides, strict=True)]
    return hashes if any(hashes) else None


def _hash(prompt: object, chosen: object, rejected: object) -> str:
    begin = prompt if isinstance(prompt, str) else None
    if isinstance(chosen, str) and (prompt is None or (begin and chosen.startswith(begin))):
        return ""  # a templated conversation, which cannot be taken apart
    if isinstance(chosen, list) and len(chosen) > 1:
        prompt = None  # the messages begin with it, and beside them it may be templated
    row = {"prompt": prompt, "chosen": chosen, "rejected": rejected}
    try:
        turns, right, wrong = pair_texts(row, "")
    except KnownError:
        return ""
    return text_hash(transcript(turns), right[0], wrong[0])


def _drop_infinite(numbers: Doubles, name: str, notes: list[str]) -> Doubles:
    """Put NaN in place of what no single-precision number can hold."""
    infinite = np.abs(numbers) > np.finfo(np.float32).max
    if n := int(infinite.sum()):
        n_infinite = counted(n, f"of {name} is", f"of {name} are")
        notes.append(f"{n_infinite} infinite and taken as missing")
        numbers[infinite] = np.nan
    return numbers


def _compare_rewards(
    results: Doubles, chosen: Doubles, rejected: Doubles, notes: list[str]
) -> NDArray[np.bool_]:
    """Whether rewards are equal; makes the results of pairs that lack one missing."""
    lacking = np.isnan(chosen) | np.isnan(rejected)
    if n := int((lacking & ~np.isnan(results)).sum()):
        n_lacking = counted(n, "of its pairs lacks", "of its pairs lack")
        notes.append(f"{n_lacking} a reward: missing, whatever is stored")
    results[lacking] = np.nan
    equal = chosen == rejected
    contradicting = np.where(equal, results == 1, results != (chosen > rejected))
    if n := int((contradicting & ~np.isnan(results)).sum()):
        one = "of its results contradicts its own rewards: the result is believed"
        many = "of its results contradict their own rewards: the results are believed"
        notes.append(counted(n, one, many))
    return np.asarray(equal & (results != 1))


def _decisive_rewards(
    results: Doubles, order: PairOrder, scores: Ragged, num_correct: NDArray[np.int32]
) -> Doubles:
    """The rewards that decide each row, as of `Rule.decisive`; NaN if there are none.

    The stored result of a row of Ties means nothing: it becomes whether every right response beats
    every wrong one. That of a row that lacks a reward becomes missing.
    """
    decisive = np.full((2, len(order)), np.nan)
    for row, (code, n_right) in enumerate(zip(order.codes, num_correct.tolist(), strict=True)):
        rewards, subset = scores.row(row).tolist(), order.names[code]
        if np.isnan(rewards).any():
            results[row] = np.nan
        elif 0 < n_right < len(rewards):
            places = RULES["rewardbench_2"].decisive(rewards, n_right, subset)
            right, wrong = (rewards[at] for at in places)
            decisive[:, row] = right, wrong
            if is_ties(subset):
                results[row] = right > wrong
    return decisive


def results_of_rows(rows: Sequence[ScoredPair], facts: RunFacts) -> PairResults:
    """Outcomes of a run on pairs, in their order; a tie counts as in files (`tie_worth`)."""
    tie = tie_worth(facts.family, facts.benchmark)
    subsets = coded([row.subset for row in rows])
    ids, hashes = [row.id for row in rows], [row.text_hash for row in rows]
    order = PairOrder(*subsets, ids, hashes, None, facts.pairs, facts.benchmark)
    results = np.array([row.credit(tie) for row in rows], np.float32)
    equal = np.array([row.outcome == "tie" and not row.rewards for row in rows], np.bool_)
    sides = np.array([(row.chosen_reward, row.rejected_reward) for row in rows], np.float64)
    chosen, rejected = _drop_infinite(sides.reshape(-1, 2), "", []).T.astype(np.float32)
    more: tuple[Any, ...] = ()
    if any(row.rewards for row in rows):
        scores = _ragged([row.all_rewards for row in rows])
        more = (scores, np.array([row.n_chosen for row in rows], np.int32))
    return PairResults(facts.model, None, order, results, equal, chosen, rejected, *more)

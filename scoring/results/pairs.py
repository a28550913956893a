"""Results of each pair in upstream's layout (`eval-set-scores/`, `pref-sets-scores/`).

A file is one object of parallel lists. Its texts are many times larger than all else: what is kept
of them is a hash of each pair, where they stand there untemplated. Upstream's command line writes
`<org>/<model>_outputs.jsonl` instead, an object a pair (rewardbench/rewardbench.py).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scoring.errors import KnownError, counted
from scoring.limits import MEGABYTE
from scoring.pairs.rows import type_name
from scoring.pairs.shapes import pair_texts, transcript
from scoring.results.files import (
    REFERENCE_FREE,
    model_of,
    printable,
    read_lines,
    read_object,
    word_of,
)
from scoring.results.order import PairOrder, Singles
from scoring.spec import RunFacts, ScoredPair, decisive, is_ties, text_hash
from scoring.summary import tie_worth

MOST_OUTCOMES_BYTES = 400 * MEGABYTE
"""Of a file; upstream's largest, of prior sets, has 77 MB."""
_TEXTS = ("text_chosen", "text_rejected", "chosen", "rejected", "prompt", "text", "messages")
_COLUMNS = (*_TEXTS, "subset", "id", "scores_chosen", "scores_rejected", "scores", "num_correct")
_OF_COMMAND = ("subset", "id", "results", "scores_chosen", "scores_rejected")
"""What is read of each line of upstream's command line; its texts are templated."""
LONGEST_CELL = 1000
"""Characters of an id or of a subset's name."""


@dataclass(frozen=True, eq=False, slots=True)
class Ragged:
    """Lists of numbers of various lengths: row i is `values[offsets[i] : offsets[i + 1]]`.

    In double precision: a composite is made of their differences.
    """

    values: NDArray[np.float64]
    offsets: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def row(self, place: int) -> NDArray[np.float64]:
        """One of the lists."""
        return self.values[self.offsets[place] : self.offsets[place + 1]]


@dataclass(frozen=True, eq=False, slots=True)
class PairResults:
    """What one model did on each pair, in the order of the file.

    results: 0 to 1, NaN where missing; a judge's undecided pair is 0.5. Where a file has rewards
        and a pair lacks one, or has an infinite one, its result is missing, whatever is stored:
        upstream compares with NaN and stores 0.
    equal: whether both scores are known and equal, compared as precisely as the file has them, and
        the result is no win.
    scores_chosen, scores_rejected: rewards, NaN where missing or infinite; None without them,
        or where all are null. Of RewardBench 2, those that decide a row.
    scores, num_correct: RewardBench 2's rewards of all responses, the right ones first, and how
        many are right; else None.
    notes: what was taken as missing, or contradicts itself, in words.
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


def read_pair_results(path: Path, name: str | None = None) -> PairResults:
    """Read one file of results of each pair.

    name: what it is called in its source; of upstream's DPO models it says more than the file, and
        of upstream's command line which model it is of.

    Raises:
        KnownError: it cannot be read, or is no such file; its message is the reason alone.
    """
    name = path.name if name is None else name
    values = (
        _of_command(path, name)
        if name.lower().endswith(".jsonl")
        else read_object(path, MOST_OUTCOMES_BYTES, "an object of results")
    )
    if not isinstance(values.get("results"), list):
        raise KnownError("it has no list of per-pair results")
    n_rows = len(values["results"])
    if not n_rows:
        raise KnownError("it has no outcomes")
    for column in _COLUMNS:
        rows = values.get(column)
        if isinstance(rows, list) and len(rows) != n_rows:
            raise KnownError(
                f"{column} has {counted(len(rows), 'row', 'rows')}, and results has {n_rows:,}"
            )
    hashes = _hashes(values)
    for column in _TEXTS:
        values.pop(column, None)
    model = model_of(values, name)
    results = _numbers(values["results"], "results")
    wrong = np.flatnonzero((results < 0) | (results > 1))
    if len(wrong):
        raise KnownError(
            f"results, row {wrong[0] + 1:,}: {results[wrong[0]]:g}, not between 0 and 1"
        )
    kind = word_of(values.get("model_type"))
    reference_free = kind == "DPO" and model.endswith(REFERENCE_FREE)
    order = _order(values, n_rows, hashes)
    notes: list[str] = []
    equal = np.zeros(n_rows, dtype=np.bool_)
    chosen = _scores(values, "scores_chosen", notes)
    rejected = _scores(values, "scores_rejected", notes)
    scores, num_correct = _ragged(values, notes), _counts(values)
    if chosen is not None and rejected is not None:
        equal = _compared(results, chosen, rejected, notes)
    elif scores is not None and num_correct is not None:
        chosen, rejected = _decided(results, order, scores, num_correct)
    return PairResults(
        model=model,
        model_type="DPO Ref. Free" if reference_free else kind,
        order=order,
        results=results.astype(np.float32),
        equal=equal,
        scores_chosen=None if chosen is None else chosen.astype(np.float32),
        scores_rejected=None if rejected is None else rejected.astype(np.float32),
        scores=scores,
        num_correct=num_correct,
        notes=tuple(notes),
    )


def _of_command(path: Path, name: str) -> dict[str, Any]:
    rows = []
    for row in read_lines(path, MOST_OUTCOMES_BYTES, "an object of results"):
        if "text" in row and "scores_chosen" not in row:
            raise KnownError("it holds rewards of single texts, not of pairs")
        rows.append([row.get(key) for key in _OF_COMMAND])
    columns = zip(_OF_COMMAND, map(list, zip(*rows, strict=True)), strict=False)
    known = {key: column for key, column in columns if any(each is not None for each in column)}
    return {**known, "model": name[: -len(".jsonl")].removesuffix("_outputs")}


def _hashes(values: Mapping[str, Any]) -> list[str] | None:
    """The hash of each pair whose texts are messages, or stand beside their prompt.

    Of a row of RewardBench 2 that is of its first right and first wrong response.
    """
    chosen = values.get("text_chosen", values.get("chosen"))
    rejected = values.get("text_rejected", values.get("rejected"))
    rows, n_right = values.get("text"), values.get("num_correct")
    if chosen is None and isinstance(rows, list) and isinstance(n_right, list):
        firsts = [
            (row[0], row[n])
            if isinstance(row, list) and type(n) is int and 0 < n < len(row)
            else (None, None)
            for row, n in zip(rows, n_right, strict=True)
        ]
        chosen, rejected = map(list, zip(*firsts, strict=True))
    prompts = values.get("prompt")
    if not isinstance(chosen, list) or not isinstance(rejected, list):
        return None
    if not isinstance(prompts, list):
        prompts = [None] * len(chosen)
    hashes = [_hash(*texts) for texts in zip(prompts, chosen, rejected, strict=True)]
    return hashes if any(hashes) else None


def _hash(prompt: object, chosen: object, rejected: object) -> str:
    begin = prompt if isinstance(prompt, str) else None
    if isinstance(chosen, str) and (prompt is None or (begin and chosen.startswith(begin))):
        return ""  # a templated conversation, which cannot be taken apart
    if isinstance(chosen, list) and len(chosen) > 1:
        prompt = None  # the messages begin with it, and beside them it may be templated
    try:
        turns, right, wrong = pair_texts(
            {"prompt": prompt, "chosen": chosen, "rejected": rejected}, ""
        )
    except KnownError:
        return ""
    return text_hash(transcript(turns), right[0], wrong[0])


def _order(values: Mapping[str, Any], n_rows: int, hashes: list[str] | None) -> PairOrder:
    subsets = _column(values, "subset")
    if subsets is None:
        raise KnownError("it does not say of which subset each pair is")
    place: dict[str, int] = {}
    codes = np.empty(n_rows, dtype=np.int32)
    for row, subset in enumerate(subsets):
        if not isinstance(subset, str) or len(subset) > LONGEST_CELL:
            raise KnownError(f"subset, row {row + 1:,}: {type_name(subset)}, must be a short text")
        codes[row] = place.setdefault(subset, len(place))
    names = [printable(name) for name in place]
    if len(set(names)) < len(names):
        raise KnownError("two of its subsets differ in nothing that can be shown")
    return PairOrder(tuple(names), codes, _ids(values), hashes)


def _ids(values: Mapping[str, Any]) -> list[str] | None:
    """Ids as text; None where a pair has none."""
    ids = []
    for each in _column(values, "id") or []:
        whole = int(each) if isinstance(each, float) and each.is_integer() else each
        if type(whole) not in (int, str) or len(str(whole)) > LONGEST_CELL:
            return None
        ids.append(printable(str(whole)))
    return ids or None


def _column(values: Mapping[str, Any], name: str) -> list[Any] | None:
    """A list of one value a row; None where the file has none."""
    column = values.get(name)
    if column is not None and not isinstance(column, list):
        raise KnownError(f"{name} is {type_name(column)}, must be a list")
    return column


def _numbers(column: list[Any], name: str) -> NDArray[np.float64]:
    """Numbers, or lists of one number; NaN for null."""
    flat = column
    if list in set(map(type, column)):
        for row, value in enumerate(column):
            if isinstance(value, list) and len(value) != 1:
                raise KnownError(f"{name}, row {row + 1:,}: a list of {len(value):,}, must be 1")
        flat = [value[0] if isinstance(value, list) else value for value in column]
    if not set(map(type, flat)) <= {int, float, bool, type(None)}:
        odd = next(r for r, value in enumerate(flat) if not isinstance(value, int | float | None))
        raise KnownError(f"{name}, row {odd + 1:,}: {type_name(flat[odd])}, must be a number")
    try:
        return np.array(flat, dtype=np.float64)
    except OverflowError as error:
        raise KnownError(f"{name}: a number too large") from error


def _finite(numbers: NDArray[np.float64], name: str, notes: list[str]) -> NDArray[np.float64]:
    """NaN in place of what no single-precision number can hold."""
    beyond = _is_infinite(numbers)
    if beyond.any():
        notes.append(
            counted(int(beyond.sum()), f"of {name} is", f"of {name} are")
            + " infinite and taken as missing"
        )
        numbers[beyond] = np.nan
    return numbers


def _scores(values: Mapping[str, Any], name: str, notes: list[str]) -> NDArray[np.float64] | None:
    column = _column(values, name)
    if column is None or all(each in (None, [None]) for each in column):
        return None
    return _finite(_numbers(column, name), name, notes)


def _compared(
    results: NDArray[np.float64],
    chosen: NDArray[np.float64],
    rejected: NDArray[np.float64],
    notes: list[str],
) -> NDArray[np.bool_]:
    """Which rewards are equal; makes the results of pairs that lack one missing."""
    lacking = np.isnan(chosen) | np.isnan(rejected)
    unearned = int((lacking & ~np.isnan(results)).sum())
    if unearned:
        notes.append(
            counted(unearned, "of its pairs lacks", "of its pairs lack")
            + " a reward: missing, whatever is stored"
        )
    results[lacking] = np.nan
    equal = chosen == rejected
    contradicting = np.where(equal, results == 1, results != (chosen > rejected))
    contradicting &= ~np.isnan(results)
    if contradicting.any():
        notes.append(
            counted(
                int(contradicting.sum()),
                "of its results contradicts its own rewards: the result is believed",
                "of its results contradict their own rewards: the results are believed",
            )
        )
    return np.asarray(equal & (results != 1))


def _ragged(values: Mapping[str, Any], notes: list[str]) -> Ragged | None:
    column = _column(values, "scores")
    if column is None:
        return None
    lists = [[] if row is None else row if isinstance(row, list) else [row] for row in column]
    flat = _numbers([value for row in lists for value in row], "scores")
    return Ragged(_finite(flat, "scores", notes), _offsets(lists))


def _decided(
    results: NDArray[np.float64],
    order: PairOrder,
    scores: Ragged,
    num_correct: NDArray[np.int32],
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The rewards that decide each row, as of `scoring.spec.decisive`; NaN where there are none.

    What is stored as the result of a row of Ties means nothing: it becomes whether every right
    response beats every wrong one. That of a row that lacks a reward becomes missing.
    """
    found = np.full((2, len(order)), np.nan)
    for row, (code, right) in enumerate(
        zip(order.codes.tolist(), num_correct.tolist(), strict=True)
    ):
        values, subset = scores.row(row).tolist(), order.names[code]
        if np.isnan(values).any():
            results[row] = np.nan
        elif 0 < right < len(values):
            found[:, row] = [values[at or 0] for at in decisive(values, right, subset)]
            if is_ties(subset):
                results[row] = found[0, row] > found[1, row]
    return found[0], found[1]


def _counts(values: Mapping[str, Any]) -> NDArray[np.int32] | None:
    column = _column(values, "num_correct")
    if column is None:
        return None
    for row, value in enumerate(column):
        if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 10**6:
            raise KnownError(f"num_correct, row {row + 1:,}: {str(value)[:20]}, must be a count")
    return np.array(column, dtype=np.int32)


def results_of_rows(rows: Sequence[ScoredPair], facts: RunFacts) -> PairResults:
    """What a run made of pairs, in their order.

    A tie counts officially, as in files: half for a judge, nothing for others.
    """
    subsets = tuple(dict.fromkeys(row.subset for row in rows))
    place = {subset: at for at, subset in enumerate(subsets)}
    tie = tie_worth(facts.family)
    has_more = any(row.rewards for row in rows)
    lists = [row.all_rewards for row in rows]
    flat = [reward for rewards in lists for reward in rewards]
    return PairResults(
        model=facts.model,
        model_type=None,
        order=PairOrder(
            subsets,
            np.array([place[row.subset] for row in rows], np.int32),
            [row.id for row in rows],
            [row.text_hash for row in rows],
            dataset=facts.pairs,
        ),
        results=np.array([row.credit(tie) for row in rows], np.float32),
        equal=np.array([row.outcome == "tie" and not row.rewards for row in rows], np.bool_),
        scores_chosen=_rewards([row.chosen_reward for row in rows]),
        scores_rejected=_rewards([row.rejected_reward for row in rows]),
        scores=Ragged(np.array(flat, np.float64), _offsets(lists)) if has_more else None,
        num_correct=np.array([row.n_chosen for row in rows], np.int32) if has_more else None,
    )


def _rewards(rewards: list[float | None]) -> Singles:
    """Null is NaN, and so is what single precision cannot hold."""
    numbers = np.array(rewards, np.float64)
    return np.where(_is_infinite(numbers), np.nan, numbers).astype(np.float32)


def _is_infinite(numbers: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Which numbers no single-precision one can hold."""
    return np.abs(numbers) > np.finfo(np.float32).max


def _offsets(lists: Sequence[Sequence[object]]) -> NDArray[np.int64]:
    return np.cumsum([0, *map(len, lists)], dtype=np.int64)

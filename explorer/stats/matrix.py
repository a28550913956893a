"""Outcomes of many models on the same pairs, as one matrix, and which pairs go together."""

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from explorer.data.facets import Mask
from explorer.data.table import PairTable
from scoring.clusters import is_reward_bench
from scoring.errors import KnownError, counted
from scoring.results.accuracies import Benchmark
from scoring.results.files import Omission, twice
from scoring.results.order import Alignment, How, PairOrder, Singles, align, pair_texts
from scoring.results.pairs import PairResults

Hashes = Callable[[], Sequence[str]] | None
_BY_PAIR = ("outcomes", "held", "known_equal", "chosen", "rejected")
_BY_MODEL = ("model_types", "files")
"""The arrays of a matrix that have a column for each pair, and what it has of each model."""


@dataclass(frozen=True, eq=False, slots=True)
class Outcomes:
    """What was read of a source, each file in its own order of pairs.

    files, results: of the files that could be read.
    left_out: the others, and what of them is not used.
    refused: those of them that could not be had, and may be another time.
    version: changes when what was read of the source does.
    """

    files: tuple[str, ...] = ()
    results: tuple[PairResults, ...] = ()
    left_out: tuple[Omission, ...] = ()
    version: str = ""
    refused: tuple[Omission, ...] = ()

    def __add__(self, more: "Outcomes") -> "Outcomes":
        """Both, at this version."""
        return replace(
            self,
            files=(*self.files, *more.files),
            results=(*self.results, *more.results),
            left_out=(*self.left_out, *more.left_out),
        )

    @property
    def models(self) -> tuple[str, ...]:
        """Of each file."""
        return tuple(result.model for result in self.results)

    def of_models(self, models: Collection[str]) -> "Outcomes":
        """The files of some models; all else is as it was."""
        return self._where(lambda result: result.model in models)

    def of_benchmark(self, benchmark: Benchmark) -> "Outcomes":
        """The files whose pairs are of one benchmark, by their subsets; all else is as it was.

        A model may have a file of each, and the order of one is none for the other.
        """
        return self._where(lambda result: result.order.benchmark == benchmark)

    def without_benchmark(self, benchmark: Benchmark) -> "Outcomes":
        """The files of all other benchmarks; all else is as it was."""
        return self._where(lambda result: result.order.benchmark != benchmark)

    def _where(self, is_kept: Callable[[PairResults], bool]) -> "Outcomes":
        pairs = zip(self.files, self.results, strict=True)
        kept = [(file, result) for file, result in pairs if is_kept(result)]
        files, results = (tuple(each) for each in zip(*kept, strict=True)) if kept else ((), ())
        return replace(self, files=files, results=results)


@dataclass(frozen=True, eq=False, slots=True)
class OutcomeMatrix:
    """What each model did on each pair; models by name.

    pairs: what the columns are, in order.
    outcomes: models x pairs, 0 to 1, NaN where missing.
    held: whether the model's file has the pair at all, be its outcome missing or not.
    known_equal: whether both scores are known and equal.
    chosen, rejected: rewards, NaN where there are none.
    left_out: files that are not in it and why, and what is missing of those that are.
    matched_by: model -> how its outcomes were matched to the pairs.
    """

    models: tuple[str, ...]
    model_types: tuple[str | None, ...]
    files: tuple[str, ...]
    pairs: PairOrder
    outcomes: Singles
    held: Mask
    known_equal: Mask
    chosen: Singles
    rejected: Singles
    left_out: tuple[Omission, ...] = ()
    matched_by: Mapping[str, How] = field(default_factory=dict)

    @property
    def rewarded(self) -> Mask:
        """Of each model, whether both rewards of any pair are known, or that they are equal."""
        known = self.known_equal | (~np.isnan(self.chosen) & ~np.isnan(self.rejected))
        return np.asarray(known.any(axis=1), np.bool_)


def order_of(table: PairTable) -> PairOrder:
    """The pairs of a table. Hashes are left to `PairTable.hashes`: few files need them."""
    names = table.subsets.names
    codes = table.subsets.codes
    ids = [
        key[len(names[code]) + 1 :] for key, code in zip(table.keys, codes.tolist(), strict=True)
    ]
    has_prompt = table.chars["prompt"] > 0
    own = np.arange(len(table), 2 * len(table), dtype=np.int32)
    prompts = np.where(has_prompt, table.prompt_of_row, own)
    named = table.pairs.benchmark
    return PairOrder(
        tuple(names), codes, ids, prompts=prompts, dataset=table.id, named_benchmark=named
    )


def usual_order(found: Outcomes) -> PairOrder | None:
    """The order of pairs, with their texts, that most files have; None without files.

    RewardBench's own goes before all others. Where files differ in nothing but that some know the
    ids, those that do are taken.
    """
    votes: Counter[bytes] = Counter()
    first: dict[bytes, PairOrder] = {}
    orders = [result.order for result in found.results]
    times = Counter(map(id, orders))
    for order in {id(order): order for order in orders}.values():
        texts = pair_texts(order)[0] or ()
        key = "\0".join((*order.names, *texts, "")).encode() + order.codes.tobytes()
        votes[key] += times[id(order)]
        if key not in first or (first[key].ids is None and order.ids is not None):
            first[key] = order
    if not first:
        return None
    best = max(first, key=lambda key: (is_reward_bench(first[key]), votes[key], len(first[key])))
    return first[best]


def outcome_matrix(
    found: Outcomes, pairs: PairOrder | None = None, hashes: Hashes = None
) -> OutcomeMatrix:
    """Put the outcomes of all models in the order of the same pairs.

    A row for each model of which a file could be aligned; none is no error.

    pairs: the columns; None takes the usual order of the files.
    hashes: gives the `text_hash` of each pair, should one be needed.
    """
    if pairs is None:
        pairs = usual_order(found) or PairOrder((), np.zeros(0, np.int32))
    orders = {id(result.order): result.order for result in found.results}
    aligned: dict[int, Alignment] = {}
    refused: dict[int, str] = {}
    for key, order in orders.items():
        try:
            aligned[key] = align(order, pairs, hashes)
        except KnownError as error:
            refused[key] = str(error)
    left_out = list(found.left_out)
    placed: list[tuple[str, PairResults, Alignment]] = []
    for file, result in zip(found.files, found.results, strict=True):
        key = id(result.order)
        if key in refused:
            left_out.append(Omission(file, refused[key]))
        else:
            placed.append((file, result, aligned[key]))
    sizes = ((result.model, file, len(pairs) - how.missing) for file, result, how in placed)
    others = twice(sizes)
    gone = {item.file for item in others}
    rows = sorted((row for row in placed if row[0] not in gone), key=lambda row: row[1].model)
    left_out += [*others, *(note for row in rows for note in _notes(*row))]
    shape = (len(rows), len(pairs))
    outcomes, chosen, rejected = (np.full(shape, np.nan, np.float32) for _ in range(3))
    held, equal = (np.zeros(shape, np.bool_) for _ in range(2))
    for place, (_, result, how) in enumerate(rows):
        outcomes[place] = how.take(result.results)
        held[place] = how.rows >= 0
        equal[place] = np.append(result.equal, np.False_)[how.rows]
        if result.scores_chosen is not None and result.scores_rejected is not None:
            chosen[place] = how.take(result.scores_chosen)
            rejected[place] = how.take(result.scores_rejected)
    return OutcomeMatrix(
        models=tuple(result.model for _, result, _ in rows),
        model_types=tuple(result.model_type for _, result, _ in rows),
        files=tuple(file for file, _, _ in rows),
        pairs=pairs,
        outcomes=outcomes,
        held=held,
        known_equal=equal,
        chosen=chosen,
        rejected=rejected,
        left_out=tuple(sorted(left_out, key=lambda item: item.file)),
        matched_by={result.model: how.how for _, result, how in rows},
    )


@dataclass(frozen=True, eq=False, slots=True)
class OutcomeRows:
    """What models did on some pairs, to be laid over a matrix of them and others.

    at: their places among the pairs of that matrix.
    matrix: of the models and these pairs alone; files that are not of the pairs are left out.
    """

    at: NDArray[np.int64]
    matrix: OutcomeMatrix


def outcome_rows(found: Outcomes, pairs: PairOrder, hashes: Hashes = None) -> OutcomeRows:
    """What files say of pairs, without the pairs that none of them has."""
    whole = outcome_matrix(found, pairs, hashes)
    at = np.flatnonzero(whole.held.any(axis=0))
    columns: dict[str, Any] = {name: getattr(whole, name)[:, at] for name in _BY_PAIR}
    order = PairOrder(pairs.names, pairs.codes[at])
    return OutcomeRows(at, replace(whole, pairs=order, **columns))


def laid_over(matrix: OutcomeMatrix, rows: Collection[OutcomeRows]) -> OutcomeMatrix:
    """A matrix with more models, whose names no other model has."""
    if not rows:
        return matrix
    parts = (matrix, *(each.matrix for each in rows))
    names = [name for part in parts for name in part.models]
    order = sorted(range(len(names)), key=names.__getitem__)
    place = {names[at]: row for row, at in enumerate(order)}
    grown: dict[str, Any] = {}
    for column in _BY_PAIR:
        of_others = getattr(matrix, column)
        nothing = np.nan if of_others.dtype == np.float32 else False
        values = np.full((len(names), len(matrix.pairs)), nothing, of_others.dtype)
        values[[place[name] for name in matrix.models]] = of_others
        for each in rows:
            for name, row in zip(each.matrix.models, getattr(each.matrix, column), strict=True):
                values[place[name], each.at] = row
        grown[column] = values
    for column in ("models", *_BY_MODEL):
        of_all = [value for part in parts for value in getattr(part, column)]
        grown[column] = tuple(of_all[at] for at in order)
    grown["matched_by"] = {model: how for part in parts for model, how in part.matched_by.items()}
    said = sorted((each for part in parts for each in part.left_out), key=lambda item: item.file)
    return replace(matrix, left_out=tuple(said), **grown)


def of_models(matrix: OutcomeMatrix, models: Collection[str]) -> OutcomeMatrix:
    """The same of some models alone, in the matrix's order."""
    rows = [row for row, model in enumerate(matrix.models) if model in models]
    if len(rows) == len(matrix.models):
        return matrix
    kept: dict[str, Any] = {name: getattr(matrix, name)[rows] for name in _BY_PAIR}
    for name in ("models", *_BY_MODEL):
        kept[name] = tuple(getattr(matrix, name)[row] for row in rows)
    return replace(matrix, **kept)


def _notes(file: str, result: PairResults, how: Alignment) -> list[Omission]:
    """What of a file that is used is missing or not."""
    said = list(result.notes)
    if how.unmatched:
        n = counted(how.unmatched, "of its outcomes is", "of its outcomes are")
        said.append(f"{n} of none of these pairs")
    if how.missing:
        pairs = counted(len(how.rows), "pair has", "pairs have")
        said.append(f"{how.missing:,} of {pairs} no outcome")
    empty = int(np.isnan(result.results).sum())
    if empty:
        n = counted(empty, "of its outcomes is", "of its outcomes are")
        said.append(f"{n} missing, not lost")
    return [Omission(file, text, whole=False) for text in said]

"""Which outcome of a file is of which pair: files list the pairs in their own order.

Never across datasets: by texts; by position or key only within the dataset that the results are of.
"""

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import count
from pathlib import Path
from typing import Literal

import numpy as np
import pyarrow.parquet as pq
from numpy.typing import NDArray

from scoring.benchmark import SUBSETS
from scoring.benchmarks import benchmark_of
from scoring.errors import KnownError
from scoring.rules import plain_subset

Singles = NDArray[np.float32]
How = Literal["position", "subset and id", "text"]
_PairKey = tuple[str, str]
"""A subset and an id; or a hash, and its number among equal ones."""

_FEWEST = 0.5
"""The share of a file's outcomes that must match; by texts, or that share of the pairs."""
FILTERED, SECOND = "allenai/reward-bench:filtered", "allenai/reward-bench-2:test"
"""The datasets of upstream's results."""


@dataclass(frozen=True, eq=False, slots=True)
class PairOrder:
    """Pairs in the order of a list; what is not known of them is None.

    names, codes: `names[codes[row]]` is the subset of each.
    hashes: `text_hash` of each pair, "" if it has none.
    prompts: a number for each pair's prompt, the same for equal ones.
    dataset: with its revision after an @ if that is known; None for a result file.
    named_benchmark: the name of the one that the dataset is, if it says so.
    """

    names: tuple[str, ...]
    codes: NDArray[np.int32]
    ids: Sequence[str] | None = None
    hashes: Sequence[str] | None = None
    prompts: NDArray[np.int32] | None = None
    dataset: str | None = None
    named_benchmark: str = ""

    def __len__(self) -> int:
        return len(self.codes)

    @property
    def benchmark(self) -> str:
        """The key of the benchmark, as the dataset says or the subsets do."""
        return benchmark_of(self.names, self.named_benchmark).key

    @property
    def origin(self) -> str:
        """The dataset; of a result file that of its subsets, "" for unknown ones."""
        if self.dataset is not None:
            return self.dataset
        is_v1 = bool(self.names) and set(self.names) <= set(SUBSETS)
        return FILTERED if is_v1 else SECOND if self.is_second else ""

    @property
    def is_second(self) -> bool:
        """Whether its subsets are RewardBench 2's."""
        return benchmark_of(self.names).rule_name == "rewardbench_2"


def coded(subsets: Sequence[str]) -> tuple[tuple[str, ...], NDArray[np.int32]]:
    """`names` and `codes` of a `PairOrder`, by first appearance."""
    code_of = {name: code for code, name in enumerate(dict.fromkeys(subsets))}
    return tuple(code_of), np.array([code_of[name] for name in subsets], np.int32)


@dataclass(frozen=True, eq=False, slots=True)
class Alignment:
    """The outcome of each pair, and how outcomes were recognised.

    rows: for each pair the row of the file, -1 if it has none.
    unmatched: outcomes of the file that are of none of the pairs.
    """

    rows: NDArray[np.int64]
    how: How
    unmatched: int = 0

    @property
    def missing(self) -> int:
        """Pairs without an outcome."""
        return int((self.rows < 0).sum())

    def take(self, values: Singles) -> Singles:
        """Numbers of the file in the order of the pairs, NaN where it has none."""
        return np.append(values, np.float32(np.nan))[self.rows]


def align(
    file: PairOrder, pairs: PairOrder, hashes: Callable[[], Sequence[str]] | None = None
) -> Alignment:
    """Find the outcome of each pair, or raise a `KnownError` with the reason alone.

    By the texts, if both are known. A file without texts is matched by place, which is position or
    subset and id, to pairs of the dataset that it is of. The texts of RewardBench's filtered split
    are known by their hashes: outcomes by place in it are of every pair with the same texts, and of
    no other, whatever revision the pairs are of. RewardBench 2 goes by its name alone; a list that
    its subsets alone tell the benchmark of, by the ids of it.

    hashes: gives the `text_hash` of each of `pairs`, if it is needed.
    """
    is_same = _is_same_dataset(file.origin, pairs.origin)
    texts, how = pair_texts(file)
    of_pairs = None
    if how == "text" or (texts and {*file.names} & {*pairs.names}):
        of_pairs = hashes() if hashes and pairs.hashes is None else pair_texts(pairs)[0]
    if texts is None or of_pairs is None:
        known = benchmark_of(file.names, file.named_benchmark)
        is_known = known.key == pairs.benchmark and not (file.origin and pairs.origin)
        if is_same or (is_known and all(map(known.has, {*file.names, *pairs.names}))):
            return _by_place(file, pairs, by_position=is_same)
        whose = "do not say which pairs they are of"
        if file.origin:
            whose = f"are of {file.origin}, not of these pairs"
        raise KnownError(f"its outcomes come without texts and {whose}")
    if _same_subsets(file, pairs) and all(
        each == own or (is_same and not each) for each, own in zip(texts, of_pairs, strict=True)
    ):
        return Alignment(np.arange(len(pairs)), how)
    by_text = _joined(_numbered(texts), _numbered(of_pairs), how)
    n_matched = len(file) - by_text.unmatched
    if n_matched < _FEWEST * min(len(file), len(pairs)):
        raise KnownError(
            f"{len(file):,} outcomes, and {n_matched:,} of them are recognised by their texts "
            f"among the {len(pairs):,} pairs"
        )
    return by_text


def _is_same_dataset(one: str, other: str) -> bool:
    """Whether both name one dataset; a revision may be left out, or written short."""
    (name, _, revision), (same_name, _, other_revision) = one.partition("@"), other.partition("@")
    return name == same_name and (
        revision.startswith(other_revision) or other_revision.startswith(revision)
    )


def pair_texts(order: PairOrder) -> tuple[Sequence[str] | None, How]:
    """The `text_hash` of each pair, None if not known, and how it is known.

    By text: most pairs have one; else by their place in the filtered split.
    """
    if order.hashes is not None and sum(map(bool, order.hashes)) >= _FEWEST * len(order):
        return order.hashes, "text"
    if _is_same_dataset(order.origin, FILTERED):
        return _filtered_texts(order)
    return None, "position"


@lru_cache(maxsize=64)
def _filtered_texts(order: PairOrder) -> tuple[Sequence[str] | None, How]:
    split = filtered_split()
    try:
        placed = _by_place(order, split)
    except KnownError:
        return None, "position"
    texts = [""] * len(order)
    for row, text in zip(placed.rows.tolist(), split.hashes or (), strict=True):
        if row >= 0:
            texts[row] = text
    return texts, placed.how


@cache
def filtered_split() -> PairOrder:
    """RewardBench's filtered split: subset, id and `text_hash` of each pair, without texts."""
    columns = pq.read_table(Path(__file__).with_name("filtered.parquet")).to_pydict()
    hashes = [f"{each:016x}" for each in columns["text_hash"]]
    ids = list(map(str, columns["id"]))
    return PairOrder(*coded(columns["subset"]), ids, hashes, dataset=FILTERED)


def _by_place(file: PairOrder, pairs: PairOrder, *, by_position: bool = True) -> Alignment:
    """Align by position, or else by subset and id; RewardBench 2 by position alone."""
    is_second = by_position and pairs.is_second
    keys, wanted = ([], []) if is_second else (_keys(file), _keys(pairs))
    is_permuted = keys != wanted and set(keys) == set(wanted)
    if by_position and not is_permuted and _same_subsets(file, pairs):
        return Alignment(np.arange(len(pairs)), "position")
    by_key = _joined(keys, wanted, "subset and id")
    n_matched = len(pairs) - by_key.missing if wanted else 0
    if n_matched and n_matched >= _FEWEST * len(file):
        return by_key
    why = f"{n_matched:,} of them are recognised by subset and id"
    if is_second:
        why = "ids of RewardBench 2 are no help, as many files have wrong ones"
    raise KnownError(
        f"{len(file):,} outcomes, and not in the order of the {len(pairs):,} pairs; {why}"
    )


def _same_subsets(file: PairOrder, pairs: PairOrder) -> bool:
    if len(file) != len(pairs):
        return False
    mine, theirs = (
        np.array([*map(plain_subset, order.names)], object)[order.codes] for order in (file, pairs)
    )
    return bool((mine == theirs).all())


def _keys(order: PairOrder) -> list[_PairKey]:
    """Subset and id of each pair; [] if they are not known, or not unique."""
    names = [plain_subset(name) for name in order.names]
    ids = order.ids or ()
    keys = [(names[code], each) for code, each in zip(order.codes.tolist(), ids, strict=False)]
    return keys if len(set(keys)) == len(keys) else []


def _numbered(hashes: Sequence[str]) -> list[_PairKey]:
    """Hashes with their number among equal ones, so that pairs of equal texts stay apart."""
    numbers: defaultdict[str, count[int]] = defaultdict(count)
    return [(each, str(next(numbers[each]))) for each in hashes]


def _joined(keys: Sequence[_PairKey], wanted: Sequence[_PairKey], how: How) -> Alignment:
    row_of = {key: row for row, key in enumerate(keys) if key[0]}
    rows = np.array([row_of.get(key, -1) for key in wanted], dtype=np.int64)
    return Alignment(rows, how, len(keys) - int((rows >= 0).sum()))

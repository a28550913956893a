"""Which outcome of a file is of which pair: files list the pairs in their own order.

Never across datasets: where too few of a file's outcomes are of the pairs, it is refused.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from scoring.errors import KnownError
from scoring.results.accuracies import is_v2
from scoring.spec import plain_subset

Singles = NDArray[np.float32]
How = Literal["position", "subset and id", "text"]
_PairKey = tuple[str, str]
"""A subset and an id; or a hash, and its number among equal ones."""

_FEWEST = 0.5
"""What part of a file's outcomes must belong to the pairs for it to be of the same benchmark."""


@dataclass(frozen=True, eq=False, slots=True)
class PairOrder:
    """Pairs by their place in a list.

    names, codes: `names[codes[row]]` is the subset of each.
    ids: of each pair, as text; None where they are not known.
    hashes: `text_hash` of each pair, "" where it has none; None where no pair has one.
    prompts: a number for each pair's prompt, the same for equal ones; None where not known.
    """

    names: tuple[str, ...]
    codes: NDArray[np.int32]
    ids: Sequence[str] | None = None
    hashes: Sequence[str] | None = None
    prompts: NDArray[np.int32] | None = None

    def __len__(self) -> int:
        return len(self.codes)


@dataclass(frozen=True, eq=False, slots=True)
class Alignment:
    """Which outcome is of which pair.

    rows: for each pair the row of the file, -1 where it has none.
    how: what the pairs were recognised by.
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
        """Numbers of the file in the order of the pairs, NaN where it has none.

        >>> Alignment(np.array([1, -1]), "text").take(np.array([0.5, 0.25], np.float32)).tolist()
        [0.25, nan]
        """
        return np.append(values, np.float32(np.nan))[self.rows]


def align(
    found: PairOrder,
    pairs: PairOrder,
    hashes: Callable[[], Sequence[str]] | None = None,
) -> Alignment:
    """Find the outcome of each pair.

    By the texts, where both are known; else by position, where both have the same subsets in the
    same order, unless their ids are the same ones in another order; else by subset and id, where
    those are unique. RewardBench 2's ids are wrong in many files, so they are never asked.

    found: the pairs of a file. hashes: gives the `text_hash` of each of `pairs`, if it is needed.

    Raises:
        KnownError: less than half of the outcomes are of these pairs; the reason alone.

    >>> a, b = (PairOrder(("s",), np.zeros(2, np.int32), ids) for ids in (["1", "2"], ["2", "3"]))
    >>> alignment = align(a, b)
    >>> alignment.how, alignment.rows.tolist()
    ('position', [0, 1])
    """
    second = is_v2(pairs.names)
    same = _same_subsets(found, pairs)
    of_pairs = _hashes_of(found, pairs, hashes)
    if of_pairs is not None and found.hashes is not None:
        if same and all(
            each in ("", own) for each, own in zip(found.hashes, of_pairs, strict=True)
        ):
            return Alignment(np.arange(len(pairs)), "text")
        by_text = _joined(_numbered(found.hashes), _numbered(of_pairs), "text")
        if _few(by_text, found):
            raise _refused(found, pairs, by_text)
        return by_text
    if same and (second or not _permuted(found, pairs)):
        return Alignment(np.arange(len(pairs)), "position")
    if second:
        raise KnownError(
            f"{len(found):,} outcomes, and not in the order of the {len(pairs):,} pairs; ids of "
            "RewardBench 2 are no help, as many files have wrong ones"
        )
    keys, wanted = _keys(found), _keys(pairs)
    rows = None
    if keys is not None and wanted is not None:
        rows = _joined(keys, wanted, "subset and id")
    if rows is None or _few(rows, found):
        raise _refused(found, pairs, rows)
    return rows


def _refused(found: PairOrder, pairs: PairOrder, rows: Alignment | None) -> KnownError:
    n_matched = 0 if rows is None else len(found) - rows.unmatched
    return KnownError(
        f"{len(found):,} outcomes, and not in the order of the {len(pairs):,} pairs; "
        f"{n_matched:,} of them are recognised by subset and id or by text"
    )


def _hashes_of(
    found: PairOrder, pairs: PairOrder, hashes: Callable[[], Sequence[str]] | None
) -> Sequence[str] | None:
    """The hashes of the pairs, where most outcomes of the file have one, too."""
    if found.hashes is None or sum(map(bool, found.hashes)) < _FEWEST * len(found):
        return None
    return pairs.hashes if pairs.hashes is not None or hashes is None else hashes()


def _same_subsets(found: PairOrder, pairs: PairOrder) -> bool:
    if len(found) != len(pairs):
        return False
    numbers: dict[str, int] = {}
    mine, theirs = (
        np.array([numbers.setdefault(plain_subset(name), len(numbers)) for name in order.names])
        for order in (found, pairs)
    )
    return bool((mine[found.codes] == theirs[pairs.codes]).all())


def _permuted(found: PairOrder, pairs: PairOrder) -> bool:
    """Whether the pairs have the same subsets and ids, each once, but in another order."""
    if found.ids is None or pairs.ids is None or list(found.ids) == list(pairs.ids):
        return False
    keys, wanted = _keys(found), _keys(pairs)
    return keys is not None and wanted is not None and set(keys) == set(wanted)


def _keys(order: PairOrder) -> list[_PairKey] | None:
    """Subset and id of each pair; None where they are not unique."""
    if order.ids is None:
        return None
    names = [plain_subset(name) for name in order.names]
    keys = [(names[code], id_) for code, id_ in zip(order.codes.tolist(), order.ids, strict=True)]
    return keys if len(set(keys)) == len(keys) else None


def _numbered(hashes: Sequence[str]) -> list[_PairKey]:
    """Hashes with their number among equal ones, so that pairs of equal texts stay apart."""
    seen: dict[str, int] = {}
    keys = []
    for each in hashes:
        seen[each] = seen.get(each, -1) + 1
        keys.append((each, str(seen[each])))
    return keys


def _joined(keys: Sequence[_PairKey], wanted: Sequence[_PairKey], how: How) -> Alignment:
    row_of = {key: row for row, key in enumerate(keys) if key[0]}
    rows = np.array([row_of.get(key, -1) for key in wanted], dtype=np.int64)
    return Alignment(rows, how, len(keys) - int((rows >= 0).sum()))


def _few(alignment: Alignment, found: PairOrder) -> bool:
    return len(found) - alignment.unmatched < _FEWEST * len(found)

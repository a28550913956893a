"""Pairs by what a run's judge wrote of them; its words are read for that and not kept."""

from collections.abc import Iterable
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from explorer.core.caches import LruCache
from explorer.data.facets import Mask
from explorer.data.table import PairTable
from explorer.results.field import Field
from scoring.errors import KnownError
from scoring.families.answers import answer_bytes, has_answers, read_answers
from scoring.pairs.opening import as_pairs
from scoring.record import Run

Judged = Literal["", "chosen", "rejected", "split", "unreadable", "cut"]
JUDGED: tuple[Judged, ...] = get_args(Judged)
"""What an answer says; "split" is of pairs whose answers prefer different sides."""
_CHOSEN, _REJECTED, _UNREADABLE, _CUT, _FOUND = (1 << at for at in range(5))
_BITS = {"chosen": _CHOSEN, "rejected": _REJECTED, "split": _CHOSEN | _REJECTED}
_BITS |= {"unreadable": _UNREADABLE, "cut": _CUT}
_AT_ONCE = 200
"""Pairs whose texts are in memory."""
_FLAGS = LruCache[NDArray[np.uint8]](64)


def judge_run(field: Field | None, model: str) -> Run | None:
    """The run of a judge whose words are kept, beside the texts of its pairs; else None."""
    run = field.runs.get(model) if field is not None and field.has_texts else None
    return run if run is not None and has_answers(run) else None


def judged_rows(field: Field, model: str, verdict: Judged, words: str) -> Mask:
    """Pairs with such an answer, and with these words in one, whatever their case.

    Raises:
        KnownError: what was written cannot be read.
    """
    run = judge_run(field, model)
    if run is None:
        raise KnownError("No judge's words are kept of this model. Choose a judge's run.")

    rows = np.flatnonzero(field.matrix.held[field.place(model)])
    bits = _BITS.get(verdict, 0)
    found: Mask = (_flags(run, field.table, rows, "") & bits) == bits
    if not words:
        return found
    return found & (_flags(run, field.table, rows, words.casefold()) & _FOUND > 0)


def n_unreadable(run: Run, table: PairTable, keys: Iterable[str]) -> int:
    """How many of some pairs of a run have an answer that is no verdict, or no rating.

    Raises:
        KnownError: what was written cannot be read.
    """
    if not has_answers(run):
        return 0
    known = (table.row_of(key) for key in keys)
    rows = np.array([row for row in known if row is not None], np.int64)
    return int(np.count_nonzero(_flags(run, table, rows, "") & _UNREADABLE))


def _flags(run: Run, table: PairTable, rows: NDArray[np.int64], words: str) -> NDArray[np.uint8]:
    """What the answers about a run's rows are, for each row of the table; kept while they stay."""
    key = (run.folder, answer_bytes(run.folder), table.id, len(rows), words)
    return _FLAGS.get_or_create_once(key, lambda: _read_flags(run, table, rows, words))


def _read_flags(
    run: Run, table: PairTable, rows: NDArray[np.int64], words: str
) -> NDArray[np.uint8]:
    flags = np.zeros(len(table), np.uint8)
    for begin in range(0, len(rows), _AT_ONCE):
        some = rows[begin : begin + _AT_ONCE].tolist()
        pairs = as_pairs(table.arrow, some)
        for row, pair, answers in zip(some, pairs, read_answers(run, pairs), strict=True):
            for answer in answers:
                if answer.reply is None or words not in answer.reply.text.casefold():
                    continue
                flags[row] |= _FOUND
                if answer.better is not None:
                    flags[row] |= _CHOSEN if answer.better < pair.n_chosen else _REJECTED
                flags[row] |= _CUT * answer.reply.cut | _UNREADABLE * (answer.meaning is None)
    return flags

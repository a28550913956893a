"""What is odd about pairs, though they can be read: counted on Arrow's own bytes."""

from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute
from numpy.typing import NDArray

pc: Any = pyarrow.compute  # its stubs know few of the types that it takes
Texts: TypeAlias = "pa.Array[Any]"
"""Of type `large_string`, without nulls."""

REPEATED_PROMPT = 20
"""Characters of a prompt from which it is no chance that responses begin with it."""


def n_same(chosen: Texts, rejected: Texts) -> int:
    """Pairs whose responses are equal."""
    return int(pc.sum(pc.equal(chosen, rejected)).as_py() or 0)


def n_repeating(prompts: Texts, chosen: Texts, rejected: Texts) -> int:
    """Pairs in which both responses begin with the whole prompt, where that is no chance.

    >>> texts = [pa.array([words], pa.large_string()) for words in ("x" * 20, "x" * 21, "x" * 22)]
    >>> n_repeating(*texts), n_repeating(texts[1], texts[0], texts[2])
    (1, 0)
    """
    shorter = pc.min_element_wise(pc.binary_length(chosen), pc.binary_length(rejected))
    likely = pc.and_(
        pc.greater_equal(pc.utf8_length(prompts), REPEATED_PROMPT),
        pc.greater_equal(shorter, pc.binary_length(prompts)),
    )
    prompts = prompts.filter(likely).cast(pa.large_binary())
    if not len(prompts):
        return 0
    lengths = pc.binary_length(prompts).to_numpy()
    begin = [
        pc.equal(_beginnings(responses.filter(likely), lengths), prompts)
        for responses in (chosen, rejected)
    ]
    return int(pc.sum(pc.and_(*begin)).as_py())


def _beginnings(texts: Texts, lengths: NDArray[np.int64]) -> Texts:
    """The first so many bytes of each text; all are at least so long."""
    buffers: Any = texts.buffers()
    starts = np.frombuffer(buffers[1], np.int64)[texts.offset :][: len(texts)]
    # Each text is cut in two where its beginning ends: every other piece is a beginning.
    cuts = np.stack([starts, starts + lengths], axis=1).ravel()
    cuts = np.append(cuts, cuts[-1])
    buffers = [None, pa.py_buffer(cuts.tobytes()), buffers[2]]
    pieces: Any = pa.Array.from_buffers(pa.large_binary(), len(cuts) - 1, buffers)
    beginnings: Texts = pieces.take(np.arange(0, len(pieces), 2))
    return beginnings

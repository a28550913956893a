"""How long texts are, counted on Arrow's own bytes, so that a large table stays cheap."""

from collections.abc import Iterable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

Counts = NDArray[np.int32]
"""One number a row."""


def count_chars(texts: "pa.ChunkedArray[Any]") -> Counts:
    """Characters (Unicode code points) of each text.

    >>> count_chars(pa.chunked_array([["", "né"]], pa.large_string())).tolist()
    [0, 2]
    """
    return np.asarray(pc.utf8_length(texts).to_numpy(), dtype=np.int32)


def count_words(texts: "pa.ChunkedArray[Any]") -> Counts:
    """Words of each text: runs of characters that are not ASCII white space.

    >>> count_words(pa.chunked_array([["", " a  bc"], ["d"]], pa.large_string())).tolist()
    [0, 2, 1]
    """
    return _joined(_words(chunk) for chunk in texts.chunks)


def _words(texts: "pa.Array[Any]") -> Counts:
    buffers: Any = texts.buffers()
    _, offsets_buffer, bytes_buffer = buffers
    offsets = np.frombuffer(offsets_buffer, np.int64)[texts.offset :][: len(texts) + 1]
    if bytes_buffer is None or offsets[0] == offsets[-1]:
        return np.zeros(len(texts), dtype=np.int32)
    letters = np.frombuffer(bytes_buffer, np.uint8)[offsets[0] : offsets[-1]]
    offsets = offsets - offsets[0]
    # Tab, line feed, vertical tab, form feed and return are 9 to 13; what is below 9 wraps around.
    is_space = (letters == ord(" ")) | (letters - np.uint8(9) < 5)
    starts = ~is_space
    starts[1:] &= is_space[:-1]
    first = offsets[:-1][np.diff(offsets) > 0]
    starts[first] = ~is_space[first]
    before = np.searchsorted(np.flatnonzero(starts), offsets)
    return np.asarray(np.diff(before), dtype=np.int32)


def _joined(parts: Iterable[Counts]) -> Counts:
    return np.concatenate([np.zeros(0, dtype=np.int32), *parts])

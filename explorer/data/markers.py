"""What responses look like: lists, headings, refusals, found by patterns that know no grammar.

All are heuristics: a `# comment` at the start of a line passes for a heading, "sorry" in a story
for an apology, and a refusal in other words than these for none. They say where to look.
"""

from collections.abc import Mapping
from typing import Literal, NamedTuple, get_args

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

Marker = Literal["fence", "list", "heading", "bold", "table", "refusal", "apology"]
MARKERS: tuple[Marker, ...] = get_args(Marker)

_SAYS_NO = (
    "(?:I[’']?m|I am) (?:very |so |really )?sorry",
    "(?:I[’']?m|I am) (?:unable|not able|not allowed|not comfortable)",
    "I (?:cannot|can not|can[’']?t|won[’']?t|will not|do not feel comfortable)",
    r"I (?:must|have to) (?:\w+ )?(?:decline|refuse)",
    "as an (?:AI|artificial|assistant|ethical)",
)
_PATTERNS: dict[Marker, str] = {
    "fence": "(?m)^[ \t]*(?:```|~~~)",
    "list": r"(?m)^[ \t]*(?:[-*+•]|\d{1,3}[.)])[ \t]+\S",
    "heading": r"(?m)^ {0,3}#{1,6}[ \t]+\S",
    "bold": r"\*\*[^\s*](?:[^*\n]*[^\s*])?\*\*",
    "table": r"(?m)^[ \t]*\|?[ \t]*:?-{3,}:?[ \t]*(?:\|[ \t]*:?-{3,}:?[ \t]*)+\|?[ \t]*$",
    "refusal": rf"(?is)^.{{0,300}}?\b(?:{'|'.join(_SAYS_NO)})\b",
    "apology": r"(?i)\b(?:sorry|apologi[sz]e|apology|apologies)\b",
}
"""In RE2's syntax. A refusal begins within the first 300 characters; a table has the line of dashes
below its head; code in a fence is looked at like any other text."""


class Marked(NamedTuple):
    """Which pairs' responses have a marker; both are (pairs,)."""

    chosen: NDArray[np.bool_]
    rejected: NDArray[np.bool_]


def markers(arrow: pa.Table) -> Mapping[Marker, Marked]:
    """Which responses have which marker.

    Args:
        arrow: has the columns `chosen` and `rejected`. Of rows with several responses a side, the
            first counts.

    >>> texts = {"chosen": ["I’m sorry, no.", "- a"], "rejected": ["Sure: **b**", "| a |"]}
    >>> found = markers(pa.table(texts))
    >>> found["refusal"].chosen.tolist(), found["bold"].rejected.tolist()
    ([True, False], [True, False])
    """
    return {
        marker: Marked(
            *(
                np.asarray(pc.match_substring_regex(arrow.column(side), pattern).to_numpy())
                for side in Marked._fields
            )
        )
        for marker, pattern in _PATTERNS.items()
    }

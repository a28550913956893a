"""What is known of each row besides its texts: lengths, facets, markers of form.

Markers are found by patterns that know no grammar: a `# comment` at the start of a line passes for
a heading, "sorry" in a story for an apology, and a refusal in other words than these for none. They
say where to look.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import blake2b
from itertools import chain
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from explorer.data.datacard import length_category, subset_card
from scoring.benchmarks import Benchmark
from scoring.pairs.checking import MORE_COLUMNS
from scoring.pairs.opening import FURTHER, TEXT_COLUMNS

Counts = NDArray[np.int32]
"""One number a row."""
Mask = NDArray[np.bool_]
"""Whether each row is among some."""

Facet = Literal[
    "section", "subset", "chosen_model", "rejected_model", "longer", "length", "shared", "code",
    "language", "column1", "column2", "column3", "column4", "column5",
]  # fmt: skip
FACETS: tuple[Facet, ...] = get_args(Facet)
COLUMNS = FACETS[-5:]
"""Further columns of the data, in their order; most tables have none."""
NONE = "none"
"""The name of what a row does not have: no section, no length category, no language."""

_FENCE = "```"
_NAMED_FENCE = re.compile(r"```[ \t]*([A-Za-z][\w+#.-]{0,19})?")
_SPELLINGS = {
    short: name
    for name, shorts in {
        "Python": "py python3",
        "JavaScript": "js javascript",
        "TypeScript": "ts typescript",
        "C++": "cpp c++",
        "C#": "cs csharp",
        "Shell": "sh bash shell",
        "LaTeX": "latex",
    }.items()
    for short in shorts.split()
} | {name.lower(): name for name in ("HTML", "CSS", "SQL", "JSON", "PHP")}
Marker = Literal["fence", "list", "heading", "bold", "table", "refusal", "apology"]

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


def count_chars(texts: "pa.ChunkedArray[Any]") -> Counts:
    """Characters (Unicode code points) of each text."""
    return np.asarray(pc.utf8_length(texts).to_numpy(), dtype=np.int32)


def count_words(texts: "pa.ChunkedArray[Any]") -> Counts:
    """Words of each text: runs of characters that are not ASCII white space."""
    return np.concatenate([np.zeros(0, dtype=np.int32), *map(_words, texts.chunks)])


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


def bytes_of_each(column: Any) -> NDArray[np.int64]:
    """Bytes of each text, or of each list of objects of texts.

    >>> lists = pa.array([[{"text": "four"}], [], [{"text": "é"}, {"text": "a"}]])
    >>> bytes_of_each(lists).tolist()
    [4, 0, 3]
    """
    if not pa.types.is_nested(column.type):
        return np.asarray(pc.binary_length(column), dtype=np.int64)
    each = np.sum([bytes_of_each(part) for part in column.flatten().flatten()], axis=0)
    sums = np.cumsum(np.append(0, each))
    ends = np.cumsum(np.append(0, pc.list_value_length(column)))
    found: NDArray[np.int64] = np.diff(sums[ends])
    return found


@dataclass(frozen=True, slots=True)
class Coded:
    """A column of few names: `names[codes[row]]` is the row's. Names are distinct."""

    names: list[str]
    codes: NDArray[np.int32]

    def renamed(self, names: list[str], name_of: dict[str, str]) -> "Coded":
        """The column with other names; several may become one. name_of: old -> new, of `names`."""
        place = {name: place for place, name in enumerate(names)}
        lookup = np.array([place[name_of[name]] for name in self.names], dtype=np.int32)
        return Coded(names, lookup[self.codes])


def coded(column: "pa.ChunkedArray[Any]") -> Coded:
    """A column as names, in the order in which they first occur, and codes.

    >>> coded(pa.chunked_array([["b", "a"], ["b"]], pa.large_string()))
    Coded(names=['b', 'a'], codes=array([0, 1, 0], dtype=int32))
    """
    encoded: Any = column.dictionary_encode().unify_dictionaries().combine_chunks()
    codes = np.asarray(encoded.indices.to_numpy(), dtype=np.int32)
    return Coded([str(name) for name in encoded.dictionary.to_pylist()], codes)


def grouped(column: "pa.ChunkedArray[Any]") -> NDArray[np.int32]:
    """A number for each row of a column of many texts, from 0; equal texts have the same."""
    # By their hashes, as a dictionary of all texts would take as much memory as they do.
    numbers: dict[bytes, int] = {}
    found = []
    for chunk in column.chunks:
        texts: list[Any] = chunk.cast(pa.large_binary()).to_pylist()
        for words in texts:
            digest = blake2b(words, digest_size=16).digest()
            found.append(numbers.setdefault(digest, len(numbers)))
    return np.array(found, dtype=np.int32)


def coded_facets(
    arrow: pa.Table,
    benchmark: Benchmark,
    subsets: Coded,
    prompts: NDArray[np.int32],
    chars: dict[str, Counts],
) -> dict[Facet, Coded]:
    """The name that each row has in each facet.

    longer: the side with more characters, or "equal".
    length: the side that upstream lists as longer in the row's subset (`datacard.LengthCategory`).
    shared: "yes" where another subset puts the same prompt.
    longer and length are of the first response on each side; code of all.
    code: "yes" for a subset of code, and where the prompt or a response has a ``` fence.
    language: of a subset of code; else what the first such fence names.
    column1 and its like: of the table's further columns, `NONE` where there is none.
    """
    language = _languages(arrow, subsets)
    by_section = {name: benchmark.group_of(name) or NONE for name in subsets.names}
    by_length = {name: length_category(name) or NONE for name in subsets.names}
    difference = np.sign(chars["chosen"] - chars["rejected"])
    return {
        "section": subsets.renamed([*benchmark.groups, NONE], by_section),
        "subset": subsets,
        "chosen_model": coded(arrow.column("chosen_model")),
        "rejected_model": coded(arrow.column("rejected_model")),
        "longer": Coded(["chosen", "equal", "rejected"], (1 - difference).astype(np.int32)),
        "length": subsets.renamed(["chosen", "rejected", "neutral", NONE], by_length),
        "shared": _yes_or_no(_shared(prompts, subsets.codes)),
        "code": _yes_or_no(language.codes != language.names.index(NONE)),
        "language": language,
        **dict.fromkeys(COLUMNS, Coded([NONE], np.zeros(arrow.num_rows, np.int32))),
        **{facet: coded(arrow.column(name)) for facet, name in further_columns(arrow).items()},
    }


def further_columns(arrow: pa.Table) -> dict[Facet, str]:
    """Facet -> the column of the table that it is, of those of `COLUMNS` that the table has."""
    names = [name for name in arrow.column_names if name.startswith(FURTHER)]
    return dict(zip(COLUMNS, names, strict=False))


def _yes_or_no(mask: Mask) -> Coded:
    return Coded(["yes", "no"], np.where(mask, 0, 1).astype(np.int32))


def _shared(prompts: NDArray[np.int32], subsets: NDArray[np.int32]) -> Mask:
    """Whether a row's prompt occurs in more than one subset."""
    one_of = np.zeros(int(prompts.max(initial=0)) + 1, dtype=np.int32)
    one_of[prompts] = subsets
    is_shared = np.zeros(len(one_of), dtype=bool)
    is_shared[prompts[one_of[prompts] != subsets]] = True
    shared: Mask = is_shared[prompts]
    return shared


def _languages(arrow: pa.Table, subsets: Coded) -> Coded:
    """The programming language of each row's code; "unnamed" where a fence does not say."""
    cards = {name: subset_card(name) for name in subsets.names}
    of_subset = [(card and card.language) or "" for card in cards.values()]
    names: dict[str, int] = {NONE: 0}
    codes = np.array(
        [names.setdefault(language or NONE, len(names)) for language in of_subset], dtype=np.int32
    )[subsets.codes]
    fenced = np.zeros(arrow.num_rows, dtype=bool)
    for column in TEXT_COLUMNS:
        fenced |= pc.match_substring_regex(arrow.column(column), _FENCE).to_numpy()
    start, further = 0, arrow.select(name for name in MORE_COLUMNS if name in arrow.column_names)
    for batch in further.to_batches():
        for lists in batch.columns:
            texts = pc.struct_field(pc.list_flatten(lists), "text")
            has_fence = pc.match_substring(texts, _FENCE).to_numpy(zero_copy_only=False)
            fenced[start + pc.list_parent_indices(lists).to_numpy()[has_fence]] = True
        start += len(batch)
    wanted = fenced & (codes == 0)
    place = iter(np.flatnonzero(wanted).tolist())
    fenced_rows = arrow.select([*TEXT_COLUMNS, *further.column_names]).filter(wanted)
    for row in chain.from_iterable(batch.to_pylist() for batch in fenced_rows.to_batches()):
        more = (each["text"] for name in further.column_names for each in row[name])
        texts = (*(row[name] for name in TEXT_COLUMNS), *more)
        codes[next(place)] = names.setdefault(_fenced_language(texts), len(names))
    ordered = [NONE, *sorted(name for name in names if name != NONE)]
    return Coded(list(names), codes).renamed(ordered, {name: name for name in names})


def _fenced_language(texts: tuple[str, ...]) -> str:
    """What the first fence that names one names, as it is usually written.

    >>> _fenced_language(("Fix it.", "```py", "```")), _fenced_language(("```",))
    ('Python', 'unnamed')
    """
    for written in texts:
        for match in _NAMED_FENCE.finditer(written):
            if match[1]:
                return _SPELLINGS.get(match[1].lower(), match[1].capitalize())
    return "unnamed"


class Marked(NamedTuple):
    """Which pairs' responses have a marker; both are (pairs,)."""

    chosen: Mask
    rejected: Mask


def markers(arrow: pa.Table) -> Mapping[Marker, Marked]:
    """Which responses have which marker. Of rows with several responses a side, the first counts.

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

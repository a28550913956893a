"""What pairs can be told apart by: for each facet, the name that each row has."""

import re
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, Literal, get_args

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from explorer.data.counting import Counts
from explorer.data.datacard import length_category, subset_card
from scoring.benchmark import SECTIONS, section_of
from scoring.pairs.opening import TEXT_COLUMNS

Facet = Literal[
    "section",
    "subset",
    "chosen_model",
    "rejected_model",
    "longer",
    "length",
    "shared",
    "code",
    "language",
]
FACETS: tuple[Facet, ...] = get_args(Facet)
NONE = "none"
"""The name of what a row does not have: no section, no length category, no language."""

_FENCE = "```"
_NAMED_FENCE = re.compile(r"```[ \t]*([A-Za-z][\w+#.-]{0,19})?")
_SPELLINGS = {
    "py": "Python",
    "python3": "Python",
    "js": "JavaScript",
    "javascript": "JavaScript",
    "ts": "TypeScript",
    "typescript": "TypeScript",
    "cpp": "C++",
    "c++": "C++",
    "cs": "C#",
    "csharp": "C#",
    "sh": "Shell",
    "bash": "Shell",
    "shell": "Shell",
    "html": "HTML",
    "css": "CSS",
    "sql": "SQL",
    "json": "JSON",
    "php": "PHP",
    "latex": "LaTeX",
}


@dataclass(frozen=True, slots=True)
class Coded:
    """A column of few names: `names[codes[row]]` is the row's. Names are distinct."""

    names: list[str]
    codes: NDArray[np.int32]

    def renamed(self, names: list[str], name_of: dict[str, str]) -> "Coded":
        """The column with other names; several may become one. name_of: old -> new, of `names`.

        >>> column = Coded(["b", "a"], np.array([0, 1, 0], dtype=np.int32))
        >>> column.renamed(["a", "b"], {"a": "a", "b": "b"}).codes
        array([1, 0, 1], dtype=int32)
        """
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
    """A number for each row of a column of many texts; equal texts have the same.

    >>> grouped(pa.chunked_array([["b", "a"], ["b"]], pa.large_string())).tolist()
    [0, 1, 0]
    """
    # By their hashes, as a dictionary of all texts would take as much memory as they do.
    numbers: dict[bytes, int] = {}
    found = np.zeros(len(column), dtype=np.int32)
    row = 0
    for chunk in column.chunks:
        texts: list[Any] = chunk.cast(pa.large_binary()).to_pylist()
        for words in texts:
            digest = blake2b(words, digest_size=16).digest()
            found[row] = numbers.setdefault(digest, len(numbers))
            row += 1
    return found


def coded_facets(
    arrow: pa.Table, subsets: Coded, prompts: NDArray[np.int32], chars: dict[str, Counts]
) -> dict[Facet, Coded]:
    """The name that each row has in each facet.

    longer: the side with more characters, or "equal".
    length: the side that upstream lists as longer in the row's subset (`datacard.LengthCategory`).
    shared: "yes" where another subset puts the same prompt.
    code: "yes" for a subset of code, and where prompt, chosen or rejected has a ``` fence.
    language: of a subset of code; else what the first such fence names.
    """
    language = _languages(arrow, subsets)
    by_section = {name: section_of(name) or NONE for name in subsets.names}
    by_length = {name: length_category(name) or NONE for name in subsets.names}
    difference = np.sign(chars["chosen"] - chars["rejected"])
    return {
        "section": subsets.renamed([*SECTIONS, NONE], by_section),
        "subset": subsets,
        "chosen_model": coded(arrow.column("chosen_model")),
        "rejected_model": coded(arrow.column("rejected_model")),
        "longer": Coded(["chosen", "equal", "rejected"], (1 - difference).astype(np.int32)),
        "length": subsets.renamed(["chosen", "rejected", "neutral", NONE], by_length),
        "shared": _yes_or_no(_shared(prompts, subsets.codes)),
        "code": _yes_or_no(language.codes != language.names.index(NONE)),
        "language": language,
    }


def _yes_or_no(mask: NDArray[np.bool_]) -> Coded:
    return Coded(["yes", "no"], np.where(mask, 0, 1).astype(np.int32))


def _shared(prompts: NDArray[np.int32], subsets: NDArray[np.int32]) -> NDArray[np.bool_]:
    """Whether a row's prompt occurs in more than one subset."""
    if not len(prompts):
        return np.zeros(0, dtype=bool)
    n_prompts = int(prompts.max()) + 1
    lowest = np.full(n_prompts, np.iinfo(np.int32).max, dtype=np.int32)
    highest = np.full(n_prompts, -1, dtype=np.int32)
    np.minimum.at(lowest, prompts, subsets)
    np.maximum.at(highest, prompts, subsets)
    shared: NDArray[np.bool_] = (lowest != highest)[prompts]
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
    wanted = fenced & (codes == 0)
    place = iter(np.flatnonzero(wanted).tolist())
    for batch in arrow.select(TEXT_COLUMNS).filter(pa.array(wanted)).to_batches():
        for texts in zip(*(column.to_pylist() for column in batch.columns), strict=True):
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

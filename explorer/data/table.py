"""The one table type of pairs: loaded once, immutable, shared by all sessions.

The texts stay where they were read, in Arrow, those of a large set on the disk. What is known of
each row besides (lengths, codes of its subset) are arrays of numbers.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache, partial
from itertools import chain
from typing import Any, Literal, get_args

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from explorer.core.caches import LruCache, locked_cached_property
from explorer.data.facets import (
    Coded,
    Counts,
    Facet,
    Marked,
    Marker,
    coded,
    coded_facets,
    count_chars,
    count_words,
    further_columns,
    grouped,
    markers,
)
from explorer.data.offers import set_name
from explorer.data.search import Query, found_by
from scoring.benchmarks import Benchmark, benchmark_of
from scoring.errors import counted
from scoring.pairs.opening import FURTHER, TEXT_COLUMNS, Pairs, PairSource, n_responses
from scoring.spec import text_hash

Rows = NDArray[np.int64]
"""Row numbers of a table, in table order, counting from 0."""

Measure = Literal["chosen", "rejected", "prompt", "difference"]
"""What is measured of a pair; "difference" is chosen minus rejected."""

Unit = Literal["chars", "words", "tokens"]

MEASURES: tuple[Measure, ...] = get_args(Measure)
UNITS: tuple[Unit, ...] = get_args(Unit)
KEPT_TOKENIZERS = 12


@dataclass(frozen=True)
class PairTable:
    """A checked table of pairs with what the views ask of it, computed on first use.

    tokens: tokenizer -> text column -> tokens of each row, as far as they have been counted.
    """

    pairs: Pairs
    tokens: LruCache[dict[str, Counts]] = field(
        default_factory=lambda: LruCache(KEPT_TOKENIZERS), compare=False, repr=False
    )

    @property
    def source(self) -> PairSource:
        """Where the table came from; shown wherever the table is."""
        return self.pairs.source

    @property
    def id(self) -> str:
        """What a session remembers instead of the table."""
        return str(self.source)

    @property
    def name(self) -> str:
        """What the pairs are called on screen, with the benchmark that they are of."""
        named = {"demo": "Demo pairs", "typed": "My own pair", "textless": "Pairs without texts"}
        return set_name(named.get(self.source.kind, self.id), self.pairs.benchmark)

    @property
    def caption(self) -> str:
        """Which pairs, how many, from where and at which revision."""
        n, source = counted(len(self), "pair", "pairs"), self.source
        name, revision = source.name, source.revision[:12]
        return {
            "demo": f"Demo pairs: {n} in the style of RewardBench, not the benchmark itself.",
            "hub": f"{name}, split {source.split}: {n}, Hugging Face revision {revision}.",
            "file": f"{self.name}: {n}, sha256 {revision}.",
            "typed": "A pair you typed.",
            "textless": f"{n} without texts: only their subsets and keys are known.",
        }[source.kind]

    @property
    def remarks(self) -> tuple[str, ...]:
        """What was repaired or left out when the pairs were read."""
        return self.pairs.notes

    def __len__(self) -> int:
        return self.pairs.table.num_rows

    @property
    def arrow(self) -> pa.Table:
        """Columns of `scoring.pairs.opening.SCHEMA`, in the chunks in which they were read."""
        return self.pairs.table

    @locked_cached_property
    def keys(self) -> list[str]:
        """The key of each row."""
        return [str(key) for key in self.arrow.column("key").to_pylist()]

    @property
    def example_keys(self) -> str:
        """The first two keys, to show what keys look like: at most 80 characters of each."""
        return ", ".join(key.as_py()[:80] for key in self.arrow.column("key")[:2])

    def row_of(self, key: str | None) -> int | None:
        """The row with that key; None where there is none."""
        try:
            wanted = pa.scalar(key, pa.large_string())
        except UnicodeEncodeError:  # a lone surrogate, which is in no key that was loaded
            return None
        row = pc.index(self.arrow.column("key"), wanted).as_py()
        return None if key is None or row < 0 else int(row)

    @locked_cached_property
    def hashes(self) -> list[str]:
        """The `text_hash` of each row: how outcomes find their texts, whatever they name."""
        # Chunk by chunk, so that never all texts are Python objects.
        rows = chain.from_iterable(
            zip(*(column.to_pylist() for column in batch.columns), strict=True)
            for batch in self.arrow.select(TEXT_COLUMNS).to_batches()
        )
        return [text_hash(*texts) for texts in rows]

    @locked_cached_property
    def benchmark(self) -> Benchmark:
        """What the pairs are of, as their source says or their subsets do."""
        subsets = map(str, pc.unique(self.arrow.column("subset")).to_pylist())
        return benchmark_of(subsets, self.pairs.benchmark)

    @locked_cached_property
    def subsets(self) -> Coded:
        """The subset of each row, the benchmark's subsets first and in its order."""
        found = coded(self.arrow.column("subset"))
        names = self.benchmark.in_order(found.names)
        return found.renamed(names, {name: name for name in names})

    @locked_cached_property
    def prompt_of_row(self) -> NDArray[np.int32]:
        """A number for each row; rows with the same prompt have the same."""
        return grouped(self.arrow.column("prompt"))

    @locked_cached_property
    def facets(self) -> dict[Facet, Coded]:
        """What rows can be told apart by."""
        return coded_facets(
            self.arrow, self.benchmark, self.subsets, self.prompt_of_row, self.chars
        )

    @locked_cached_property
    def further_columns(self) -> dict[Facet, str]:
        """Of the facets that are further columns of the data, what these are called."""
        found = further_columns(self.arrow)
        return {facet: name.removeprefix(FURTHER) for facet, name in found.items()}

    @locked_cached_property
    def markers(self) -> Mapping[Marker, Marked]:
        """Which responses have which marker of form."""
        return markers(self.arrow)

    @locked_cached_property
    def matching(self) -> Callable[[Query], NDArray[np.bool_]]:
        """Whether each row holds what a query looks for; the last few searches are remembered."""
        return lru_cache(maxsize=16)(partial(found_by, self.arrow))

    @locked_cached_property
    def subset_of_row(self) -> NDArray[np.object_]:
        """The subset of each row."""
        return np.array(self.subsets.names, dtype=object)[self.subsets.codes]

    @locked_cached_property
    def subset_counts(self) -> dict[str, int]:
        """Subset -> pairs, the benchmark's subsets first and in its order."""
        counts = np.bincount(self.subsets.codes, minlength=len(self.subsets.names))
        return dict(zip(self.subsets.names, counts.tolist(), strict=True))

    def same_prompt(self, row: int) -> Rows:
        """The other rows that put the same prompt."""
        rows = np.flatnonzero(self.prompt_of_row == self.prompt_of_row[row])
        others: Rows = rows[rows != row]
        return others

    @locked_cached_property
    def chars(self) -> dict[str, Counts]:
        """Text column -> characters of each row."""
        return {name: count_chars(self.arrow.column(name)) for name in TEXT_COLUMNS}

    @locked_cached_property
    def words(self) -> dict[str, Counts]:
        """Text column -> words of each row."""
        return {name: count_words(self.arrow.column(name)) for name in TEXT_COLUMNS}

    @locked_cached_property
    def measured_response(self) -> str:
        """Which response of each side lengths are of, where rows have several: its style, or
        "first"; "" for pairs.
        """
        is_several = bool((n_responses(self.arrow, np.arange(len(self))) > 2).any())
        return (*self.benchmark.row.styles, "first")[0] if is_several else ""

    def lengths(self, measure: Measure, unit: Unit, tokenizer: str = "") -> Counts:
        """A length of each row; "difference" may be below zero.

        Raises:
            KeyError: the tokens of that tokenizer were not counted yet.
        """
        counts: dict[str, Counts]
        counts = self.tokens[tokenizer] if unit == "tokens" else getattr(self, unit)
        if measure == "difference":
            return counts["chosen"] - counts["rejected"]
        return counts[measure]

    def key_of(self, row: int) -> str:
        """The key of one row."""
        return str(self.arrow.column("key")[row].as_py())

    def subset_of(self, row: int) -> str:
        """The subset of one row."""
        return self.subsets.names[int(self.subsets.codes[row])]

    def cells(self, row: int) -> dict[str, Any]:
        """All columns of one row."""
        return {name: self.arrow.column(name)[row].as_py() for name in self.arrow.column_names}

"""The one table type of pairs: loaded once, immutable, shared by all sessions."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from explorer.text import text
from scoring.benchmark import SECTIONS, in_order, section_of
from scoring.pairs import TEXT_COLUMNS, Pairs, PairSource
from scoring.spec import text_hash

Rows = NDArray[np.int64]
"""Row numbers of a table, in table order, counting from 0."""


@dataclass(frozen=True)
class PairTable:
    """A checked table of pairs with what the views ask of it, computed on first use."""

    pairs: Pairs

    @property
    def source(self) -> PairSource:
        """Where the table came from; shown wherever the table is."""
        return self.pairs.source

    @property
    def id(self) -> str:
        """What a session remembers instead of the table."""
        return str(self.source)

    @property
    def caption(self) -> str:
        """Which pairs, how many, from where and at which revision."""
        return text(
            f"source.pairs_{self.source.kind}",
            n=f"{len(self):,}",
            name=self.source.name,
            split=self.source.split,
            revision=self.source.revision[:12],
        )

    @property
    def remarks(self) -> tuple[str, ...]:
        """What was repaired or left out when the pairs were read."""
        return self.pairs.notes

    def __len__(self) -> int:
        return self.pairs.table.num_rows

    @cached_property
    def arrow(self) -> pa.Table:
        """Columns of `scoring.pairs.SCHEMA`, each in one chunk."""
        return self.pairs.table.combine_chunks()

    @cached_property
    def keys(self) -> list[str]:
        """The key of each row."""
        return [str(key) for key in self.arrow.column("key").to_pylist()]

    @cached_property
    def row_of_key(self) -> dict[str, int]:
        """Key -> row."""
        return {key: row for row, key in enumerate(self.keys)}

    @cached_property
    def row_of_hash(self) -> dict[str, int]:
        """`text_hash` -> row: how outcomes find their texts, whatever dataset they name."""
        columns = [self.arrow.column(name).to_pylist() for name in TEXT_COLUMNS]
        return {text_hash(*texts): row for row, texts in enumerate(zip(*columns, strict=True))}

    @cached_property
    def subset_of_row(self) -> NDArray[np.object_]:
        """The subset of each row."""
        return np.array(self.arrow.column("subset").to_pylist(), dtype=object)

    @cached_property
    def subset_counts(self) -> dict[str, int]:
        """Subset -> pairs, the benchmark's subsets first and in its order."""
        names, counts = np.unique(self.subset_of_row, return_counts=True)
        pairs = dict(zip(names.tolist(), counts.tolist(), strict=True))
        return {subset: pairs[subset] for subset in in_order(pairs)}

    @cached_property
    def section_counts(self) -> dict[str, int]:
        """Section -> pairs, for the sections that the table has."""
        counts = dict.fromkeys(SECTIONS, 0)
        for subset, count in self.subset_counts.items():
            section = section_of(subset)
            if section:
                counts[section] += count
        return {section: count for section, count in counts.items() if count}

    @cached_property
    def chars(self) -> dict[str, NDArray[np.int64]]:
        """Text column -> characters of each row."""
        return {
            name: pc.utf8_length(self.arrow.column(name)).to_numpy().astype(np.int64)
            for name in TEXT_COLUMNS
        }

    def find(self, key: str | None) -> dict[str, str] | None:
        """All columns of the row with that key; None where there is none."""
        row = self.row_of_key.get(key or "")
        return None if row is None else self.cells(row)

    def cells(self, row: int) -> dict[str, str]:
        """All columns of one row."""
        return {name: self.arrow.column(name)[row].as_py() for name in self.arrow.column_names}

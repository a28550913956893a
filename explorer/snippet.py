"""Python that loads the pairs in view with `datasets`, for whoever goes on in a notebook.

The selection stands there as row numbers of the source, not as its filters: whatever was filtered
(text, lengths, what a model got wrong), the rows are exactly those, and they stay so because a
Hub source is pinned to its commit. Rows that were left out on reading are counted. The filters are
comments, to be read. Names and filters may be anything: they stand in literals and comments alone,
and never in the first two lines, where a comment can set the encoding of a Python file.
"""

import glob
from collections.abc import Sequence

import numpy as np

from explorer.core.settings import DEMO_PAIRS, ROOT
from explorer.core.text import text
from explorer.exports import file_name
from explorer.table import PairTable, Rows

MOST_RUNS = 2_000
"""Runs of successive rows that a snippet lists; a selection of more is loaded from its export."""
LONGEST_LINE = 200
"""Characters of a filter that are shown."""
WIDTH = 100

_LOADERS = {"parquet": "parquet", "csv": "csv"}
"""Ending of a file -> what loads it; all others are JSON."""


def snippet(table: PairTable, rows: Rows, filters: Sequence[str]) -> str:
    """A Python program after which `pairs` is a `datasets.Dataset` of the rows, in their order.

    rows: of the table.
    filters: how they were chosen, in words, one each.
    """
    runs = _runs(_numbers_in_source(table)[rows])
    counts = {"n": f"{len(rows):,}", "total": f"{len(table):,}"}
    lines = [
        "from datasets import load_dataset",
        "",
        _comment(text("snippet.selection", source=table.source, **counts)),
        *(_comment(f"- {each}") for each in filters),
    ]
    if len(runs) > MOST_RUNS:
        export = file_name(table, rows, "parquet")
        lines.append(_comment(text("snippet.scattered", most=f"{MOST_RUNS:,}", file=export)))
        lines.append(f"pairs = load_dataset('parquet', data_files={export!r}, split='train')")
    else:
        lines += _loaded(table)
        if runs != [(0, len(table) + len(table.pairs.left_out))]:
            lines += [*_listed(runs), "pairs = pairs.select(rows)"]
    return "\n".join([*lines, f"assert len(pairs) == {len(rows)}", ""])


def _loaded(table: PairTable) -> list[str]:
    """The lines that load the whole source."""
    source = table.source
    if source.kind == "hub":
        pinned = f"split={source.split!r}, revision={source.revision!r}"
        return ["pairs = load_dataset(", f"    {source.name!r}, {pinned}", ")"]
    # The name of a file would be taken for a pattern.
    demo = DEMO_PAIRS.relative_to(ROOT).as_posix()
    name = demo if source.kind == "demo" else glob.escape(source.name)
    loader = _LOADERS.get(name.rpartition(".")[2].lower(), "json")
    exact = ", keep_default_na=False" if loader == "csv" else ""
    return [
        _comment(text("snippet.folder")),
        f"pairs = load_dataset({loader!r}, data_files={name!r}, split='train'{exact})",
    ]


def _numbers_in_source(table: PairTable) -> Rows:
    """The place of each row of the table among the source's rows, counting from 0."""
    left_out = table.pairs.left_out
    return np.delete(np.arange(len(table) + len(left_out)), left_out)


def _runs(numbers: Rows) -> list[tuple[int, int]]:
    """Successive numbers as (first, last + 1).

    >>> _runs(np.array([3, 4, 5, 9, 1, 2]))
    [(3, 6), (9, 10), (1, 3)]
    """
    begins = np.flatnonzero(np.diff(numbers, prepend=-2) != 1)
    firsts = numbers[begins]
    lengths = np.diff(begins, append=len(numbers))
    return list(zip(firsts.tolist(), (firsts + lengths).tolist(), strict=True))


def _listed(runs: Sequence[tuple[int, int]]) -> list[str]:
    """A list of all numbers of the runs, as lines of Python.

    >>> _listed([(3, 6), (9, 10)])
    ['rows = [*range(3, 6), 9]']
    """
    items = [
        f"*range({first}, {end})" if end - first > 2 else ", ".join(map(str, range(first, end)))
        for first, end in runs
    ]
    whole = f"rows = [{', '.join(items)}]"
    if len(whole) <= WIDTH:
        return [whole]
    lines = [""]
    for item in items:
        if len(lines[-1]) + len(item) + 6 > WIDTH:
            lines.append("")
        lines[-1] += f" {item}," if lines[-1] else f"{item},"
    return ["rows = [", *(f"    {line}" for line in lines), "]"]


def _comment(words: str) -> str:
    r"""Anything as one line of comment.

    >>> _comment("two\nlines")
    '# two\\nlines'
    """
    cut = words[: LONGEST_LINE + 1]
    line = "".join(char if char.isprintable() else repr(char)[1:-1] for char in cut)
    return f"# {line if len(line) <= LONGEST_LINE else line[: LONGEST_LINE - 1] + '…'}"

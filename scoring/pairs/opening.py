"""A path or a Hub id -> a checked Arrow table of pairs, with the columns of `SCHEMA`.

A prompt and two responses are required, in any of the shapes of `shapes.py`; `subset` (else the
split's or the file's name), `id` (else the row number) and the two model columns (else "unknown")
have defaults. `prompt` is text: of a conversation its transcript, and `turns` its messages as JSON
("" for one message of a user). `more_*` are a row's responses after the first ones. Rows in
messages count from 1, without a CSV header.
"""

import hashlib
import json
import re
import shutil
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from scoring.benchmarks import benchmarks, of_dataset
from scoring.errors import KnownError, first_line
from scoring.hub.access import Hub, HubId, Listing, Token
from scoring.limits import MEGABYTE, NO_LIMITS, Limits, OnProgress, Step, ignore_progress
from scoring.pairs.checking import MORE_COLUMNS, SCHEMA, TEXT_COLUMNS, CheckedRows
from scoring.pairs.layouts import FURTHER, RowReader, columns_of_layouts
from scoring.pairs.rows import SUFFIXES, RowFiles, announced, read_batches, unpacked_bytes
from scoring.paths import atomic_write, file_digest, is_file
from scoring.spec import Message, Pair

__all__ = ["FURTHER", "SCHEMA", "TEXT_COLUMNS", "PairSource", "Pairs", "as_pairs", "fetch_pairs",
           "n_responses", "read_pairs"]  # fmt: skip

_LARGEST_CARD = 2 * MEGABYTE
LEAST_BYTES = 32 * MEGABYTE
"""Size of a set's files from which its table is mapped; a smaller one is read each time."""
MOST_LISTED = 40
"""Splits that are named where one must be chosen."""
LONGEST_CARD = 200_000
"""Characters at a card's beginning that are looked at; those of a large dataset are a tenth."""
LONGEST_PATTERN = 300
"""Characters of a card's file pattern, or of its split's name."""
MOST_WILDCARDS = 20
MOST_PATTERNS = 1_000

_SHARD = re.compile(r"-\d{5}-of-(?P<of>\d{5}).*$")
_FRONT = re.compile(r"\s*---[ \t]*\r?\n(?P<yaml>.*?)\r?\n---[ \t]*(?:\r?\n|\Z)", re.DOTALL)
_WILDCARD = re.compile(r"(\*\*/?|\*|\?|\[[\w-]+\])")


RowsReader = Callable[[RowFiles, OnProgress], CheckedRows]
"""Reads and checks the rows of files, as `checked_rows` does."""


@dataclass(frozen=True, slots=True)
class PairSource:
    """The source of a table of pairs.

    kind: "textless" pairs are known from results alone; a "typed" one was written by a visitor.
    name: a Hub id, a file's own name or "demo pairs". revision: the Hub commit, or `file_digest`.
    """

    kind: Literal["hub", "file", "demo", "textless", "typed"]
    name: str
    split: str | None
    revision: str

    def __str__(self) -> str:
        """Name, split and revision; of a Hub dataset, the id that fetches the same pairs again."""
        return str(HubId(self.name, self.split, self.revision))


@dataclass(frozen=True, slots=True)
class Pairs:
    """A checked table of pairs with its provenance.

    table: columns of `SCHEMA`, no nulls, at least one row, keys distinct.
    notes: what was repaired, left out or is odd, one sentence each.
    left_out: the rows of the file or files, counting from 0, that are not in the table.
    """

    source: PairSource
    table: pa.Table
    notes: tuple[str, ...] = ()
    left_out: tuple[int, ...] = ()

    @property
    def benchmark(self) -> str:
        """Its name, by columns or dataset; "" if only the subsets can tell it."""
        return benchmark_in(self.table)


def benchmark_in(table: pa.Table) -> str:
    """As of `Pairs.benchmark`."""
    return (table.schema.metadata or {}).get(b"benchmark", b"").decode()


def take_rows(table: pa.Table, rows: NDArray[np.int64]) -> pa.Table:
    """Rows in the order given; taken chunk by chunk, since Arrow would first copy whole columns."""
    chunks = table.to_batches()
    starts = np.cumsum([0, *(chunk.num_rows for chunk in chunks[:-1])])
    chunk_of = np.searchsorted(starts, rows, side="right") - 1
    taken = [
        chunks[place].take(pa.array(rows[chunk_of == place] - starts[place]))
        for place in np.unique(chunk_of)
    ]
    order = np.argsort(np.argsort(chunk_of, kind="stable"))
    return pa.Table.from_batches(taken, table.schema).combine_chunks().take(order)


def as_pairs(table: pa.Table, rows: Sequence[int]) -> list[Pair]:
    """The rows of a checked table as `Pair` values, in the order given."""
    columns = ("key", "subset", *TEXT_COLUMNS, "turns", *MORE_COLUMNS)
    found = take_rows(table.select(columns), np.asarray(rows, dtype=np.int64)).to_pylist()
    for row in found:
        row["turns"] = tuple(Message(*turn) for turn in json.loads(row["turns"] or "[]"))
        for name in MORE_COLUMNS:
            row[name] = tuple(response["text"] for response in row[name])
    return [Pair(**row, benchmark=benchmark_in(table)) for row in found]


def n_responses(table: pa.Table, rows: Sequence[int] | NDArray[np.int64]) -> NDArray[np.int64]:
    """Number of responses of each of these rows of a checked table: 2 of a pair."""
    more = [pc.list_value_length(table.column(name)).to_numpy() for name in MORE_COLUMNS]
    return np.asarray(2 + (more[0] + more[1])[rows], np.int64)


def read_pairs(
    path: Path,
    kind: Literal["file", "demo"] = "file",
    *,
    name: str | None = None,
    limits: Limits = NO_LIMITS,
    tell: OnProgress = ignore_progress,
    on_disk: bool = False,
    reader: RowsReader | None = None,
    benchmark: str = "",
) -> Pairs:
    """Read and check a local file of pairs, or raise a `KnownError` with its row and column.

    name: what the file is called on screen, where that is not its own name.
    on_disk: whether a large table is kept by `_mapped`, not in memory.
    reader: None means `checked_rows`. benchmark: the name of the one that it is said to be of.
    """
    if path.suffix.lower() not in SUFFIXES:
        endings = ", ".join(SUFFIXES)
        raise KnownError(
            f"{name or path} is not a file of pairs: its ending must be one of {endings}."
        )
    if not is_file(path):
        raise KnownError(f"There is no file {name or path}.")
    shown = name or path.name
    try:
        size = path.stat().st_size
        limits.check_files(size, shown)
        digest = file_digest(path)
    except OSError as error:
        raise KnownError(f"{shown} cannot be read: {first_line(error)}") from error
    source = PairSource(kind, "demo pairs" if kind == "demo" else shown, None, digest)
    files = RowFiles({shown: path}, shown, Path(shown).stem, benchmark, limits)
    kept_as = f"{path.resolve()} {benchmark}" if on_disk and size >= LEAST_BYTES else None
    return _read(source, files, reader or checked_rows, tell, kept_as)


def fetch_pairs(
    hub_id: HubId,
    hub: Hub,
    *,
    token: Token,
    local_only: bool = False,
    limits: Limits = NO_LIMITS,
    tell: OnProgress = ignore_progress,
    on_disk: bool = False,
    reader: RowsReader | None = None,
    fetch: Callable[..., Path] | None = None,
    benchmark: str = "",
) -> Pairs:
    """Download (or find in the local cache) one split of a Hub dataset, and check it.

    Raises a `KnownError` if it cannot be had, is too large, or is not a table of pairs.

    hub_id: without a split the only one is taken. local_only: look at the cache alone.
    limits: nothing of a larger split is downloaded. fetch: None means `hub.fetch`.
    on_disk, reader, benchmark: as of `read_pairs`; the id may tell the benchmark, too.
    """
    tell(Step("asking"))
    listing = hub.look(hub_id, "dataset", token=token, local_only=local_only)
    fetch = fetch or partial(hub.fetch, token=token)
    card = Path("no card")
    if listing.sizes.get("README.md", _LARGEST_CARD + 1) <= _LARGEST_CARD:
        card = fetch(listing, ["README.md"]) / "README.md"
    splits = split_files(list(listing.sizes), card)
    own = [split for split in splits if "/" not in split]
    split = hub_id.split or (own[0] if len(own) == 1 else None)
    names, known = [] if split is None else splits.get(split, []), of_dataset(hub_id)
    if known is not None and known.every_split and hub_id.split is None:
        fits = partial(fnmatchcase, pat=known.every_split)
        several = (files for each, files in splits.items() if fits(each.rpartition("/")[2]))
        names, split = sorted({*chain.from_iterable(several)}), ""
    if not names:
        raise KnownError(
            f"{hub_id.repo} needs a split, as in {hub_id.repo}:SPLIT; "
            f"it has {_listed(splits, listing)}."
        )
    shown = f"{hub_id.repo}:{split}" if split else hub_id.repo
    check_shards(names, shown)
    size = sum(listing.sizes[name] for name in names)
    limits.check_files(size, shown)
    folder = fetch(listing, names, tell=tell)
    paths = {name: folder / name for name in names}
    named = benchmark or (known.name if known else "")
    files = RowFiles(paths, shown, split or "", named, limits)
    source = PairSource("hub", hub_id.repo, split or None, folder.name)
    kept_as = f"{shown} {benchmark}".strip() if on_disk and size >= LEAST_BYTES else None
    return _read(source, files, reader or checked_rows, tell, kept_as)


def _listed(splits: Iterable[str], listing: Listing) -> str:
    names = sorted(splits, key=lambda split: ("/" in split, split))
    if names:
        more = len(names) - MOST_LISTED
        return ", ".join(names[:MOST_LISTED]) + (f" and {more:,} more" if more > 0 else "")
    if any(name.endswith(".py") for name in listing.sizes):
        return (
            "no file that can be read here, but code, which is never run; the Hub may have its "
            f"rows as {listing.hub_id.repo}@refs/convert/parquet"
        )
    return "no file that can be read here"


def checked_rows(files: RowFiles, tell: OnProgress) -> CheckedRows:
    """Read and check the rows of files, or raise a `KnownError` with file, row and column."""
    paths, shown, default_subset, benchmark, limits = files
    columns = columns_of_layouts()
    ends = {name: announced(path, name, columns) for name, path in paths.items()}
    known = [rows for _, rows, _ in ends.values() if rows is not None]
    total = sum(known) if len(known) == len(ends) else None
    limits.check_rows(sum(known), shown, known=True)
    limits.check_text(sum(n_bytes for _, _, n_bytes in ends.values()), shown)
    reader = RowReader(shown, default_subset, limits, benchmark)
    n_rows = n_bytes = 0
    tell(Step("reading", 0, total))
    for name, path in paths.items():
        for batch in read_batches(path, name, ends[name][0]):
            n_rows += len(batch)
            n_bytes += unpacked_bytes(batch)
            limits.check_rows(n_rows, shown)
            limits.check_text(n_bytes, shown)
            reader.add(batch, name)
            tell(Step("reading", n_rows, total))
    return reader.finish()


def _read(
    source: PairSource, files: RowFiles, reader: RowsReader, tell: OnProgress, kept_as: str | None
) -> Pairs:
    """Read files as one table, which is kept by that name and mapped, or in memory."""
    read = partial(reader, files, tell)
    if kept_as is None:
        checked = read()
    else:
        checked = _mapped(kept_as, source.revision, read)
        n_rows = len(checked.table) + len(checked.left_out)
        files.limits.check_rows(n_rows, files.shown, known=True)
    # What was read on the way was let go, but the pool keeps its memory.
    pa.default_memory_pool().release_unused()
    return Pairs(source, *checked)


def _mapped(name: str, revision: str, read: Callable[[], CheckedRows]) -> CheckedRows:
    """What `read` gives, kept as a dataset below HF_HOME, from which it is mapped into memory.

    One revision of each set is kept; where nothing can be written, the table stays in memory.
    `rows.py` says why `datasets` does not read the pairs' own files.
    """
    from datasets import Dataset, config, disable_progress_bars, load_from_disk

    disable_progress_bars()
    rules = b"".join(path.read_bytes() for path in sorted(Path(__file__).parent.glob("*.py")))
    version = hashlib.sha256(f"{name} {revision} {benchmarks()}".encode() + rules).hexdigest()
    sets = Path(config.HF_DATASETS_CACHE, "rewardbench_explorer")
    folder = sets / re.sub(r"[^\w.-]", "_", name)[-100:]
    kept = folder / version

    def load() -> CheckedRows:
        dataset = load_from_disk(str(kept))
        notes, left_out, benchmark = json.loads(dataset.info.description)
        about = {"benchmark": benchmark} if benchmark else None
        table = dataset.data.table.replace_schema_metadata(about)
        return CheckedRows(table, tuple(notes), tuple(left_out))

    with suppress(Exception):  # it was not written yet, or it is broken
        return load()
    checked = read()
    with suppress(Exception):  # the disk is full, say: whatever it is, the pairs are here
        shutil.rmtree(folder, ignore_errors=True)
        dataset = Dataset(checked.table)
        about = [checked.notes, checked.left_out, benchmark_in(checked.table)]
        dataset.info.description = json.dumps(about)
        dataset.save_to_disk(str(kept))
        return load()
    return checked


def write_rows(checked: CheckedRows, path: Path) -> None:
    """Write checked rows to an Arrow file, which has all of them or is not there."""
    about = dict(checked.table.schema.metadata or {})
    about[b"checked"] = json.dumps([checked.notes, checked.left_out]).encode()
    table = checked.table.replace_schema_metadata(about)
    with atomic_write(path) as part, pa.ipc.new_file(str(part), table.schema) as file:
        file.write_table(table)


def map_rows(path: Path) -> CheckedRows:
    """Rows of `write_rows`, mapped into memory, where they stay though the file is removed."""
    table = pa.ipc.open_file(pa.memory_map(str(path))).read_all()
    about = dict(table.schema.metadata or {})
    notes, left_out = map(tuple, json.loads(about.pop(b"checked")))
    return CheckedRows(table.replace_schema_metadata(about or None), notes, left_out)


def split_files(names: Sequence[str], card: Path) -> dict[str, list[str]]:
    """Split -> its data files, of all the file names of a dataset.

    The dataset card's `configs` decide where it has them: a split of the first is called by its
    own name, one of another `configuration/split`. Else the files' own names do (`test.parquet`,
    `data/test-00000-of-00001.parquet`, `test/0000.parquet`), as on the Hub.

    >>> split_files(["data/test-00000-of-00002.parquet", "raw/0.jsonl", "x.py"], Path("no card"))
    {'test': ['data/test-00000-of-00002.parquet'], 'raw': ['raw/0.jsonl']}
    """
    readable = sorted(name for name in names if name.lower().endswith(SUFFIXES))
    splits = defaultdict[str, list[str]](list)
    declared = _declared_patterns(card)
    if not declared:
        for name in readable:
            path = Path(name)
            stem = _SHARD.sub("", path.stem)
            splits[path.parent.name if stem.isdigit() else stem].append(name)
        return dict(splits)
    place_of = {name: place for place, name in enumerate(readable)}
    texts = [name.encode(errors="replace").decode() for name in readable]
    column, owned = pa.array(texts, pa.large_string()), set[tuple[int, str]]()
    for split, pattern in declared:
        if pattern in place_of:
            owned.add((place_of[pattern], split))
        elif _WILDCARD.search(pattern):
            owned |= {(place, split) for place in _fitting(column, pattern)}
    for place, split in sorted(owned):
        splits[split].append(readable[place])
    return dict(splits)


def check_shards(names: Sequence[str], split: str) -> None:
    """Raise a `KnownError` if only some of the split's numbered files lie here."""
    for name in names:
        numbered = _SHARD.search(name)
        if numbered and len(names) < int(numbered["of"]):
            raise KnownError(
                f"Of the {int(numbered['of'])} files of {split} only {len(names)} can be found. "
                "Put the others beside them, or open the dataset again."
            )


def _fitting(names: Any, pattern: str) -> list[int]:
    """The places of the names that fit a card's pattern: `*` stays in its folder, `**` does not.

    Arrow's expressions never try a name twice, as Python's would, for hours, with a stranger's.

    >>> _fitting(pa.array(["data/raw-0.csv", "old/a.csv"]), "data/raw-*")
    [0]
    >>> _fitting(pa.array(["data/raw-0.csv", "a.csv"]), "*.csv"), _fitting(pa.array(["z"]), "[z-a]")
    ([1], [])
    """
    known = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    expression = "".join(
        part if place % 2 and part.startswith("[") else known.get(part, re.escape(part))
        for place, part in enumerate(_WILDCARD.split(pattern))
    )
    try:
        fits: Any = pc.match_substring_regex(names, rf"\A(?:{expression})\z")
    except pa.ArrowInvalid:  # a range such as [z-a]
        return []
    return [place for place, fit in enumerate(fits.to_pylist()) if fit]


def _declared_patterns(card: Path) -> list[tuple[str, str]]:
    """(split, file pattern) of the dataset card's configurations, as far as they are texts.

    An alias may repeat anything, and stand inside itself: what is no text is never written out.
    """
    import yaml  # type: ignore[import-untyped]

    try:
        with card.open(encoding="utf-8-sig") as file:
            front = _FRONT.match(file.read(LONGEST_CARD))
        # The base loader makes texts, lists and objects alone: the usual one copies what is merged
        # ("<<") anew each time, which takes for ever where what is merged was merged itself.
        known = yaml.load(front["yaml"], Loader=yaml.BaseLoader) if front else {}  # noqa: S506
        entries = list(islice(_entries(known["configs"]), MOST_PATTERNS))
    except Exception:  # a card is a stranger's text: one that cannot be read declares nothing
        return []
    fit = [
        ("/".join(names), pattern)
        for *names, pattern in entries
        if all(isinstance(each, str) and each.isprintable() for each in (*names, pattern))
        and all(0 < len(each) <= LONGEST_PATTERN for each in (*names, pattern))
        and not any("/" in each for each in names)
        and len(_WILDCARD.findall(pattern)) <= MOST_WILDCARDS
    ]
    return fit if any("/" not in split for split, _ in fit) else []


def _entries(configs: Any) -> Iterator[tuple[Any, ...]]:
    """(configuration but the first one, split, pattern); one of no pattern counts, too."""
    for place, config in enumerate(islice(configs, MOST_PATTERNS)):
        try:
            for entry in config["data_files"]:
                paths = entry["path"] if isinstance(entry["path"], list) else [entry["path"]]
                names = (config["config_name"], entry["split"]) if place else (entry["split"],)
                yield from ((*names, pattern) for pattern in paths or [None])
        except (KeyError, TypeError):  # it is written in another way, or wrongly
            if not place:
                raise

"""Which files of a dataset hold which split."""

import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from scoring.errors import KnownError
from scoring.pairs.rows import SUFFIXES

LONGEST_CARD = 200_000
"""Characters at a card's beginning that are looked at; those of a large dataset are a tenth."""
LONGEST_PATTERN = 300
"""Characters of a card's file pattern, or of its split's name."""
MOST_WILDCARDS = 20
MOST_PATTERNS = 1_000

_SHARD = re.compile(r"-\d{5}-of-(?P<of>\d{5}).*$")
_FRONT = re.compile(r"\s*---[ \t]*\r?\n(?P<yaml>.*?)\r?\n---[ \t]*(?:\r?\n|\Z)", re.DOTALL)
_WILDCARD = re.compile(r"(\*\*/?|\*|\?|\[[\w-]+\])")


def split_files(names: Sequence[str], card: Path) -> dict[str, list[str]]:
    """Split -> its data files, of all the file names of a dataset.

    The dataset card's `configs` decide where it has them: a split of the first is called by its
    own name, one of another `configuration/split`. Else the files' own names do (`test.parquet`,
    `data/test-00000-of-00001.parquet`, `test/0000.parquet`), as on the Hub.

    >>> split_files(["data/test-00000-of-00002.parquet", "raw/0.jsonl", "x.py"], Path("no card"))
    {'test': ['data/test-00000-of-00002.parquet'], 'raw': ['raw/0.jsonl']}
    """
    readable = sorted(name for name in names if name.lower().endswith(SUFFIXES))
    splits: dict[str, list[str]] = {}
    if declared := _declared_patterns(card):
        for place, split in sorted(set(_owned(readable, declared))):
            splits.setdefault(split, []).append(readable[place])
        return splits
    for name in readable:
        path = Path(name)
        stem = _SHARD.sub("", path.stem)
        splits.setdefault(path.parent.name if stem.isdigit() else stem, []).append(name)
    return splits


def check_shards(names: Sequence[str], split: str) -> None:
    """
    Raises:
        KnownError: only some of the split's numbered files lie here.
    """
    for name in names:
        numbered = _SHARD.search(name)
        if numbered and len(names) < int(numbered["of"]):
            raise KnownError(
                f"Of the {int(numbered['of'])} files of {split} only {len(names)} can be found. "
                "Put the others beside, or open the dataset anew."
            )


def _owned(names: Sequence[str], declared: Sequence[tuple[str, str]]) -> Iterator[tuple[int, str]]:
    """(place of a file, a split) for each of a card's patterns that the file fits."""
    place_of = {name: place for place, name in enumerate(names)}
    texts = [name.encode(errors="replace").decode() for name in names]
    column = pa.array(texts, pa.large_string())
    for split, pattern in declared:
        if pattern in place_of:
            yield place_of[pattern], split
        elif _WILDCARD.search(pattern):
            yield from ((place, split) for place in _fitting(column, pattern))


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

    By its alias a card says anything again and again, and inside itself: what is no text is never
    written out.
    """
    if not card.is_file():
        return []
    try:
        declared = list(islice(_patterns(card), MOST_PATTERNS))
    except Exception:  # a card is a stranger's text: one that cannot be read declares nothing
        return []
    fit = [
        ("/".join(names), pattern)
        for *names, pattern in declared
        if all(_is_short(each) and "/" not in each for each in names)
        and _is_short(pattern)
        and len(_WILDCARD.findall(pattern)) <= MOST_WILDCARDS
    ]
    return fit if any("/" not in split for split, _ in fit) else []


def _patterns(card: Path) -> Iterator[tuple[Any, ...]]:
    """(configuration, split, pattern), without the first configuration's name."""
    import yaml  # type: ignore[import-untyped]

    with card.open(encoding="utf-8-sig") as file:
        front = _FRONT.match(file.read(LONGEST_CARD))
    # The base loader makes texts, lists and objects alone: the usual one copies what is merged
    # ("<<") anew each time, which takes for ever where what is merged was merged itself.
    metadata = yaml.load(front["yaml"], Loader=yaml.BaseLoader) if front else {}  # noqa: S506
    first, *others = islice(metadata["configs"], MOST_PATTERNS)
    yield from _entries(first)
    for other in others:
        with suppress(KeyError, TypeError):  # it is written in another way, or wrongly
            yield from ((other["config_name"], *entry) for entry in _entries(other))


def _entries(config: Any) -> Iterator[tuple[Any, Any]]:
    """(split, pattern); one of no pattern counts, too."""
    for entry in config["data_files"]:
        paths = entry["path"] if isinstance(entry["path"], list) else [entry["path"]]
        yield from ((entry["split"], pattern) for pattern in paths or [None])


def _is_short(value: object) -> bool:
    """Whether it is a text that can be shown.

    >>> _is_short("data/*"), _is_short(["data/*"]), _is_short("*" * 301), _is_short(chr(0xD800))
    (True, False, False, False)
    """
    return isinstance(value, str) and 0 < len(value) <= LONGEST_PATTERN and value.isprintable()

"""Which files of a dataset hold which split."""

import re
from collections.abc import Sequence
from pathlib import Path

from scoring.errors import KnownError
from scoring.rows import SUFFIXES

_SHARD = re.compile(r"-\d{5}-of-(?P<of>\d{5}).*$")


def split_files(names: Sequence[str], card: Path) -> dict[str, list[str]]:
    """Split -> its data files, of all the file names of a dataset.

    The dataset card's `configs` decide where it has them; else the files' own names
    (`test.parquet`, `data/test-00000-of-00001.parquet`, `test/0000.parquet`), as on the Hub.

    >>> split_files(["data/test-00000-of-00002.parquet", "raw/0.jsonl", "x.py"], Path("no card"))
    {'test': ['data/test-00000-of-00002.parquet'], 'raw': ['raw/0.jsonl']}
    """
    declared = _declared_patterns(card)
    splits: dict[str, list[str]] = {}
    for name in sorted(name for name in names if name.lower().endswith(SUFFIXES)):
        if declared:
            owners = {split for split, pattern in declared if _matches(name, pattern)}
        else:
            path = Path(name)
            stem = _SHARD.sub("", path.stem)
            owners = {path.parent.name if stem.isdigit() else stem}
        for split in owners:
            splits.setdefault(split, []).append(name)
    return splits


def check_shards(names: Sequence[str], split: str) -> None:
    """Refuse a split of which only some of the numbered files lie here.

    Raises:
        KnownError: saying how many there are.
    """
    for name in names:
        numbered = _SHARD.search(name)
        if numbered and len(names) < int(numbered["of"]):
            raise KnownError(
                f"Only {len(names)} of the {int(numbered['of'])} files of {split} are here."
            )


def _matches(name: str, pattern: str) -> bool:
    """Whether a file's name fits a card's pattern: `*` stays in its folder, `**` does not.

    >>> _matches("data/raw-0.csv", "data/raw-*"), _matches("old/a.csv", "*.csv")
    (True, False)
    """
    known = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    parts = re.split(r"(\*\*/?|\*|\?|\[[\w-]+\])", pattern)
    expression = "".join(
        part if part.startswith("[") and part.endswith("]") else known.get(part, re.escape(part))
        for part in parts
    )
    return re.fullmatch(expression, name) is not None


def _declared_patterns(card: Path) -> list[tuple[str, str]]:
    """(split, file pattern) of the dataset card's first configuration."""
    from huggingface_hub import metadata_load

    if not card.is_file():
        return []
    try:
        metadata = metadata_load(card) or {}
        entries = (metadata.get("configs") or [{}])[0].get("data_files") or []
        return [
            (str(entry["split"]), str(pattern))
            for entry in entries
            for pattern in (entry["path"] if isinstance(entry["path"], list) else [entry["path"]])
        ]
    except Exception:  # a card is a stranger's text: one that cannot be read declares nothing
        return []

"""The files of a source, from a local folder or from where they are published, as rows of texts."""

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from explorer.core.settings import read_settings
from explorer.data.rebuilding.recipes import Source, SourceFile
from scoring.errors import KnownError, first_line
from scoring.paths import atomic_write

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, slots=True)
class Origin:
    """A file that was read.

    here: as it is called in a local folder of sources.
    rows: one a row of the file, from 0: `prompt`, each column of responses, and `label` where the
        source has one.
    is_changed: whether it is known not to be the file that the recipe was written for.
    """

    here: str
    rows: "pd.DataFrame"
    is_changed: bool


def read_source(
    source: Source, folder: Path | None, notice: Callable[[str], None]
) -> dict[str, Origin]:
    """The files of a source by their names in a local folder.

    Args:
        source: which one.
        folder: a local folder of sources; None fetches from the network.
        notice: told, in a sentence each, of the files that are left out, as they are not there,
            cannot be had or read or lack a column, and of those that are not what the recipe was
            written for. Of files that cannot be fetched the first is told of.
    """
    read: dict[str, Origin] = {}
    prompts: dict[Any, str] = {}
    for file in source.files:
        try:
            found = list(_found(source, file, folder))
        except KnownError as error:
            notice(str(error))
            if folder is None:
                break
            continue
        for here, path in found:
            try:
                frame = _frame(path, here)
                is_changed = _compare(file, here, path, len(frame), notice)
                rows = _texts(source, file, here, frame, prompts)
            except KnownError as error:
                notice(str(error))
                continue
            if file.responses == []:
                prompts.update(zip(rows["key"], rows["prompt"], strict=True))
            else:
                read[here] = Origin(here, rows, is_changed)
    return read


def _found(source: Source, file: SourceFile, folder: Path | None) -> Iterator[tuple[str, Path]]:
    """The files at hand, with their names in a local folder."""
    if folder is not None:
        paths = sorted(folder.glob(file.here))
        if not paths:
            raise KnownError(
                f"{source.name}: {folder} has no {file.here}; it is published at "
                f"{source.url(file)}."
            )
        yield from ((path.relative_to(folder).as_posix(), path) for path in paths)
        return
    parent = Path(file.here).parent
    for path in _fetched(source, file):
        yield (file.here if "*" not in file.here else (parent / path.name).as_posix()), path


def _fetched(source: Source, file: SourceFile) -> list[Path]:
    """A file, or those that a star stands for, in a cache of this machine."""
    try:
        if source.host == "github":
            return [_downloaded(source.download_url(file))]
        from huggingface_hub import snapshot_download

        root = Path(
            snapshot_download(
                source.repo,
                repo_type=source.host,
                revision=source.revision,
                allow_patterns=[file.path],
                token=False,
            )
        )
    except Exception as error:  # each client lets its transport's errors through
        raise KnownError(
            f"{source.name}: {source.url(file)} cannot be fetched ({first_line(error)}); is there "
            f"a network? With --sources a folder that has it as {file.here} does as well."
        ) from error
    if not (paths := sorted(root.glob(file.path))):
        raise KnownError(
            f"{source.name}: {source.repo} has no {file.path} at {source.revision} any more."
        )
    return paths


def _downloaded(url: str) -> Path:
    """A file of the web, which is kept: its address names its revision."""
    import httpx

    path = read_settings(os.environ).home / "sources" / httpx.URL(url).path.lstrip("/")
    if not path.is_file():
        path.parent.mkdir(parents=True, exist_ok=True)
        with (
            atomic_write(path) as part,
            part.open("wb") as file,
            httpx.stream("GET", url, follow_redirects=True, timeout=60) as answer,
        ):
            answer.raise_for_status()
            for piece in answer.iter_bytes():
                file.write(piece)
    return path


def _frame(path: Path, here: str) -> "pd.DataFrame":
    import pandas as pd

    with path.open("rb") as file:
        if file.read(23) == b"version https://git-lfs":
            raise KnownError(
                f"{here} is a pointer of Git LFS, not the file; `git lfs pull` in a clone gets it."
            )
    try:
        if path.suffix == ".parquet" or here.endswith(".parquet"):
            return pd.read_parquet(path)
        if here.endswith(".csv"):
            return pd.read_csv(path, dtype=str, keep_default_na=False, encoding="utf-8")
        return pd.read_json(path, lines=here.endswith(".jsonl"), dtype=False)
    except Exception as error:  # pandas' and Arrow's readers raise many kinds
        raise KnownError(
            f"{here} cannot be read ({first_line(error)}): it may be truncated. Fetch it again."
        ) from error


def _compare(
    file: SourceFile, here: str, path: Path, n: int, notice: Callable[[str], None]
) -> bool:
    """Whether a file is not the one that the recipe was written for, which is told."""
    few = f"it has {n:,} of {file.rows:,} rows" if file.rows not in (None, n) else ""
    if file.sha256 is not None and sha256(path.read_bytes()).hexdigest() != file.sha256:
        notice(
            f"{here} was changed since the recipe was written{': ' if few else ''}{few}; of its "
            "pairs those are made whose texts are RewardBench's."
        )
        return True
    if few:
        notice(f"{here} is not whole: {few}; the pairs of the others are missing.")
    return bool(few)


def _texts(
    source: Source, file: SourceFile, here: str, frame: "pd.DataFrame", prompts: dict[Any, str]
) -> "pd.DataFrame":
    """The columns that the recipe names, as texts."""
    import pandas as pd

    responses = source.responses if file.responses is None else file.responses
    joined = source.key is not None and file.responses != []
    columns = {name: name for name in responses}
    if not joined:
        columns["prompt"] = file.prompt or source.prompt
    if source.key is not None:
        columns["key"] = source.key
    if source.label is not None:
        columns["label"] = source.label
    lacking = [path for path in columns.values() if path.split(".")[0] not in frame.columns]
    if lacking:
        raise KnownError(
            f"{here} has no column {lacking[0].split('.')[0]!r}, which its recipe reads; "
            f"it has {', '.join(map(str, frame.columns))}."
        )
    texts = pd.DataFrame(
        {
            name: [_within(value, path.split(".")[1:]) for value in frame[path.split(".")[0]]]
            for name, path in columns.items()
        },
        dtype=object,
    )
    if joined:
        texts["prompt"] = [prompts.get(key) for key in texts["key"]]
    return texts


def _within(value: Any, path: list[str]) -> str | None:
    r"""A text inside of nested values; of a list of texts, its lines. None where there is none.

    >>> _within([{"turns": ["a", "b"]}], ["0", "turns", "1"]), _within(["a", "b"], [])
    ('b', 'a\nb')
    """
    for step in path:
        try:
            value = value[int(step)] if step.isdigit() else value[step]
        except (KeyError, IndexError, TypeError):
            return None
    if isinstance(value, list):
        return "\n".join(map(str, value))
    return None if value is None else str(value)

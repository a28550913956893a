"""The files of a results source: which there are, and why some are not used.

Files lie directly below `eval-set/` and its like, in a folder of the organisation or deeper; the
name may be empty (`.json`). Upstream's command line leaves its files without such folders:
`<org>/<model>.json` and `<org>/<model>_outputs.jsonl` (rewardbench/rewardbench.py). Others wrote
them, so nothing in them is trusted.
"""

import json
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from scoring.errors import KnownError, first_line
from scoring.limits import MEGABYTE

REFERENCE_FREE = "_ref_free"
"""Upstream's mark behind a DPO model's name, for its score without the reference model."""
LONGEST_MODEL = 10_000
"""Characters of a model's name."""
_COMMAND_ENDINGS = {"eval-set": ".json", "eval-set-scores": "_outputs.jsonl"}
"""Folder -> how upstream's command line ends the names of what others put there."""
BY_COMMAND = "extra_results"
"""The key that only accuracies of upstream's command line have."""


@dataclass(frozen=True, slots=True)
class Omission:
    """A file that is not used. whole: False if only a part of it is not."""

    file: str
    reason: str
    whole: bool = True

    def __str__(self) -> str:
        return f"{self.file}: {self.reason}"


class ResultFile(NamedTuple):
    """A file of a source. name: its path below the root."""

    name: str
    path: Path


def twice(files: Iterable[tuple[str, str, int]]) -> list[Omission]:
    """Omissions of all files of a model but its fullest.

    Of equally full ones the one that lies where its model's name says is taken, else the first.

    files: (model, file, number of values in it) of each.

    >>> [str(item) for item in twice([("a/b", "eval-set/x.json", 23), ("a/b", "y/a/b.json", 23)])]
    ['eval-set/x.json: also of a/b; y/a/b.json is taken, which lies where the name says']
    """
    of_model: dict[str, list[tuple[str, int]]] = {}
    for model, file, size in files:
        of_model.setdefault(model, []).append((file, size))
    others: list[Omission] = []
    for model, found in of_model.items():
        most = max(size for _, size in found)
        full = [file for file, size in found if size == most]
        placed = [file for file in full if file.endswith(f"/{model}.json")]
        taken = (placed or full)[0]
        why = "which lies where the name says" if placed else "the first of them"
        name = model if len(model) <= 80 else f"{model[:80]}…"
        for file, size in found:
            if file != taken:
                reason = "which holds more" if size < most else why
                others.append(Omission(file, f"also of {name}; {taken} is taken, {reason}"))
    return others


def files_below(root: Path, folder: str) -> tuple[list[ResultFile], list[Omission]]:
    """The result files of a source by their paths, and what else lies in their folder.

    JSON files below `root/folder`, then those of the same kind that upstream's command line left in
    `root`, or below it in a folder of an organisation.
    """
    paths: list[Path] = []
    strays: list[Omission] = []

    def name_of(path: Path) -> str:
        return printable(path.relative_to(root).as_posix())

    def on_error(error: OSError) -> None:
        if not isinstance(error, FileNotFoundError):  # a source need not have each folder
            file = name_of(Path(error.filename))
            strays.append(Omission(file, error.strerror or "not readable"))

    for place, folders, names in os.walk(root / folder, onerror=on_error):
        for path in (Path(place, name) for name in (*folders, *names)):
            is_folder = path.name in folders
            if is_folder and path.is_symlink():
                reason = "a link to a folder, which is not followed"
                strays.append(Omission(name_of(path), reason))
            elif path.name.lower().endswith(".json"):
                paths.append(path)  # opening a folder says what it is
            elif not is_folder:
                strays.append(Omission(name_of(path), "no JSON file"))
    paths.sort()
    if ending := _COMMAND_ENDINGS.get(folder):
        for path in sorted([*root.glob(f"*{ending}"), *root.glob(f"*/*{ending}")]):
            if (ending != ".json" or _has_extra_results(path)) and path not in paths:
                paths.append(path)
    return [ResultFile(name_of(path), path) for path in paths], strays


def _has_extra_results(path: Path) -> bool:
    try:
        return BY_COMMAND in read_object(path, MEGABYTE, "accuracies")
    except KnownError:
        return False


def read_object(path: Path, most_bytes: int, what: str) -> dict[str, Any]:
    """The JSON object of a file, or a `KnownError` with the reason alone. what: it should hold."""
    with _file_errors(path, most_bytes, what):
        values = json.loads(path.read_bytes(), object_pairs_hook=_unique_keys)
    if not isinstance(values, dict):
        raise KnownError(f"not {what}")
    return values


def read_lines(path: Path, most_bytes: int, what: str) -> Iterator[dict[str, Any]]:
    """The JSON objects of a file that has one a line; else as `read_object`."""
    with _file_errors(path, most_bytes, what), path.open("rb") as file:
        for number, line in enumerate(file, start=1):
            values = json.loads(line, object_pairs_hook=_unique_keys)
            if not isinstance(values, dict):
                raise KnownError(f"line {number:,} is not {what}")
            yield values


@contextmanager
def _file_errors(path: Path, most_bytes: int, what: str) -> Iterator[None]:
    try:
        size = path.stat().st_size
        if size > most_bytes:
            raise KnownError(
                f"it is {size / MEGABYTE:,.1f} MB large; {what} has at most "
                f"{most_bytes // MEGABYTE:,} MB here"
            )
        if not path.is_file():
            raise KnownError("it is not a file")
        yield
    except KnownError:
        raise
    except OSError as error:
        # Without the path, which is another on every machine.
        raise KnownError(f"it cannot be opened: {error.strerror or first_line(error)}") from error
    except (ValueError, RecursionError) as error:
        raise KnownError(f"it is not complete JSON: {first_line(error)}") from error


def _unique_keys(items: list[tuple[str, Any]]) -> dict[str, Any]:
    values = dict(items)
    if len(values) < len(items):
        key = Counter(key for key, _ in items).most_common(1)[0][0]
        raise ValueError(f"{printable(key)[:80]!r} stands there twice")
    return values


def model_of(values: Mapping[str, Any], name: str) -> tuple[str, str | None]:
    """The model that a file names, else a `KnownError`, and upstream's word for its type, if any.

    name: of the file, which alone tells of DPO scores that there was no reference model.

    >>> model_of({"model": "org/dpo"}, "eval-set-scores/org/dpo_ref_free.json")
    ('org/dpo_ref_free', None)
    """
    model = values.get("model")
    if not isinstance(model, str) or not model.strip():
        raise KnownError("it names no model")
    model = printable(model.strip())
    if len(model) > LONGEST_MODEL:
        raise KnownError(
            f"its model's name has {len(model):,} characters; {LONGEST_MODEL:,} are allowed"
        )
    without_reference = name.endswith(f"{REFERENCE_FREE}.json")
    if without_reference:
        model = model.removesuffix(REFERENCE_FREE) + REFERENCE_FREE
    kind = values.get("model_type")
    return model, printable(kind)[:LONGEST_MODEL] if isinstance(kind, str) else None


def printable(text: str) -> str:
    """The text without lone surrogates, which no file can hold: "?" for each."""
    return text.encode("utf-8", "replace").decode("utf-8")

"""The files of a results source: which there are, what each holds, and which stay unused and why.

Files lie directly below `eval-set/` and its like, in a folder of the organisation or deeper; the
name may be empty (`.json`). Upstream's command line leaves its files without such folders:
`<org>/<model>.json` and `<org>/<model>_outputs.jsonl` (rewardbench/rewardbench.py). What is in them
was written by others, so nothing of it is trusted.
"""

import json
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from scoring.errors import KnownError
from scoring.hub.access import first_line
from scoring.limits import MEGABYTE

REFERENCE_FREE = "_ref_free"
"""Upstream's mark behind a DPO model's name, for its score without the reference model."""
LONGEST_MODEL = 10_000
"""Characters of a model's name."""
_OUTPUTS = "_outputs.jsonl"
_COMMAND_ENDINGS = {"eval-set": ".json", "eval-set-scores": _OUTPUTS}
"""Folder -> how upstream's command line ends the names of what others put there."""
BY_COMMAND = "extra_results"
"""What only the accuracies that upstream's command line writes have."""


@dataclass(frozen=True, slots=True)
class Omission:
    """What of a file is not used. whole: whether nothing of it is."""

    file: str
    reason: str
    whole: bool = True

    def __str__(self) -> str:
        return f"{self.file}: {self.reason}"


@dataclass(frozen=True, slots=True)
class ResultFile:
    """A file of a source: its path below the root, and where it lies."""

    name: str
    path: Path


def twice(files: Iterable[tuple[str, str, int]]) -> list[Omission]:
    """Of several files of one model, all but the one to take.

    That is the fullest; of equally full ones the one that lies where its model's name says, else
    the first. files: (model, file, how much it holds) of each.

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
        for file, size in found:
            if file != taken:
                reason = "which holds more" if size < most else why
                name = model if len(model) <= 80 else f"{model[:80]}…"
                others.append(Omission(file, f"also of {name}; {taken} is taken, {reason}"))
    return others


def files_below(root: Path, folder: str) -> tuple[list[ResultFile], list[Omission]]:
    """The result files of a source, in the order of paths, and what else lies in their folder.

    Those are the JSON files below `root/folder`, then those of the same kind that upstream's
    command line left in `root`, or below it in a folder of an organisation.
    """
    found: list[ResultFile] = []
    strays: list[Omission] = []

    def named(path: Path) -> ResultFile:
        return ResultFile(printable(path.relative_to(root).as_posix()), path)

    def pass_over(path: Path, reason: str) -> None:
        strays.append(Omission(named(path).name, reason))

    def refuse(error: OSError) -> None:
        if not isinstance(error, FileNotFoundError):  # a source need not have each folder
            pass_over(Path(error.filename), error.strerror or "not readable")

    for place, folders, names in os.walk(root / folder, onerror=refuse):
        for path in (Path(place, name) for name in folders):
            if path.is_symlink():
                pass_over(path, "a link to a folder, which is not followed")
            elif path.name.endswith(".json"):
                found.append(named(path))  # opening it says what it is
        for path in (Path(place, name) for name in names):
            if path.name.lower().endswith(".json"):
                found.append(named(path))
            else:
                pass_over(path, "no JSON file")
    found.sort(key=lambda file: file.path)
    ending = _COMMAND_ENDINGS.get(folder)
    patterns = (f"*{ending}", f"*/*{ending}") if ending else ()
    for path in sorted(path for pattern in patterns for path in root.glob(pattern)):
        if _is_by_command(path) and named(path) not in found:
            found.append(named(path))
    return found, strays


def _is_by_command(path: Path) -> bool:
    if path.name.endswith(_OUTPUTS):
        return True
    try:
        return BY_COMMAND in read_object(path, MEGABYTE, "accuracies")
    except KnownError:
        return False


def read_object(path: Path, most_bytes: int, what: str) -> dict[str, Any]:
    """The JSON object of a file. what: it should hold, in words.

    Raises:
        KnownError: the reason why there is none.
    """
    with _file_errors(path, most_bytes, what):
        values = json.loads(path.read_bytes(), object_pairs_hook=_once)
    if not isinstance(values, dict):
        raise KnownError(f"not {what}")
    return values


def read_lines(path: Path, most_bytes: int, what: str) -> Iterator[dict[str, Any]]:
    """The JSON objects of a file that has one a line; else as `read_object`."""
    with _file_errors(path, most_bytes, what), path.open("rb") as file:
        for number, line in enumerate(file, start=1):
            values = json.loads(line, object_pairs_hook=_once)
            if not isinstance(values, dict):
                raise KnownError(f"line {number:,} is not {what}")
            yield values


@contextmanager
def _file_errors(path: Path, most_bytes: int, what: str) -> Iterator[None]:
    """Turn what reading raises into a reason; refuse what is too large before it is read."""
    try:
        if path.stat().st_size > most_bytes:
            raise KnownError(
                f"it is {path.stat().st_size / MEGABYTE:,.1f} MB large; {what} has at most "
                f"{most_bytes // MEGABYTE:,} MB here"
            )
        if not path.is_file():
            raise KnownError("it is no file")
        yield
    except KnownError:
        raise
    except OSError as error:
        # Without the path, which is another on every machine.
        raise KnownError(f"it cannot be opened: {error.strerror or first_line(error)}") from error
    except (ValueError, RecursionError) as error:
        raise KnownError(f"it is no whole JSON: {first_line(error)}") from error


def model_of(values: Mapping[str, Any], name: str) -> str:
    """The model that a file is of; one scored without its reference model is another.

    name: of the file; upstream's DPO scores say nowhere else that there was no reference.

    Raises:
        KnownError: it names none.

    >>> model_of({"model": "org/dpo"}, "eval-set-scores/org/dpo_ref_free.json")
    'org/dpo_ref_free'
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
    return f"{model.removesuffix(REFERENCE_FREE)}{REFERENCE_FREE}" if without_reference else model


def printable(text: str) -> str:
    """The text without lone surrogates, which no file can hold.

    >>> printable("a" + chr(0xD800))
    'a?'
    """
    return text.encode("utf-8", "replace").decode("utf-8")


def word_of(value: object) -> str | None:
    """A text of a file; None where it is something else."""
    return printable(value)[:LONGEST_MODEL] if isinstance(value, str) else None


def _once(items: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object of which no key stands there twice: the second would replace the first unseen."""
    values = dict(items)
    if len(values) < len(items):
        key = Counter(key for key, _ in items).most_common(1)[0][0]
        raise ValueError(f"{printable(key)[:80]!r} stands there twice")
    return values

"""Accuracies of models in upstream's layout, `eval-set/<org>/<model>.json`.

`pref-sets/` has those on the prior sets, and RewardBench 2's dataset has the same folders.
Upstream's command line writes `<org>/<model>.json`, where they stand below `extra_results`.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

from scoring.benchmark import SUBSETS, V2_COUNTS
from scoring.benchmarks import bundled_benchmarks
from scoring.errors import KnownError
from scoring.limits import MEGABYTE
from scoring.results.files import (
    BY_COMMAND,
    LONGEST_MODEL,
    Omission,
    ResultFile,
    files_below,
    model_of,
    printable,
    read_object,
    twice,
)
from scoring.rules import plain_subset

SetKind = Literal["eval-set", "pref-sets"]
SET_KINDS: tuple[SetKind, ...] = get_args(SetKind)
Benchmark = str
"""The `key` of one."""
_PRIOR = bundled_benchmarks()["prior-sets"]
PRIOR_SETS = (*_PRIOR.subsets, *_PRIOR.beside)
"""The first four make up the prior score."""
MOST_SCORES_BYTES = 5 * MEGABYTE
"""Most bytes of a file of accuracies; upstream's have about 1 kB."""
_MOST_EXTRA = 200


@dataclass(frozen=True, slots=True)
class Aggregate:
    """One model's accuracy on each subset, of one file.

    model_type: upstream's word for it ("Seq. Classifier", "DPO", ...), None if unknown.
    accuracies: subset of the benchmark -> 0 to 1; RewardBench 2's Ties, a composite, -0.01 to 1.01.
    file: its path below the source's root.
    extra: other names of numbers (legacy ones, and a person's own subsets), the first of many.
    """

    model: str
    model_type: str | None
    accuracies: dict[str, float]
    benchmark: Benchmark = "v1"
    file: str = ""
    extra: tuple[str, ...] = ()


def read_aggregates(
    root: Path, kind: SetKind = "eval-set"
) -> tuple[list[Aggregate], list[Omission]]:
    """As `collect_aggregates`, of all files below `root/eval-set` or `root/pref-sets`."""
    files, strays = files_below(root, kind)
    results, left_out = collect_aggregates(files, kind)
    return results, sorted(strays + left_out, key=lambda item: item.file)


def collect_aggregates(
    files: Iterable[ResultFile], kind: SetKind = "eval-set"
) -> tuple[list[Aggregate], list[Omission]]:
    """Accuracies of files, in order, one of each model and benchmark, and what was left out."""
    read: list[Aggregate] = []
    left_out: list[Omission] = []
    for file in files:
        try:
            result = _read_aggregate(file.path, file.name, kind)
        except KnownError as error:
            left_out.append(Omission(printable(file.name), str(error)))
            continue
        read.append(result)
        if result.extra:
            names = [name if len(name) <= 40 else f"{name[:40]}…" for name in result.extra]
            more = f" and {len(names) - 5:,} more" if len(names) > 5 else ""
            reason = f"no subsets of the benchmark: {', '.join(names[:5])}{more}"
            left_out.append(Omission(result.file, reason, whole=False))
    for benchmark in sorted({result.benchmark for result in read}):
        of_it = [result for result in read if result.benchmark == benchmark]
        left_out += twice((item.model, item.file, len(item.accuracies)) for item in of_it)
    gone = {item.file for item in left_out if item.whole}
    return [result for result in read if result.file not in gone], left_out


def _read_aggregate(path: Path, name: str, kind: SetKind) -> Aggregate:
    values = read_object(path, MOST_SCORES_BYTES, "an object of accuracies")
    if isinstance(values.get("results"), list):
        raise KnownError("it holds per-pair results; those belong below eval-set-scores/")
    model, model_type = model_of(values, name)
    if BY_COMMAND in values:
        if not isinstance(values[BY_COMMAND], dict):
            raise KnownError(
                "upstream's command line wrote it of pairs that are not RewardBench's: it has "
                "their accuracy alone and does not say which they are"
            )
        model_type = "DPO" if values.get("ref_model") else None
        values = values[BY_COMMAND]
    benchmark, key_of = _known_keys(values, kind)
    numbers = {subset: _accuracy(values[key], subset) for subset, key in key_of.items()}
    accuracies = {subset: number for subset, number in numbers.items() if number is not None}
    if not accuracies:
        wanted = "RewardBench's subsets" if kind == "eval-set" else "the prior sets"
        raise KnownError(f"it has none of {wanted}")
    used = set(key_of.values())
    extra = dict.fromkeys(
        printable(key)[:LONGEST_MODEL]
        for key, value in values.items()
        if key not in used and type(value) in (int, float) and value == value  # noqa: PLR0124
    )
    known_extra = tuple(extra)[:_MOST_EXTRA]
    return Aggregate(model, model_type, accuracies, benchmark, printable(name), known_extra)


def _known_keys(values: Mapping[str, Any], kind: SetKind) -> tuple[Benchmark, dict[str, str]]:
    """The benchmark that most keys are of, and its subsets in order -> keys of the file."""
    if kind == "pref-sets":
        return "prior", {name: name for name in PRIOR_SETS if name in values}
    first = {name: name for name in SUBSETS if name in values}
    # Of several spellings RewardBench 2's own, the last, is taken.
    spelled = {plain_subset(key): key for key in sorted(values, key=V2_COUNTS.__contains__)}
    known = {name: spelled.get(plain_subset(name)) for name in V2_COUNTS}
    second = {name: key for name, key in known.items() if key is not None}
    return ("v2", second) if len(second) > len(first) else ("v1", first)


def _accuracy(value: object, subset: str) -> float | None:
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return None  # upstream's marks for what was not measured
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise KnownError(f"{subset} is no number")
    # A hundredth of the composite of Ties is a margin of either sign.
    low, high = (-0.01, 1.01) if subset == "Ties" else (0, 1)
    if not low <= value <= high:
        raise KnownError(f"{subset} is {str(value)[:20]}, not between {low} and {high}")
    return float(value)


def set_kind_of(names: Iterable[str]) -> SetKind:
    """The folder of accuracies of these subsets.

    >>> set_kind_of(["shp", "mine"]), set_kind_of(["hep-go", "shp"]), set_kind_of(["mine"])
    ('pref-sets', 'eval-set', 'eval-set')
    """
    found = set(names)
    return "pref-sets" if found & set(PRIOR_SETS) and not found & set(SUBSETS) else "eval-set"

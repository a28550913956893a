"""Result files in upstream's layout: `eval-set/<org>/<model>.json` holds a model's accuracies.

`pref-sets/` holds those on the prior sets, and RewardBench 2's dataset has the same folders.
Upstream's command line writes `<org>/<model>.json`, where they stand below `extra_results`.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

from scoring.benchmark import SUBSETS, V2_COUNTS
from scoring.benchmarks import benchmarks
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
    word_of,
)
from scoring.rules import plain_subset

SetKind = Literal["eval-set", "pref-sets"]
SET_KINDS: tuple[SetKind, ...] = get_args(SetKind)
_WANTED: dict[SetKind, str] = {"eval-set": "RewardBench's subsets", "pref-sets": "the prior sets"}
Benchmark = str
"""The `key` of one."""

V2_SUBSETS = tuple(V2_COUNTS)
PRIOR_SETS = (
    "anthropic_helpful",
    "anthropic_hhh",
    "shp",
    "summarize",
    "anthropic_harmless",
    "mtbench_human",
    "mtbench_gpt4",
    "pku_better",
    "pku_safer",
)
"""The first four make up the prior score."""
MOST_SCORES_BYTES = 5 * MEGABYTE
"""Of an aggregate file; upstream's have about 1 kB."""
_MOST_EXTRA = 200
_ENDS = {"Ties": (-0.01, 1.01)}
"""Where a score is not between 0 and 1: a hundredth of a composite is a margin of either sign."""


@dataclass(frozen=True, slots=True)
class Aggregate:
    """The accuracies of one file: one model's on each subset.

    model_type: upstream's word for it ("Seq. Classifier", "DPO", ...), None where unknown.
    accuracies: subset -> 0 to 1, for the subsets of the benchmark that the file has; RewardBench
        2's Ties, a composite, -0.01 to 1.01.
    benchmark: whose subsets they are, by their names.
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
    """Of every file below `root/eval-set` or `root/pref-sets`, and what was left out and why.

    One of each model and benchmark, in the order of `files_below`.
    """
    files, strays = files_below(root, kind)
    results, left_out = collect_aggregates(files, kind)
    return results, sorted(strays + left_out, key=lambda item: item.file)


def collect_aggregates(
    files: Iterable[ResultFile], kind: SetKind = "eval-set"
) -> tuple[list[Aggregate], list[Omission]]:
    """Of these files; of several of one model one is taken, and the others are left out."""
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
            left_out.append(Omission(result.file, _extra_message(result), whole=False))
    for benchmark in (each.key for each in benchmarks().values()):
        of_it = [result for result in read if result.benchmark == benchmark]
        left_out += twice((item.model, item.file, len(item.accuracies)) for item in of_it)
    gone = {item.file for item in left_out if item.whole}
    return [result for result in read if result.file not in gone], left_out


def _read_aggregate(path: Path, name: str, kind: SetKind) -> Aggregate:
    """name: in the source, such as "eval-set/org/model.json". A KnownError is the reason alone."""
    values = read_object(path, MOST_SCORES_BYTES, "an object of accuracies")
    if isinstance(values.get("results"), list):
        raise KnownError("it holds per-pair results; those belong below eval-set-scores/")
    model = model_of(values, name)
    if BY_COMMAND in values:
        if not isinstance(values[BY_COMMAND], dict):
            raise KnownError(
                "upstream's command line wrote it of pairs that are not RewardBench's: it has "
                "their accuracy alone and does not say which they are"
            )
        model_type = "DPO" if values.get("ref_model") else None
        values = {**values[BY_COMMAND], "model_type": model_type}
    benchmark, known = _known_names(values, kind)
    numbers = {subset: _accuracy(values[key], subset) for subset, key in known.items()}
    accuracies = {subset: number for subset, number in numbers.items() if number is not None}
    if not accuracies:
        raise KnownError(f"it has none of {_WANTED[kind]}")
    return Aggregate(
        model=model,
        model_type=word_of(values.get("model_type")),
        accuracies=accuracies,
        benchmark=benchmark,
        file=printable(name),
        extra=_extra(values, set(known.values())),
    )


def set_kind_of(names: Iterable[str]) -> SetKind:
    """Below which folder accuracies of these subsets lie.

    >>> set_kind_of(["shp", "mine"]), set_kind_of(["hep-go", "shp"]), set_kind_of(["mine"])
    ('pref-sets', 'eval-set', 'eval-set')
    """
    found = set(names)
    return "pref-sets" if found & set(PRIOR_SETS) and not found & set(SUBSETS) else "eval-set"


_V2_OF = {plain_subset(subset): subset for subset in V2_SUBSETS}


def v2_names(names: Iterable[str]) -> dict[str, str]:
    """RewardBench 2's subsets among these, in its order, and how they are spelled here.

    Of several spellings RewardBench 2's own is taken.

    >>> v2_names(["focus", "precise_if"])
    {'Precise IF': 'precise_if', 'Focus': 'focus'}
    """
    exact_last = sorted(names, key=V2_COUNTS.__contains__)
    spelled = {plain_subset(name): name for name in exact_last}
    return {name: spelled[plain] for plain, name in _V2_OF.items() if plain in spelled}


def _known_names(values: Mapping[str, Any], kind: SetKind) -> tuple[Benchmark, dict[str, str]]:
    """The one benchmark that most keys are of; its subsets in its order -> key of the file."""
    if kind == "pref-sets":
        return "prior", {name: name for name in PRIOR_SETS if name in values}
    first = {name: name for name in SUBSETS if name in values}
    second = v2_names(values)
    return ("v2", second) if len(second) > len(first) else ("v1", first)


def _accuracy(value: object, subset: str) -> float | None:
    """A number in its range; None for null and NaN, upstream's marks for what was not measured."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return None
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise KnownError(f"{subset} is no number")
    low, high = _ENDS.get(subset, (0, 1))
    if not low <= value <= high:
        raise KnownError(f"{subset} is {str(value)[:20]}, not between {low} and {high}")
    return float(value)


def _extra(values: Mapping[str, Any], known: set[str]) -> tuple[str, ...]:
    names = [
        printable(key)[:LONGEST_MODEL]
        for key, value in values.items()
        if key not in known and type(value) in (int, float) and value == value  # noqa: PLR0124
    ]
    return tuple(dict.fromkeys(names))[:_MOST_EXTRA]


def _extra_message(result: Aggregate) -> str:
    names = [name if len(name) <= 40 else f"{name[:40]}…" for name in result.extra]
    more = f" and {len(names) - 5:,} more" if len(names) > 5 else ""
    return f"no subsets of the benchmark: {', '.join(names[:5])}{more}"

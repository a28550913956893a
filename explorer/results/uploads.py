"""Result files of a visitor: accuracies, results of each pair, or both; and a board beside them."""

import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory

from explorer.core.errors import disk_cannot_hold
from explorer.core.work import repeated
from explorer.core.workers import Limit, run_in_new_worker
from explorer.data.library import APART_BYTES, READ_BYTES
from explorer.results.outcome_files import read_outcomes, write_outcomes
from explorer.stats.matrix import Outcomes
from scoring.benchmarks import benchmarks
from scoring.errors import KnownError
from scoring.limits import NO_LIMITS, Limits, OnProgress, Step, ignore_progress
from scoring.results.accuracies import (
    SET_KINDS,
    Aggregate,
    SetKind,
    collect_aggregates,
    set_kind_of,
)
from scoring.results.files import Omission, ResultFile, printable, read_object
from scoring.results.pairs import MOST_OUTCOMES_BYTES, PairResults, read_pair_results

MOST_FILES = 200
"""Of one visitor, all uploads together; likewise the next."""
MOST_OUTCOMES = 1_000_000
_FEW_REASONS = 3
_READ_SECONDS, _READ_BYTES_A_SECOND = 60.0, 2_000_000
_BYTES_A_BYTE = 16
"""Of memory, that a byte of JSON takes."""


@dataclass(frozen=True, eq=False)
class Uploaded:
    """What was read of a visitor's files; their models bear names that no other has.

    left_out: files that are not used, and what of the others is not.
    token: of this upload alone, even where another holds the same; nobody can guess it.

    Raises:
        KnownError: more than one visitor may have here.
    """

    aggregates: tuple[Aggregate, ...] = ()
    outcomes: Outcomes = field(default_factory=Outcomes)
    left_out: tuple[Omission, ...] = ()
    token: str = field(default_factory=lambda: secrets.token_hex(16))

    @cached_property
    def models(self) -> tuple[str, ...]:
        """Their names, as they stand on a board."""
        of_pairs = (result.model for result in self.outcomes.results)
        return tuple(dict.fromkeys([*(each.model for each in self.aggregates), *of_pairs]))

    @cached_property
    def openable(self) -> Outcomes:
        """The results of each pair, of a model with results on both benchmarks the first's alone:
        its name is that of one list of pairs.
        """
        found, models = Outcomes(), set[str]()
        for benchmark in benchmarks().values():
            of = self.outcomes.of_benchmark(benchmark.key)
            found += of.of_models({*of.models}.difference(models))
            models |= {*of.models}
        return found

    def __post_init__(self) -> None:
        n_files = len(self.aggregates) + len(self.outcomes.files)
        n_outcomes = sum(len(result.order) for result in self.outcomes.results)
        limits = (n_files, MOST_FILES, "files"), (n_outcomes, MOST_OUTCOMES, "outcomes of pairs")
        for n, most, what in limits:
            if n > most:
                raise KnownError(
                    f"{most:,} {what} of yours can stand beside the results, not {n:,}. Take away "
                    "those you have here, or send fewer."
                )

    def __add__(self, later: "Uploaded") -> "Uploaded":
        """Both; a model of the later replaces the same model of the earlier, file by file."""
        again = {(each.model, each.benchmark) for each in later.aggregates}
        kept = (each for each in self.aggregates if (each.model, each.benchmark) not in again)
        models = {_whose(result) for result in later.outcomes.results}
        pairs = zip(self.outcomes.files, self.outcomes.results, strict=True)
        earlier = [(file, result) for file, result in pairs if _whose(result) not in models]
        outcomes = Outcomes(
            files=(*(file for file, _ in earlier), *later.outcomes.files),
            results=(*(result for _, result in earlier), *later.outcomes.results),
        )
        left_out = tuple(dict.fromkeys([*self.left_out, *later.left_out]))[-MOST_FILES:]
        return Uploaded((*kept, *later.aggregates), outcomes, left_out)


def _whose(result: PairResults) -> tuple[str, str]:
    """A model may have results on each benchmark."""
    return result.model, result.order.benchmark


def read_result_files(
    files: Mapping[str, Path], tell: OnProgress = ignore_progress, limits: Limits = NO_LIMITS
) -> Uploaded:
    """Read files by what they hold, whatever they are called; all are read at once.

    files: by the names that the visitor gave them. tell: is told each file. limits: of the rows of
    each; a file with more is left out.

    Raises:
        KnownError: none of them is a result, or they are too many.
    """
    if len(files) > MOST_FILES:
        raise KnownError(f"{MOST_FILES} files can be read at once, not {len(files):,}.")
    by_kind: dict[SetKind, list[ResultFile]] = {kind: [] for kind in SET_KINDS}
    of_pairs: list[tuple[str, PairResults]] = []
    left_out: list[Omission] = []
    named = sorted((printable(name), path) for name, path in files.items())
    for done, (name, path) in enumerate(named):
        tell(Step("reading", done, len(files)))
        try:
            kind = None if name.lower().endswith(".jsonl") else _kind_of(path)
            if kind is None:
                result = read_pair_results(path, name)
                limits.check_rows(len(result.order), "it", known=True)
                of_pairs.append((name, result))
            else:
                by_kind[kind].append(ResultFile(name, path))
        except KnownError as error:
            left_out.append(Omission(name, str(error)))
    found: list[Aggregate] = []
    for kind, each in by_kind.items():
        read, unused = collect_aggregates(each, kind)
        found += read
        left_out += unused
    if not found and not of_pairs:
        reasons = "; ".join(str(each) for each in left_out[:_FEW_REASONS])
        raise KnownError(f"None of these files holds results. Left out: {reasons}.")
    # Upstream's command line names the model in its file of accuracies alone.
    whole = {each.model.rpartition("/")[2]: each.model for each in found}
    results = [
        replace(result, model=_named(whole.get(result.model, result.model)))
        for _, result in of_pairs
    ]
    return Uploaded(
        tuple(replace(each, model=_named(each.model)) for each in found),
        Outcomes(tuple(name for name, _ in of_pairs), tuple(results)),
        tuple(left_out),
    )


def read_in_worker(
    files: Mapping[str, Path], tell: OnProgress = ignore_progress, limits: Limits = NO_LIMITS
) -> Uploaded:
    """The same; large files are read by a worker, which may be ended at any moment.

    Raises:
        KnownError: as there, or a limit of time or memory is met.
    """
    size = sum(path.stat().st_size for path in files.values())
    if size < APART_BYTES:
        return read_result_files(files, tell, limits)
    limit = Limit(
        "Reading the results",
        _READ_SECONDS + size / _READ_BYTES_A_SECOND,
        READ_BYTES + _BYTES_A_BYTE * size,
        in_addresses=True,
        way_out="results",
    )
    try:
        with TemporaryDirectory(prefix="explorer-results-") as folder:
            to = Path(folder) / "outcomes.parquet"
            given = (to, dict(files), limits)
            told = repeated(tell, Step("reading"))
            found, left_out = run_in_new_worker(write_result_files, *given, limit=limit, tell=told)
            return Uploaded(found, read_outcomes(to), left_out)
    except OSError as error:
        raise disk_cannot_hold(error) from error


def write_result_files(
    tell: OnProgress, to: Path, files: Mapping[str, Path], limits: Limits
) -> tuple[tuple[Aggregate, ...], tuple[Omission, ...]]:
    """A worker's part: the outcomes are written, and accuracies and what is left out returned.

    Raises:
        KnownError: as of `read_result_files`.
    """
    found = read_result_files(files, tell, limits)
    write_outcomes(to, found.outcomes)
    return found.aggregates, found.left_out


def _kind_of(path: Path) -> SetKind | None:
    """Which accuracies a file holds; None for results of each pair.

    Raises:
        KnownError: it is no JSON object.
    """
    values = read_object(path, MOST_OUTCOMES_BYTES, "an object of results")
    if isinstance(values.get("results"), list):
        return None
    return set_kind_of(name for name, value in values.items() if value is not None)


def _named(model: str) -> str:
    return f"{model} (uploaded)"


def model_of_uploaded(name: str) -> str:
    """What a model of `Uploaded` is called in its file."""
    return name.removesuffix(" (uploaded)")

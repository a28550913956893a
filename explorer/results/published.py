"""Results of any source: each model's accuracies, where its pairs are, what was left out."""

import csv
import hashlib
import re
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Literal

from explorer.core.settings import SECOND_SNAPSHOT, SNAPSHOT
from explorer.results.outcome_files import read_source
from explorer.results.sources import FolderSource, HubSource, OutputsSource, Source
from explorer.results.uploads import Uploaded
from explorer.stats.matrix import Outcomes
from explorer.stats.rules import PRIOR_KEY, V1, V2, V2_PAIRS
from scoring.benchmark import SUBSETS
from scoring.benchmarks import benchmark_named, benchmarks
from scoring.errors import KnownError, counted
from scoring.hub.access import Hub, HubId, Listing
from scoring.limits import MEGABYTE, OnProgress, ignore_progress
from scoring.paths import is_folder
from scoring.results.accuracies import (
    MOST_SCORES_BYTES,
    PRIOR_SETS,
    SET_KINDS,
    Aggregate,
    Benchmark,
    SetKind,
    collect_aggregates,
    read_aggregates,
)
from scoring.results.files import REFERENCE_FREE, Omission, ResultFile, printable

_NOT_ON_THE_HUB = ("openai/", "anthropic/", "google/", "cohere/", "poll/", "ai2/", "my_model/")
UPLOADED = "+files-"
"""What stands before the token in an id of results with a visitor's files."""

_MODEL_ID = re.compile(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*", re.ASCII)
_PAPER = "RewardBench paper, arXiv:2403.13787v2"
_PAPER_DATE = "2024-06-08"
_SECOND = "RewardBench 2 leaderboard, current-rbv2-data.csv of the Space allenai/reward-bench"
_FEW_REASONS = 3
_OF_UPSTREAM = (V1.name, V2.name, PRIOR_KEY)


@dataclass(frozen=True, slots=True)
class ResultsSource:
    """Where results came from.

    revision: the Hub commit, the publication's version, or the sha256 of bundled figures whose
        publication tells none; "" for a folder.
    date: ISO date of publication, or when files of the Hub were read; "" for a folder, whose files
        have the date of a copy as likely as that of the results.
    """

    kind: Literal["hub", "folder", "snapshot"]
    name: str
    revision: str
    date: str

    def __str__(self) -> str:
        return f"{self.name}@{self.revision[:12]}" if self.revision else self.name


@dataclass(frozen=True)
class Results:
    """What a source has of each model. One of `explorer.data.sources.Sources`.

    aggregates: of all benchmarks; one of a model and benchmark.
    left_out: files that are not used, and what of the others is not.
    pairs: where results of each pair are; None where the source has none.
    outcomes: what was read there; None until it was.
    second: where RewardBench 2's are, should they come from elsewhere.
    second_pairs, second_outcomes: as `pairs` and `outcomes`, of `second`.
    outputs: files of the owner's beside `pairs`; what was read there is among `outcomes`.
    uploaded: a visitor's files, which are among the others.
    """

    source: ResultsSource
    aggregates: tuple[Aggregate, ...]
    left_out: tuple[Omission, ...] = ()
    pairs: Source | None = None
    outcomes: Outcomes | None = None
    second: ResultsSource | None = None
    second_pairs: Source | None = None
    second_outcomes: Outcomes | None = None
    outputs: OutputsSource | None = None
    uploaded: Uploaded | None = None

    @cached_property
    def id(self) -> str:
        """Source and revision, and for what has no revision, a digest of the numbers.

        With a visitor's files, their token ends it: two visitors never have the same id.
        """
        sources = "+".join(str(each) for each in (self.source, self.second) if each is not None)
        files = f"{UPLOADED}{self.uploaded.token}" if self.uploaded is not None else ""
        return f"{sources}#{self.source.date}-{self.digest}{files}"

    @cached_property
    def digest(self) -> str:
        """Changes when a number, a name, a kind or what is left out does."""
        numbers = [
            (
                *(each.model, each.model_type, each.benchmark, each.file),
                sorted(each.accuracies.items()),
            )
            for each in self.aggregates
        ]
        written = repr((numbers, self.remarks))
        return hashlib.blake2b(written.encode("utf-8", "replace"), digest_size=6).hexdigest()

    @property
    def caption(self) -> str:
        """As `caption_of`, of RewardBench."""
        return self.caption_of(V1.name)

    def caption_of(self, benchmark: Benchmark) -> str:
        """Which figures, of how many models, from where and of when."""
        mine, source = self.own_models, self.source_of(benchmark)
        if benchmark not in _OF_UPSTREAM:
            models = {*self.outcomes_of(benchmark).of_benchmark(benchmark).models}
        else:
            models = {*(self.models if source is self.source else self.of(benchmark))}
        n, name = counted(len(models.difference(mine)), "model", "models"), source.name
        revision, date = source.revision[:12], source.date
        words = {
            "snapshot": f"Bundled figures: {name}, {n}" + (f", published {date}." if date else "."),
            "hub": f"{name}: {n} from the Hugging Face Hub, revision {revision}, read {date}.",
            "folder": f"Folder {name}: {n}." if models else f"No published results of {name}.",
        }
        own = f" With {counted(len(mine), 'model', 'models')} from files you uploaded."
        return words[source.kind] + (own if mine else "")

    def short_name_of(self, benchmark: Benchmark) -> str:
        """From where the figures are, in two words."""
        source = self.source_of(benchmark)
        words = {"snapshot": "Bundled figures", "hub": source.name, "folder": source.name}
        return words[source.kind] + (" + your files" if self.own_models else "")

    @property
    def remarks(self) -> tuple[str, ...]:
        """One sentence for each file that was left out, or of which something was."""
        return tuple(str(each) for each in self.left_out)

    @cached_property
    def models(self) -> frozenset[str]:
        """Every model that has accuracies of any benchmark, bundled ones beside a source apart."""
        return frozenset(each.model for each in self._of_source)

    @cached_property
    def _of_source(self) -> tuple[Aggregate, ...]:
        """All but the bundled figures of `with_second`."""
        return tuple(each for each in self.aggregates if each.file != SECOND_SNAPSHOT.name)

    @property
    def own_models(self) -> tuple[str, ...]:
        """Those of a visitor's files."""
        return () if self.uploaded is None else self.uploaded.models

    def of(self, benchmark: Benchmark) -> dict[str, Aggregate]:
        """Model -> accuracies on one benchmark."""
        return {each.model: each for each in self.aggregates if each.benchmark == benchmark}

    def source_of(self, benchmark: Benchmark) -> ResultsSource:
        """Where a benchmark's accuracies are from."""
        if benchmark == V2.name and self.second is not None:
            return self.second
        if benchmark in _OF_UPSTREAM:
            return self.source
        if not self.outcomes_of(benchmark).of_benchmark(benchmark).files:
            return ResultsSource("folder", benchmark_named(benchmark).title, "", "")
        return (
            self.source
            if self.outputs is None
            else ResultsSource("folder", self.outputs.name, "", "")
        )

    def outcomes_of(self, benchmark: Benchmark) -> Outcomes:
        """What was read of each pair where a benchmark's results are; of other pairs, too."""
        is_second = benchmark == V2.name and self.second is not None
        return (self.second_outcomes if is_second else self.outcomes) or Outcomes()

    @property
    def is_read(self) -> bool:
        """Whether the results of each pair were read, where there are any."""
        first = self.pairs or self.outputs, self.outcomes
        second = self.second_pairs, self.second_outcomes
        return all(where is None or read is not None for where, read in (first, second))

    def benchmarks(self) -> tuple[Benchmark, ...]:
        """Those that it has accuracies of, bundled ones beside a source apart."""
        found = {each.benchmark for each in self._of_source}
        return tuple(each.key for each in benchmarks().values() if each.key in found)


def model_url(name: str) -> str | None:
    """The model's page on the Hub, or None where there can be none."""
    if not _MODEL_ID.fullmatch(name) or name.endswith(".."):
        return None
    if name.lower().startswith(_NOT_ON_THE_HUB):
        return None
    return f"https://huggingface.co/{name.removesuffix(REFERENCE_FREE)}"


def read_snapshot() -> Results:
    """The bundled published figures: subsets of RewardBench, and prior sets where they are.

    Where the paper has prior sets of a model but prints no mean of them, its average is without
    them; so is the model here.
    """
    found = []
    kinds = (V1.name, SUBSETS), (PRIOR_KEY, PRIOR_SETS)
    left_out = []
    for row in _bundled(SNAPSHOT):
        for benchmark, names in kinds:
            accuracies = {name: float(row[name]) / 100 for name in names if row.get(name)}
            if benchmark == PRIOR_KEY and accuracies and not row["printed_prior_sets"]:
                why = "the paper prints no mean of them, and its average lacks them"
                said = f"prior sets of {row['model']}: {why}"
                left_out.append(Omission(SNAPSHOT.name, said, whole=False))
            elif accuracies:
                kind = row["model_type"] or None
                found.append(Aggregate(row["model"], kind, accuracies, benchmark, SNAPSHOT.name))
    source = ResultsSource("snapshot", _PAPER, "", _PAPER_DATE)
    return Results(source, tuple(found), tuple(left_out))


def with_second(results: Results) -> Results:
    """The same with the bundled figures of RewardBench 2 where there are no others of it."""
    if results.of(V2.name):
        return results
    found = tuple(
        Aggregate(
            row["model"],
            row["model_type"],
            {name: float(row[name]) for name in V2_PAIRS},
            V2.name,
            SECOND_SNAPSHOT.name,
        )
        for row in _bundled(SECOND_SNAPSHOT)
    )
    revision = hashlib.sha256(SECOND_SNAPSHOT.read_bytes()).hexdigest()
    second = ResultsSource("snapshot", _SECOND, revision, "")
    aggregates = (*results.aggregates, *found)
    return replace(results, aggregates=aggregates, second=second, second_pairs=results.pairs)


def with_outcomes(results: Results, home: Path, tell: OnProgress = ignore_progress) -> Results:
    """The same with the results of each pair, read as by `read_source` where they are not."""
    read = [each for each in (results.outcomes, results.second_outcomes) if each is not None]
    if results.is_read and not any(each.refused for each in read):
        return results
    first, second, outputs = results.pairs, results.second_pairs, results.outputs
    outcomes = None if first is None else read_source(first, home, tell)
    others = outcomes if second is first else None
    if second is not None and second is not first:
        others = read_source(second, home, tell)
    if outputs is not None:
        found = _by_benchmark(read_source(outputs, home, tell))
        before = outcomes or Outcomes()
        outcomes = replace(before + found, version=f"{before.version} {found.version}")
    return replace(results, outcomes=outcomes, second_outcomes=others)


def with_outputs(results: Results, folder: Path | None) -> Results:
    """The same with the result files of a folder; None for none."""
    return results if folder is None else replace(results, outputs=OutputsSource(folder))


def _by_benchmark(found: Outcomes) -> Outcomes:
    """The same with the benchmark in a model's name, which may be published on RewardBench, too."""
    titles = {each.key: each.title for each in benchmarks().values() if each != V1.benchmark}
    named = (
        replace(each, model=f"{each.model} ({titles[key]})") if key in titles else each
        for each in found.results
        for key in [each.order.benchmark]
    )
    return replace(found, results=tuple(named))


def _bundled(path: Path) -> Iterator[dict[str, str]]:
    """The rows of a table of bundled figures, without its remarks."""
    lines = path.read_text(encoding="utf-8").splitlines()
    return csv.DictReader(line for line in lines if not line.startswith("#"))


def read_results_folder(folder: Path, dataset: str | None = None) -> Results:
    """A folder in upstream's layout. dataset: as of `FolderSource`.

    Raises:
        KnownError: it is no folder, or has no readable result.
    """
    if not is_folder(folder):
        raise KnownError(f"There is no folder {folder}. Give one that holds results.")
    found, left_out = _collected(read_aggregates(folder, kind) for kind in SET_KINDS)
    pairs = FolderSource(folder, dataset)
    if not found and not pairs.entries[0]:
        raise _nothing(f"{folder} has no results below eval-set/", left_out)
    source = ResultsSource("folder", folder.resolve().name, "", "")
    return Results(source, found, left_out, pairs)


def fetch_results(
    hub_id: HubId, hub: Hub, *, local_only: bool = False, dataset: str | None = None
) -> Results:
    """The aggregate results of a Hub dataset; its large files of each pair are not fetched.

    dataset: as of `FolderSource`.

    Raises:
        KnownError: the dataset cannot be had, or has no readable result.
    """
    listing = hub.look(hub_id, "dataset", token=False, local_only=local_only)
    names, strays = _aggregate_files(listing)
    folder = hub.fetch(listing, [*names], token=False)
    of_kind = {
        kind: [ResultFile(name, folder / name) for name in names if names[name] == kind]
        for kind in SET_KINDS
    }
    found, unused = _collected(collect_aggregates(of_kind[kind], kind) for kind in SET_KINDS)
    left_out = (*strays, *unused)
    if not found:
        raise _nothing(f"{hub_id} has no results below eval-set/", left_out)
    date = _newest(folder / each.file for each in found)
    source = ResultsSource("hub", hub_id.repo, folder.name, date)
    return Results(source, found, left_out, HubSource(listing, hub, dataset))


def beside(results: Results, uploaded: Uploaded) -> Results:
    """Results with a visitor's files among them."""
    aggregates = (*results.aggregates, *uploaded.aggregates)
    left_out = (*results.left_out, *uploaded.left_out)
    return replace(results, aggregates=aggregates, left_out=left_out, uploaded=uploaded)


def _aggregate_files(listing: Listing) -> tuple[dict[str, SetKind], list[Omission]]:
    """The files of a dataset that hold accuracies, in the order of names, and what else is there.

    What is too large is not fetched at all.
    """
    names: dict[str, SetKind] = {}
    strays: list[Omission] = []
    for name, size in sorted(listing.sizes.items()):
        kind = next((kind for kind in SET_KINDS if name.startswith(f"{kind}/")), None)
        if kind is None:
            continue
        if not name.lower().endswith(".json"):
            strays.append(Omission(printable(name), "no JSON file"))
        elif size > MOST_SCORES_BYTES:
            most = f"accuracies have at most {MOST_SCORES_BYTES // MEGABYTE} MB here"
            why = f"it is {size / MEGABYTE:,.1f} MB large; {most}"
            strays.append(Omission(printable(name), why))
        else:
            names[name] = kind
    return names, strays


def _collected(
    read: Iterable[tuple[list[Aggregate], list[Omission]]],
) -> tuple[tuple[Aggregate, ...], tuple[Omission, ...]]:
    found: list[Aggregate] = []
    left_out: list[Omission] = []
    for results, unused in read:
        found += results
        left_out += unused
    return tuple(found), tuple(left_out)


def _newest(paths: Iterable[Path]) -> str:
    """The ISO date of the newest file; "" where none can be looked at."""
    times = []
    for path in paths:
        try:
            times.append(path.stat().st_mtime)
        except (OSError, ValueError):
            continue
    return time.strftime("%Y-%m-%d", time.gmtime(max(times))) if times else ""


def _nothing(what: str, left_out: Sequence[Omission]) -> KnownError:
    reasons = "; ".join(str(each) for each in left_out[:_FEW_REASONS])
    return KnownError(f"{what}." + (f" Left out: {reasons}." if reasons else ""))

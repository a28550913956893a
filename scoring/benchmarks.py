"""Benchmarks known by name: the rows of assets/benchmarks.toml, and the owner's own.

Where their rows have what, their sections, and how these make a score; `scoring.rules` judges a
row. docs/benchmarks.md says how to add one.
"""

import os
import tomllib
from collections.abc import Container, Iterable, Mapping
from difflib import get_close_matches
from fnmatch import fnmatchcase
from functools import cache, cached_property
from pathlib import Path
from statistics import fmean
from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, field_validator

from scoring.errors import KnownError, first_line, shown
from scoring.hub.access import HubId, parse_hub_id
from scoring.paths import typed_path
from scoring.rules import RULES, Rule, plain_subset

_FILE = Path(__file__).resolve().parents[1] / "assets" / "benchmarks.toml"
OWN_VARIABLE = "EXPLORER_BENCHMARKS"
"""Names a file with rows of the owner's own."""

MOST_RESPONSES = 64
"""Most responses of a row with a column for each."""
Overall = Literal["mean of sections", "mean of all sections", "all rows", "none"]
_Names = Annotated[
    tuple[str, ...], BeforeValidator(lambda given: [given] if isinstance(given, str) else given)
]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Better(_Strict):
    """The column that names the better response: values for the first, and for the second.

    ties: values of rows that are left out. Any other is an error; numbers may be written as text.
    """

    column: str
    first: tuple[str | int, ...]
    second: tuple[str | int, ...]
    ties: tuple[str | int, ...] = ()


class RowLayout(_Strict):
    """Where a row has its parts. A name such as "chosen.answer" leads into an object, or into each
    object of a list.

    id: of several columns, joined. subset: also where its name begins with `after`, which goes.
    file: what a file is called that has one subset, with the subset's column in braces.
    first, second, better: two responses, and what says which is better.
    responses: a name with {} for the number of each response; right: the column of a list that says
        of each whether it is; pairs: the column of those of them, from 0, that are compared.
    n_chosen, n_rejected: lists of so many responses; None for any.
    facets: further columns of few values, by which pairs are filtered.
    styles: what each response of a list is, in words.
    """

    prompt: str = "prompt"
    chosen: str = "chosen"
    rejected: str = "rejected"
    id: _Names = ("id",)
    subset: str = "subset"
    after: str = ""
    file: str = ""
    first: str = ""
    second: str = ""
    better: Better | None = None
    responses: str = ""
    right: str = ""
    pairs: str = ""
    n_chosen: int | None = None
    n_rejected: int | None = None
    chosen_model: str = "chosen_model"
    rejected_model: str = "rejected_model"
    first_model: str = ""
    second_model: str = ""
    facets: tuple[str, ...] = ()
    styles: tuple[str, ...] = ()

    @property
    def columns(self) -> frozenset[str]:
        """Columns that a file of this layout must have."""
        if self.better is not None:
            sides = [self.first, self.second, self.better.column]
        elif self.responses:
            sides = [self.responses.format(1), self.right, self.pairs]
        else:
            sides = [self.chosen, self.rejected]
        subset = [] if self.file else [self.subset]
        own_id = [] if self.id == ("id",) else self.id
        names = (self.prompt, *sides, *own_id, *subset)
        return frozenset(name.partition(".")[0] for name in names)

    @property
    def all_columns(self) -> frozenset[str]:
        """Columns that are read if the file has them."""
        models = (self.chosen_model, self.rejected_model, self.first_model, self.second_model)
        numbers = range(1, MOST_RESPONSES + 1) if self.responses else ()
        many = (self.responses.format(number) for number in numbers)
        names = (*self.id, self.subset, *models, *many, *self.facets)
        return self.columns | {name.partition(".")[0] for name in names if name}


class BoardRule(_Strict):
    """One of several ways in which a leaderboard makes a benchmark's score.

    formula: how, in words. option: of the page, which chooses it; "" for none.
    beside: the benchmark whose sections count, too.
    weights: what sections weigh; 1 each where none is given.
    subset_weights: of subsets that weigh otherwise, or are counted here alone.
    missing: what a section is of which no subset is known. zero_is_missing: sections that were not
        measured where they are exactly 0.
    """

    name: str
    title: str
    formula: str
    option: str = ""
    beside: str = ""
    weights: Mapping[str, int] = {}
    subset_weights: Mapping[str, int] = {}
    missing: Literal["left out", "zero"] = "left out"
    zero_is_missing: tuple[str, ...] = ()


class Benchmark(_Strict):
    """One benchmark.

    name: as it is typed. short: as former links and callers name it.
    dataset: its Hub id with a split; datasets: by the names of its parts, where it has several.
    rows: how many there are of each part, for orientation; of "" where it has none.
    every_split: a pattern of the splits that are read at once.
    verified: whether columns and rule were read in the authors' code, or on the dataset's card.
    sections: section -> subset, or a pattern of some -> its pairs; 0 where that is not fixed, and
        each row of the section counts alike.
    beside: subsets that count in no section.
    weights: what a subset weighs in its section, where that is not its pairs.
    results: where results of single pairs are published, in words.
    tradeoff: two sections that a chart sets against each other first.
    first_ids: of subsets that put the same `n_problems` problems, the id of the first; the others
        follow in order.
    languages: each of which has a score of its own; ids begin with them, before a colon.
    layouts: beside `row`, how files of it are written, too.
    boards: ways to make its score, the first the official one; () for its own alone.
    """

    name: str
    title: str
    licence: str
    citation: str
    verified: Literal["code", "card"]
    rule_name: str = Field("pairs", alias="rule")
    overall: Overall = "none"
    short: str = ""
    dataset: str = ""
    datasets: Mapping[str, str] = {}
    rows: Mapping[str, int] = {}
    every_split: str = ""
    sections: Mapping[str, Mapping[str, int]] = {}
    beside: Mapping[str, int] = {}
    weights: Mapping[str, int] = {}
    results: str = ""
    tradeoff: tuple[str, ...] = ()
    first_ids: Mapping[str, int] = {}
    languages: tuple[str, ...] = ()
    n_problems: int = 0
    row: RowLayout = RowLayout()
    layouts: tuple[RowLayout, ...] = Field((), alias="layout")
    boards: tuple[BoardRule, ...] = Field((), alias="board")

    @field_validator("rule_name")
    @classmethod
    def _has_rule(cls, name: str) -> str:
        if name not in RULES:
            raise ValueError(f"{shown(name)} is none of the rules {', '.join(RULES)}")
        return name

    @property
    def key(self) -> str:
        """Its name in links and calls."""
        return self.short or self.name

    @property
    def rule(self) -> Rule:
        """The rule that judges its rows."""
        return RULES[self.rule_name]

    @cached_property
    def named_datasets(self) -> dict[str, str]:
        """`name`, or `name:part` of each part -> Hub id."""
        parts = {f"{self.name}:{part}": hub_id for part, hub_id in self.datasets.items()}
        return parts or {self.name: self.dataset}

    @cached_property
    def counts(self) -> dict[str, int]:
        """Subset -> its pairs, section by section, of those that are fixed."""
        every = {subset: n for subsets in self.sections.values() for subset, n in subsets.items()}
        return {subset: n for subset, n in every.items() if n}

    def totals(self, dataset: str = "") -> tuple[int, ...]:
        """Rows of it; of several parts, unless `dataset` is one's Hub id, of each, fewest first.

        >>> benchmarks()["judgebench"].totals(), benchmarks()["reward-bench"].totals()
        ((270, 350), (2985,))
        """
        if self.counts and not self.languages:
            return (sum(self.counts.values()),)
        named = (part for part, hub_id in self.datasets.items() if dataset.startswith(hub_id))
        known = [self.rows[part] for part in named if part in self.rows]
        return tuple(sorted(known or self.rows.values()))

    def is_complete(self, counts: Mapping[str, int]) -> bool:
        """Whether rows are all of its own, as far as their numbers tell. counts: of each subset."""
        if self.languages:  # how many rows each has is not known
            return False
        own, found = (
            {plain_subset(name): n for name, n in each.items()} for each in (self.counts, counts)
        )
        return found == own if own else sum(found.values()) in self.rows.values()

    @cached_property
    def subsets(self) -> tuple[str, ...]:
        """Every subset or pattern of a section, in order."""
        return tuple(subset for subsets in self.sections.values() for subset in subsets)

    def has(self, subset: str) -> bool:
        """Whether a subset is its own, in or beside its sections."""
        return subset in self.beside or self.section_of(subset) is not None

    def _spelled(self, subset: str) -> str:
        """A name as it is compared: exactly, if subsets have weights of their own."""
        return subset if self.weighs_subsets else plain_subset(subset)

    @cached_property
    def _places(self) -> dict[str, tuple[int, str]]:
        named = ((name, section) for section, names in self.sections.items() for name in names)
        return {self._spelled(name): (at, section) for at, (name, section) in enumerate(named)}

    def _place_of(self, subset: str) -> tuple[int, str | None]:
        """Place and section of the listed subset, or pattern, that a subset fits."""
        plain = self._spelled(subset)
        fits = (place for pattern, place in self._places.items() if fnmatchcase(plain, pattern))
        return self._places.get(plain) or next(fits, (len(self._places), None))

    def section_of(self, subset: str) -> str | None:
        """The section a subset belongs to; None for no subset of it.

        >>> known = benchmarks()
        >>> known["reward-bench"].section_of("mt-bench-hard"), known["rmb"].section_of("own")
        ('Chat Hard', None)
        >>> known["judgebench"].section_of("mmlu-pro-law")
        'Knowledge'
        """
        return self._place_of(subset)[1]

    def in_order(self, subsets: Iterable[str]) -> list[str]:
        """Subsets as the benchmark lists them; those that it does not have follow by name.

        >>> benchmarks()["reward-bench"].in_order(["own", "hep-go", "alpacaeval-easy", "an-own"])
        ['alpacaeval-easy', 'hep-go', 'an-own', 'own']
        >>> benchmarks()["judgebench"].in_order(["own", "livebench-math", "mmlu-pro-law"])
        ['mmlu-pro-law', 'livebench-math', 'own']
        """
        return sorted(subsets, key=lambda each: (self._place_of(each)[0], each))

    @property
    def groups(self) -> tuple[str, ...]:
        """Its sections; () where each is one subset of the same name."""
        is_plain = all([*subsets] == [section] for section, subsets in self.sections.items())
        return () if is_plain else tuple(self.sections)

    def group_of(self, subset: str) -> str | None:
        """The one of its `groups` that a subset is of; None where it is of none."""
        return self.section_of(subset) if self.groups else None

    @property
    def weighs_subsets(self) -> bool:
        """Whether a section is a weighted mean of its subsets; else its rows count alike."""
        return bool(self.weights)

    def weight_of(self, subset: str) -> int:
        """The weight of a subset in its section; 0 where each of its rows counts alike."""
        return self.weights.get(subset, self.counts.get(subset, 0))

    @cached_property
    def strata(self) -> dict[str, dict[str, int]]:
        """Section -> the weights of its subsets or, where its rows count alike, its own, 1."""
        return {
            section: {name: self.weight_of(name) for name in subsets}
            if self.weighs_subsets
            else {section: 1}
            for section, subsets in self.sections.items()
        }

    def section_scores(self, accuracies: Mapping[str, float]) -> dict[str, float | None]:
        """Scores of all sections, each over the subsets present, by fixed weights; None over none.

        accuracies: subset -> 0 to 1; unknown subsets are ignored.
        Source, of RewardBench: `calculate_scores_per_section` in upstream's rewardbench/utils.py.

        >>> first = benchmarks()["reward-bench"]
        >>> first.section_scores({"mt-bench-easy": 1.0, "alpacaeval-easy": 0.5})["Chat"]
        0.609375
        """
        return {
            section: weighted_mean((accuracies.get(each), self.weight_of(each)) for each in subsets)
            for section, subsets in self.sections.items()
        }

    def score_of(self, sections: Mapping[str, float | None]) -> float | None:
        """The mean of section scores, as the benchmark takes it; None where it has none of them.

        >>> known = {"Chat": 0.9, "Chat Hard": 0.5, "Safety": None, "Reasoning": None}
        >>> benchmarks()["reward-bench"].score_of(known)
        0.7
        """
        known = [score for score in sections.values() if score is not None]
        if self.overall == "mean of all sections" and len(known) < len(self.sections):
            return None
        return fmean(known) if known and self.overall.startswith("mean") else None

    def score_shares(self, subsets: Container[str]) -> dict[str, float]:
        """Shares of subsets in the mean of their sections, by fixed weights; unknown have none.

        >>> first = benchmarks()["reward-bench"]
        >>> first.score_shares(["mt-bench-easy", "alpacaeval-easy", "donotanswer"])
        {'alpacaeval-easy': 0.390625, 'mt-bench-easy': 0.109375, 'donotanswer': 0.5}
        """
        of_sections = (
            [each for each in names if each in subsets] for names in self.sections.values()
        )
        present = [names for names in of_sections if names]
        return {
            name: self.weight_of(name) / sum(map(self.weight_of, names)) / len(present)
            for names in present
            for name in names
        }


def weighted_mean(weighted: Iterable[tuple[float | None, float]]) -> float | None:
    """The mean of the values known; summed exactly, so that their order does not matter.

    weighted: (value, weight) of each, weights above 0; None where no value is known.

    >>> weighted_mean([(1.0, 1), (None, 5), (0.5, 3)])
    0.625
    """
    known = [(value, weight) for value, weight in weighted if value is not None]
    return fmean(*zip(*known, strict=True)) if known else None


@cache
def bundled_benchmarks() -> dict[str, Benchmark]:
    """The benchmarks of assets/benchmarks.toml, by name."""
    return _read(_FILE, {})


@cache
def benchmarks() -> dict[str, Benchmark]:
    """All by name, the owner's last; a `KnownError` if the owner's file or a row of it is wrong."""
    known = bundled_benchmarks()
    own = os.environ.get(OWN_VARIABLE)
    return {**known, **_read(typed_path(own), known)} if own else known


def _read(path: Path, known: Mapping[str, Benchmark]) -> dict[str, Benchmark]:
    found: dict[str, Benchmark] = {}
    try:
        rows = tomllib.loads(path.read_text(encoding="utf-8")).get("benchmark")
        if not isinstance(rows, list):
            raise ValueError("it has no row [[benchmark]]")
        for row in rows:
            like = {**known, **found}.get(row.pop("like", ""))
            shared = ("rule_name", "overall", "sections", "weights")
            taken = {} if like is None else {name: getattr(like, name) for name in shared}
            one = Benchmark.model_validate(row).model_copy(update=taken)
            if one.languages and one.rule.parts:
                raise ValueError(
                    f"{one.name} has languages, which rule {one.rule_name} cannot have"
                )
            found[one.name] = one
    except (OSError, ValueError, TypeError, AttributeError) as error:
        why = first_line(error)
        if isinstance(error, ValidationError):
            first = error.errors()[0]
            why = (
                f"{'.'.join(map(str, first['loc']))}: {first['msg'].removeprefix('Value error, ')}"
            )
        raise KnownError(
            f"The benchmarks of {path.name} ({OWN_VARIABLE}) cannot be read: {why}. "
            "docs/benchmarks.md says how a row is written."
        ) from error
    return found


def named_dataset(typed: str) -> str | None:
    """The Hub id of a benchmark, `name[:part]`, or None; a `KnownError` without one of its parts.

    >>> named_dataset("rm-bench"), named_dataset("judgebench:gpt"), named_dataset("org/name")
    ('THU-KEG/RM-Bench:train', 'ScalerLab/JudgeBench:gpt', None)
    """
    benchmark = benchmarks().get(typed.partition(":")[0])
    if benchmark is None:
        return None
    named = benchmark.named_datasets
    if typed not in named:
        part = typed.partition(":")[2]
        has = f"no part {shown(part)}" if part else "several parts"
        raise KnownError(f"{benchmark.title} has {has}. Give one of {', '.join(named)}.")
    return named[typed]


def similar_name(typed: str) -> str:
    """A question with the name of the benchmark that may have been meant; "" if none is near.

    >>> similar_name("RMBench"), similar_name("judgebench:gtp"), similar_name("my-pairs")
    ('Did you mean rm-bench? ', 'Did you mean judgebench:gpt? ', '')
    """
    known = benchmarks().values()
    names = {name: name for each in known for name in (each.name, *each.named_datasets)}
    names |= {each.title.casefold(): each.name for each in known}
    near = get_close_matches(typed.strip().casefold(), names, n=1, cutoff=0.75)
    return f"Did you mean {names[near[0]]}? " if near else ""


def of_dataset(hub_id: HubId) -> Benchmark | None:
    """The benchmark that a dataset on the Hub is; None where it is none that is known."""
    for benchmark in benchmarks().values():
        known = map(parse_hub_id, benchmark.named_datasets.values())
        if hub_id.repo in {each.repo for each in known if each is not None}:
            return benchmark
    return None


def benchmark_named(name: str) -> Benchmark:
    """The benchmark of a name or short name, RewardBench of ""; a `KnownError` if there is none."""
    known = benchmarks().values()
    found = next((each for each in known if not name or name in (each.name, each.short)), None)
    if found is None:
        raise KnownError(
            f"The benchmark {shown(name)} is not known here. {similar_name(name)}"
            f"python -m scoring --benchmarks lists them; {OWN_VARIABLE} names a file with more."
        )
    return found


def rule_name_of(benchmark: str) -> str:
    """The rule of a named benchmark; "" for "", where the shape of a row tells it."""
    return benchmark_named(benchmark).rule_name if benchmark else ""


def benchmark_of(subsets: Iterable[str], name: str = "") -> Benchmark:
    """The benchmark of rows: of a name, as `benchmark_named`, or else of their subsets.

    Of subsets, the first that has all of them, if pairs can be rows of it; else RewardBench, which
    passes over subsets that it does not have.

    >>> [benchmark_of(names).title for names in (["ties", "Factuality"], ["hep-go"], [])]
    ['RewardBench 2', 'RewardBench', 'RewardBench']
    """
    if name:
        return benchmark_named(name)
    known = benchmarks()
    names = set(subsets)
    of_pairs = (each for each in known.values() if not each.rule.parts)
    fits = (each for each in of_pairs if names and all(map(each.has, names)))
    return next(fits, next(iter(known.values())))
